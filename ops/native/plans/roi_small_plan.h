// The plans of runs that are too small for a choice: it would take longer than it saves.
#pragma once

#include "plans/roi_plan.h"

namespace onnx_maxpool {

// No fewer than the bins of all channels have: neighbours share at most one row and one column. An empty bin has one.
double cells_of(const RoiShape& shape, const RoiWindows& windows);

// The mode of a run that is too small to choose a plan; null of others.
RoiKernel::Mode RoiKernel::* small_mode(const RoiShape& shape, const RoiWindows& windows);

// All ROIs in their order, straight from the map or from a table of its rows.
RoiPlan small_plan(const RoiShape& shape, const RoiWindows& windows, RoiKernel::Mode RoiKernel::* mode);

}  // namespace onnx_maxpool
