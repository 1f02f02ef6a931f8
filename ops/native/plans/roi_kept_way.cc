#include "plans/roi_kept_way.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "plans/roi_cost.h"
#include "plans/roi_schedule.h"
#include "plans/roi_small_plan.h"

namespace onnx_maxpool {
namespace {

using Mode = RoiKernel::Mode RoiKernel::*;
constexpr Mode kModes[] = {&RoiKernel::separate, &RoiKernel::shared, &RoiKernel::narrow_map, &RoiKernel::few_channels,
                           &RoiKernel::cells};
constexpr uint8_t kRuns = 63;
// Cells are counted in 2^kShift parts of a doubling, of at most about so many ROIs; and by how many of these parts runs
// may differ that are alike.
constexpr int kShift = 3, kAlike = 6;
constexpr int64_t kCountedRois = 64;
constexpr int64_t kMostThreads = 255;
// So many are planned in place, and without a look at what they take.
constexpr int64_t kFewUnits = kFewRois;

// What is kept, as numbers of Trials, of which the first is kept last. Runs that keep ways at the same time may leave
// the first number of one and the others of another, and shapes may share their number (number_of): so all that a
// kernel relies on is told by the shape, and what is kept only divides the work.
struct Fields {
  uint8_t mode, levels, at_once, runs;  // how many may still go this way: one or more, where any is kept
  int16_t cells;
  uint8_t threads;  // that were worth waking
  bool of_all_threads : 1, on_one_thread : 1, by_rois : 1, sweeps : 1, leaves : 1, is_brief : 1;
};
struct Cycles {
  float first, second;
};
struct Parts {
  uint32_t whole, of_left;
};
enum Number : size_t { kFields, kFillAndRoi, kTimeAndLeftRoi, kParts, kMostRois };
static_assert(kMostRois < Trials::kKept);

template <class T>
T kept(const Trials& trials, Number number) {
  static_assert(sizeof(T) == sizeof(uint64_t));
  const uint64_t bits = trials.kept(number);
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T>
void put(const T& value, Number number, Trials& trials) {
  static_assert(sizeof(T) == sizeof(uint64_t));
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  trials.keep(number, bits);
}
Cycles cycles(double first, double second) { return {static_cast<float>(first), static_cast<float>(second)}; }

// Of a number from 1 on, by its exponent and the first bits of its fraction: between powers of two along a line.
int16_t doublings(double number) {
  constexpr int kFraction = 52, kBias = 1023;
  uint64_t bits;
  static_assert(sizeof bits == sizeof number);
  std::memcpy(&bits, &number, sizeof bits);
  return static_cast<int16_t>((bits >> (kFraction - kShift)) - (kBias << kShift));
}
int16_t doublings_of_cells(const RoiShape& shape, const RoiWindows& windows) {
  const int64_t step = shape.rois <= kCountedRois ? 1 : shape.rois / kCountedRois;
  return doublings(cells_of(shape, windows, step));
}

bool may_be(const Fields& way, const RoiShape& shape, int64_t tallest) {
  const Mode mode = kModes[way.mode];
  if (way.leaves && !may_leave_channels(shape)) return false;
  if (way.of_all_threads ? way.threads != shape.threads : way.threads >= shape.threads) return false;
  if (way.on_one_thread && way.threads > 1 && !shape.may_use_one_thread) return false;
  if (mode == &RoiKernel::shared) return sweeps(shape, way.levels) == way.sweeps && fit(shape, tallest, way.levels);
  if (mode == &RoiKernel::narrow_map) return may_permute(shape);
  if (mode == &RoiKernel::few_channels) return may_pool_by_rows(shape);
  return mode == &RoiKernel::separate || has_few_channels(shape);
}

// In units of all ROIs of an image, of which none is divided yet.
RoiDivision whole(int64_t blocks, int64_t rois, int64_t threads) {
  RoiDivision division{};
  division.blocks = blocks;
  division.most_rois = rois;
  division.threads = threads;
  return division;
}
// As a run before divided them.
void divide(const RoiGroups& groups, double fill, double roi, int64_t parts, RoiDivision& division) {
  division.fill = fill;
  division.roi = roi;
  division.parts = parts;
  estimate(groups, division);
}

// Units as a run before had them, of ROIs in any order, on one thread or several.
void set_divided(const Fields& way, int64_t blocks, int64_t threads, const RoiShape& shape, const RoiWindows& windows,
                 const Trials& trials, RoiPlan& plan) {
  const RoiGroups groups = group_by_image(shape, windows, plan.rois_by_image);
  const auto of_unit = kept<Cycles>(trials, kFillAndRoi);
  const auto parts = kept<Parts>(trials, kParts);
  Way chosen;
  chosen.mode = kModes[way.mode];
  chosen.levels = way.levels;
  chosen.at_once = way.at_once;
  chosen.division = whole(blocks, shape.rois, threads);
  chosen.division.by_rois = way.by_rois;
  chosen.division.sweep = way.sweeps;
  if (way.sweeps) chosen.division.most_rois = kept<int64_t>(trials, kMostRois);
  divide(groups, of_unit.first, of_unit.second, parts.whole, chosen.division);
  chosen.left = way.leaves ? channels_left(shape) : 0;
  if (way.leaves) {
    chosen.of_left = whole(few_channels_blocks(shape, chosen.left), shape.rois, threads);
    divide(groups, roi_costs::kUnit, kept<Cycles>(trials, kTimeAndLeftRoi).second, parts.of_left, chosen.of_left);
  }
  set_plan(shape, windows, groups, chosen, plan);
}

}  // namespace

void keep_way(const Way& way, int64_t threads, bool is_brief, const RoiShape& shape, const RoiWindows& windows,
              Trials& trials) {
  if (threads > kMostThreads) return;
  const auto byte = [](int64_t number) { return static_cast<uint8_t>(number); };
  const int64_t mode = std::find(std::begin(kModes), std::end(kModes), way.mode) - std::begin(kModes);
  const RoiDivision &division = way.division, &of_left = way.of_left;
  put(cycles(division.fill, division.roi), kFillAndRoi, trials);
  put(cycles(way.time(), way.left > 0 ? of_left.roi : 1), kTimeAndLeftRoi, trials);
  put(Parts{static_cast<uint32_t>(division.parts), static_cast<uint32_t>(way.left > 0 ? of_left.parts : 1)}, kParts,
      trials);
  trials.keep(kMostRois, static_cast<uint64_t>(division.sweep ? division.most_rois : 1));
  put(Fields{byte(mode), byte(way.levels), byte(way.at_once), kRuns, doublings_of_cells(shape, windows), byte(threads),
             threads == shape.threads, division.threads == 1, division.by_rois, division.sweep, way.left > 0, is_brief},
      kFields, trials);
}

bool keeps_way(const Trials& trials) { return trials.kept(kFields) != 0; }

void forget_way(Trials& trials) { trials.keep(kFields, 0); }

bool set_kept_way(const RoiShape& shape, const RoiWindows& windows, Trials& trials, RoiPlan& plan) {
  auto way = kept<Fields>(trials, kFields);
  if (way.runs == 0) return false;
  if (--way.runs == 0) {
    forget_way(trials);
    trials.count_runs(kRuns);
  } else {
    put(way, kFields, trials);
  }
  const int64_t tallest = way.sweeps ? tallest_of(windows) : shape.height;
  if (!may_be(way, shape, tallest)) return false;
  if (std::abs(doublings_of_cells(shape, windows) - way.cells) > kAlike) return false;
  const Mode mode = kModes[way.mode];
  const int64_t threads = way.on_one_thread ? 1 : way.threads,
                blocks = units_for(mode, shape, units_of(shape.blocks - way.leaves, way.at_once));
  const bool is_plain = threads == 1 && !way.leaves && !way.sweeps;
  if (is_plain && shape.rois * blocks <= kFewUnits && are_in_order(windows)) {
    set_plan_in_order(shape, windows, mode, way.levels, way.at_once, plan);
    plan.threads = 1;
  } else {
    set_divided(way, blocks, threads, shape, windows, trials, plan);
  }
  plan.tallest = tallest;
  plan.time = kept<Cycles>(trials, kTimeAndLeftRoi).first;
  plan.cycles = 0;  // what it takes is known, and on how many threads
  plan.is_brief = way.is_brief;
  return true;
}

}  // namespace onnx_maxpool
