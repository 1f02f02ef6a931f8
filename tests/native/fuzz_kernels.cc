// Fuzzes the kernels by themselves, each target that this processor runs: jobs with every choice that a plan may make,
// sweeps and streamed stores included, which through an operator take large inputs. Compared with oracle.h.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "byte_source.h"
#include "kernels/targets.h"
#include "oracle.h"

namespace {

using namespace onnx_maxpool;

std::vector<Kernels> kernels_here() {
  std::vector<Kernels> here;
  for (const Target& target : targets()) {
    if (target.runs_here) here.push_back(target.kernels);
  }
  return here;
}

[[noreturn]] void fail(const char* target, const std::string& what, const std::string& job) {
  std::fprintf(stderr, "%s: %s\n%s\n", target, what.c_str(), job.c_str());
  std::abort();
}

// The units of a job on so many threads, which take them in turns, last first; each has scratch of exactly its size.
template <class Job, class Kernel>
void run_units(const Job& job, const Kernel& kernel, int64_t units, int threads) {
  const auto take = [&](int64_t thread) {
    const stand_in::Block scratch(kernel.scratch_bytes(job));
    for (int64_t unit = units - 1 - thread; unit >= 0; unit -= threads) kernel.run(job, unit, scratch.data());
  };
  std::vector<std::thread> others;
  for (int64_t thread = 1; thread < threads; ++thread) others.emplace_back(take, thread);
  take(0);
  for (std::thread& other : others) other.join();
}

std::string text_of(const char* name, const std::vector<Window>& windows) {
  std::string out = std::string(name) + ":";
  for (const Window& window : windows) out += " " + text(Shape{window.start, window.end});
  return out + "\n";
}

void compare(const char* target, const OrtValue& y, const std::vector<long double>& expected, const std::string& job) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const long double value = naive::number(y.type, y.block.data(), static_cast<int64_t>(i));
    if (naive::same(value, expected[i])) continue;
    fail(target,
         "cell " + std::to_string(i) + " is " + std::to_string(value) + ", expected " + std::to_string(expected[i]),
         job);
  }
}

// Outputs that are to have the same bits however they are pooled: the sign of a zero, too.
class SameBits {
 public:
  void require_same(const char* target, const OrtValue& y, const std::string& job) {
    const auto* const begin = static_cast<const char*>(y.block.data());
    const std::string found(begin, begin + y.block.bytes());
    if (first_.empty()) first_ = found;
    if (found != first_) fail(target, "outputs have other bits than before", job);
  }

 private:
  std::string first_;
};

// An input whose search cell by cell would look at more is let go.
constexpr int64_t kMostWork = 1 << 18;

int64_t cells_in(const std::vector<Window>& windows) {
  int64_t cells = 0;
  for (const Window& window : windows) cells += std::max<int64_t>(window.end - window.start, 0);
  return cells;
}

std::vector<RoiWindow> shortened(const std::vector<Window>& windows) {
  std::vector<RoiWindow> out;
  for (const Window& window : windows) {
    out.push_back({static_cast<int32_t>(window.start), static_cast<int32_t>(window.end)});
  }
  return out;
}

void fuzz_roi_kernels(ByteSource& source) {
  const ElementType type =
      source.pick({ElementType::float_, ElementType::float16_, ElementType::bfloat16_, ElementType::double_});
  RoiJob job{};
  job.dims.images = 1 + source.below(3);
  job.dims.channels = std::max<int64_t>(some_size(source), 1);
  job.dims.height = 1 + source.below(40);
  job.dims.width = std::max<int64_t>(some_size(source), 1);
  job.dims.channels = std::min(job.dims.channels,
                               std::max<int64_t>((1 << 14) / (job.dims.images * job.dims.height * job.dims.width), 1));
  const auto some_bins = [&] {
    if (!source.one_in(4)) return 1 + source.below(7);
    return source.one_in(2) ? source.pick<int64_t>({8, 15, 16, 17, 31, 32, 33}) : 1 + source.below(40);
  };
  job.dims.bins_y = some_bins();
  job.dims.bins_x = some_bins();
  job.dims.rois = 1 + source.below(12);
  while (job.dims.rois > 1 && job.dims.rois * job.dims.channels * job.dims.bins_y * job.dims.bins_x > 1 << 15)
    --job.dims.rois;
  job.stream = source.below(2) != 0;
  job.order = order_of(type);
  const int threads = 1 + static_cast<int>(source.below(3));
  const bool shared = source.below(4) != 0;
  job.tables.sweep = shared && source.below(2) != 0;
  // Others' parts take no byte, so that inputs mean what they did before there were any.
  const int64_t parts = 1 + (job.tables.sweep ? source.below(4) : (job.dims.rois + job.dims.bins_x) % 4);

  std::vector<int64_t> image;
  std::vector<Window> rows, columns;
  std::vector<BinWidths> widths;
  std::string words = "roi job: type " + std::to_string(static_cast<int>(type)) + ", map " +
                      text(Shape{job.dims.images, job.dims.channels, job.dims.height, job.dims.width}) + ", bins " +
                      text(Shape{job.dims.bins_y, job.dims.bins_x}) + (job.stream ? ", streamed" : "") +
                      (shared ? job.tables.sweep ? ", sweep" : ", shared" : ", separate") + ", parts " +
                      std::to_string(parts) + ", threads " + std::to_string(threads) + "\n";
  for (int64_t roi = 0; roi < job.dims.rois; ++roi) {
    image.push_back(source.below(job.dims.images));
    const auto edge = [&](int64_t size) { return source.below(2 * size + 4) - size / 2 - 2; };
    const int64_t top = edge(job.dims.height), bottom = edge(job.dims.height), left = edge(job.dims.width),
                  right = edge(job.dims.width);
    for (int64_t i = 0; i < job.dims.bins_y; ++i) {
      rows.push_back(naive::bin(i, job.dims.bins_y, top, bottom, job.dims.height, naive::EdgeArithmetic::exact));
      job.tables.tallest = std::max(job.tables.tallest, rows.back().end - rows.back().start);
    }
    for (int64_t i = 0; i < job.dims.bins_x; ++i) {
      columns.push_back(naive::bin(i, job.dims.bins_x, left, right, job.dims.width, naive::EdgeArithmetic::exact));
    }
    BinWidths here = {std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()};
    for (auto bin = columns.end() - job.dims.bins_x; bin != columns.end(); ++bin) {
      const auto width = static_cast<int32_t>(bin->end - bin->start);
      here = {std::min(here.least, width), std::max(here.most, width)};
    }
    widths.push_back(here);
    words += "  image " + std::to_string(image.back()) + ", y " + text(Shape{top, bottom}) + ", x " +
             text(Shape{left, right}) + "\n";
  }
  // Of the ROIs alike: each has as large a part of all rows as of all columns.
  if (cells_in(rows) * cells_in(columns) / job.dims.rois * job.dims.channels > kMostWork) return;
  // Tables up to as many rows as the tallest window has.
  int most_levels = 0;
  while (most_levels < kMostLevels && (int64_t{2} << most_levels) <= job.tables.tallest) ++most_levels;
  job.tables.levels = shared ? static_cast<int>(source.below(most_levels + 1)) : 0;

  std::vector<int64_t> rois_by_image, image_begins;
  for (int64_t i = 0; i < job.dims.images; ++i) {
    image_begins.push_back(static_cast<int64_t>(rois_by_image.size()));
    for (int64_t roi = 0; roi < job.dims.rois; ++roi) {
      if (image[roi] == i) rois_by_image.push_back(roi);
    }
  }
  image_begins.push_back(job.dims.rois);
  // A sweep's units have one order of tasks for all blocks; others are divided from some unit on.
  const auto units_of = [&](int64_t blocks) {
    std::vector<RoiUnit> units;
    for (int64_t i = 0; i < job.dims.images; ++i) {
      const int64_t begin = image_begins[i], count = image_begins[i + 1] - begin;
      for (int64_t block = 0; block < blocks; ++block) {
        const int64_t divided = job.tables.sweep || static_cast<int64_t>(units.size()) >= threads ? parts : 1;
        for (int64_t part = 0; part < divided; ++part) {
          const RoiUnit unit = {i, block, begin + count * part / divided, begin + count * (part + 1) / divided};
          if (unit.begin < unit.end) units.push_back(unit);
        }
      }
    }
    return units;
  };
  job.tables.slots = job.tables.at_once = 1;
  if (shared && !job.tables.sweep) job.tables.at_once += (job.dims.bins_x + job.dims.channels) % 4;
  std::vector<RoiTask> tasks(static_cast<size_t>(job.tables.sweep ? job.dims.rois * job.dims.bins_y : 0));
  for (const RoiUnit& unit : units_of(job.tables.sweep ? 1 : 0)) {
    const auto count = static_cast<int32_t>(unit.end - unit.begin);
    job.tables.slots = std::max<int64_t>(job.tables.slots, count);
    const auto begin = tasks.begin() + static_cast<std::ptrdiff_t>(unit.begin * job.dims.bins_y);
    auto end = begin;
    for (int32_t slot = 0; slot < count; ++slot) {
      for (int32_t row = 0; row < job.dims.bins_y; ++row) *end++ = {slot, row};
    }
    const auto top = [&](const RoiTask& task) {
      return rows[static_cast<size_t>(rois_by_image[unit.begin + task.slot] * job.dims.bins_y + task.row)].start;
    };
    std::stable_sort(begin, end, [&](const RoiTask& a, const RoiTask& b) { return top(a) > top(b); });
  }
  const std::vector<RoiWindow> short_rows = shortened(rows), short_columns = shortened(columns);
  job.image = image.data();
  job.rows = short_rows.data();
  job.columns = short_columns.data();
  job.widths = widths.data();
  job.rois_by_image = rois_by_image.data();
  job.tasks = tasks.data();

  const auto x = stand_in::tensor(type, {job.dims.images, job.dims.channels, job.dims.height, job.dims.width},
                                  static_cast<size_t>(source.below(8)));
  const size_t offset = static_cast<size_t>(source.below(64));
  fill_cells(source, *x);
  job.x = x->block.data();
  std::vector<long double> expected;
  for (int64_t roi = 0; roi < job.dims.rois; ++roi) {
    for (int64_t channel = 0; channel < job.dims.channels; ++channel) {
      const int64_t plane = (image[roi] * job.dims.channels + channel) * job.dims.height * job.dims.width;
      for (int64_t bin = 0; bin < job.dims.bins_y * job.dims.bins_x; ++bin) {
        const int64_t cell = naive::winner(type, job.x, plane, {job.dims.height, job.dims.width},
                                           {rows[roi * job.dims.bins_y + bin / job.dims.bins_x],
                                            columns[roi * job.dims.bins_x + bin % job.dims.bins_x]});
        expected.push_back(cell < 0 ? 0 : naive::number(type, job.x, plane + cell));
      }
    }
  }
  for (const Kernels& kernels : kernels_here()) {
    const RoiKernel& kernel = kernels.roi(element_size(type), job.dims.channels);
    // Channels in two parts, as plans may have them. Either goes first, so that what one writes beyond its own is seen.
    const int64_t first = (job.dims.rois + job.dims.bins_y) % job.dims.channels;
    const auto by_mode = [&](const RoiKernel::Mode& mode, int64_t channels, const std::string& name) {
      const auto out =
          stand_in::tensor(type, {job.dims.rois, job.dims.channels, job.dims.bins_y, job.dims.bins_x}, offset);
      job.y = out->block.data();
      RoiChannels parts_of_channels[] = {{0, first}, {first, job.dims.channels - first}};
      if (job.dims.rois % 2) std::swap(parts_of_channels[0], parts_of_channels[1]);
      for (const RoiChannels& part : parts_of_channels) {
        if (part.count == 0) continue;
        job.channels = part;
        const std::vector<RoiUnit> units = units_of((part.count + channels - 1) / channels);
        job.units = units.data();
        job.unit_count = static_cast<int64_t>(units.size());
        run_units(job, mode, job.unit_count, threads);
      }
      compare(kernels.target, *out, expected, name + ", channels divided at " + std::to_string(first) + ", " + words);
    };
    const int64_t lanes = kernel.vector_bytes / static_cast<int64_t>(element_size(type));
    by_mode(shared ? kernel.shared : kernel.separate, lanes * job.tables.at_once,
            "by blocks, " + std::to_string(job.tables.at_once) + " at once");
    const bool has_single_bins = job.dims.bins_y * job.dims.bins_x == 1;
    by_mode(kernel.few_channels, has_single_bins ? kSingleBinsChannels : job.dims.channels, "few channels");
    by_mode(kernel.cells, job.dims.channels, "cells");
    if (std::max(job.dims.width, job.dims.bins_x) > kernel.lookup_lanes) continue;
    by_mode(kernel.narrow_map, kNarrowMapChannels, "narrow map");
  }
}

// Zeros but for a few cells, so that the maximum may be anywhere: a planted one, or the first.
void plant_cells(ByteSource& source, OrtValue& x) {
  const auto bytes = static_cast<int64_t>(element_size(x.type)), cells = checked_cells(x.shape);
  auto* const begin = static_cast<char*>(x.block.data());
  std::fill_n(begin, cells * bytes, char{0});
  for (int64_t left = 1 + source.below(4); left > 0; --left) {
    const int64_t at = source.below(2) ? cells - 1 - source.below(std::min<int64_t>(cells, 130)) : source.below(cells);
    std::fill_n(begin + at * bytes, bytes, static_cast<char>(source.below(256)));
  }
}

// Numbers only, or those and a single NaN: at the first cell, the last, or anywhere.
void plant_nan(ByteSource& source, OrtValue& x) {
  const int64_t cells = checked_cells(x.shape), place = source.below(4);
  for (int64_t i = 0; i < cells; ++i) {
    if (std::isnan(naive::number(x.type, x.block.data(), i))) naive::set_number(x.type, x.block.data(), i, -2);
  }
  if (place == 0) return;
  const int64_t at = place == 1 ? 0 : place == 2 ? cells - 1 : source.below(cells);
  naive::set_number(x.type, x.block.data(), at, std::numeric_limits<long double>::quiet_NaN());
}

// An axis and its windows: sliding with padding, or even, of cells or of a few that windows take as one.
PoolAxis some_axis(ByteSource& source, int64_t size, std::vector<Window>& windows, int64_t most_even = 20) {
  const int64_t kind = most_even < 20 ? 2 + source.below(2) : source.below(4);
  PoolAxis axis{size, 0, kind >= 2, 0, 0, 0};
  if (kind % 2 && size % 3 == 0) axis.grain = 3;
  const int64_t grains = size / axis.grain;
  if (kind < 2) {
    axis.step = 1 + source.below(4);
    axis.length = 1 + source.below(source.one_in(4) ? grains + 20 : 5);
    const int64_t before = source.below(std::min<int64_t>(axis.length, 40));
    // The last window has to hold a cell, too.
    const int64_t last = (grains - 1 + before) / axis.step;
    axis.first = -before;
    axis.count = 1 + source.below(std::min<int64_t>(last + 1, source.one_in(8) ? 20000 : 200));
    for (int64_t i = 0; i < axis.count; ++i) {
      windows.push_back(naive::sliding_window(i, axis.step, before, axis.length, grains));
    }
  } else {
    axis.count = 1 + source.below(source.one_in(8) ? 100 * most_even : most_even);
    for (int64_t i = 0; i < axis.count; ++i) windows.push_back(naive::even_window(i, axis.count, grains));
  }
  for (Window& window : windows) window = {window.start * axis.grain, window.end * axis.grain};
  // Kernels may do without a list of few, as well.
  if (axis.count <= kMostListed && axis.count % 3) axis.windows = windows.data();
  return axis;
}

// The same of windows as those of walks, mostly up to three apart.
PoolAxis short_axis(ByteSource& source, int64_t size, int64_t length, std::vector<Window>& windows) {
  const int64_t step = 1 + source.below(source.one_in(8) ? 17 : 3), before = source.below(length),
                last = (size - 1 + before) / step;
  const int64_t beyond = source.below(length);  // how far the last window reaches beyond the axis, at most
  const int64_t count = std::min(last, std::max<int64_t>(size + before + beyond - length, 0) / step) + 1;
  for (int64_t i = 0; i < count; ++i) windows.push_back(naive::sliding_window(i, step, before, length, size));
  return {size, count, false, -before, step, length, 1, count % 3 ? windows.data() : nullptr};
}

PoolAxis whole_axis(int64_t size, std::vector<Window>& windows) {
  windows = {{0, size}};
  return {size, 1, true, 0, 0, 0, 1, windows.data()};
}

// With `numbers`, of float or double without indices, which are pooled as they are. With `are_short`, windows as those
// of walks.
void fuzz_window_kernels(ByteSource& source, bool numbers, bool are_short) {
  const ElementType type =
      numbers ? source.pick({ElementType::float_, ElementType::double_})
              : source.pick({ElementType::float_, ElementType::float16_, ElementType::int8_, ElementType::uint8_,
                             ElementType::int16_, ElementType::uint16_, ElementType::int32_, ElementType::uint32_,
                             ElementType::int64_, ElementType::uint64_, ElementType::double_, ElementType::bfloat16_});
  PoolJob job{};
  std::vector<Window> depth, rows, columns;
  const int64_t width = std::max<int64_t>(some_size(source), 1);
  job.depth = some_axis(source, source.pick<int64_t>({1, 1, 2, 3, 5}), depth);
  const bool large = !are_short && source.one_in(8);
  if (are_short) {
    const int64_t length = source.one_in(2) ? 2 + source.below(6) : 1 + source.below(36);
    const int64_t other = source.one_in(4) ? 1 + source.below(20) : length;
    job.rows = short_axis(source, 1 + source.below(source.one_in(8) ? 150 : 20), other, rows);
    job.columns = short_axis(source, source.one_in(4) ? 3 * width : width, length, columns);
  } else if (large) {  // windows of many cells
    depth.clear();
    job.depth = source.one_in(4) ? some_axis(source, 1, depth, 3) : whole_axis(1, depth);
    job.rows = source.one_in(4) ? some_axis(source, 1, rows, 3) : whole_axis(1, rows);
    job.columns = some_axis(source, (1 << 15) + source.below(1 << 14), columns, 3);
  } else {
    job.rows = some_axis(source, 1 + source.below(30), rows);
    const bool wide = source.one_in(16);
    job.columns = some_axis(source, wide ? 300 * width : width, columns);
  }
  const Shape sizes = {job.depth.size, job.rows.size, job.columns.size};
  const int64_t cells = checked_cells(sizes), counts = job.depth.count * job.rows.count * job.columns.count;
  job.planes = large
                   ? 1 + source.below(3)
                   : std::min<int64_t>(1 + source.below(9), std::max<int64_t>((1 << 14) / std::max(cells, counts), 1));
  job.order = order_of(type);
  const bool indexed = !numbers && source.below(3) != 0;
  job.indices_are_64_bits = source.below(2) != 0;
  job.index_step = source.below(2) ? cells : 0;
  const int threads = 1 + static_cast<int>(source.below(3));
  job.workers = threads;
  const Shape y_shape = {job.planes, job.depth.count, job.rows.count, job.columns.count};
  const auto x = stand_in::tensor(type, {job.planes, cells}, static_cast<size_t>(source.below(8)));
  const size_t offset = static_cast<size_t>(source.below(64));
  fill_cells(source, *x);
  if (large && source.below(2)) plant_cells(source, *x);
  if (numbers) plant_nan(source, *x);
  job.x = x->block.data();

  if (cells_in(depth) * cells_in(rows) * cells_in(columns) * job.planes > kMostWork) return;
  std::vector<long double> values, indices;
  for (int64_t plane = 0; plane < job.planes; ++plane) {
    for (const Window& z : depth) {
      for (const Window& y : rows) {
        for (const Window& w : columns) {
          const int64_t cell = naive::winner(type, job.x, plane * cells, sizes, {z, y, w});
          values.push_back(naive::number(type, job.x, plane * cells + cell));
          indices.push_back(static_cast<long double>(plane * job.index_step + cell));
        }
      }
    }
  }
  const std::string words = "window job: type " + std::to_string(static_cast<int>(type)) + ", planes " +
                            std::to_string(job.planes) + " of " + text(sizes) + (indexed ? ", indexed" : "") +
                            ", steps " + text(Shape{job.depth.step, job.rows.step, job.columns.step}) + "\n" +
                            text_of("depth", depth) + text_of("rows", rows) + text_of("columns", columns);
  SameBits bits;
  for (const Kernels& kernels : kernels_here()) {
    const auto y = stand_in::tensor(type, y_shape, offset);
    const auto found =
        stand_in::tensor(job.indices_are_64_bits ? ElementType::uint64_ : ElementType::uint32_, y_shape, offset);
    job.y = y->block.data();
    job.indices = indexed ? found->block.data() : nullptr;
    for (const PoolPlan plan : kPoolPlans) {
      const PoolKernel* const kernel = kernels.pool(job, element_size(type), plan);
      if (!kernel) continue;
      std::fill_n(static_cast<char*>(job.y), values.size() * element_size(type), '\x55');
      std::fill_n(static_cast<char*>(found->block.data()), found->block.bytes(), '\x55');
      run_units(job, *kernel, kernel->units(job), threads);
      const std::string name = std::string("by ") + kPoolPlanNames[static_cast<int>(plan)] + ", " + words;
      compare(kernels.target, *y, values, name);
      if (numbers) bits.require_same(kernels.target, *y, name);
      if (indexed) compare(kernels.target, *found, indices, name);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ByteSource source(data, size);
  // A byte of those that no committed input begins with: all mean what they did before there were numbers and short
  // windows.
  const int64_t kind = source.below(256);
  const bool are_short = (kind > 0xac && kind < 0xbe) || (kind > 0xc8 && kind < 0xd6);
  const bool numbers = (kind > 0x40 && kind < 0x55) || (kind > 0x91 && kind < 0xa9) || (are_short && kind > 0xb8);
  if (kind % 2) {
    fuzz_window_kernels(source, numbers, are_short);
  } else {
    fuzz_roi_kernels(source);
  }
  return 0;
}
