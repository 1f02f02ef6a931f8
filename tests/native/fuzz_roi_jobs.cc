// Jobs of ROIs with every choice that a plan may make, sweeps and streamed stores included, which through an operator
// take large inputs.
#include <cmath>
#include <limits>
#include <random>

#include "fuzz_jobs.h"
#include "upper_halves.h"

namespace fuzz_jobs {
namespace {

constexpr int64_t kMostOutputs = 1 << 15;
// Bytes of a thread's tables of a block of channels: to fill more would take longer than all else.
constexpr int64_t kMostTableBytes = 1 << 21;

// A job, what it points to, and how it is shared out.
struct RoiCase {
  ElementType type;
  RoiJob job{};
  EdgeArithmetic edges = EdgeArithmetic::exact;
  bool shared;
  int64_t parts;  // of an image's ROIs, which units have
  int threads;
  std::vector<int64_t> image, rois_by_image, image_begins;
  std::vector<Window> rows, columns;
  std::vector<RoiWindow> short_rows, short_columns;
  std::vector<BinWidths> widths;
  std::vector<RoiTask> tasks;
  std::string words;
};

int64_t some_bins(ByteSource& source) {
  if (!source.one_in(4)) return 1 + source.below(7);
  return source.one_in(2) ? source.pick<int64_t>({8, 15, 16, 17, 31, 32, 33}) : 1 + source.below(40);
}

void limit_rois(RoiDims& dims) {
  const int64_t most = kMostOutputs / (dims.channels * dims.bins_y * dims.bins_x);
  dims.rois = std::min(dims.rois, std::max<int64_t>(most, 1));
}

void limit_channels(RoiDims& dims, int64_t cells) {
  dims.channels = std::min(dims.channels, std::max<int64_t>(cells / (dims.images * dims.height * dims.width), 1));
}

void draw_dims(ByteSource& source, RoiDims& dims) {
  dims.images = 1 + source.below(3);
  dims.channels = std::max<int64_t>(some_size(source), 1);
  dims.height = 1 + source.below(40);
  dims.width = std::max<int64_t>(some_size(source), 1);
  limit_channels(dims, 1 << 14);
  dims.bins_y = some_bins(source);
  dims.bins_x = some_bins(source);
  dims.rois = 1 + source.below(12);
  limit_rois(dims);
}

// Many ROIs of one bin, or of a few; tall maps, whose windows have tables of all levels; wide ones; many images; or a
// map that leaves the caches.
void draw_far_dims(ByteSource& source, RoiDims& dims) {
  enum { many_rois, tall, wide, many_images, large, usual };
  const int64_t kind = source.below(6);
  const bool many_cells = kind == large && source.one_in(4);
  dims.images = kind == many_images ? 4 + source.below(60) : 1 + source.below(3);
  dims.channels = std::max<int64_t>(some_size(source), 1);
  dims.height = kind == tall ? 41 + source.below(700) : 1 + source.below(kind == wide ? 6 : 40);
  const bool is_wide = kind == wide || many_cells;
  dims.width = kind == tall ? 1 + source.below(source.one_in(4) ? 12 : 3)
               : is_wide    ? source.pick<int64_t>({256, 300, 511, 513, 1000, 2049, 4100})
                            : std::max<int64_t>(some_size(source), 1);
  limit_channels(dims, many_cells ? 1 << 19 : 1 << 15);
  const bool single = kind == many_rois ? !source.one_in(4) : source.one_in(4);
  dims.bins_y = single ? 1 : kind == many_rois ? 1 + source.below(3) : some_bins(source);
  dims.bins_x = single ? 1 : kind == many_rois ? 1 + source.below(3) : some_bins(source);
  if (!single && source.one_in(16)) dims.bins_x = source.pick<int64_t>({64, 65, 82, 129});
  dims.rois =
      kind == many_rois ? source.pick<int64_t>({13, 63, 64, 65, 127, 128, 129, 500, 1000, 2000}) : 1 + source.below(40);
  limit_rois(dims);
}

void add_roi(RoiCase& c, int64_t image, const Window& y, const Window& x) {
  const RoiDims& dims = c.job.dims;
  c.image.push_back(image);
  for (int64_t i = 0; i < dims.bins_y; ++i) {
    c.rows.push_back(naive::bin(i, dims.bins_y, y.start, y.end, dims.height, c.edges));
    c.job.tables.tallest = std::max(c.job.tables.tallest, c.rows.back().end - c.rows.back().start);
  }
  BinWidths widths = {std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()};
  for (int64_t i = 0; i < dims.bins_x; ++i) {
    c.columns.push_back(naive::bin(i, dims.bins_x, x.start, x.end, dims.width, c.edges));
    const auto width = static_cast<int32_t>(c.columns.back().end - c.columns.back().start);
    widths = {std::min(widths.least, width), std::max(widths.most, width)};
  }
  c.widths.push_back(widths);
  c.words += "  image " + std::to_string(image) + ", y " + text(Shape{y.start, y.end}) + ", x " +
             text(Shape{x.start, x.end}) + "\n";
}

void draw_rois(ByteSource& source, RoiCase& c) {
  const RoiDims& dims = c.job.dims;
  for (int64_t roi = 0; roi < dims.rois; ++roi) {
    const int64_t image = source.below(dims.images);
    const auto edge = [&](int64_t size) { return source.below(2 * size + 4) - size / 2 - 2; };
    const int64_t top = edge(dims.height), bottom = edge(dims.height), left = edge(dims.width),
                  right = edge(dims.width);
    add_roi(c, image, {top, bottom}, {left, right});
  }
}

// Of which there may be many, on maps that are large: a seed spreads them, no larger than a search cell by cell bears.
void spread_rois(ByteSource& source, RoiCase& c) {
  const RoiDims& dims = c.job.dims;
  const int64_t any = 1 << 20;
  const int64_t limit = source.pick<int64_t>({any, 1, 2, 4, 9, 40, any, any});
  const int64_t area = std::max<int64_t>(kMostWork / (2 * dims.rois * dims.channels), 1);
  const int64_t tallest = std::min({limit, dims.height + 2, area}),
                widest = std::min({limit, dims.width + 2, std::max<int64_t>(area / tallest, 1)});
  const bool in_order = source.one_in(3);
  std::mt19937 random(source.raw<uint16_t>());
  const auto below = [&](int64_t count) { return static_cast<int64_t>(random() % static_cast<uint32_t>(count)); };
  for (int64_t roi = 0; roi < dims.rois; ++roi) {
    const int64_t image = in_order ? roi * dims.images / dims.rois : below(dims.images);
    const auto side = [&](int64_t size, int64_t most) {
      const int64_t first = below(size + 6) - 3, cells = below(16) ? 1 + below(most) : most;
      return Window{first, below(16) ? first + cells - 1 : first - cells};  // which M6 makes one cell
    };
    const Window y = side(dims.height, tallest);
    add_roi(c, image, y, side(dims.width, widest));
  }
}

// Tables up to as many rows as the tallest window has. A node may keep those that its runs before had, of taller
// windows.
void draw_levels(ByteSource& source, Reach reach, RoiCase& c) {
  RoiTables& tables = c.job.tables;
  const int64_t row_bytes = c.job.dims.height * c.job.dims.width * 64;
  int most = 0;
  while (most < kMostLevels && (int64_t{2} << most) <= tables.tallest) ++most;
  if (reach == Reach::all && !tables.sweep && source.one_in(3)) most = kMostLevels;
  if (reach == Reach::all && !tables.sweep) {
    while (most > 0 && (most + 1) * row_bytes > kMostTableBytes) --most;
  }
  const bool takes_most = reach == Reach::all && source.one_in(3);
  tables.levels = !c.shared ? 0 : takes_most ? most : static_cast<int>(source.below(most + 1));
  tables.slots = tables.at_once = 1;
  if (c.shared && !tables.sweep) tables.at_once += (c.job.dims.bins_x + c.job.dims.channels) % 4;
  if (reach == Reach::all && tables.at_once * (tables.levels + 1) * row_bytes > kMostTableBytes) tables.at_once = 1;
}

void sort_by_image(RoiCase& c) {
  for (int64_t i = 0; i < c.job.dims.images; ++i) {
    c.image_begins.push_back(static_cast<int64_t>(c.rois_by_image.size()));
    for (int64_t roi = 0; roi < c.job.dims.rois; ++roi) {
      if (c.image[roi] == i) c.rois_by_image.push_back(roi);
    }
  }
  c.image_begins.push_back(c.job.dims.rois);
}

// A sweep's units have one order of tasks for all blocks; others are divided from some unit on.
std::vector<RoiUnit> units_of(const RoiCase& c, int64_t blocks) {
  std::vector<RoiUnit> units;
  for (int64_t i = 0; i < c.job.dims.images; ++i) {
    const int64_t begin = c.image_begins[i], count = c.image_begins[i + 1] - begin;
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t divided = c.job.tables.sweep || static_cast<int64_t>(units.size()) >= c.threads ? c.parts : 1;
      for (int64_t part = 0; part < divided; ++part) {
        const RoiUnit unit = {i, block, begin + count * part / divided, begin + count * (part + 1) / divided};
        if (unit.begin < unit.end) units.push_back(unit);
      }
    }
  }
  return units;
}

void order_sweep(RoiCase& c) {
  const int64_t bins_y = c.job.dims.bins_y;
  c.tasks.resize(static_cast<size_t>(c.job.dims.rois * bins_y));
  for (const RoiUnit& unit : units_of(c, 1)) {
    const auto count = static_cast<int32_t>(unit.end - unit.begin);
    c.job.tables.slots = std::max<int64_t>(c.job.tables.slots, count);
    const auto begin = c.tasks.begin() + static_cast<std::ptrdiff_t>(unit.begin * bins_y);
    auto end = begin;
    for (int32_t slot = 0; slot < count; ++slot) {
      for (int32_t row = 0; row < bins_y; ++row) *end++ = {slot, row};
    }
    const auto top = [&](const RoiTask& task) {
      return c.rows[static_cast<size_t>(c.rois_by_image[unit.begin + task.slot] * bins_y + task.row)].start;
    };
    std::stable_sort(begin, end, [&](const RoiTask& a, const RoiTask& b) { return top(a) > top(b); });
  }
}

std::vector<RoiWindow> shortened(const std::vector<Window>& windows) {
  std::vector<RoiWindow> out;
  for (const Window& window : windows) {
    out.push_back({static_cast<int32_t>(window.start), static_cast<int32_t>(window.end)});
  }
  return out;
}

// False where the job is let go.
bool draw(ByteSource& source, Reach reach, RoiCase& c) {
  c.type = source.pick({ElementType::float_, ElementType::float16_, ElementType::bfloat16_, ElementType::double_});
  RoiJob& job = c.job;
  const RoiDims& dims = job.dims;
  reach == Reach::all ? draw_far_dims(source, job.dims) : draw_dims(source, job.dims);
  if (reach == Reach::all) {
    c.edges = source.pick({EdgeArithmetic::in_float, EdgeArithmetic::in_double, EdgeArithmetic::exact});
  }
  job.stream = source.below(2) != 0;
  job.order = order_of(c.type);
  c.threads = 1 + static_cast<int>(source.below(3));
  c.shared = source.below(4) != 0;
  job.tables.sweep = c.shared && source.below(2) != 0;
  if (!job.tables.sweep && dims.height * dims.width * 64 > kMostTableBytes) c.shared = false;
  // Others' parts take no byte, so that inputs mean what they did before there were any.
  c.parts = 1 + (job.tables.sweep ? source.below(4) : (dims.rois + dims.bins_x) % 4);
  c.words = "roi job: type " + std::to_string(static_cast<int>(c.type)) + ", map " +
            text(Shape{dims.images, dims.channels, dims.height, dims.width}) + ", bins " +
            text(Shape{dims.bins_y, dims.bins_x}) + ", edges " + std::to_string(static_cast<int>(c.edges)) +
            (job.stream ? ", streamed" : "") + (c.shared ? job.tables.sweep ? ", sweep" : ", shared" : ", separate") +
            ", parts " + std::to_string(c.parts) + ", threads " + std::to_string(c.threads) + "\n";
  reach == Reach::all ? spread_rois(source, c) : draw_rois(source, c);
  // Of the ROIs alike: each has as large a part of all rows as of all columns.
  if (cells_in(c.rows) * cells_in(c.columns) / dims.rois * dims.channels > kMostWork) return false;
  draw_levels(source, reach, c);
  sort_by_image(c);
  if (job.tables.sweep) order_sweep(c);
  c.short_rows = shortened(c.rows);
  c.short_columns = shortened(c.columns);
  job.rows = c.short_rows.data();
  job.columns = c.short_columns.data();
  job.widths = dims.bins_x > 1 ? c.widths.data() : nullptr;
  job.rois_by_image = c.rois_by_image.data();
  job.tasks = c.tasks.data();
  return true;
}

std::vector<long double> expected_of(const RoiCase& c) {
  const RoiDims& dims = c.job.dims;
  std::vector<long double> expected;
  for (int64_t roi = 0; roi < dims.rois; ++roi) {
    for (int64_t channel = 0; channel < dims.channels; ++channel) {
      const int64_t plane = (c.image[roi] * dims.channels + channel) * dims.height * dims.width;
      for (int64_t bin = 0; bin < dims.bins_y * dims.bins_x; ++bin) {
        const int64_t cell = naive::winner(
            c.type, c.job.x, plane, {dims.height, dims.width},
            {c.rows[roi * dims.bins_y + bin / dims.bins_x], c.columns[roi * dims.bins_x + bin % dims.bins_x]});
        expected.push_back(cell < 0 ? 0 : naive::number(c.type, c.job.x, plane + cell));
      }
    }
  }
  return expected;
}

// Some of the channels by one of the kernel's modes, so many of them in a unit.
struct Part {
  RoiChannels channels;
  const RoiKernel::Mode& mode;
  int64_t of_unit;
};

// The output of the parts together. Either goes first, so that what one writes beyond its own is seen.
std::unique_ptr<OrtValue> pooled(const UpperHalves& upper_halves, const RoiCase& c, size_t offset,
                                 std::vector<Part> parts) {
  RoiJob job = c.job;
  auto out = stand_in::tensor(c.type, {job.dims.rois, job.dims.channels, job.dims.bins_y, job.dims.bins_x}, offset);
  job.y = out->block.data();
  const auto add = [&](const Part& part) {
    if (part.channels.count == 0) return;
    job.channels = part.channels;
    const std::vector<RoiUnit> units = units_of(c, (part.channels.count + part.of_unit - 1) / part.of_unit);
    job.units = units.data();
    job.unit_count = static_cast<int64_t>(units.size());
    const size_t scratch_bytes = part.mode.scratch_bytes(job);
    upper_halves.require_clear("a mode's scratch_bytes");
    run_units(scratch_bytes, job.unit_count, c.threads, [&](int64_t unit, void* scratch) {
      part.mode.run(job, unit, scratch);
      upper_halves.require_clear("a mode");
    });
  };
  const bool reversed = job.dims.rois % 2 != 0;
  add(parts[reversed ? 1 : 0]);
  add(parts[reversed ? 0 : 1]);
  return out;
}

void run_modes(const Kernels& kernels, const RoiCase& c, size_t offset, const std::vector<long double>& expected) {
  const RoiDims& dims = c.job.dims;
  const UpperHalves upper_halves(kernels);
  const RoiKernel& kernel = kernels.roi(element_size(c.type), dims.channels);
  upper_halves.require_clear("roi");
  const int64_t lanes = kernel.vector_bytes / static_cast<int64_t>(element_size(c.type)),
                of_unit = lanes * c.job.tables.at_once,
                by_rows = dims.bins_y * dims.bins_x == 1 ? kSingleBinsChannels : dims.channels;
  // Channels in two parts, as plans may have them.
  const auto by = [&](int64_t first, const RoiKernel::Mode& mode, int64_t channels, const RoiKernel::Mode& mode_of_rest,
                      int64_t rest, const std::string& name) {
    const auto out = pooled(upper_halves, c, offset,
                            {{{0, first}, mode, channels}, {{first, dims.channels - first}, mode_of_rest, rest}});
    compare(kernels.target, *out, expected, name + ", channels divided at " + std::to_string(first) + ", " + c.words);
  };
  const int64_t first = (dims.rois + dims.bins_y) % dims.channels, whole = dims.channels / lanes * lanes;
  const RoiKernel::Mode& of_blocks = c.shared ? kernel.shared : kernel.separate;
  const std::string blocks = "by blocks, " + std::to_string(c.job.tables.at_once) + " at once, " +
                             std::to_string(c.job.tables.levels) + " levels";
  by(first, of_blocks, of_unit, of_blocks, of_unit, blocks);
  by(whole, of_blocks, of_unit, kernel.few_channels, by_rows, blocks + ", the rest by rows");
  by(first, kernel.few_channels, by_rows, kernel.few_channels, by_rows, "few channels");
  by(first, kernel.cells, dims.channels, kernel.cells, dims.channels, "cells");
  if (std::max(dims.width, dims.bins_x) > kernel.lookup_lanes) return;
  by(first, kernel.narrow_map, kNarrowMapChannels, kernel.narrow_map, kNarrowMapChannels, "narrow map");
}

}  // namespace

void fuzz_roi_kernels(ByteSource& source, Reach reach) {
  RoiCase c;
  if (!draw(source, reach, c)) return;
  const RoiDims& dims = c.job.dims;
  const auto x = stand_in::tensor(c.type, {dims.images, dims.channels, dims.height, dims.width},
                                  static_cast<size_t>(source.below(8)));
  const auto offset = static_cast<size_t>(source.below(64));
  reach == Reach::all ? fill_large(source, *x) : fill_cells(source, *x);
  c.job.x = x->block.data();
  const std::vector<long double> expected = expected_of(c);
  for (const Kernels& kernels : kernels_here()) run_modes(kernels, c, offset, expected);
}

}  // namespace fuzz_jobs
