// What a job takes by rows (kernels/window.cc) and by planes (window_planes.h), in about tenths of nanoseconds: the
// less is chosen. The constants were fitted to the times of rows of the benchmark's grid; docs/design.md says how well
// they choose.
#pragma once

#include "kernels/window_list.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

struct RowsCost {
  double line, row, row_vector, slide, gather_round, gathered_vector;
};
struct PlanesCost {
  double transposed[4];  // a vector of lanes of 1, 2, 4 and 8 bytes
  double stored, combined, run, group;
};

template <bool indexed>
constexpr RowsCost kRowsCost = indexed ? RowsCost{116, 44, 26, 45, 11, 22} : RowsCost{124, 26, 15, 17, 7, 5};
template <bool indexed>
constexpr PlanesCost kPlanesCost =
    indexed ? PlanesCost{{67, 67, 20, 12}, 63, 13, 185, 960} : PlanesCost{{77, 76, 24, 7}, 47, 7, 57, 630};

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
double rows_cost(const PoolJob& job, const AxisWork& depth, const AxisWork& rows, const AxisWork& columns) {
  constexpr int64_t kLanes = kVectorBytes / static_cast<int64_t>(sizeof(Lane));
  constexpr RowsCost cost = kRowsCost<indexed>;
  const auto vectors = [](int64_t cells) { return static_cast<double>((cells + kLanes - 1) / kLanes); };
  const double lines = static_cast<double>(depth.count * rows.count);
  const double map_rows = static_cast<double>(depth.cells * rows.cells);
  const bool sliding = is_sliding(job.columns);
  double all = lines * cost.line;
  // As WindowPool::needs_no_line.
  const bool direct = !sliding && depth.cells == depth.count && rows.cells == rows.count;
  if (!direct) all += map_rows * (cost.row + cost.row_vector * vectors(columns.size));
  if (sliding) {
    const PoolAxis& axis = job.columns;
    const int64_t length = axis.step * (axis.count - 1) + axis.length, taps = axis.length > 3 ? 2 : axis.length;
    const double doublings = axis.length > 3 ? log2_of(axis.length) : 0;
    all += lines * cost.slide *
           (1.5 * doublings * vectors(length) + static_cast<double>(taps * axis.step) * vectors(axis.count));
  } else {
    all += lines * (cost.gather_round * log2_of(kLanes) * static_cast<double>(columns.count) +
                    cost.gathered_vector * static_cast<double>(columns.vectors));
  }
  return all * static_cast<double>(job.planes);
}

template <class Lane, bool indexed>
double planes_cost(const PoolJob& job, const AxisWork& depth, const AxisWork& rows, const AxisWork& columns) {
  constexpr int64_t kLanes = kVectorBytes / static_cast<int64_t>(sizeof(Lane));
  constexpr PlanesCost cost = kPlanesCost<indexed>;
  constexpr double kTransposed = cost.transposed[log2_of(sizeof(Lane))] * log2_of(kLanes) / log2_of(64 / sizeof(Lane));
  const auto rounded = [](int64_t cells) { return static_cast<double>((cells + kLanes - 1) / kLanes * kLanes); };
  const int64_t outputs = depth.count * rows.count * columns.count;
  double group = cost.group + kTransposed * static_cast<double>(depth.size) * rounded(rows.size * columns.size);
  if (outputs > 1) group += cost.stored * (indexed ? 2 : 1) * rounded(outputs);
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
  stage(columns, depth.size * rows.size, 1, indexed);
  stage(rows, depth.size, columns.count, false);
  stage(depth, 1, rows.count * columns.count, false);
  return group * static_cast<double>((job.planes + kLanes - 1) / kLanes);
}

// Whether the job takes less by planes. Its axes have lists of their windows.
template <class Lane, bool indexed>
bool planes_are_cheaper(const PoolJob& job) {
  constexpr int64_t kLanes = kVectorBytes / static_cast<int64_t>(sizeof(Lane));
  const AxisWork depth = axis_work(job.depth, kLanes), rows = axis_work(job.rows, kLanes),
                 columns = axis_work(job.columns, kLanes);
  // A plane's only window, where it lies in one row, is folded to a vector before anything is transposed.
  const bool is_one_window = columns.count == 1 && depth.cells == 1 && rows.cells == 1;
  if (is_one_window && columns.cells > 2 * kLanes) return false;
  // Where rows fill vectors and maps are beyond the first caches, planes were up to twice as slow as the model says.
  constexpr int64_t kMostCells = 4096;
  if (columns.size >= kLanes && depth.size * rows.size * columns.size > kMostCells) return false;
  return planes_cost<Lane, indexed>(job, depth, rows, columns) < rows_cost<Lane, indexed>(job, depth, rows, columns);
}

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
