// Runs random jobs of windows by every plan, and tells how often the one that the cost model chooses
// (kernels/window_cost.h) is the fastest, and how far off it is otherwise; and the same of the one that a node takes
// after its trials (plans/trials.h):
//
//   cmake -S . -B build/costs -G Ninja -DONNX_MAXPOOL_TESTS=ON
//   cmake --build build/costs --target compare_window_plans && build/costs/tests/native/compare_window_plans SEED ROWS
//
// For each target that this processor runs, or for the one that ONNX_MAXPOOL_TARGET names, on one thread, with indices
// and without. With a third argument it prints each job and all times.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernels/targets.h"
#include "window_jobs.h"

namespace {

using namespace onnx_maxpool;

// Jobs with indices, or jobs without.
void compare(const Kernels& kernels, unsigned seed, int64_t count, bool indexed, bool print) {
  WindowJobs jobs(seed);
  Choices choices, tried;
  int64_t chosen_plans[kPlans] = {};
  while (choices.count() < count) {
    jobs.draw(indexed);
    const PlanKernels plans = plan_kernels(kernels, jobs.job(), jobs.element_size());
    double best[kPlans];
    const int after_trials = tried_plan(jobs.job(), plans);
    time_plans(jobs.job(), plans, best);
    const double least = *std::min_element(best, best + kPlans), off = best[plans.chosen] / least;
    choices.add(off, jobs.text());
    tried.add(best[after_trials] / least, jobs.text());
    ++chosen_plans[plans.chosen];
    if (print) {
      std::printf("%s off %.2f", kernels.target, off);
      for (int i = 0; i < kPlans; ++i) std::printf(" %s %.2f", kPoolPlanNames[i], 1e6 * best[i]);
      std::printf(" us: %s\n", jobs.text().c_str());
    }
  }
  std::printf("%-9s %d jobs %s indices", kernels.target, static_cast<int>(count), indexed ? "with" : "without");
  for (int i = 0; i < kPlans; ++i) {
    std::printf(", %.0f %% by %s", 100 * static_cast<double>(chosen_plans[i]) / static_cast<double>(count),
                kPoolPlanNames[i]);
  }
  std::printf(
      ": the plan is the fastest in %.1f %%, within 10 %% in %.1f %%, %.1f %% off on average, at worst %.2f times "
      "(%s)\n",
      choices.fastest(), choices.close(), choices.mean_off(), choices.worst(), choices.worst_job().c_str());
  std::printf(
      "%-9s after trials: the fastest in %.1f %%, within 10 %% in %.1f %%, %.1f %% off on average, at worst %.2f times "
      "(%s)\n",
      kernels.target, tried.fastest(), tried.close(), tried.mean_off(), tried.worst(), tried.worst_job().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned seed = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 0;
  const int64_t count = argc > 2 ? std::max(1, std::atoi(argv[2])) : 200;
  const char* wanted = std::getenv("ONNX_MAXPOOL_TARGET");
  for (const Target& target : targets()) {
    if (!target.runs_here || (wanted && std::strcmp(wanted, target.kernels.target) != 0)) continue;
    for (const bool indexed : {false, true}) compare(target.kernels, seed, count, indexed, argc > 3);
  }
}
