// What a job takes by rows (kernels/window.cc), by maps (window_maps.h) and by planes (window_planes.h), in about
// tenths of nanoseconds: the least is chosen. The constants were fitted to times of random jobs;
// docs/benchmark/windows.md says how well they choose.
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

template <bool indexed>
constexpr RowsCost kRowsCost = indexed ? RowsCost{107, 35, 21, 32, 3.4, 36} : RowsCost{75, 30, 7.6, 13, 4.9, 9};
template <bool indexed>
constexpr MapsCost kMapsCost = indexed ? MapsCost{374, 63, 36, 13, 73, 43, 22, 41, 23, 8.6, 10, 61, 3.4, 36}
                                       : MapsCost{287, 43, 11, 5.5, 31, 33, 8.3, 12, 7.6, 15, 3, 34, 7.2, 13};
template <bool indexed>
constexpr PlanesCost kPlanesCost =
    indexed ? PlanesCost{{47, 25, 29, 29}, 35, 13, 12, 0} : PlanesCost{{19, 24, 21, 17}, 30, 7.3, 0, 0};

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
  // Its axes have lists of their windows.
  explicit JobCost(const PoolJob& job)
      : job_(job),
        depth_(axis_work(job.depth, kLanes)),
        rows_(axis_work(job.rows, kLanes)),
        columns_(axis_work(job.columns, kLanes)),
        lines_(product(depth_.count, rows_.count)),
        map_rows_(product(depth_.cells, rows_.cells)) {}

  double by_rows() const {
    constexpr RowsCost cost = kRowsCost<indexed>;
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
    constexpr MapsCost cost = kMapsCost<indexed>;
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
    constexpr PlanesCost cost = kPlanesCost<indexed>;
    constexpr double kTransposed =
        cost.transposed[log2_of(sizeof(Element))] * log2_of(kLanes) / log2_of(64 / sizeof(Lane));
    const int64_t outputs = depth_.count * rows_.count * columns_.count;
    double group = cost.group + kTransposed * static_cast<double>(depth_.size) * whole(rows_.size * columns_.size);
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
  const AxisWork depth_, rows_, columns_;
  const double lines_, map_rows_;  // of windows; of the map, as often as they are read
};

// What plans cost more where the tensor leaves the second cache: lines that are written once more, and as many streams
// as there are lanes, which meet in the same lines of a cache where planes lie a multiple of 256 bytes apart.
template <class Element>
struct MemoryCost {
  double maps = 1, planes = 1;

  explicit MemoryCost(const PoolJob& job) {
    constexpr double kCacheBytes = 1 << 20;
    constexpr int64_t kSmallPlane = 8192;
    const int64_t plane = job.depth.size * job.rows.size * job.columns.size * static_cast<int64_t>(sizeof(Element));
    if (static_cast<double>(plane) * static_cast<double>(job.planes) <= kCacheBytes) return;
    const bool aligned = plane % 256 == 0;
    maps = aligned ? 1.6 : 1.25;
    if (plane > kSmallPlane) planes = aligned ? 2.5 : 1.3;
  }
};

// The plan that costs least, of those that can compute the job.
template <class Element, class Lane, bool indexed>
PoolPlan cheapest_plan(const PoolJob& job, bool maps, bool planes) {
  if (!maps && !planes) return PoolPlan::rows;
  const JobCost<Lane, indexed> cost(job);
  if (cost.is_one_long_window()) return PoolPlan::rows;
  const MemoryCost<Element> more(job);
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
