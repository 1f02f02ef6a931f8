#include "window_cost_features.h"

#include "kernels/window_cell_types.h"
#include "kernels/window_cost.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

using namespace window_costs;

constexpr size_t place(size_t offset) { return offset / sizeof(double); }
static_assert(place(sizeof(PlanCosts)) == kConstants, "a double for each constant");
static_assert(place(offsetof(PlanCosts, maps)) == kFirst[1] && place(offsetof(PlanCosts, planes)) == kFirst[2] &&
                  place(offsetof(PlanCosts, lookups)) == kFirst[3] && place(offsetof(PlanCosts, walks)) == kFirst[4],
              "as kFirst says");

PlanCosts costs_of(const double (&constants)[kConstants]) {
  PlanCosts costs;
  __builtin_memcpy(&costs, constants, sizeof costs);
  return costs;
}

template <class Cells>
Features features_of(const PoolJob& job) {
  Features found = {};
  const LookupPieces pieces = lookup_pieces<typename Cells::Lane>(job);
  const bool walks = WalkPool<typename Cells::Element, typename Cells::Lane, Cells::kIndexed>::takes(job);
  for (int i = 0; i < kConstants; ++i) {
    double constants[kConstants] = {};
    constants[i] = 1;
    const PlanCosts costs = costs_of(constants);
    const JobCost<typename Cells::Lane, Cells::kIndexed> cost(job, sizeof(typename Cells::Element), costs);
    found.parts[i] = i < kFirst[1]      ? cost.by_rows()
                     : i < kFirst[2]    ? cost.by_maps()
                     : i < kFirst[3]    ? cost.by_planes()
                     : i >= kFirst[4]   ? (walks ? cost.by_walks() : 0)
                     : pieces.count > 0 ? cost.by_lookups(pieces)
                                        : 0;
  }
  found.lanes_are_wide = sizeof(typename Cells::Lane) == 8;
  return found;
}

template <bool indexed, bool wide>
void copy_costs(double constants[kConstants]) {
  const PlanCosts costs = kPlanCosts<indexed, wide>;
  __builtin_memcpy(constants, &costs, sizeof costs);
}

}  // namespace

Features window_cost_features(const PoolJob& job, size_t element_size) {
  return with_element(element_size, [&](auto element) {
    return with_lanes<decltype(element)>(job, [&](auto cells) { return features_of<decltype(cells)>(job); });
  });
}

// Those that the model has now.
void window_cost_constants(bool indexed, bool wide, double constants[kConstants]) {
  if (indexed) {
    wide ? copy_costs<true, true>(constants) : copy_costs<true, false>(constants);
  } else {
    wide ? copy_costs<false, true>(constants) : copy_costs<false, false>(constants);
  }
}

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
