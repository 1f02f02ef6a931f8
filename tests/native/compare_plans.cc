// Runs every plan that there is for random ROIs, and tells how often the one that the cost model chooses
// (plans/roi_cost.h) is the fastest, and how far off it is otherwise; and the same of the one that a node takes after
// its trials (plans/trials.h):
//
//   cmake -S . -B build/costs -G Ninja -DONNX_MAXPOOL_TESTS=ON
//   cmake --build build/costs --target compare_plans && build/costs/tests/native/compare_plans SEED ROWS THREADS
//
// For each target that this processor runs, or for the one that ONNX_MAXPOOL_TARGET names. With a fourth argument it
// prints each row and each plan's time.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "require.h"
#include "roi_jobs.h"

namespace {

using namespace onnx_maxpool;

constexpr size_t kElement = sizeof(float);

std::string name_of(const RoiPlan& plan) {
  const std::string rest = std::string(plan.left > 0 ? ", but for channels that are left" : "") +
                           (plan.by_rois ? ", threads with ROIs of their own" : "") +
                           (plan.threads == 1 ? ", one thread" : "");
  if (plan.mode == &RoiKernel::separate) return "separate" + rest;
  if (plan.mode == &RoiKernel::narrow_map) return "narrow map" + rest;
  if (plan.mode == &RoiKernel::few_channels) return "few channels" + rest;
  if (plan.mode == &RoiKernel::cells) return "cells" + rest;
  const std::string blocks = plan.at_once > 1 ? ", " + std::to_string(plan.at_once) + " blocks" : "";
  return "shared, " + std::to_string(plan.levels) + " levels" + (plan.sweep ? ", sweep" : "") + blocks + rest;
}

// The plan of a node after so many runs, with its trials and those that follow after 32 and 64, or after the first
// trials, where runs are long.
RoiPlan tried_plan(const RoiShape& shape, const RoiWindows& windows, const RoiKernel& kernel, const RoiTensors& tensors,
                   Helper* helper) {
  constexpr int kRuns = 96;
  constexpr double kSeconds = 0.3;
  TrialsByShape trials;
  double seconds = 0;
  for (int run = 0;; ++run) {
    RoiPlan plan = plan_rois(shape, windows, &trials);
    if (plan.trials) {
      const double found = tensors.seconds(kernel, plan, helper);
      plan.trials->took(plan.turn, 1e9 * found);
      seconds += found;
    } else if (run >= kRuns || seconds > kSeconds) {
      return plan;
    }
  }
}

// How far plans are from the fastest one: their time over its.
class Off {
 public:
  void add(double off) { off_.push_back(off); }
  void print(const char* target, int threads, const char* which) {
    std::sort(off_.begin(), off_.end());
    const auto rows = static_cast<double>(off_.size());
    const auto share = [&](double most) {
      return 100.0 * static_cast<double>(std::upper_bound(off_.begin(), off_.end(), most) - off_.begin()) / rows;
    };
    std::printf(
        "%-9s %d threads, %s: fastest on %.0f %%, within 10 %% on %.0f %%, within 30 %% on %.0f %% of %zu rows; off by "
        "%.1f %% on average, 95th percentile %.2f, worst %.2f\n",
        target, threads, which, share(1), share(1.1), share(1.3), off_.size(),
        100 * (std::accumulate(off_.begin(), off_.end(), 0.0) / rows - 1), off_[off_.size() * 95 / 100], off_.back());
    std::fflush(stdout);
  }

 private:
  std::vector<double> off_;
};

void compare(const Kernels& kernels, uint64_t seed, int rows, int threads, bool prints) {
  std::mt19937_64 random(seed);
  std::optional<Helper> helper_thread;
  if (threads > 1) helper_thread.emplace();
  Helper* const helper = threads > 1 ? &*helper_thread : nullptr;
  Off of_model, of_trials;
  for (int row = 0; row < rows; ++row) {
    const DrawnRois drawn = draw_rois(random, kElement);
    const RoiKernel& kernel = kernels.roi(kElement, drawn.dims.channels);
    const RoiTensors tensors(drawn);
    const RoiShape shape = drawn.shape(kernel, threads);
    std::vector<RoiPlan> plans = possible_plans(shape, drawn.windows);
    const RoiPlan chosen = plan_rois(shape, drawn.windows);
    const RoiPlan tried = tried_plan(shape, drawn.windows, kernel, tensors, helper);
    if (threads > 1) {
      RoiShape alone = shape;
      alone.threads = 1;
      for (RoiPlan& plan : possible_plans(alone, drawn.windows)) plans.push_back(std::move(plan));
    }
    const std::vector<double> seconds = tensors.time_plans(kernel, plans, helper);
    const double best = *std::min_element(seconds.begin(), seconds.end());
    const auto time_of = [&](const RoiPlan& plan) {
      const auto same = [&](const RoiPlan& other) { return name_of(other) == name_of(plan); };
      const auto found = std::find_if(plans.begin(), plans.end(), same);
      require(found != plans.end(), name_of(plan) + " is not among all plans");
      return seconds[static_cast<size_t>(found - plans.begin())];
    };
    const double ours = time_of(chosen);
    of_model.add(ours / best);
    of_trials.add(time_of(tried) / best);
    if (!prints) continue;
    std::printf("%3d %s\n", row, drawn.text.c_str());
    for (size_t i = 0; i < plans.size(); ++i) {
      const std::string name = name_of(plans[i]);
      std::printf("      %-54s %10.2f us, estimated %10.4f Mcycles %s%s%s\n", name.c_str(), seconds[i] * 1e6,
                  plans[i].time / 1e6, seconds[i] <= best ? " fastest" : "", name == name_of(chosen) ? " chosen" : "",
                  name == name_of(tried) ? " tried" : "");
    }
    std::fflush(stdout);
  }
  of_model.print(kernels.target, threads, "the model's choice");
  of_trials.print(kernels.target, threads, "after trials");
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
  const char* wanted = std::getenv("ONNX_MAXPOOL_TARGET");
  for (const Target& target : targets()) {
    if (!target.runs_here || (wanted && std::string(wanted) != target.kernels.target)) continue;
    compare(target.kernels, static_cast<uint64_t>(argument(1, 1)), std::max(argument(2, 100), 1), argument(3, 1),
            argc > 4);
  }
  return 0;
}
