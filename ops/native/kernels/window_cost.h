// What a job takes by rows (kernels/window.cc), by maps (window_maps.h) and by planes (window_planes.h), in about
// tenths of nanoseconds: the least is chosen. The constants are of each instruction set, with indices and without, and
// of lanes of 64 bits, which most sets compare slowly. tests/native/measure_window_costs.cc fits them to times of
// random jobs; docs/benchmark/windows.md says how well they choose.
#pragma once

#include "kernels/window_lines.h"
#include "kernels/window_list.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

struct RowsCost {
  double line, row, row_vector, slide, gather_round, gathered_vector;
};
struct MapsCost {
  double plane;
  double key_row, key_vector, fold;  // rows become keys, then windows
  double line, row, row_vector;      // or windows at once
  double part, slide, slid_vector;   // columns
  double picked, picked_line, gather_round, gathered_vector;
};
struct PlanesCost {
  double transposed[4];  // a vector of elements of 1, 2, 4 and 8 bytes
  double stored, combined, run, group;
};
// How many times as much plans cost whose tensors leave the second cache. What aligned planes cost is not of the fit,
// whose jobs are too small to show it.
struct BeyondCache {
  double maps, aligned_maps, planes, aligned_planes;
};
struct PlanCosts {
  RowsCost rows;
  MapsCost maps;
  PlanesCost planes;
  BeyondCache beyond_cache;
};

template <bool indexed, bool wide>
constexpr PlanCosts kPlanCosts = {};

#if defined(__AVX512BW__)
template <>
constexpr PlanCosts kPlanCosts<false, false> = {
    {28.1, 8.48, 6.26, 4.93, 2.14, 7.33},
    {87.4, 17.5, 11, 1.1, 32.1, 8.79, 5.96, 2.3, 3.59, 7.85, 0.844, 37.6, 0.829, 10.7},
    {{20.4, 16.8, 13.4, 8.11}, 20.1, 2.97, 0.829, 0},
    {1.08, 1.6, 1.13, 2.5}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {
    {39.4, 2.1, 5.4, 5.44, 8.49, 0},
    {128, 14.6, 8.93, 2.14, 27.1, 4.07, 5.84, 4, 3.89, 7.86, 1.62, 27.3, 5.33, 6.4},
    {{13.3, 17, 14.8, 11.5}, 24.3, 2.47, 1.12, 0},
    {1.08, 1.6, 1.12, 2.5}};
template <>
constexpr PlanCosts kPlanCosts<true, false> = {
    {49.9, 4.7, 11.7, 11.7, 3.77, 11.8},
    {145, 23.7, 6.98, 4.61, 109, 4.92, 13.5, 25.2, 7.12, 19.1, 9.51, 13.6, 2.29, 19.3},
    {{24.5, 17.5, 15.7, 31}, 22.1, 7.64, 5.44, 0},
    {1.25, 1.6, 1.05, 2.5}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {61, 13.2, 11.8, 9.35, 4.68, 8.83},
    {152, 53.3, 5.21, 5.67, 54, 3.15, 17, 14.6, 6.71, 16, 5.52, 69.6, 5.14, 12.4},
    {{55.1, 29.4, 34, 12.7}, 22.3, 6.28, 8.28, 0},
    {1.08, 1.6, 1.18, 2.5}};
#elif defined(__AVX2__)
template <>
constexpr PlanCosts kPlanCosts<false, false> = {
    {48.3, 2.39, 3.92, 2.97, 3.47, 2.22},
    {146, 16.3, 3.53, 1.75, 18.1, 7.41, 3.91, 4.04, 1.99, 3.56, 1.25, 35.8, 7.17, 8.5},
    {{9.78, 8.65, 8.8, 0}, 10.9, 1.86, 6.45, 0},
    {1.12, 1.35, 1.14, 1.5}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {
    {48.5, 1.97, 3.94, 3.73, 7.55, 0.462},
    {99, 13.8, 5.72, 2.06, 16.9, 4.3, 4.89, 5.61, 1.71, 7.47, 1.97, 19.1, 0.133, 13.8},
    {{0, 0, 0, 11.2}, 12.4, 2.28, 9.55, 0},
    {1.04, 0.958, 1.12, 1.16}};
template <>
constexpr PlanCosts kPlanCosts<true, false> = {
    {45.5, 5.34, 8.69, 6.07, 4.47, 3.7},
    {46.1, 29.1, 7.4, 3.72, 100, 2.79, 10, 9.61, 2.63, 7.07, 5.28, 25.9, 3.38, 3.11},
    {{17.3, 15.8, 12.3, 0}, 14.8, 3.95, 15.9, 0},
    {1.12, 1.35, 1.25, 1.5}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {41.8, 17.3, 7.49, 5.92, 11.7, 1.59},
    {75.8, 27.9, 4.27, 4.17, 49.6, 14, 8.18, 8.78, 6.22, 3.51, 8.24, 22.6, 11.5, 5.8},
    {{0, 0, 0, 14}, 23.3, 3.85, 7.86, 0},
    {1.06, 1.12, 1.06, 1.16}};
#else
template <>
constexpr PlanCosts kPlanCosts<false, false> = {
    {28.6, 5.96, 5.3, 4.82, 4.79, 2.68},
    {130, 26.6, 4.67, 2.17, 40.1, 3.42, 5.01, 4.53, 0.609, 5.4, 2.17, 22.7, 6.84, 4.81},
    {{13.2, 10.1, 13.5, 0}, 8.1, 2.57, 10.2, 115},
    {0.988, 1.21, 0.994, 1.21}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {
    {40.5, 0, 9.4, 5.51, 17.3, 5.74},
    {44.6, 50.8, 4.58, 4.18, 52.4, 0, 8.74, 8.39, 4.11, 7.05, 3.93, 1.38, 29.1, 23.9},
    {{0, 0, 0, 28.3}, 0, 7.04, 19.1, 0},
    {1.04, 1.22, 1.01, 1.25}};
template <>
constexpr PlanCosts kPlanCosts<true, false> = {
    {35, 5.03, 17.2, 6.19, 3.64, 13.8},
    {171, 31.2, 13.6, 4.51, 30.8, 0.0902, 19.4, 10.4, 3.04, 6.77, 7.57, 5.4, 2.48, 2.77},
    {{24.4, 24.2, 27.2, 0}, 11.2, 5.75, 12.7, 0},
    {1.03, 1.35, 1.04, 1.04}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {5.79, 57.9, 27.2, 10.3, 70.5, 15.1},
    {37, 5.5, 76, 8.97, 77.1, 40.2, 21.6, 10.8, 20.7, 18.8, 16.6, 1.1, 0, 10.1},
    {{0, 0, 0, 69.6}, 2.77, 15.4, 7.19, 0},
    {1.08, 1.19, 1.13, 1.4}};
#endif

// The windows of an axis that has a list of them.
struct AxisWork {
  int64_t size, count;
  int64_t cells;    // in all windows
  int64_t vectors;  // the same, in vectors of so many cells each
  bool is_identity;
};

inline AxisWork axis_work(const PoolAxis& axis, int64_t lanes) {
  AxisWork work = {axis.size, axis.count, 0, 0, axis.size == axis.count};
  for (int64_t i = 0; i < axis.count; ++i) {
    const int64_t length = axis.windows[i].end - axis.windows[i].start;
    work.cells += length;
    work.vectors += (length + lanes - 1) / lanes;
    work.is_identity &= axis.windows[i].start == i && length == 1;
  }
  return work;
}

constexpr int log2_of(int64_t n) { return n > 1 ? 1 + log2_of(n / 2) : 0; }

// Which windows are taken by combining a line with itself.
inline bool is_sliding(const PoolAxis& axis) {
  // Not where padding would make the line much longer than its row.
  return !axis.even && axis.grain == 1 && axis.count > 1 && (axis.step == 1 || axis.step == 2) &&
         axis.step * (axis.count - 1) + axis.length < 4 * axis.size + 1024;
}

template <class Lane, bool indexed>
class JobCost {
  static constexpr int64_t kLanes = kVectorBytes / static_cast<int64_t>(sizeof(Lane));

 public:
  // Its axes have lists of their windows. The costs are kPlanCosts, but where those are fitted.
  JobCost(const PoolJob& job, const PlanCosts& costs)
      : job_(job),
        costs_(costs),
        depth_(axis_work(job.depth, kLanes)),
        rows_(axis_work(job.rows, kLanes)),
        columns_(axis_work(job.columns, kLanes)),
        lines_(product(depth_.count, rows_.count)),
        map_rows_(product(depth_.cells, rows_.cells)) {}

  double by_rows() const {
    const RowsCost& cost = costs_.rows;
    const bool sliding = is_sliding(job_.columns);
    double all = lines_ * cost.line;
    // As WindowPool::needs_no_line.
    const bool direct = !sliding && depth_.cells == depth_.count && rows_.cells == rows_.count;
    if (sliding && slides_rows<Lane, indexed>(job_.columns)) {
      all += map_rows_ * cost.row_vector * vectors(columns_.size + kLanes);
    } else if (!direct) {
      all += map_rows_ * (cost.row + cost.row_vector * vectors(columns_.size));
    }
    if (sliding) {
      const PoolAxis& axis = job_.columns;
      const int64_t length = axis.step * (axis.count - 1) + axis.length, taps = axis.length > 3 ? 2 : axis.length;
      const double doublings = axis.length > 3 ? log2_of(axis.length) : 0;
      all += lines_ * cost.slide *
             (1.5 * doublings * vectors(length) + static_cast<double>(taps * axis.step) * vectors(axis.count));
    } else {
      all += lines_ * gathered(cost.gather_round, cost.gathered_vector);
    }
    return all * static_cast<double>(job_.planes);
  }

  double by_maps() const {
    const MapsCost& cost = costs_.maps;
    const ColumnPlan plan = column_plan(job_, kLanes);
    const double line_vectors = static_cast<double>(plan.pitch) / kLanes;  // as lines lie one behind the other
    double all = cost.plane;
    if (rows_are_separable(job_)) {
      const double keys = product(depth_.size, rows_.size);
      double folds = product(depth_.size, separate_taps(job_.rows));
      if (depth_.size > 1) folds += product(rows_.count, separate_taps(job_.depth));
      all += keys * (cost.key_row + cost.key_vector * vectors(columns_.size)) + cost.fold * folds * line_vectors;
    } else {
      const int64_t cells = plan.pitch < columns_.size ? plan.pitch : columns_.size;
      all += lines_ * cost.line + map_rows_ * (cost.row + cost.row_vector * vectors(cells));
    }
    const double count = static_cast<double>(columns_.count);
    if (plan.kind != Columns::gathered) all += cost.part * log2_of(plan.part) * lines_ * line_vectors;
    if (plan.kind == Columns::sliding) {
      const double taps = static_cast<double>(slide_taps(job_.columns.length).taps * job_.columns.step);
      all += lines_ * vectors(columns_.count) * (cost.slide * taps + cost.slid_vector);
    } else if (plan.kind == Columns::picked) {
      all += lines_ *
             (cost.picked_line + count * (cost.picked * static_cast<double>(plan.taps) + cost.slid_vector / kLanes));
    } else {
      all += lines_ * (gathered(cost.gather_round, cost.gathered_vector) + cost.slid_vector * count / kLanes);
    }
    return all * static_cast<double>(job_.planes);
  }

  template <class Element>
  double by_planes() const {
    constexpr double kSteps = static_cast<double>(log2_of(kLanes)) / log2_of(64 / sizeof(Lane));
    const PlanesCost& cost = costs_.planes;
    const double transposed = cost.transposed[log2_of(sizeof(Element))] * kSteps;
    const int64_t outputs = depth_.count * rows_.count * columns_.count;
    double group = cost.group + transposed * static_cast<double>(depth_.size) * whole(rows_.size * columns_.size);
    if (outputs > 1) group += cost.stored * (indexed ? 2 : 1) * whole(outputs);
    const auto stage = [&](const AxisWork& axis, int64_t outer, int64_t inner, bool needed) {
      if (!needed && axis.is_identity) return;
      // Long windows that overlap are combined in steps.
      int64_t taps = axis.cells;
      for (int doublings = 1; (int64_t{2} << doublings) <= axis.cells / axis.count; ++doublings) {
        const int64_t fewer = (axis.cells >> doublings) + axis.count + 2 * doublings * axis.size;
        if (fewer < taps) taps = fewer;
      }
      group += cost.combined * static_cast<double>(outer * inner * taps);
      group += cost.run * static_cast<double>(axis.count * (inner == 1 ? 1 : outer));
    };
    stage(columns_, depth_.size * rows_.size, 1, indexed);
    stage(rows_, depth_.size, columns_.count, false);
    stage(depth_, 1, rows_.count * columns_.count, false);
    return group * static_cast<double>((job_.planes + kLanes - 1) / kLanes);
  }

  // Whether a plane's only window lies in one row: it is folded to a vector before anything is transposed.
  bool is_one_long_window() const {
    return columns_.count == 1 && depth_.cells == 1 && rows_.cells == 1 && columns_.cells > 2 * kLanes;
  }

 private:
  static double product(int64_t a, int64_t b) { return static_cast<double>(a) * static_cast<double>(b); }
  static double vectors(int64_t cells) { return static_cast<double>((cells + kLanes - 1) / kLanes); }
  static double whole(int64_t cells) { return vectors(cells) * static_cast<double>(kLanes); }
  double gathered(double round, double vector) const {
    return round * log2_of(kLanes) * static_cast<double>(columns_.count) +
           vector * static_cast<double>(columns_.vectors);
  }

  const PoolJob& job_;
  const PlanCosts& costs_;
  const AxisWork depth_, rows_, columns_;
  const double lines_, map_rows_;  // of windows; of the map, as often as they are read
};

// What plans cost more where the tensor leaves the second cache: lines that are written once more, and as many streams
// as there are lanes. These meet in the same lines of a cache where planes lie a multiple of 256 bytes apart, which
// costs little in smaller tensors.
struct MemoryCost {
  double maps = 1, planes = 1;

  MemoryCost(const PoolJob& job, int64_t element_size, const BeyondCache& cost) {
    constexpr double kCacheBytes = 1 << 20, kManyBytes = 4 << 20;
    constexpr int64_t kSmallPlane = 8192;
    const int64_t plane = job.depth.size * job.rows.size * job.columns.size * element_size;
    const double bytes = static_cast<double>(plane) * static_cast<double>(job.planes);
    if (bytes <= kCacheBytes) return;
    const bool aligned = bytes > kManyBytes && plane % 256 == 0, large = plane > kSmallPlane;
    maps = aligned ? cost.aligned_maps : cost.maps;
    // Small planes lie side by side in memory, too, until there are many.
    if (large || bytes > kManyBytes) planes = large && aligned ? cost.aligned_planes : cost.planes;
  }
};

// The plan that costs least, of those that can compute the job.
template <class Element, class Lane, bool indexed>
PoolPlan cheapest_plan(const PoolJob& job, bool maps, bool planes) {
  if (!maps && !planes) return PoolPlan::rows;
  constexpr const PlanCosts& costs = kPlanCosts<indexed, sizeof(Lane) == 8>;
  const JobCost<Lane, indexed> cost(job, costs);
  if (cost.is_one_long_window()) return PoolPlan::rows;
  const MemoryCost more(job, sizeof(Element), costs.beyond_cache);
  PoolPlan plan = PoolPlan::rows;
  double least = cost.by_rows();
  const auto consider = [&](PoolPlan other, double other_cost) {
    if (other_cost >= least) return;
    plan = other;
    least = other_cost;
  };
  if (maps) consider(PoolPlan::maps, more.maps * cost.by_maps());
  if (planes) consider(PoolPlan::planes, more.planes * cost.template by_planes<Element>());
  return plan;
}

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
