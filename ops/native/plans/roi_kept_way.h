// The way of a run, for the next ones that are like it: to choose one takes as long as to pool dozens of ROIs.
#pragma once

#include "plans/roi_plan.h"
#include "plans/roi_ways.h"

namespace onnx_maxpool {

// Of runs that take more cycles, of all threads together, too little is spared: a choice mostly takes 5,000 to 30,000.
constexpr double kBriefRun = 2'000'000;

// Keeps the way of a run for which so many threads were worth waking.
void keep_way(const Way& way, int64_t threads, bool is_brief, const RoiShape& shape, const RoiWindows& windows,
              Trials& trials);

// Whether there is a way that is kept.
bool keeps_way(const Trials& trials);
void forget_way(Trials& trials);

// Sets an empty plan, if there is a way for it. Another look every few runs finds what has changed in the windows.
bool set_kept_way(const RoiShape& shape, const RoiWindows& windows, Trials& trials, RoiPlan& plan);

}  // namespace onnx_maxpool
