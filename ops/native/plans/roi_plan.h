// How a run goes about its ROIs: which of the kernel's modes, with how many tables, in which order, in which units.
#pragma once

#include <cstdint>
#include <vector>

#include "base/shape.h"
#include "kernels/roi.h"
#include "plans/trials.h"

namespace onnx_maxpool {

// A small run would notice an allocation for each list, so these have room for few in place.
constexpr size_t kFewRois = 32, kFewBins = 8 * kFewRois;

// The windows and their ROIs' images, as an operator plans them.
struct RoiWindows {
  List<int64_t, kFewRois> image;      // of each ROI
  List<RoiWindow, kFewBins> rows;     // (rois, bins_y)
  List<RoiWindow, kFewBins> columns;  // (rois, bins_x)
  List<BinWidths, kFewRois> widths;   // of each ROI's columns, for the kernel, where it has more than one bin along x
};

// The kernel's choices, and the arrays behind them.
struct RoiPlan : RoiTables {
  RoiKernel::Mode RoiKernel::* mode;
  bool by_rois;     // threads have, as a rule, ROIs of their own
  int64_t threads;  // that are to be woken, and this one
  double cycles;    // an estimate, of all threads together
  double time;      // the same, until the last thread is done
  bool is_brief;    // as one thread would do it (base/machine.h)
  Trials* trials;   // of which the run is one; null where it is none
  Trials::Turn turn;
  Trials* known;  // of such runs; null where there is nothing
  size_t way;     // that was chosen of these; kMostWays where one was kept
  List<int64_t, kFewRois> rois_by_image;
  List<RoiUnit, kFewRois> units;
  // So many channels are left by `mode`, for the few_channels mode: all units from `left_begin` on.
  int64_t left, left_begin;
  std::vector<RoiTask> tasks;  // of a sweep
};

// What the plan depends on, beside the windows.
struct RoiShape : RoiDims {
  int64_t blocks;             // of channels
  int64_t vector_bytes;       // of a block's vector
  int64_t lookup_lanes;       // the kernel's
  int64_t threads;            // that run at once
  int64_t input_bytes;        // of all images
  int64_t line_bytes = 0;     // of the widest vectors; 0 where few channels are not to be read with these
  double worth_a_thread = 0;  // cycles: fewer are left to one thread
  int64_t second_cache = kSecondCache;
  bool may_use_one_thread = true;  // of several
  bool has_single_bins() const { return bins_y * bins_x == 1; }
};

// Runs with the same number have much the same work for each ROI: numbers of ROIs within a factor of two are alike.
uint64_t number_of(const RoiShape& shape);

// Whether an output that has more bytes than `threshold` is to be stored past the caches. A few bins are written as
// blocks of 16 bytes, which a cache gathers to lines faster than memory does.
bool streams(const RoiDims& dims, size_t element_size, size_t threshold);

// The plan that should take the least time, or one that is to be tried, if there are trials of such runs.
RoiPlan plan_rois(const RoiShape& shape, const RoiWindows& windows, TrialsByShape* trials = nullptr);
// There is no memory for a plan: others are chosen until it is tried again.
void rule_out(const RoiPlan& plan);
// Straight from the map on one thread, which takes little scratch; or cell by cell, which takes none.
RoiPlan plan_with_little_scratch(const RoiShape& shape, const RoiWindows& windows);
RoiPlan plan_without_scratch(const RoiShape& shape, const RoiWindows& windows);
// All from which it is chosen, with every count of tables that may be of use, and what is chosen for a small run; but
// for the plan of one thread where there are several.
std::vector<RoiPlan> possible_plans(const RoiShape& shape, const RoiWindows& windows);

}  // namespace onnx_maxpool
