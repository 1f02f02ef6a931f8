#include "plans/roi_plan.h"

#include <algorithm>

#include "base/machine.h"
#include "plans/roi_kept_way.h"
#include "plans/roi_schedule.h"
#include "plans/roi_small_plan.h"
#include "plans/roi_ways.h"

namespace onnx_maxpool {
namespace {

// Of so few outputs, a small run would notice a look at what is known of its shape.
constexpr int64_t kFewestOutputs = 64;
// Shapes with so few leave half of the trials to others, as runs that differ from one to the next are mostly small.
constexpr int64_t kFewOutputs = 4096;

Trials::Costs times(const Ways& ways) {
  Trials::Costs costs;
  for (size_t i = 0; i < costs.size(); ++i) costs[i] = ways[i].mode ? ways[i].time() : Trials::kNever;
  return costs;
}

// By the rule for small runs, if this is one.
bool set_if_small(const RoiShape& shape, const RoiWindows& windows, RoiPlan& plan) {
  const auto mode = small_mode(shape, windows);
  if (mode) set_small_plan(shape, windows, mode, plan);
  return mode != nullptr;
}

// By the cost model, or by what is known of such runs.
void choose_plan(const RoiShape& shape, const RoiWindows& windows, Trials* known, RoiPlan& plan) {
  const Planner planner(shape, windows, plan.rois_by_image);
  Ways ways;
  planner.find_ways(1, ways);
  Trials::Costs costs = times(ways);
  const size_t likeliest = Trials::likeliest_of(costs);
  const double alone = ways[likeliest].cycles();
  const int64_t threads = threads_worth_waking(alone, shape.worth_a_thread, shape.threads);
  plan.is_brief = is_brief(alone, shape.worth_a_thread);
  if (threads > 1) {
    const Way of_one = ways[likeliest];
    planner.find_ways(threads, ways);
    if (shape.may_use_one_thread && plan.is_brief) ways[kOneThread] = of_one;
    costs = times(ways);
  }
  const Trials::Handicap handicap = {kOneThread, Trials::kOneThreadHandicap};
  const Trials::Turn turn = known ? known->next(costs, handicap)
                                  : Trials::Turn{Trials::likeliest_of(costs, handicap), 0, false, false, false};
  const Way& way = ways[turn.way];
  if (turn.is_last && way.cycles() < kBriefRun) {
    keep_way(way, threads, plan.is_brief, shape, windows, *known);
  }
  try {
    planner.plan(way, plan);
  } catch (...) {
    if (turn.is_trial) known->give_up();
    throw;
  }
  plan.trials = turn.is_trial ? known : nullptr;
  plan.turn = turn;
  plan.known = known;
  plan.way = turn.way;
}

}  // namespace

uint64_t number_of(const RoiShape& shape) {
  uint64_t number = 0;
  for (int64_t size : {shape.images, shape.channels, shape.height, shape.width,
                       int64_t{63 - __builtin_clzll(static_cast<uint64_t>(shape.rois))}, int64_t{shape.threads > 1}}) {
    constexpr uint64_t kPrime = 0x100000001b3;  // FNV's
    number = (number + static_cast<uint64_t>(size)) * kPrime;
  }
  return number;
}

bool streams(const RoiDims& dims, size_t element_size, size_t threshold) {
  constexpr int64_t kBlockBytes = 16;
  const int64_t of_channel = dims.bins_y * dims.bins_x * static_cast<int64_t>(element_size);
  return of_channel > kBlockBytes && static_cast<size_t>(dims.rois * dims.channels * of_channel) > threshold;
}

RoiPlan plan_rois(const RoiShape& shape, const RoiWindows& windows, TrialsByShape* trials) {
  RoiPlan plan{};
  const int64_t outputs = shape.rois * shape.channels * shape.bins_y * shape.bins_x;
  if (outputs <= kFewestOutputs && set_if_small(shape, windows, plan)) return plan;
  constexpr size_t kHalf = TrialsByShape::kShapes / 2;
  const size_t most = outputs <= kFewOutputs ? kHalf : TrialsByShape::kShapes;
  Trials* const known = trials ? trials->find(number_of(shape), most) : nullptr;
  if (known) {
    if (set_kept_way(shape, windows, *known, plan)) {
      plan.known = known;
      plan.way = Trials::kMostWays;
      return plan;
    }
    known->count_run();
  }
  // A small run is planned only to find a way for those that will be like it.
  if ((!known || keeps_way(*known)) && set_if_small(shape, windows, plan)) return plan;
  choose_plan(shape, windows, known, plan);
  return plan;
}

void rule_out(const RoiPlan& plan) {
  if (!plan.known) return;
  forget_way(*plan.known);
  if (plan.way < Trials::kMostWays) plan.known->rule_out(plan.way);
}

RoiPlan plan_with_little_scratch(const RoiShape& shape, const RoiWindows& windows) {
  RoiPlan plan{};
  const Planner planner(shape, windows, plan.rois_by_image);
  Ways ways;
  planner.find_ways(1, ways);
  planner.plan(ways[kSeparate], plan);
  return plan;
}

RoiPlan plan_without_scratch(const RoiShape& shape, const RoiWindows& windows) {
  RoiPlan plan{};
  set_small_plan(shape, windows, &RoiKernel::cells, plan);
  return plan;
}

std::vector<RoiPlan> possible_plans(const RoiShape& shape, const RoiWindows& windows) {
  List<int64_t, kFewRois> rois_by_image;
  const Planner planner(shape, windows, rois_by_image);
  std::vector<RoiPlan> plans;
  const auto mode = small_mode(shape, windows);
  if (mode) set_small_plan(shape, windows, mode, plans.emplace_back());
  for (const Way& way : planner.possible_ways(shape.threads)) {
    const bool is_there =
        way.mode == mode && way.levels == 0 && way.at_once == 1 && way.left == 0 && !way.division.by_rois;
    if (is_there) continue;
    plans.emplace_back().rois_by_image = rois_by_image;
    planner.plan(way, plans.back());
  }
  return plans;
}

}  // namespace onnx_maxpool
