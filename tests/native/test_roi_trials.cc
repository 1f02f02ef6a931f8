// How a node's runs find out how to pool ROIs: which plans it tries (plans/trials.h), and which way it keeps for the
// runs that follow.
#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>
#include <vector>

#include "planned_rois.h"
#include "plans/roi_cost.h"
#include "plans/roi_plan.h"
#include "require.h"

namespace {

using namespace onnx_maxpool;

// What is the fastest of two threads' ways only in trials: one of them alone, as what the other saves may be less than
// what it takes to wake it; and ROIs of their own. How many threads there are has to be known before one is left out.
void tries_what_threads_cost() {
  RoiShape shape = {1, 512, 14, 14, 400, 1, 1, 32, 64, 16, 2, 512 * 14 * 14 * 4, 64};
  const RoiWindows windows = rois_of(shape, 5, 5);
  const auto runs_of = [&](auto is_fast) {
    TrialsByShape trials;
    int runs = 0;
    for (int run = 0; run < 100; ++run) {
      const RoiPlan plan = plan_rois(shape, windows, &trials);
      if (plan.trials) plan.trials->took(plan.turn, is_fast(plan) ? 1e3 : 1e6);
      runs += !plan.trials && is_fast(plan);
    }
    return runs;
  };
  const auto is_alone = [](const RoiPlan& plan) { return plan.threads == 1; };
  RoiShape alone = shape;
  alone.threads = 1;
  const double cycles = plan_rois(alone, windows).cycles;
  shape.worth_a_thread = cycles / 11;
  require(runs_of(is_alone) == 0, "so much work is left to one thread");
  shape.worth_a_thread = cycles / 9;
  require(runs_of(is_alone) > 20, "one thread is the fastest, and the other is woken");
  require(runs_of([](const RoiPlan& plan) { return plan.by_rois; }) > 20, "no threads have ROIs of their own");
  // Of many threads as many are planned for as are worth waking, so that one is not far behind them.
  shape.threads = 64;
  require(runs_of(is_alone) == 0, "one thread is tried for the work of 64");
  shape.worth_a_thread = cycles / 1.5;
  require(runs_of(is_alone) > 20, "one thread is the fastest, and others are woken");
  shape.may_use_one_thread = false;
  require(runs_of(is_alone) == 0, "one thread is left out");
}

// The plans with tables that a node tries in its first runs.
std::vector<RoiPlan> tried_tables(const RoiShape& shape, const RoiWindows& windows) {
  TrialsByShape trials;
  std::vector<RoiPlan> tried;
  for (int run = 0; run < 64; ++run) {
    RoiPlan plan = plan_rois(shape, windows, &trials);
    if (!plan.trials) continue;
    plan.trials->took(plan.turn, plan.time);
    if (shares(plan)) tried.push_back(std::move(plan));
  }
  return tried;
}

// The model does, and it may be found out that one block is faster.
void chooses_several_blocks() {
  const RoiShape shape = {1, 256, 24, 24, 200, 7, 7, 32, 32, 8, 1, 256 * 24 * 24 * 4, 32};
  const RoiWindows windows = rois_of(shape, 10, 10);
  require(plan_rois(shape, windows).at_once > 1, "the choice of several blocks");
  std::set<int64_t> tried;
  for (const RoiPlan& plan : tried_tables(shape, windows)) tried.insert(plan.at_once);
  require(tried.size() > 1 && *tried.begin() == 1, "several blocks and one are not both tried");
}

// Tables of the next best levels are tried, as the model errs by one or two: with a sweep and without, but for small
// runs.
void tries_other_levels() {
  const auto tried_levels = [](const RoiShape& shape, int64_t height) {
    std::set<int> levels;
    for (const RoiPlan& plan : tried_tables(shape, rois_of(shape, height, 20))) levels.insert(plan.levels);
    return levels;
  };
  require(tried_levels(vgg16(300), 28).size() == 2, "not two levels are tried");
  RoiShape swept = vgg16(300);
  swept.height = swept.width = 400;
  swept.input_bytes = 512 * 400 * 400 * 4;
  require(tried_levels(swept, 200).size() >= 2, "not two levels of a sweep are tried");
  RoiShape small = vgg16(2);
  small.channels = 16;
  small.blocks = 1;
  small.input_bytes = 16 * 38 * 50 * 4;
  require(tried_levels(small, 28).size() <= 1, "a small run tries other levels");
}

// The best way of blocks is tried with its last block, of few channels, and with that left to others.
void tries_what_a_block_leaves() {
  RoiShape shape = vgg16(60);
  shape.channels = 34;
  shape.blocks = 3;
  shape.line_bytes = 64;
  shape.input_bytes = 34 * 38 * 50 * 4;
  const RoiWindows windows = rois_of(shape, 12, 9);
  const auto mode = plan_rois(shape, windows).mode;
  TrialsByShape trials;
  std::set<int64_t> left;
  for (int run = 0; run < 64; ++run) {
    const RoiPlan plan = plan_rois(shape, windows, &trials);
    if (!plan.trials) continue;
    plan.trials->took(plan.turn, plan.time);
    if (plan.mode == mode) left.insert(plan.left);
  }
  require(left == std::set<int64_t>{0, 2}, "a last block is not both pooled and left");
}

// Whether a run of a node goes as the one before it, without a choice. Each way takes as long as it should, so that the
// likeliest is the fastest, which is the one to keep.
bool keeps_its_way(const RoiShape& shape, const RoiWindows& windows, TrialsByShape& trials) {
  const RoiPlan plan = plan_rois(shape, windows, &trials), chosen = plan_rois(shape, windows);
  if (plan.trials) {
    plan.trials->took(plan.turn, plan.turn.cost);
    return false;
  }
  require(plan.mode == chosen.mode && plan.levels == chosen.levels && plan.at_once == chosen.at_once &&
              plan.left == chosen.left && plan.left_begin == chosen.left_begin && plan.threads == chosen.threads &&
              plan.by_rois == chosen.by_rois,
          "another way");
  require(plan.sweep == chosen.sweep && plan.slots == chosen.slots && (!plan.sweep || plan.tallest == chosen.tallest),
          "another sweep");
  require(std::equal(plan.rois_by_image.begin(), plan.rois_by_image.end(), chosen.rois_by_image.begin()) &&
              std::equal(plan.units.begin(), plan.units.end(), chosen.units.begin(), chosen.units.end(),
                         [](const RoiUnit& a, const RoiUnit& b) {
                           return a.image == b.image && a.block == b.block && a.begin == b.begin && a.end == b.end;
                         }),
          "other units");
  require(std::equal(plan.tasks.begin(), plan.tasks.end(), chosen.tasks.begin(), chosen.tasks.end(),
                     [](const RoiTask& a, const RoiTask& b) { return a.slot == b.slot && a.row == b.row; }),
          "other tasks");
  return plan.cycles == 0;
}

void require_that_most_keep_their_way(const RoiShape& shape, const RoiWindows& windows, TrialsByShape& trials) {
  int count = 0;
  for (int run = 0; run < 1000; ++run) count += keeps_its_way(shape, windows, trials);
  require(count > 800 && count < 1000 * 63 / 64, "how many runs keep a way");
}

// The plan of a brief run is that of the next ones, as long as they are alike, but for one in sixty-four: on one
// thread, on one of two as the other is not worth waking, and on several, which have units of their own.
void keeps_the_way_of_brief_runs() {
  constexpr double kLittle = 500, kMuch = 30'000;
  for (const auto& [threads, worth_a_thread] :
       {std::pair<int64_t, double>{1, kLittle}, {2, kMuch}, {2, kLittle}, {5, kLittle}}) {
    RoiShape shape = {2, 20, 12, 12, 40, 2, 2, 3, 32, 8, threads, 2 * 20 * 12 * 12 * 4, 32};
    shape.worth_a_thread = worth_a_thread;
    RoiWindows small = rois_of(shape, 2, 3), large = rois_of(shape, 10, 9);
    for (RoiWindows* windows : {&small, &large}) {
      for (size_t i = 0; i < windows->image.size(); ++i) windows->image[i] = static_cast<int64_t>(i % 2);
    }
    TrialsByShape trials;
    require_that_most_keep_their_way(shape, small, trials);
    require(!keeps_its_way(shape, large, trials), "a way of other windows");
    if (plan_rois(shape, small).threads == 1) continue;
    shape.threads += 1;
    require(!keeps_its_way(shape, small, trials), "a way of fewer threads than there are");
  }
}

// A sweep's way, too, with its tasks. Its ring buffers have room for the windows of each run.
void keeps_the_way_of_sweeps() {
  for (int64_t threads : {1, 3}) {
    RoiShape shape = {1, 24, 130, 130, 90, 3, 3, 3, 32, 8, threads, 24 * 130 * 130 * 4, 32};
    shape.worth_a_thread = 500;
    const RoiWindows windows = rois_of(shape, 60, 50), taller = rois_of(shape, 80, 50);
    require(plan_rois(shape, windows).sweep, "a run has no sweep");
    TrialsByShape trials;
    require_that_most_keep_their_way(shape, windows, trials);
    const RoiPlan kept = plan_rois(shape, taller, &trials);
    require(kept.sweep && kept.cycles == 0, "a sweep of taller windows is not kept");
    require(kept.tallest == plan_rois(shape, taller).tallest, "a sweep has no room for taller windows");
  }
}

// A small run goes as the fastest of those like it went, and by a rule where there are none.
void keeps_the_way_of_small_runs() {
  for (int64_t images : {1, 3}) {
    const RoiShape shape = {images, 8, 30, 30, 12, 4, 4, 1, 64, 16, 1, images * 8 * 30 * 30 * 4, 64};
    RoiWindows windows = rois_of(shape, 3, 2), large = rois_of(shape, 9, 8);
    for (RoiWindows* each : {&windows, &large}) std::sort(each->image.begin(), each->image.end());
    const auto rule = plan_rois(shape, windows).mode;
    require(plan_rois(shape, windows).cycles == roi_costs::kUnit, "a run is not small");
    TrialsByShape trials;
    std::set<bool> by_rule;
    for (int run = 0; run < 60; ++run) {
      const RoiPlan plan = plan_rois(shape, windows, &trials);
      if (plan.trials) plan.trials->took(plan.turn, plan.mode == rule ? 1e6 : plan.turn.cost);
      if (plan.trials) by_rule.insert(plan.mode == rule);
    }
    require(by_rule.size() == 2, "a small run's ways are not tried");
    const RoiPlan kept = plan_rois(shape, windows, &trials), other = plan_rois(shape, large, &trials);
    require(kept.mode != rule && kept.cycles == 0, "a small run goes by a rule that is slower");
    require(other.mode == rule && other.cycles == roi_costs::kUnit, "a small run goes as others that are not like it");
    require(static_cast<int64_t>(kept.units.size()) == images, "each image has a unit");
    int by_the_rule = 1;
    while (plan_rois(shape, large, &trials).cycles == roi_costs::kUnit) ++by_the_rule;
    require(by_the_rule > 1 && by_the_rule < 64, "runs that are not like it do not use up a way");
    require_each_roi_once(kept, windows, kept.left_begin, 1);
  }
  RoiShape fewest = {1, 4, 30, 30, 4, 2, 2, 1, 64, 16, 1, 4 * 30 * 30 * 4, 64};
  TrialsByShape trials;
  require(!plan_rois(fewest, rois_of(fewest, 3, 3), &trials).trials, "the fewest outputs are tried");
  ++fewest.rois;
  require(plan_rois(fewest, rois_of(fewest, 3, 3), &trials).trials, "some more outputs are not tried");
}

}  // namespace

int main() {
  tries_what_threads_cost();
  chooses_several_blocks();
  tries_other_levels();
  tries_what_a_block_leaves();
  keeps_the_way_of_brief_runs();
  keeps_the_way_of_sweeps();
  keeps_the_way_of_small_runs();
  std::puts("all is well");
  return 0;
}
