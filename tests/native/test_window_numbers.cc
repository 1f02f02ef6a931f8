// Float and double without indices are pooled as numbers (kernels/numbers.h): a NaN at any single place is found by
// every plan on every target, in each window that holds it, and no other output changes by a bit.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/element_type.h"
#include "kernels/targets.h"
#include "kernels/window.h"
#include "oracle.h"
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
        cells_(of.planes * of.depth.axis.size * of.rows.axis.size * of.columns.axis.size),
        outputs_(of.planes * of.depth.axis.count * of.rows.axis.count * of.columns.axis.count),
        x_(static_cast<size_t>(cells_) * sizeof(Number)),
        y_(static_cast<size_t>(outputs_) * sizeof(Number)) {
    job_.x = x_.data();
    job_.y = y_.data();
    job_.planes = of.planes;
    job_.depth = listed(of.depth);
    job_.rows = listed(of.rows);
    job_.columns = listed(of.columns);
    job_.order = order_of(sizeof(Number) == 8 ? ElementType::double_ : ElementType::float_);
    uint64_t random = 88172645463325252u;
    for (int64_t i = 0; i < cells_; ++i) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      // Few numbers, so that a zero of either sign wins in many windows.
      const auto few = static_cast<Number>(static_cast<int64_t>(random % 5) - 4);
      x()[i] = few == 0 && random % 2 ? -few : few;
    }
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
      const auto pool = [&] { return run(*kernel, scratch.data()); };
      const std::vector<Number> numbers = pool();
      if (bits_.empty()) {
        require(numbers == expected(), name + ": the maxima are wrong");  // whichever zero is the maximum
        bits_ = numbers;
      }
      require(std::memcmp(numbers.data(), bits_.data(), y_.bytes()) == 0, name + ": other bits than by another plan");
      for (int64_t at = 0; at < cells_; ++at) check_nan(pool, at, numbers, name);
    }
    return plans;
  }

 private:
  static PoolAxis listed(const Axis& of) {
    PoolAxis axis = of.axis;
    axis.windows = of.windows.data();
    return axis;
  }
  Number* x() { return static_cast<Number*>(x_.data()); }

  std::vector<Number> run(const PoolKernel& kernel, void* scratch) {
    std::memset(job_.y, 0x55, y_.bytes());
    for (int64_t unit = 0; unit < kernel.units(job_); ++unit) kernel.run(job_, unit, scratch);
    const auto* const y = static_cast<const Number*>(job_.y);
    return {y, y + outputs_};
  }

  // Calls use(output, its plane's first cell, its windows) for each output.
  template <class Use>
  void each_output(const Use& use) const {
    const int64_t height = of_.rows.axis.size, width = of_.columns.axis.size, area = height * width;
    int64_t output = 0;
    for (int64_t plane = 0; plane < of_.planes; ++plane) {
      for (const Window& z : of_.depth.windows) {
        for (const Window& y : of_.rows.windows) {
          for (const Window& w : of_.columns.windows) use(output++, plane * of_.depth.axis.size * area, z, y, w);
        }
      }
    }
  }

  std::vector<Number> expected() {
    std::vector<Number> all;
    const int64_t height = of_.rows.axis.size, width = of_.columns.axis.size;
    each_output([&](int64_t, int64_t first, Window z, Window y, Window w) {
      Number best = -std::numeric_limits<Number>::infinity();
      for (int64_t i = z.start; i < z.end; ++i) {
        for (int64_t j = y.start; j < y.end; ++j) {
          for (int64_t k = w.start; k < w.end; ++k) {
            best = std::max(best, x()[first + (i * height + j) * width + k]);
          }
        }
      }
      all.push_back(best);
    });
    return all;
  }

  template <class Pool>
  void check_nan(const Pool& pool, int64_t at, const std::vector<Number>& numbers, const std::string& name) {
    const Number before = x()[at];
    x()[at] = at % 2 ? std::numeric_limits<Number>::quiet_NaN() : -std::numeric_limits<Number>::quiet_NaN();
    const std::vector<Number> found = pool();
    x()[at] = before;
    const int64_t height = of_.rows.axis.size, width = of_.columns.axis.size;
    const int64_t of_plane = of_.depth.axis.size * height * width, cell = at % of_plane;
    const auto holds = [](Window window, int64_t i) { return window.start <= i && i < window.end; };
    each_output([&](int64_t output, int64_t first, Window z, Window y, Window w) {
      const bool has_nan = first == at - cell && holds(z, cell / (height * width)) && holds(y, cell / width % height) &&
                           holds(w, cell % width);
      const auto i = static_cast<size_t>(output);
      const bool same = std::memcmp(&found[i], &numbers[i], sizeof(Number)) == 0;
      if (has_nan ? std::isnan(found[i]) : same) return;
      require(false, name + ": with a NaN in cell " + std::to_string(at) + ", output " + std::to_string(output) +
                         " is " + std::to_string(found[i]));
    });
  }

  const Case& of_;
  const int64_t cells_, outputs_;
  stand_in::Block x_, y_;
  PoolJob job_{};
  std::vector<Number> bits_;  // of what the first plan found
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
