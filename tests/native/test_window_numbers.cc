// Float and double are pooled as numbers (kernels/numbers.h): a NaN at any single place is found by every plan of the
// target that ONNX_MAXPOOL_TARGET names, in each window that holds it, and no other output changes by a bit.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/element_type.h"
#include "kernels/targets.h"
#include "kernels/window.h"
#include "operator_case.h"
#include "planted_nan.h"
#include "require.h"
#include "stand_in_runtime.h"
#include "window_cases.h"

namespace {

using namespace onnx_maxpool;

template <class Number>
class Pooled {
 public:
  explicit Pooled(const WindowCase& of)
      : of_(of),
        planted_(of.planes * of.depth.axis.size * of.rows.axis.size * of.columns.axis.size, cells_of_outputs(of)),
        job_(of.job()),
        indices_(stand_in::tensor(ElementType::uint64_,
                                  {of.planes, job_.depth.count, job_.rows.count, job_.columns.count}, 0)) {
    job_.indices_are_64_bits = true;
    job_.x = planted_.x();
    job_.y = planted_.y();
    job_.order = order_of(sizeof(Number) == 8 ? ElementType::double_ : ElementType::float_);
  }

  // Returns by how many plans a target can pool it.
  int check(const Kernels& kernels) {
    int plans = 0;
    for (void* const indices : {static_cast<void*>(nullptr), static_cast<void*>(indices_->block.data())}) {
      job_.indices = indices;
      for (const PoolPlan plan : kPoolPlans) plans += check_plan(kernels, plan);
    }
    return plans;
  }

 private:
  bool check_plan(const Kernels& kernels, PoolPlan plan) {
    const PoolKernel* const kernel = kernels.pool(job_, sizeof(Number), plan);
    if (!kernel) return false;
    const std::string name = std::string(kernels.target) + ", " + of_.name + ", by " +
                             kPoolPlanNames[static_cast<int>(plan)] + (sizeof(Number) == 8 ? ", double" : ", float") +
                             (job_.indices ? " with indices" : "");
    const stand_in::Block scratch(kernel->scratch_bytes(job_));
    planted_.check(
        [&] {
          for (int64_t unit = 0; unit < kernel->units(job_); ++unit) kernel->run(job_, unit, scratch.data());
        },
        name);
    return true;
  }

  // Of each output, its window's cells.
  static std::vector<std::vector<int64_t>> cells_of_outputs(const WindowCase& of) {
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

  const WindowCase& of_;
  PlantedNan<Number> planted_;
  PoolJob job_;
  const std::unique_ptr<OrtValue> indices_;
};

}  // namespace

int main() {
  require_target();
  int plans = 0;
  for (const WindowCase& each : window_cases()) {
    plans += Pooled<float>(each).check(kernels());
    plans += Pooled<double>(each).check(kernels());
  }
  std::printf("%s: %d plans\n", kernels().target, plans);
  require(plans >= 5 * static_cast<int>(window_cases().size()), "few plans were asked");
  std::puts("all is well");
  return 0;
}
