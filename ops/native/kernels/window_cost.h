// What a job takes by rows (kernels/window.cc), by maps (window_maps.h) and by planes (window_planes.h), in about
// tenths of nanoseconds: the least is chosen. The constants are window_costs.h's; docs/benchmark/windows.md says how
// well they choose.
#pragma once

#include "kernels/window_costs.h"
#include "kernels/window_lines.h"
#include "kernels/window_list.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

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
    if (!direct) all += map_rows_ * (cost.row + cost.row_vector * vectors(columns_.size));
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
