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
// How many times as much plans cost whose tensors leave the second cache.
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
// What aligned planes cost is not of the fit, which random jobs of that kind are too few for.
template <>
constexpr PlanCosts kPlanCosts<false, false> = {
    {43.9, 11, 6.57, 5.98, 2.26, 7.72},
    {162, 26.3, 5.02, 2.65, 36.2, 10.6, 7.19, 2.59, 4.66, 8.85, 1.36, 39.4, 0, 12.9},
    {{16.4, 15.4, 13.1, 9.79}, 24.2, 3.58, 0, 0},
    {1.08, 1.6, 1.21, 2.5}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {
    {47.9, 10.8, 6.58, 5.25, 6.06, 2.11},
    {129, 30.9, 5.44, 3.02, 27.5, 9.73, 7.58, 4.94, 3.78, 5.28, 1.82, 26.5, 4.73, 6.41},
    {{11.9, 15.2, 13.2, 12.7}, 24.3, 2.45, 0, 0},
    {1.08, 1.6, 1.21, 2.5}};
template <>
constexpr PlanCosts kPlanCosts<true, false> = {
    {63.2, 15.2, 12.2, 11.5, 2.94, 15.8},
    {275, 26.5, 9.94, 6.29, 52.4, 12.6, 14.1, 12.7, 7.96, 20.7, 7.01, 54.2, 0, 15.4},
    {{22, 21.3, 16.7, 32.6}, 25.5, 6.34, 0, 0},
    {1.25, 1.6, 1.21, 2.5}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {56.1, 17.3, 11.8, 8.76, 7.54, 3.17},
    {172, 24.8, 11.6, 6.62, 94, 16.3, 13, 16.5, 5.72, 14.5, 5.51, 22.4, 11.1, 9.15},
    {{51, 27.2, 31.5, 12.2}, 27.5, 5.98, 5.43, 0},
    {1.25, 1.6, 1.21, 2.5}};
#elif defined(__AVX2__)
template <>
constexpr PlanCosts kPlanCosts<false, false> = {{91, 18, 6, 4.3, 6.1, 3.9},
                                                {395, 33, 5.4, 3.3, 68, 15, 6.4, 7.6, 3.5, 6.7, 2.4, 63, 27, 16},
                                                {{16, 17.5, 14.4, 0}, 20.5, 3.5, 8.1, 0},
                                                {1.12, 1.35, 1.14, 1.5}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {
    {92.5, 15.1, 6.87, 4.92, 12.3, 1.53},
    {150, 38.8, 7.53, 3.34, 55.1, 12.6, 7.92, 11.3, 2.1, 14, 2.99, 31.2, 0.215, 17.2},
    {{0, 0, 0, 15.9}, 23.6, 3.69, 13.8, 0},
    {1.04, 0.958, 1.12, 1.16}};
template <>
constexpr PlanCosts kPlanCosts<true, false> = {{107, 22, 14.5, 8.8, 8.3, 4.6},
                                               {130, 78, 3.7, 7.1, 100, 23, 16, 12.6, 6.3, 9.2, 11.3, 49, 10.6, 6.7},
                                               {{26, 13, 21, 0}, 25, 7.2, 5.9, 0},
                                               {1.12, 1.35, 1.04, 1.5}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {167, 39.7, 17.2, 13.9, 26.9, 3.42},
    {463, 65.5, 9.8, 8.9, 152, 30, 18.8, 21.7, 11.6, 5.3, 17.6, 69.1, 12.3, 12.4},
    {{0, 0, 0, 29.9}, 46.6, 8.23, 33.6, 0},
    {1.06, 1.12, 1.06, 1.16}};
#else
template <>
constexpr PlanCosts kPlanCosts<false, false> = {
    {61.1, 17.8, 7.4, 5.14, 7.15, 8.01},
    {364, 50.2, 6.52, 3.24, 85.5, 14.6, 8.05, 5.12, 1.07, 7.54, 2.89, 19.6, 9.54, 6.24},
    {{18.4, 14.1, 17.5, 0}, 13, 3.83, 17.9, 123},
    {0.988, 1.21, 0.994, 1.21}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {
    {60.9, 25.2, 14, 16.5, 49.5, 4.01},
    {510, 82.3, 14.2, 5.71, 143, 8.06, 14.7, 7.64, 0, 4.07, 3.66, 2.15, 6.19, 6.41},
    {{0, 0, 0, 53.8}, 5.38, 7.86, 12.1, 273},
    {1.04, 1.22, 0.94, 1.25}};
template <>
constexpr PlanCosts kPlanCosts<true, false> = {{83, 34, 22, 8.6, 13.6, 15},
                                               {568, 42.5, 19, 5.5, 96, 20, 22, 14, 7.2, 6.9, 12.3, 22.7, 5.3, 20},
                                               {{31.5, 17, 37, 0}, 21, 7.5, 18, 190},
                                               {1.12, 1.35, 1.04, 1.04}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {66, 50.7, 36.6, 30.7, 45.8, 29.2},
    {544, 1.12, 93.2, 15.4, 31.3, 30.6, 37, 27.9, 0.0522, 34.3, 9.94, 9.67, 46.7, 4.52},
    {{0, 0, 0, 71.4}, 16.3, 19.9, 31, 352},
    {1.16, 1.19, 1.21, 1.4}};
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
// as there are lanes, which meet in the same lines of a cache where planes lie a multiple of 256 bytes apart.
struct MemoryCost {
  double maps = 1, planes = 1;

  MemoryCost(const PoolJob& job, int64_t element_size, const BeyondCache& cost) {
    constexpr double kCacheBytes = 1 << 20, kManyBytes = 4 << 20;
    constexpr int64_t kSmallPlane = 8192;
    const int64_t plane = job.depth.size * job.rows.size * job.columns.size * element_size;
    const double bytes = static_cast<double>(plane) * static_cast<double>(job.planes);
    if (bytes <= kCacheBytes) return;
    const bool aligned = plane % 256 == 0, large = plane > kSmallPlane;
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
