// The model of cost of windows (kernels/window_cost.h) as a sum over its constants, of which it is linear, but for
// those of BeyondCache. Compiled once per target, as the kernels are.
#pragma once

#include <stddef.h>

#include "kernels/window.h"

namespace window_costs {

// A target's constants, in the order of PlanCosts: of rows, of maps, of planes, then of BeyondCache.
constexpr int kConstants = 32;
constexpr int kFirst[] = {0, 6, 20, 28};  // of the plans of window_jobs.h, and of BeyondCache
constexpr int kLinear = kFirst[3];

struct Features {
  // What its plan costs with this constant 1 and the others 0.
  double parts[kLinear];
  // Which constant multiplies a plan's cost; -1 where none does.
  int factor[3];
  bool lanes_are_wide;
  bool model_chooses;  // else a rule before it says that the job is computed by rows
};

}  // namespace window_costs
