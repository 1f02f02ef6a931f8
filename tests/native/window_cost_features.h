// The cost model of windows (kernels/window_cost.h) as a sum over its constants. Compiled once per target, as the
// kernels are.
#pragma once

#include <stddef.h>

#include "kernels/window.h"

namespace window_costs {

// A target's constants, in the order of PlanCosts: of rows, of maps, of planes, of lookups, of walks.
constexpr int kConstants = 57;
constexpr int kFirst[] = {0, 8, 26, 39, 46, kConstants};     // of kPoolPlans
constexpr int kFitted = sizeof kFirst / sizeof *kFirst - 1;  // plans: by slices takes what one of these takes, and more

struct Features {
  // What its plan costs with this constant 1 and the others 0.
  double parts[kConstants];
  bool lanes_are_wide;
};

}  // namespace window_costs
