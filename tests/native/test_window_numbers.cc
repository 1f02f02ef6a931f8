// Float and double without indices are pooled as numbers (kernels/numbers.h): a NaN at any single place is found by
// every plan on every target, in each window that holds it, and no other output changes by a bit.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/element_type.h"
#include "kernels/targets.h"
#include "kernels/window.h"
#include "oracle.h"
#include "planted_nan.h"
#include "require.h"
#include "stand_in_runtime.h"

namespace {

using namespace onnx_maxpool;

struct Axis {
  PoolAxis axis;
  std::vector<Window> windows;
};

Axis sliding(int64_t size, int64_t length = 1, int64_t step = 1, int64_t padding = 0) {
  Axis out = {{size, (size + 2 * padding - length) / step + 1, false, -padding, step, length}, {}};
  for (int64_t i = 0; i < out.axis.count; ++i) {
    out.windows.push_back(naive::sliding_window(i, step, padding, length, size));
  }
  return out;
}

Axis even(int64_t size, int64_t count) {
  Axis out = {{size, count, true, 0, 0, 0}, {}};
  for (int64_t i = 0; i < count; ++i) out.windows.push_back(naive::even_window(i, count, size));
  return out;
}

struct Case {
  const char* name;
  int64_t planes;
  Axis depth, rows, columns;
};

// Each way to read cells, by vectors of 2 to 16 lanes: whole ones, and what is left of a row, a map or the tensor.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"a line that slides by one", 1, sliding(1), sliding(6, 2), sliding(40, 4, 1, 1)},
      {"by two", 2, sliding(1), sliding(7, 3, 2, 1), sliding(37, 2, 2)},
      {"by three", 1, sliding(1), sliding(9, 4, 3), sliding(53, 3, 3)},
      {"short windows", 2, sliding(1), sliding(8, 3, 1, 1), sliding(21, 3, 1, 1)},
      {"short windows of long lines", 1, sliding(1), sliding(11, 2), sliding(50, 2, 1, 1)},
      {"short windows of volumes", 1, sliding(4, 3, 1, 1), sliding(9, 2), sliding(18, 3, 1, 1)},
      {"larger windows", 3, sliding(1), sliding(12, 5, 1, 2), sliding(14, 5, 1, 2)},
      {"windows of six cells", 1, sliding(1), sliding(9, 6, 1, 3), sliding(33, 6, 1, 3)},
      {"windows of seven cells", 2, sliding(1), sliding(8, 7, 1, 3), sliding(19, 7, 1, 3)},
      {"higher ones than they are wide", 1, sliding(1), sliding(8, 5, 1, 2), sliding(35, 2, 1, 1)},
      {"more lines than are walked at once", 1, sliding(1), sliding(140, 3, 1, 1), sliding(5, 3, 1, 1)},
      {"the same by two", 1, sliding(1), sliding(135, 3, 2, 1), sliding(6, 3, 2, 1)},
      {"lines of several walks", 1, sliding(1), sliding(5, 3, 1, 1), sliding(130, 3, 1, 1)},
      {"squares by two", 2, sliding(1), sliding(9, 3, 2, 1), sliding(75, 3, 2, 1)},
      {"squares by two that reach another vector", 1, sliding(1), sliding(6, 3, 2), sliding(65, 3, 2)},
      {"squares by one row and two columns", 2, sliding(1), sliding(6, 3, 1, 1), sliding(20, 3, 2, 1)},
      {"pairs by one row and two columns", 1, sliding(1), sliding(5, 2), sliding(64, 2, 2)},
      {"windows of eight cells", 2, sliding(1), sliding(11, 8, 1, 4), sliding(37, 8, 1, 4)},
      {"windows of up to 16 groups", 1, sliding(1), sliding(39, 33, 2, 16), sliding(70, 16, 2, 8)},
      {"four columns, two apart", 1, sliding(1), sliding(7, 4, 2, 1), sliding(73, 4, 2, 1)},
      {"five columns, two apart", 1, sliding(1), sliding(9, 5, 2, 2), sliding(50, 5, 2, 2)},
      {"wide windows, two apart, and all rows", 1, sliding(1), sliding(5, 3, 1, 1), sliding(66, 7, 2, 3)},
      {"columns three apart", 1, sliding(1), sliding(10, 4, 3, 1), sliding(101, 5, 3, 2)},
      {"columns three apart that are windows", 2, sliding(1), sliding(8, 2, 3), sliding(55, 1, 3)},
      {"seven columns, three apart", 1, sliding(3, 2, 1), sliding(8, 7, 4, 3), sliding(53, 7, 3, 3)},
      {"ten columns, of which the last vector would be padding", 1, sliding(1), sliding(9, 10, 1, 5),
       sliding(27, 10, 1, 5)},
      {"the same two apart", 1, sliding(1), sliding(11, 10, 2, 5), sliding(56, 10, 2, 5)},
      {"five columns, of which the last vector has one cell", 1, sliding(1), sliding(7, 5, 1, 2), sliding(31, 5, 1, 2)},
      {"three apart, of which the last vector would be padding", 1, sliding(1), sliding(7, 4, 3, 1),
       sliding(46, 6, 3, 3)},
      {"one vector, of which both ends are padding", 1, sliding(1), sliding(11, 10, 1, 5), sliding(11, 10, 1, 5)},
      {"a square whose last vector would be padding", 1, sliding(1), sliding(5, 3, 1, 1), sliding(127, 3, 1, 1)},
      {"a tensor of few cells", 1, sliding(1), sliding(3, 3, 1, 1), sliding(5, 3, 1, 1)},
      {"a gathered line", 2, sliding(1), sliding(7, 3, 2), sliding(60, 12, 9)},
      {"one to four vectors of tall windows", 1, sliding(1), sliding(20, 9, 9), sliding(60, 20, 20)},
      {"the same of one vector", 2, sliding(1), sliding(15, 6, 6), sliding(4, 4, 4)},
      {"the same of two slices", 2, sliding(2, 2), sliding(8, 4, 4), sliding(19, 19, 19)},
      {"windows of one row", 3, sliding(1), sliding(2), sliding(150, 40, 13)},
      {"long windows of one row", 1, sliding(1), sliding(1), sliding(500, 200, 100)},
      {"picked columns", 3, sliding(1), sliding(9, 3, 1, 1), sliding(31, 7, 6)},
      {"small maps", 19, sliding(1), sliding(5, 3, 2, 1), sliding(5, 3, 2, 1)},
      {"maps of three cells", 18, sliding(1), sliding(1), sliding(3, 2)},
      {"small volumes", 17, sliding(3, 2), sliding(4, 2, 2), sliding(3, 2)},
      {"even windows", 2, sliding(1), even(9, 4), even(31, 7)},
      {"even windows of volumes", 2, even(5, 3), even(6, 4), even(17, 5)},
  };
  return all;
}

template <class Number>
class Pooled {
 public:
  explicit Pooled(const Case& of)
      : of_(of),
        planted_(of.planes * of.depth.axis.size * of.rows.axis.size * of.columns.axis.size, cells_of_outputs(of)) {
    job_.x = planted_.x();
    job_.y = planted_.y();
    job_.planes = of.planes;
    job_.depth = listed(of.depth);
    job_.rows = listed(of.rows);
    job_.columns = listed(of.columns);
    job_.order = order_of(sizeof(Number) == 8 ? ElementType::double_ : ElementType::float_);
  }

  // Returns by how many plans a target can pool it.
  int check(const Kernels& kernels) {
    int plans = 0;
    for (const PoolPlan plan : kPoolPlans) {
      const PoolKernel* const kernel = kernels.pool(job_, sizeof(Number), plan);
      if (!kernel) continue;
      ++plans;
      const std::string name = std::string(kernels.target) + ", " + of_.name + ", by " +
                               kPoolPlanNames[static_cast<int>(plan)] + (sizeof(Number) == 8 ? ", double" : ", float");
      const stand_in::Block scratch(kernel->scratch_bytes(job_));
      planted_.check(
          [&] {
            for (int64_t unit = 0; unit < kernel->units(job_); ++unit) kernel->run(job_, unit, scratch.data());
          },
          name);
    }
    return plans;
  }

 private:
  static PoolAxis listed(const Axis& of) {
    PoolAxis axis = of.axis;
    axis.windows = of.windows.data();
    return axis;
  }

  // Of each output, its window's cells.
  static std::vector<std::vector<int64_t>> cells_of_outputs(const Case& of) {
    const int64_t height = of.rows.axis.size, width = of.columns.axis.size;
    std::vector<std::vector<int64_t>> all;
    for (int64_t plane = 0; plane < of.planes; ++plane) {
      for (const Window& z : of.depth.windows) {
        for (const Window& y : of.rows.windows) {
          for (const Window& x : of.columns.windows)
            all.push_back(cells_in(plane * of.depth.axis.size, height, width, z, y, x));
        }
      }
    }
    return all;
  }
  // Those in a product of windows, of slices from `first` on.
  static std::vector<int64_t> cells_in(int64_t first, int64_t height, int64_t width, Window z, Window y, Window x) {
    std::vector<int64_t> cells;
    for (int64_t i = z.start; i < z.end; ++i) {
      for (int64_t j = y.start; j < y.end; ++j) {
        for (int64_t k = x.start; k < x.end; ++k) cells.push_back(((first + i) * height + j) * width + k);
      }
    }
    return cells;
  }

  const Case& of_;
  PlantedNan<Number> planted_;
  PoolJob job_{};
};

}  // namespace

int main() {
  for (const Target& target : targets()) {
    if (!target.runs_here) continue;
    int plans = 0;
    for (const Case& each : cases()) {
      plans += Pooled<float>(each).check(target.kernels);
      plans += Pooled<double>(each).check(target.kernels);
    }
    std::printf("%s: %d plans\n", target.kernels.target, plans);
    require(plans >= 5 * static_cast<int>(cases().size()), "few plans were asked");
  }
  std::puts("all is well");
  return 0;
}
