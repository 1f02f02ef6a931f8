#include "plans/roi_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "base/machine.h"
#include "plans/roi_cost.h"
#include "plans/roi_schedule.h"
#include "plans/roi_small_plan.h"
#include "plans/roi_ways.h"

namespace onnx_maxpool {
namespace {

// Of fewer cycles, runs would notice what it takes to choose a plan.
constexpr double kBrief = 60'000;
// Of so few outputs, a small run would notice a look at what is known of its shape.
constexpr int64_t kFewestOutputs = 64;
// Shapes with so few leave half of the trials to others, as runs that differ from one to the next are mostly small.
constexpr int64_t kFewOutputs = 4096;

// The way of a brief run, for the next ones that are like it: to choose one takes as long as to pool dozens of ROIs.
// Another look every few runs finds what has changed in the windows. Shapes may share their number (number_of), so that
// all that a kernel relies on is told by the shape.
class KeptWay {
 public:
  static void keep(const Way& way, const RoiShape& shape, const RoiWindows& windows, Trials& trials) {
    const int64_t mode = std::find(std::begin(kModes), std::end(kModes), way.mode) - std::begin(kModes);
    put({byte(mode), byte(way.levels), byte(way.at_once), byte(way.left > 0 ? kRuns + kLeaves : kRuns),
         doublings(cells_of(shape, windows)), static_cast<uint16_t>(way.cycles())},
        trials);
  }
  // Sets a plan for one thread, if there is a way for it.
  static bool set(const RoiShape& shape, const RoiWindows& windows, Trials& trials, RoiPlan& plan) {
    const uint64_t number = trials.kept();
    if (number == 0) return false;
    Fields kept;
    std::memcpy(&kept, &number, sizeof(kept));
    const bool leaves = kept.runs >= kLeaves;
    if (--kept.runs % kLeaves == 0) {
      trials.keep(0);
      trials.count_runs(kRuns);
    } else {
      put(kept, trials);
    }
    if (!may_be(kept, leaves, shape)) return false;
    if (std::abs(doublings(cells_of(shape, windows)) - kept.cells) > kAlike) return false;
    const auto mode = kModes[kept.mode];
    if (!leaves && are_in_order(windows)) {
      set_plan_in_order(shape, windows, mode, kept.levels, kept.at_once, plan);
    } else {
      Way way;
      way.mode = mode;
      way.levels = kept.levels;
      way.at_once = kept.at_once;
      way.left = leaves ? channels_left(shape) : 0;
      const int64_t blocks = units_for(mode, shape, units_of(shape.blocks - leaves, way.at_once));
      const RoiGroups groups = group_by_image(shape, windows, plan.rois_by_image);
      divide_whole(groups, shape.rois, blocks, way.division);
      divide_whole(groups, shape.rois, few_channels_blocks(shape, way.left), way.of_left);
      set_plan(shape, windows, groups, way, plan);
    }
    plan.time = kept.cycles;
    plan.cycles = 0;  // what it takes is known, of one thread
    plan.threads = 1;
    return true;
  }

 private:
  using Mode = RoiKernel::Mode RoiKernel::*;
  static constexpr Mode kModes[] = {&RoiKernel::separate, &RoiKernel::shared, &RoiKernel::narrow_map,
                                    &RoiKernel::few_channels, &RoiKernel::cells};
  static constexpr int kRuns = 63, kLeaves = 64;
  // How often cells double, in 2^kShift parts of a doubling; and by how many of these runs may differ that are alike.
  static constexpr int kShift = 3, kAlike = 6;
  // Of a number from 1 on, by its exponent and the first bits of its fraction: between powers of two along a line.
  static int16_t doublings(double number) {
    constexpr int kFraction = 52, kBias = 1023;
    uint64_t bits;
    static_assert(sizeof(bits) == sizeof(number));
    std::memcpy(&bits, &number, sizeof(bits));
    return static_cast<int16_t>((bits >> (kFraction - kShift)) - (kBias << kShift));
  }

  struct Fields {
    uint8_t mode, levels, at_once;
    uint8_t runs;  // that may still go this way; and kLeaves, where it leaves channels
    int16_t cells;
    uint16_t cycles;
  };
  static_assert(kBrief <= 0xffff);
  static uint8_t byte(int64_t number) { return static_cast<uint8_t>(number); }
  static void put(const Fields& fields, Trials& trials) {
    uint64_t number;
    static_assert(sizeof(fields) == sizeof(number));
    std::memcpy(&number, &fields, sizeof(number));
    trials.keep(number);
  }

  static bool has_blocks(Mode mode) { return mode == &RoiKernel::separate || mode == &RoiKernel::shared; }
  static bool may_be(const Fields& kept, bool leaves, const RoiShape& shape) {
    const Mode mode = kModes[kept.mode];
    if (leaves && !may_leave_channels(shape)) return false;
    if (mode == &RoiKernel::shared) return !sweeps(shape, kept.levels) && fit(shape, shape.height, kept.levels);
    if (mode == &RoiKernel::narrow_map) return may_permute(shape);
    if (mode == &RoiKernel::few_channels) return may_pool_by_rows(shape);
    return has_blocks(mode) || has_few_channels(shape);
  }
  static void divide_whole(const RoiGroups& groups, int64_t rois, int64_t blocks, RoiDivision& division) {
    division = {blocks, roi_costs::kUnit, 0, 0, rois, false, false, 1, 0, 0, 0, 0};
    divide_best(groups, division);
  }
};

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
  if (threads == 1 && turn.is_last && !way.division.sweep && way.cycles() < kBrief) {
    KeptWay::keep(way, shape, windows, *known);
  }
  try {
    planner.plan(way, plan);
  } catch (...) {
    if (turn.is_trial) known->give_up();
    throw;
  }
  plan.trials = turn.is_trial ? known : nullptr;
  plan.turn = turn;
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
    if (KeptWay::set(shape, windows, *known, plan)) return plan;
    known->count_run();
  }
  // A small run is planned only to find a way for those that will be like it.
  if ((!known || known->kept() != 0) && set_if_small(shape, windows, plan)) return plan;
  choose_plan(shape, windows, known, plan);
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
