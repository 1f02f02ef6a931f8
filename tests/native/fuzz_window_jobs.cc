// Jobs of windows by every plan of each target.
#include <algorithm>
#include <cmath>
#include <limits>

#include "fuzz_jobs.h"
#include "upper_halves.h"

namespace fuzz_jobs {
namespace {

struct WindowCase {
  ElementType type;
  PoolJob job{};
  std::vector<Window> depth, rows, columns;
  bool large = false;           // windows of many cells
  bool many_positions = false;  // of a plane
  bool indexed;
  int threads;
};

std::string text_of(const char* name, const std::vector<Window>& windows) {
  std::string out = std::string(name) + ":";
  for (const Window& window : windows) out += " " + text(Shape{window.start, window.end});
  return out + "\n";
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

// Lists the axis's windows, in cells. Kernels may do without a list of few, as well.
void list(PoolAxis& axis, std::vector<Window>& windows) {
  const int64_t grains = axis.size / axis.grain;
  for (int64_t i = 0; i < axis.count; ++i) {
    const Window window = axis.even ? naive::even_window(i, axis.count, grains)
                                    : naive::sliding_window(i, axis.step, -axis.first, axis.length, grains);
    windows.push_back({window.start * axis.grain, window.end * axis.grain});
  }
  if (axis.count <= kMostListed && axis.count % 3) axis.windows = windows.data();
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
  } else {
    axis.count = 1 + source.below(source.one_in(8) ? 100 * most_even : most_even);
  }
  list(axis, windows);
  return axis;
}

// The same of windows as those of walks, mostly up to three apart.
PoolAxis short_axis(ByteSource& source, int64_t size, int64_t length, std::vector<Window>& windows) {
  const int64_t step = 1 + source.below(source.one_in(8) ? 17 : 3), before = source.below(length),
                last = (size - 1 + before) / step;
  const int64_t beyond = source.below(length);  // how far the last window reaches beyond the axis, at most
  const int64_t count = std::min(last, std::max<int64_t>(size + before + beyond - length, 0) / step) + 1;
  PoolAxis axis{size, count, false, -before, step, length, 1};
  list(axis, windows);
  return axis;
}

PoolAxis whole_axis(int64_t size, std::vector<Window>& windows) {
  windows = {{0, size}};
  return {size, 1, true, 0, 0, 0, 1, windows.data()};
}

// Sliding windows as far apart and as large as they may be, and as much beyond the axis: each holds a cell.
PoolAxis far_axis(ByteSource& source, int64_t size, std::vector<Window>& windows) {
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  PoolAxis axis{size, 0, false, 0, 0, 0};
  axis.step = source.one_in(8) ? source.pick<int64_t>({kMost, size, size + 1, 1 << 16})
                               : 1 + source.below(source.one_in(2) ? 3 : 40);
  axis.length = source.one_in(4) ? source.pick<int64_t>({size, size + 1, 2 * size, 1000, 1 << 16, kMost})
                                 : 1 + source.below(2 * size + 60);
  const int64_t kind = source.below(4);
  const int64_t before = kind == 0   ? 0
                         : kind == 1 ? axis.length - 1
                         : kind == 2 ? std::max<int64_t>(axis.length - size, 0)
                                     : source.below(std::min<int64_t>(axis.length, 100));
  axis.first = -before;
  const int64_t last = (size - 1 + before) / axis.step;
  axis.count = std::min<int64_t>(last, source.below(source.one_in(4) ? 300 : 20)) + 1;
  list(axis, windows);
  return axis;
}

// Windows of a few cells, so that a search cell by cell bears a long axis.
PoolAxis long_axis(ByteSource& source, int64_t size, std::vector<Window>& windows) {
  const int64_t kind = source.below(4);
  if (kind == 0) return short_axis(source, size, 1 + source.below(4), windows);
  if (kind == 1) return whole_axis(size, windows);
  if (kind == 2) return some_axis(source, size, windows, 3);
  return far_axis(source, size, windows);
}

void draw_axes(ByteSource& source, bool are_short, WindowCase& c) {
  PoolJob& job = c.job;
  const int64_t width = std::max<int64_t>(some_size(source), 1);
  job.depth = some_axis(source, source.pick<int64_t>({1, 1, 2, 3, 5}), c.depth);
  c.large = !are_short && source.one_in(8);
  if (are_short) {
    const int64_t length = source.one_in(2) ? 2 + source.below(6) : 1 + source.below(36);
    const int64_t other = source.one_in(4) ? 1 + source.below(20) : length;
    job.rows = short_axis(source, 1 + source.below(source.one_in(8) ? 150 : 20), other, c.rows);
    job.columns = short_axis(source, source.one_in(4) ? 3 * width : width, length, c.columns);
  } else if (c.large) {
    c.depth.clear();
    job.depth = source.one_in(4) ? some_axis(source, 1, c.depth, 3) : whole_axis(1, c.depth);
    job.rows = source.one_in(4) ? some_axis(source, 1, c.rows, 3) : whole_axis(1, c.rows);
    job.columns = some_axis(source, (1 << 15) + source.below(1 << 14), c.columns, 3);
  } else {
    job.rows = some_axis(source, 1 + source.below(30), c.rows);
    const bool wide = source.one_in(16);
    job.columns = some_axis(source, wide ? 300 * width : width, c.columns);
  }
}

// A divisor of `cells`, mostly a small one.
int64_t some_divisor(ByteSource& source, int64_t cells) {
  int64_t divisor = 1 + source.below(source.one_in(4) ? std::min<int64_t>(cells, 20000) : 20);
  while (cells % divisor != 0) --divisor;
  return divisor;
}

// Where positions in a plane need one bit more, and an unsigned number of them does. Prime numbers have neighbours that
// can be divided.
Shape sides_of_many_positions(ByteSource& source) {
  const int64_t power = source.pick<int64_t>({1 << 7, 1 << 8, 1 << 15, 1 << 15, 1 << 15, 1 << 16});
  const int64_t cells = power + source.pick<int64_t>({-1, 0, 1, 2});
  const int64_t width = some_divisor(source, cells), height = some_divisor(source, cells / width);
  return source.below(2) ? Shape{cells / width / height, height, width} : Shape{height, width, cells / width / height};
}

// Axes that are long, or of one cell, or have far windows, each of them.
void draw_far_axes(ByteSource& source, WindowCase& c) {
  enum { long_rows, long_depth, many_positions, far, one_cell, many_planes };
  const int64_t kind =
      source.pick<int64_t>({long_rows, long_depth, many_positions, many_positions, far, one_cell, many_planes});
  const auto small = [&](int64_t most) { return 1 + source.below(most); };
  Shape sides = {source.pick<int64_t>({1, 1, 2, 3, 5, 9}), small(30), std::max<int64_t>(some_size(source), 1)};
  if (kind == long_rows) sides = {small(2), 100 + source.below(1000), small(20)};
  if (kind == long_depth) sides = {6 + source.below(source.one_in(4) ? 600 : 60), small(8), small(40)};
  c.many_positions = kind == many_positions;
  if (c.many_positions) sides = sides_of_many_positions(source);
  if (kind == one_cell) {  // two of three at least
    sides[1] = 1;
    sides[source.below(2) ? 0 : 2] = 1;
  }
  if (kind == many_planes) sides = {small(2), small(6), small(8)};
  const auto axis = [&](int64_t size, std::vector<Window>& windows) {
    if (size > 400) return long_axis(source, size, windows);
    const int64_t way = source.below(kind == far ? 2 : 4);
    if (way < 2) return far_axis(source, size, windows);
    return way == 2 ? some_axis(source, size, windows) : short_axis(source, size, small(4), windows);
  };
  c.job.depth = axis(sides[0], c.depth);
  c.job.rows = axis(sides[1], c.rows);
  c.job.columns = axis(sides[2], c.columns);
}

// How far a plane's first index may be from the last one's, so that all fit.
int64_t some_index_step(ByteSource& source, const PoolJob& job, int64_t cells) {
  if (!source.below(2)) return 0;
  const int64_t most = job.indices_are_64_bits ? int64_t{1} << 40 : ((int64_t{1} << 32) - cells) / job.planes;
  return source.one_in(4) ? most : cells;
}

void draw_planes(ByteSource& source, const WindowDraw& draw, WindowCase& c) {
  const bool all = draw.reach == Reach::all;
  const int64_t cells = cells_of_plane(c.job), counts = windows_of_plane(c.job);
  const int64_t most = c.large ? 3 : all && source.one_in(3) ? 300 : 9, some = 1 + source.below(most);
  c.job.planes = c.large ? some : std::min(some, std::max<int64_t>((1 << 14) / std::max(cells, counts), 1));
  c.job.order = order_of(c.type);
  c.indexed = !draw.numbers && source.below(3) != 0;
  c.job.indices_are_64_bits = source.below(2) != 0;
  c.job.index_step = all ? some_index_step(source, c.job, cells) : source.below(2) ? cells : 0;
  c.threads = 1 + static_cast<int>(source.below(3));
  c.job.workers = c.threads;
}

struct Expected {
  std::vector<long double> values, indices;
};

Expected expected_of(const WindowCase& c) {
  const PoolJob& job = c.job;
  const int64_t cells = cells_of_plane(job);
  Expected expected;
  for (int64_t plane = 0; plane < job.planes; ++plane) {
    for (const Window& z : c.depth) {
      for (const Window& y : c.rows) {
        for (const Window& w : c.columns) {
          const int64_t cell =
              naive::winner(c.type, job.x, plane * cells, {job.depth.size, job.rows.size, job.columns.size}, {z, y, w});
          expected.values.push_back(naive::number(c.type, job.x, plane * cells + cell));
          expected.indices.push_back(static_cast<long double>(plane * job.index_step + cell));
        }
      }
    }
  }
  return expected;
}

std::string words_of(const WindowCase& c) {
  const PoolJob& job = c.job;
  return "window job: type " + std::to_string(static_cast<int>(c.type)) + ", planes " + std::to_string(job.planes) +
         " of " + text(Shape{job.depth.size, job.rows.size, job.columns.size}) + (c.indexed ? ", indexed" : "") +
         ", steps " + text(Shape{job.depth.step, job.rows.step, job.columns.step}) + ", lengths " +
         text(Shape{job.depth.length, job.rows.length, job.columns.length}) + "\n" + text_of("depth", c.depth) +
         text_of("rows", c.rows) + text_of("columns", c.columns);
}

// Whether each window of an axis is one cell: all cells in their order, or some that are as many apart.
bool has_single_cells(const std::vector<Window>& windows, const PoolAxis& axis) {
  const bool are_single =
      std::all_of(windows.begin(), windows.end(), [](const Window& w) { return w.end - w.start == 1; });
  return are_single && (!axis.even || static_cast<int64_t>(windows.size()) == axis.size);
}

// Whether outputs are cells. Nodes copy these, the sign of a zero too, and never take another plan for them: which of
// two equal zeros the others give is not asked (G4).
bool is_copied(const WindowCase& c) {
  return has_single_cells(c.depth, c.job.depth) && has_single_cells(c.rows, c.job.rows) &&
         has_single_cells(c.columns, c.job.columns);
}

void run_plans(const WindowCase& c, bool numbers, size_t offset) {
  const Expected expected = expected_of(c);
  const std::string words = words_of(c);
  const size_t size = element_size(c.type);
  const Shape y_shape = {c.job.planes, c.job.depth.count, c.job.rows.count, c.job.columns.count};
  PoolJob job = c.job;
  const bool are_same_bits = numbers && !is_copied(c);
  SameBits bits;
  for (const Kernels& kernels : kernels_here()) {
    const auto y = stand_in::tensor(c.type, y_shape, offset);
    const auto found =
        stand_in::tensor(job.indices_are_64_bits ? ElementType::uint64_ : ElementType::uint32_, y_shape, offset);
    job.y = y->block.data();
    job.indices = c.indexed ? found->block.data() : nullptr;
    const UpperHalves upper_halves(kernels);
    kernels.pool_costs(job, size);
    upper_halves.require_clear("pool_costs");
    for (const PoolPlan plan : kPoolPlans) {
      const PoolKernel* const kernel = kernels.pool(job, size, plan);
      upper_halves.require_clear("pool");
      if (!kernel) continue;
      std::fill_n(static_cast<char*>(job.y), y->block.bytes(), '\x55');
      std::fill_n(static_cast<char*>(found->block.data()), found->block.bytes(), '\x55');
      const size_t scratch_bytes = kernel->scratch_bytes(job);
      upper_halves.require_clear("a plan's scratch_bytes");
      const int64_t units = kernel->units(job);
      upper_halves.require_clear("a plan's units");
      run_units(scratch_bytes, units, c.threads, [&](int64_t unit, void* scratch) {
        kernel->run(job, unit, scratch);
        upper_halves.require_clear("a plan");
      });
      const std::string name = std::string("by ") + kPoolPlanNames[static_cast<int>(plan)] + ", " + words;
      compare(kernels.target, *y, expected.values, name);
      if (are_same_bits) bits.require_same(kernels.target, *y, name);
      if (c.indexed) compare(kernels.target, *found, expected.indices, name);
    }
  }
}

}  // namespace

void fuzz_window_kernels(ByteSource& source, const WindowDraw& draw) {
  WindowCase c;
  c.type = draw.numbers
               ? source.pick({ElementType::float_, ElementType::double_})
               : source.pick({ElementType::float_, ElementType::float16_, ElementType::int8_, ElementType::uint8_,
                              ElementType::int16_, ElementType::uint16_, ElementType::int32_, ElementType::uint32_,
                              ElementType::int64_, ElementType::uint64_, ElementType::double_, ElementType::bfloat16_});
  const bool all = draw.reach == Reach::all;
  all ? draw_far_axes(source, c) : draw_axes(source, draw.are_short, c);
  draw_planes(source, draw, c);
  const auto x = stand_in::tensor(c.type, {c.job.planes, cells_of_plane(c.job)}, static_cast<size_t>(source.below(8)));
  const auto offset = static_cast<size_t>(source.below(64));
  all ? fill_large(source, *x) : fill_cells(source, *x);
  if ((c.large && source.below(2)) || (all && source.one_in(c.many_positions ? 2 : 4))) plant_cells(source, *x);
  if (draw.numbers) plant_nan(source, *x);
  c.job.x = x->block.data();
  if (cells_in(c.depth) * cells_in(c.rows) * cells_in(c.columns) * c.job.planes > kMostWork) return;
  run_plans(c, draw.numbers, offset);
}

}  // namespace fuzz_jobs
