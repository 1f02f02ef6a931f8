#include "window_cost_features.h"

#include "kernels/window_cost.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

using namespace window_costs;

constexpr size_t place(size_t offset) { return offset / sizeof(double); }
static_assert(place(sizeof(PlanCosts)) == kConstants, "a double for each constant");
static_assert(place(offsetof(PlanCosts, maps)) == kFirst[1] && place(offsetof(PlanCosts, planes)) == kFirst[2],
              "as kFirst says");

PlanCosts costs_of(const double (&constants)[kConstants]) {
  PlanCosts costs;
  __builtin_memcpy(&costs, constants, sizeof costs);
  return costs;
}

template <class Element, class Lane, bool indexed>
Features of_lanes(const PoolJob& job) {
  Features found = {};
  for (int i = 0; i < kConstants; ++i) {
    double constants[kConstants] = {};
    constants[i] = 1;
    const PlanCosts costs = costs_of(constants);
    const JobCost<Lane, indexed> cost(job, sizeof(Element), costs);
    found.parts[i] = i < kFirst[1] ? cost.by_rows() : i < kFirst[2] ? cost.by_maps() : cost.by_planes();
    found.model_chooses = !cost.is_one_long_window();
  }
  found.lanes_are_wide = sizeof(Lane) == 8;
  return found;
}

// Of lanes as wide as kernels/window.cc takes them.
template <class Element>
Features of_element(const PoolJob& job) {
  if (!job.indices) return of_lanes<Element, Element, false>(job);
  const int64_t cells = job.depth.size * job.rows.size * job.columns.size;
  if constexpr (sizeof(Element) <= 2) {
    if (cells < int64_t{1} << 15) return of_lanes<Element, int16_t, true>(job);
  }
  if constexpr (sizeof(Element) <= 4) {
    if (cells < int64_t{1} << 31) return of_lanes<Element, int32_t, true>(job);
  }
  return of_lanes<Element, int64_t, true>(job);
}

template <bool indexed, bool wide>
void copy_costs(double constants[kConstants]) {
  const PlanCosts costs = kPlanCosts<indexed, wide>;
  __builtin_memcpy(constants, &costs, sizeof costs);
}

}  // namespace

Features window_cost_features(const PoolJob& job, size_t element_size) {
  switch (element_size) {
    case 1:
      return of_element<int8_t>(job);
    case 2:
      return of_element<int16_t>(job);
    case 4:
      return of_element<int32_t>(job);
    default:
      return of_element<int64_t>(job);
  }
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
