// The arrays behind a plan: a division's units, and the order of a sweep.
#pragma once

#include <vector>

#include "plans/roi_schedule.h"

namespace onnx_maxpool {

// Fills the units of a plan whose mode, sweep and rois_by_image are set and, for a sweep, its tasks and slots.
void lay_out(const RoiShape& shape, const RoiWindows& windows, const std::vector<RoiGroup>& groups,
             const RoiDivision& division, RoiPlan& plan);

}  // namespace onnx_maxpool
