// The plans of runs that are too small for a choice: it would take longer than it saves.
#pragma once

#include "plans/roi_plan.h"

namespace onnx_maxpool {

// No fewer than the bins of all channels have: neighbours share at most one row and one column. An empty bin has one.
// With a step, about as many, from those of every step-th ROI.
double cells_of(const RoiDims& dims, const RoiWindows& windows, int64_t step = 1);

// Whether a run takes less time without the widest vectors: 0.9 to 1.03 of it.
bool is_little(const RoiDims& dims, const RoiWindows& windows);

// The mode of a run that is too small to choose a plan; null of others.
RoiKernel::Mode RoiKernel::* small_mode(const RoiShape& shape, const RoiWindows& windows);

// Of an empty plan, all but what it costs: one thread pools all ROIs as they come, on all blocks of channels, of which
// a unit has so many. Neighbours of one image share a unit.
void set_plan_in_order(const RoiShape& shape, const RoiWindows& windows, RoiKernel::Mode RoiKernel::* mode, int levels,
                       int64_t at_once, RoiPlan& plan);

// All ROIs in their order, straight from the map or from a table of its rows. Of a plan that is empty.
void set_small_plan(const RoiShape& shape, const RoiWindows& windows, RoiKernel::Mode RoiKernel::* mode, RoiPlan& plan);

}  // namespace onnx_maxpool
