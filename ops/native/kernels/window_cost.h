// What a job takes by rows (kernels/window.cc), by maps (window_maps.h) and by planes (window_planes.h), in about
// tenths of nanoseconds: those that should take about the least are tried (plans/trials.h). The constants are of each
// instruction set, with indices and without, and of lanes of 64 bits, which most sets compare slowly.
// tests/native/measure_window_costs.cc fits them to times of random jobs; docs/benchmark/windows.md says how well they
// choose. Without indices, AVX2's costs of far outputs are by hand: those of the fit let rows of the benchmark take up
// to 1.4 times as long.
#pragma once

#include "kernels/window_lines.h"
#include "kernels/window_list.h"
#include "kernels/window_short.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Lines of memory that are read and written, of tensors that leave the second cache.
struct FarCost {
  double input, output;
};
struct RowsCost {
  double line, row, row_vector, slide, gather_round, gathered_vector;
  double walk, walked_row, walked_line, tap;  // of windows that are walked
  FarCost far;
};
struct MapsCost {
  double plane;
  double key_row, key_vector, fold;  // rows become keys, then windows
  double line, row, row_vector;      // or windows at once
  double part, slide, slid_vector;   // columns
  double picked, picked_line, turned, gather_round, gathered_vector;
  double second_cache;  // a vector of a map that is too large for the first
  FarCost far;
};
struct PlanesCost {
  double transposed[4];  // a vector of elements of 1, 2, 4 and 8 bytes
  double stored, combined, run, group;
  double second_cache;  // a vector of planes that are too large for the first
  // Of planes of which as many as there are lanes meet in the same lines of a cache, beyond what cells cost.
  double aligned_input, aligned_output;
  FarCost far;
};
struct PlanCosts {
  RowsCost rows;
  MapsCost maps;
  PlanesCost planes;
};

template <bool indexed, bool wide>
constexpr PlanCosts kPlanCosts = {};

#if defined(__AVX512BW__)
template <>
constexpr PlanCosts kPlanCosts<false, false> = {
    {34.3, 4.66, 5.4, 5.86, 1.84, 10.6, 58.8, 4.77, 4.47, 0.989, {4.65, 0}},
    {45.5, 20.9, 7.99, 2.29, 39.6, 3.82, 6.23, 4.55, 3.88, 7.66, 2.45, 21, 20, 5.33, 20.7, 0.245, {3.4, 11.9}},
    {{10.1, 10.9, 8.97, 8.77}, 17, 2.82, 10.8, 0, 9.77, 9.35, 27.6, {3.4, 20.8}}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {
    {39.9, 4.35, 6.21, 4.97, 5.67, 2.58, 83, 5.51, 3.21, 1.39, {4.24, 0}},
    {111, 16.2, 8.11, 2.31, 42.4, 4.22, 6.17, 4.87, 3.88, 6.03, 2.03, 5.04, 20, 1.98, 5.88, 1.39, {3.57, 8.99}},
    {{14, 18, 15.6, 9.98}, 15.9, 2.63, 11.8, 33.8, 5.76, 1.3, 0, {4.55, 10.5}}};
template <>
constexpr PlanCosts kPlanCosts<true, false> = {
    {51.9, 5.9, 11.9, 11.2, 4.66, 9.44, 72.4, 33.2, 0, 2.82, {8.26, 0.457}},
    {188, 19.7, 16.8, 6.24, 77.1, 6.2, 13, 15.3, 7.37, 15.7, 10.4, 24.3, 20, 5.88, 7.5, 0.189, {8.31, 7.68}},
    {{19.8, 12.2, 11.1, 32.9}, 20.8, 5.94, 17.5, 0, 10, 3.81, 78.7, {4.24, 18.6}}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {68.3, 4.84, 13, 8.59, 8.66, 3.79, 55.5, 20.1, 0.501, 5.8, {2.86, 7.71}},
    {128, 36.7, 17, 4.77, 57.6, 9.21, 12.6, 12.9, 7.31, 10.3, 10.1, 19.3, 20, 33.6, 9.64, 0, {3.16, 14.8}},
    {{55.7, 29.7, 34.4, 13.2}, 26.2, 5.72, 0, 0, 0, 6.51, 5.49, {7.41, 17.8}}};
#elif defined(__AVX2__)
template <>
constexpr PlanCosts kPlanCosts<false, false> = {
    {48.9, 0.642, 3.35, 3.28, 4.53, 0.317, 131, 4.47, 3.74, 1.28, {2.21, 0.685}},
    {149, 19, 3.91, 1.84, 26.5, 3.74, 3.68, 4.38, 2.07, 4.55, 2.03, 44.6, 20, 2.38, 10.6, 1.61, {2.41, 7}},
    {{10.1, 7.68, 8.92, 0}, 12.1, 1.79, 4.87, 0, 2.83, 0.246, 4.81, {4.01, 11}}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {
    {55.2, 2.2, 4.48, 3.95, 10.6, 0.894, 86.8, 3.13, 2.01, 2.1, {0, 0}},
    {102, 18.7, 4.56, 2.18, 19.2, 4.89, 5.56, 7.34, 2.08, 8.5, 2.08, 21.7, 20, 0.151, 15.7, 0, {0, 1.14}},
    {{0, 0, 0, 12.7}, 13.1, 2.59, 11.6, 0, 0, 0, 0, {5.69, 1.14}}};
template <>
constexpr PlanCosts kPlanCosts<true, false> = {
    {40.5, 6.55, 9.15, 6.26, 5.38, 4.2, 61.4, 37.2, 5.03, 2.92, {1.97, 1.48}},
    {124, 25.2, 9.38, 4.12, 109, 4.39, 10.5, 8.92, 3.34, 5.26, 8.15, 26.7, 20, 0.617, 5.37, 0, {2.7, 8.76}},
    {{20.6, 10.8, 13.4, 0}, 13.6, 4.38, 15.2, 0, 0, 0.846, 27.1, {9.41, 13.2}}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {42.7, 18.1, 7.83, 6.19, 12.2, 2.49, 18.4, 36.5, 0, 2.65, {0, 0}},
    {46.2, 27.9, 4.46, 4.36, 27.7, 18, 7.95, 8.53, 6.96, 3.41, 12.1, 26.5, 20, 12, 6.06, 0, {0, 1.05}},
    {{0, 0, 0, 14.6}, 28, 3.74, 11.4, 0, 0, 0.888, 0, {1.78, 0}}};
#else
template <>
constexpr PlanCosts kPlanCosts<false, false> = {
    {45.5, 0.208, 6.46, 2.69, 4.13, 2.3, 133, 10.2, 0, 4.05, {1.16, 9.5}},
    {136, 12.8, 8.3, 2.17, 34.9, 2.82, 5.4, 4.65, 0.137, 7.04, 1.76, 16, 20, 1.31, 9.99, 0, {3.16, 6.07}},
    {{13.3, 8.87, 13.4, 0}, 6.13, 2.83, 13.5, 0, 1.01, 0.0233, 1.09, {5.21, 18.5}}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {
    {47.5, 0, 9.59, 5.61, 25.8, 3.49, 241, 17.2, 20.1, 4.22, {6.63, 0}},
    {26, 48.7, 4.98, 4.56, 53.4, 0, 9.54, 3.38, 4.2, 7.18, 8.4, 0.985, 20, 11.7, 7, 0, {1.02, 0}},
    {{0, 0, 0, 26.9}, 1.01, 7.17, 27.3, 0, 0, 0, 0, {3.55, 0.512}}};
template <>
constexpr PlanCosts kPlanCosts<true, false> = {
    {41.1, 6.24, 16.8, 6.42, 4.85, 14.4, 75.3, 17, 0, 12.8, {0, 5.05}},
    {310, 29.8, 13.2, 4.4, 117, 1.08, 18.9, 13.4, 3.16, 6.6, 7.89, 5.26, 20, 0.423, 0, 0, {1.01, 0}},
    {{26.2, 27, 26.5, 0}, 9.28, 5.6, 17.3, 1.01, 1.01, 1.34, 0, {12.8, 9.74}}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {1.07, 18.7, 28.3, 8.44, 68.9, 10.1, 55, 14.7, 73.3, 11, {28.4, 0}},
    {5.33, 5.33, 64.5, 11.7, 48.5, 28.4, 27.7, 11.3, 10.5, 15.6, 12.4, 0, 20, 0, 6.05, 0.579, {14.6, 12.4}},
    {{0, 0, 0, 60.4}, 1.13, 15.8, 14.2, 166, 12.1, 0, 2.17, {20, 37.7}}};
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
  JobCost(const PoolJob& job, int64_t element_size, const PlanCosts& costs)
      : job_(job),
        element_size_(element_size),
        costs_(costs),
        depth_(axis_work(job.depth, kLanes)),
        rows_(axis_work(job.rows, kLanes)),
        columns_(axis_work(job.columns, kLanes)),
        lines_(product(depth_.count, rows_.count)),
        map_rows_(product(depth_.cells, rows_.cells)) {
    const int64_t of_output = element_size + (!indexed ? 0 : job.indices_are_64_bits ? 8 : 4);
    const double input = bytes(depth_.size, rows_.size, columns_.size, element_size),
                 output = bytes(depth_.count, rows_.count, columns_.count, of_output);
    const double share = beyond(1 << 21, input + output) / 64;
    far_input_ = share * input;
    // Twice for narrow elements: else rows of the benchmark in int8 take 1.3 times as long.
    far_output_ = share * output * (element_size < 4 ? 2 : 1);
  }

  double by_rows() const {
    const RowsCost& cost = costs_.rows;
    const bool sliding = is_sliding(job_.columns);
    if (sliding && is_walked<Lane, indexed>(job_, element_size_)) {
      return walked() * static_cast<double>(job_.planes) + far(cost.far);
    }
    double all = lines_ * cost.line;
    // As WindowPool::needs_no_line.
    const bool direct = !sliding && depth_.cells == depth_.count && rows_.cells == rows_.count;
    if (sliding && is_slid<Lane, indexed>(job_.columns)) {
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
    return all * static_cast<double>(job_.planes) + far(cost.far);
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
    all += cost.second_cache * beyond_first(static_cast<double>(rows_.size) * line_vectors) *
           static_cast<double>(depth_.size * rows_.size) * line_vectors;
    const double count = static_cast<double>(columns_.count);
    if (plan.kind != Columns::gathered) all += cost.part * log2_of(plan.part) * lines_ * line_vectors;
    if (plan.kind == Columns::sliding) {
      const double taps = static_cast<double>(slide_taps(job_.columns.length).taps * job_.columns.step);
      all += lines_ * vectors(columns_.count) * (cost.slide * taps + cost.slid_vector);
    } else if (is_turned<Lane>(plan, job_.columns) && rows_.count >= kLanes) {
      all += lines_ * (cost.turned * (line_vectors + vectors(columns_.count)) +
                       count * (cost.slide * static_cast<double>(plan.taps) + cost.slid_vector) / kLanes);
    } else if (plan.kind == Columns::picked) {
      all += lines_ *
             (cost.picked_line + count * (cost.picked * static_cast<double>(plan.taps) + cost.slid_vector / kLanes));
    } else {
      all += lines_ * (gathered(cost.gather_round, cost.gathered_vector) + cost.slid_vector * count / kLanes);
    }
    return all * static_cast<double>(job_.planes) + far(cost.far);
  }

  double by_planes() const {
    constexpr double kSteps = static_cast<double>(log2_of(kLanes)) / log2_of(64 / sizeof(Lane));
    const PlanesCost& cost = costs_.planes;
    const double transposed = cost.transposed[log2_of(element_size_)] * kSteps;
    const int64_t outputs = depth_.count * rows_.count * columns_.count;
    double group = cost.group + transposed * static_cast<double>(depth_.size) * whole(rows_.size * columns_.size);
    if (outputs > 1) group += cost.stored * (indexed ? 2 : 1) * whole(outputs);
    const auto cells_of_row = static_cast<double>(columns_.size > columns_.count ? columns_.size : columns_.count);
    group += cost.second_cache * beyond_first(static_cast<double>(rows_.size) * cells_of_row) *
             static_cast<double>(depth_.size * rows_.size) * cells_of_row;
    // Of planes that lie a multiple of so many bytes apart, 16 meet in each set of a cache whose ways have 4 KiB.
    const auto is_aligned = [&](int64_t cells) { return cells * element_size_ % (65536 / kLanes) == 0; };
    const int64_t cells = depth_.size * rows_.size * columns_.size;
    if (is_aligned(cells)) group += cost.aligned_input * static_cast<double>(cells);
    if (is_aligned(outputs)) group += cost.aligned_output * (indexed ? 2 : 1) * static_cast<double>(outputs);
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
    return group * static_cast<double>((job_.planes + kLanes - 1) / kLanes) + far(cost.far);
  }

  // Whether a plane's only window lies in one row: it is folded to a vector before anything is transposed.
  bool is_one_long_window() const {
    return columns_.count == 1 && depth_.cells == 1 && rows_.cells == 1 && columns_.cells > 2 * kLanes;
  }

 private:
  double bytes(int64_t depth, int64_t rows, int64_t columns, int64_t of_cell) const {
    return product(job_.planes * of_cell, depth * rows * columns);
  }
  // The share that a cache has no room for.
  static double beyond(double room, double wanted) { return wanted > room ? 1 - room / wanted : 0; }
  // Of so many vectors and the first cache.
  static double beyond_first(double vectors) { return beyond(32768 / kVectorBytes / (indexed ? 2 : 1), vectors); }
  // A plane's windows (kernels/window_short.h). Larger ones take two passes.
  double walked() const {
    const RowsCost& cost = costs_.rows;
    const int64_t height = job_.rows.length, length = job_.columns.length;
    const double passes = height == length && length <= 3 ? 1 : 2;
    const double walks = vectors(columns_.count + length - 1), written = lines_ * vectors(columns_.count);
    const double slices = static_cast<double>(depth_.count);
    return walks * (cost.walk * slices * passes + cost.walked_row * product(depth_.cells, rows_.count + height - 1)) +
           cost.walked_line * written * passes +
           cost.tap *
               (lines_ * walks * static_cast<double>(height - 1) + 2 * written * static_cast<double>(length - 1));
  }
  double far(const FarCost& cost) const { return cost.input * far_input_ + cost.output * far_output_; }
  static double product(int64_t a, int64_t b) { return static_cast<double>(a) * static_cast<double>(b); }
  static double vectors(int64_t cells) { return static_cast<double>((cells + kLanes - 1) / kLanes); }
  static double whole(int64_t cells) { return vectors(cells) * static_cast<double>(kLanes); }
  double gathered(double round, double vector) const {
    return round * log2_of(kLanes) * static_cast<double>(columns_.count) +
           vector * static_cast<double>(columns_.vectors);
  }

  const PoolJob& job_;
  const int64_t element_size_;
  const PlanCosts& costs_;
  const AxisWork depth_, rows_, columns_;
  const double lines_, map_rows_;  // of windows; of the map, as often as they are read
  double far_input_, far_output_;  // lines of memory
};

// Of the plans that can compute the job.
template <class Element, class Lane, bool indexed>
PoolCosts costs_of(const PoolJob& job, bool maps, bool planes) {
  constexpr double kNever = __builtin_inf();
  if (!maps && !planes) return {{0, kNever, kNever}};
  constexpr const PlanCosts& costs = kPlanCosts<indexed, sizeof(Lane) == 8>;
  const JobCost<Lane, indexed> cost(job, sizeof(Element), costs);
  if (cost.is_one_long_window()) return {{0, kNever, kNever}};
  return {{cost.by_rows(), maps ? cost.by_maps() : kNever, planes ? cost.by_planes() : kNever}};
}

// A job's cells as the kernels take them: elements, widened to lanes that hold every position in a plane and one more
// where positions are wanted.
template <class Element_, class Lane_, bool indexed_>
struct CellTypes {
  using Element = Element_;
  using Lane = Lane_;
  static constexpr bool kIndexed = indexed_;
};

// use(CellTypes) of the job's cells.
template <class Element, class Use>
auto with_lanes(const PoolJob& job, Use use) {
  if (!job.indices) return use(CellTypes<Element, Element, false>());
  const int64_t cells = job.depth.size * job.rows.size * job.columns.size;
  if constexpr (sizeof(Element) <= 2) {
    if (cells < int64_t{1} << 15) return use(CellTypes<Element, int16_t, true>());
  }
  if constexpr (sizeof(Element) <= 4) {
    if (cells < int64_t{1} << 31) return use(CellTypes<Element, int32_t, true>());
  }
  return use(CellTypes<Element, int64_t, true>());
}
template <class Use>
auto with_cells(const PoolJob& job, size_t element_size, Use use) {
  switch (element_size) {
    case 1:
      return with_lanes<int8_t>(job, use);
    case 2:
      return with_lanes<int16_t>(job, use);
    case 4:
      return with_lanes<int32_t>(job, use);
    default:
      return with_lanes<int64_t>(job, use);
  }
}

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
