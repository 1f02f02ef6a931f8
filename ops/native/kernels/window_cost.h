// What a job takes by rows (kernels/window.cc), by maps (window_maps.h), by planes (window_planes.h), by lookups
// (window_lookups.h) and by walks (window_walks.h), in about tenths of nanoseconds: those that should take about the
// least are tried (plans/trials.h). The constants are of each instruction set, with indices and without, and of lanes
// of 64 bits, which most sets compare slowly. tests/native/measure_window_costs.cc fits them to times of random jobs;
// docs/benchmark/windows.md says how well they choose.
#pragma once

#include <type_traits>

#include "kernels/numbers.h"
#include "kernels/window_lines.h"
#include "kernels/window_list.h"
#include "kernels/window_lookups.h"
#include "kernels/window_walks.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Lines of memory that are read and written, of tensors that leave the second cache.
struct FarCost {
  double input, output;
};
struct RowsCost {
  double line, row, row_vector, slide, gather_round, gathered_vector;
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
struct LookupsCost {
  double line, piece, tap;
  double row, row_vector;  // of each piece
  FarCost far;
};
struct WalksCost {
  double walk, row, line, tap, doubling;
  FarCost far;
};
struct PlanCosts {
  RowsCost rows;
  MapsCost maps;
  PlanesCost planes;
  LookupsCost lookups;
  WalksCost walks;
};

template <bool indexed, bool wide>
constexpr PlanCosts kPlanCosts = {};

#if defined(__AVX512BW__)
template <>
constexpr PlanCosts kPlanCosts<false, false> = {
    {63.8, 9.69, 6.25, 9.04, 2.69, 15.6, {17.5, 1.08}},
    {239, 26.7, 9.87, 5.62, 75.8, 10.7, 9.37, 3.85, 1.67, 16.3, 5.23, 29, 25.9, 20.7, 2.99, 16.3, {16.6, 13.4}},
    {{22.1, 20.9, 17.8, 10.1}, 28.7, 5.3, 7.05, 0, 11.6, 11, 13, {18.7, 57.9}},
    {26.8, 9.73, 8.82, 7.85, 4.67, {14.4, 0}},
    {154, 7.85, 4.4, 4.95, 5.33, {23.1, 15.6}}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {
    {33.3, 23.9, 10.1, 9.36, 6.66, 7.02, {19, 0.555}},
    {107, 10.2, 15.9, 5.11, 42.9, 9.25, 14.7, 7.2, 3.87, 20.5, 2.72, 73.3, 16.1, 15, 5.61, 42.3, {17.9, 33.3}},
    {{18.7, 24.2, 21, 17.6}, 32.2, 4.76, 0.69, 0, 9.98, 6.85, 30.7, {20, 49.1}},
    {34.9, 23, 7.37, 4.94, 10.1, {20.1, 1.09}},
    {126, 11.9, 13.7, 2.89, 5.76, {29.1, 25.8}}};
template <>
constexpr PlanCosts kPlanCosts<true, false> = {
    {91.5, 16.6, 19.8, 20.2, 4.66, 35.3, {12.4, 5.37}},
    {356, 0, 79.6, 11.7, 109, 21.8, 27.3, 31.3, 8.61, 44.1, 8.3, 52.7, 94.4, 9.31, 20.9, 3.01, {3.4, 19.5}},
    {{78.8, 29.5, 19.3, 38.9}, 53, 15.4, 12.9, 0, 20.1, 0.0793, 0, {12.9, 39.9}},
    {32.2, 35.2, 26.2, 5.26, 26.6, {6.27, 7.21}},
    {198, 13.8, 33.1, 7.36, 14.4, {17.9, 16.4}}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {68.9, 16, 21.5, 18.9, 15.5, 13.6, {4.57, 2.49}},
    {221, 110, 61, 9.37, 97, 25.1, 26.7, 32.7, 15.6, 27.6, 11, 72.5, 40.9, 31, 26, 2.33, {7.9, 16.7}},
    {{106, 56.3, 65.1, 19.4}, 32, 15, 23.4, 142, 9.46, 2.07, 26.3, {4.99, 28.4}},
    {19.4, 21.4, 22.9, 12.7, 29.4, {3.67, 1.04}},
    {308, 30.1, 0, 8.86, 14.4, {9.16, 0.772}}};
#elif defined(__AVX2__)
template <>
constexpr PlanCosts kPlanCosts<false, false> = {
    {25.7, 5.33, 3.79, 3.04, 2.31, 3.78, {2.41, 1.09}},
    {72.5, 21.1, 4.83, 1.76, 43.4, 5.51, 3.68, 4.26, 1.28, 4.23, 2.15, 15.3, 4.88, 0, 4.65, 1.32, {3.36, 3.28}},
    {{10.8, 6.96, 5.54, 0}, 6.68, 2.1, 23.9, 109, 2.6, 4.93, 22.8, {4.21, 9.15}},
    {},
    {68.6, 6.05, 1.26, 1.79, 3.5, {2.41, 1.09}}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {
    {41, 2.5, 3.92, 3.97, 12.1, 0.782, {0, 0}},
    {110, 32.7, 5.58, 1.77, 19.3, 4.28, 4.52, 5.45, 1.95, 7.43, 4.18, 19, 8.13, 0.132, 15.8, 0.437, {0.874, 0}},
    {{0, 0, 0, 11.1}, 11.5, 2.26, 10.1, 0, 0, 0, 0, {4.97, 0.997}},
    {},
    {149, 3.15, 1.76, 1.84, 4, {0, 0}}};
template <>
constexpr PlanCosts kPlanCosts<true, false> = {
    {36.6, 5.33, 9.49, 4.99, 4.87, 3.54, {3.65, 0}},
    {255, 18.2, 9.17, 3.7, 78.6, 8.12, 8.8, 7.14, 3.46, 5.2, 7.69, 5.47, 16.3, 0.721, 5.66, 0.674, {3.32, 8.67}},
    {{16.5, 15.3, 12.7, 0}, 7.18, 4.13, 36.7, 0, 1.61, 1.52, 1.96, {1.71, 9.9}},
    {},
    {63.3, 38.3, 5.18, 3.01, 0, {3.65, 0}}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {46.1, 3.07, 10.8, 4.02, 8.71, 2.81, {2.4, 3.08}},
    {318, 14.5, 11.6, 4.13, 28.8, 7.21, 10.6, 7.2, 3.32, 4.44, 8.04, 22.7, 9.31, 3.72, 6.4, 1.1, {2.85, 11.8}},
    {{0, 0, 0, 11.8}, 5.53, 4.38, 33.5, 43.2, 2.87, 0.11, 12.6, {4.55, 12.1}},
    {},
    {19, 37.6, 0, 2.73, 0, {2.4, 3.08}}};
#else
template <>
constexpr PlanCosts kPlanCosts<false, false> = {
    {45.5, 0.208, 6.46, 2.69, 4.13, 2.3, {1.16, 9.5}},
    {136, 12.8, 8.3, 2.17, 34.9, 2.82, 5.4, 4.65, 0.137, 7.04, 1.76, 16, 20, 1.31, 9.99, 0, {3.16, 6.07}},
    {{13.3, 8.87, 13.4, 0}, 6.13, 2.83, 13.5, 0, 1.01, 0.0233, 1.09, {5.21, 18.5}},
    {},
    {133, 10.2, 0, 4.05, 0, {1.16, 9.5}}};
template <>
constexpr PlanCosts kPlanCosts<false, true> = {
    {47.5, 0, 9.59, 5.61, 25.8, 3.49, {6.63, 0}},
    {26, 48.7, 4.98, 4.56, 53.4, 0, 9.54, 3.38, 4.2, 7.18, 8.4, 0.985, 20, 11.7, 7, 0, {1.02, 0}},
    {{0, 0, 0, 26.9}, 1.01, 7.17, 27.3, 0, 0, 0, 0, {3.55, 0.512}},
    {},
    {241, 17.2, 20.1, 4.22, 0, {6.63, 0}}};
template <>
constexpr PlanCosts kPlanCosts<true, false> = {
    {41.1, 6.24, 16.8, 6.42, 4.85, 14.4, {0, 5.05}},
    {310, 29.8, 13.2, 4.4, 117, 1.08, 18.9, 13.4, 3.16, 6.6, 7.89, 5.26, 20, 0.423, 0, 0, {1.01, 0}},
    {{26.2, 27, 26.5, 0}, 9.28, 5.6, 17.3, 1.01, 1.01, 1.34, 0, {12.8, 9.74}},
    {},
    {75.3, 17, 0, 12.8, 0, {0, 5.05}}};
template <>
constexpr PlanCosts kPlanCosts<true, true> = {
    {1.07, 18.7, 28.3, 8.44, 68.9, 10.1, {28.4, 0}},
    {5.33, 5.33, 64.5, 11.7, 48.5, 28.4, 27.7, 11.3, 10.5, 15.6, 12.4, 0, 20, 0, 6.05, 0.579, {14.6, 12.4}},
    {{0, 0, 0, 60.4}, 1.13, 15.8, 14.2, 166, 12.1, 0, 2.17, {20, 37.7}},
    {},
    {55, 14.7, 73.3, 11, 0, {28.4, 0}}};
#endif

// The windows of an axis that has a list of them.
struct AxisWork {
  int64_t size, count;
  int64_t cells;    // in all windows
  int64_t vectors;  // the same, in vectors of so many cells each
  bool is_identity;
};

inline AxisWork axis_work(const PoolAxis& axis, int64_t lanes) {
  AxisWork work = {axis.size, axis.count, 0, 0, is_identity(axis)};
  for (int64_t i = 0; i < axis.count; ++i) {
    const int64_t length = axis.windows[i].end - axis.windows[i].start;
    work.cells += length;
    work.vectors += (length + lanes - 1) / lanes;
  }
  return work;
}

constexpr int log2_of(int64_t n) { return n > 1 ? 1 + log2_of(n / 2) : 0; }

// Which windows are taken by combining a line with itself.
inline bool is_sliding(const PoolAxis& axis, int64_t lanes) {
  // Not where padding would make the line much longer than its row.
  return has_step(axis) && axis.count > 1 && axis.step >= 1 && axis.step <= most_sliding_step(lanes) &&
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
    const int64_t of_output = output_bytes<indexed>(job, element_size);
    const double input = bytes(depth_.size, rows_.size, columns_.size, element_size),
                 output = bytes(depth_.count, rows_.count, columns_.count, of_output);
    const double share = beyond(1 << 21, input + output) / 64;
    far_input_ = share * input;
    // Twice for narrow elements: else rows of the benchmark in int8 take 1.3 times as long.
    far_output_ = share * output * (element_size < 4 ? 2 : 1);
  }

  double by_rows() const {
    const RowsCost& cost = costs_.rows;
    const bool sliding = is_sliding(job_.columns, kLanes);
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
    const bool separable = rows_are_separable(job_), is_separable_volume = separable && depth_.count > 1;
    if (separable) {
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
    } else if (is_turned<Lane>(plan, job_.columns) &&
               (is_separable_volume ? rows_.count : depth_.count * rows_.count) >= kLanes) {
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
      const int64_t taps = steps_of(axis.cells, axis.count, axis.size);
      group += cost.combined * static_cast<double>(outer * inner * taps);
      group += cost.run * static_cast<double>(axis.count * (inner == 1 ? 1 : outer));
    };
    stage(columns_, depth_.size * rows_.size, 1, indexed);
    stage(rows_, depth_.size, columns_.count, false);
    stage(depth_, 1, rows_.count * columns_.count, false);
    return group * static_cast<double>((job_.planes + kLanes - 1) / kLanes) + far(cost.far);
  }

  double by_lookups(const LookupPieces& found) const {
    const LookupsCost& cost = costs_.lookups;
    const auto pieces = static_cast<double>(found.count);
    const double of_line = cost.line + pieces * (cost.piece + cost.tap * static_cast<double>(found.taps - 1));
    const double of_row = pieces * (cost.row + cost.row_vector * static_cast<double>(found.vectors));
    return (lines_ * of_line + map_rows_ * of_row) * static_cast<double>(job_.planes) + far(cost.far);
  }

  double by_walks() const {
    constexpr double kEnds = 8;  // walks that the rows at the tensor's ends take, which are copied first
    constexpr int64_t kWalked = kVectorBytes == 64 && !indexed ? 4 : 2;  // about as many vectors at once
    const WalksCost& cost = costs_.walks;
    const PoolAxis &rows = job_.rows, &columns = job_.columns;
    const WalkVectors found = walk_vectors(columns, kLanes);
    const int64_t at_once = lines_per_unit(job_) < kBand ? lines_per_unit(job_) : kBand;
    const int64_t bands = (rows.count + at_once - 1) / at_once;
    const int64_t tails = tails_at_once<Lane, indexed>(job_, element_size_);
    const double of_line = static_cast<double>(found.read) - (tails > 0 ? 1 - 1 / static_cast<double>(tails) : 0);
    const double walks = product((found.read + kWalked - 1) / kWalked, bands);
    const double read = of_line * static_cast<double>(columns.step), written = static_cast<double>(found.written);
    const int64_t before = kept_rows(rows);                                      // rows of a band's first window
    const int64_t known = (rows.length - before) * rows.count + before * bands;  // rows of a slice
    // Float and double are walked as numbers, and more of their windows have code of their own then.
    using Walked = typename std::conditional<indexed, Lane, typename PooledAs<Lane>::type>::type;
    const bool is_short = is_short_walk<Walked, indexed>(job_);
    // Groups of rows are doubled before a band's first line, too.
    const double groups = lines_ + product(depth_.count, before / rows.step * bands);
    const double of_taps =
        is_short
            ? cost.tap * lines_ *
                  (static_cast<double>(rows.length - 1) * read + 2 * static_cast<double>(columns.length - 1) * written)
            : cost.doubling * (doubling_taps(rows) * groups * read + doubling_taps(columns) * lines_ * written);
    const double of_plane = cost.walk * static_cast<double>(depth_.count) * walks +
                            cost.row * static_cast<double>(depth_.cells) * static_cast<double>(known) * read +
                            cost.line * lines_ * written + of_taps;
    return kEnds * cost.walk + of_plane * static_cast<double>(job_.planes) + far(cost.far);
  }

  // About how many vectors are combined for one of windows: cells of a group, groups, and the cells beyond.
  static double doubling_taps(const PoolAxis& axis) {
    const Doublings found(axis);
    return static_cast<double>(axis.step + found.count + (found.rest > 0));
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

// Where no other plan can compute the job, or is known to be worse.
constexpr double kNever = __builtin_inf();
static_assert(sizeof kPoolPlans / sizeof *kPoolPlans == 5, "a cost for each plan");

// Of the only plan for a job: roughly, whatever the windows. An index is an output of its own.
inline double rough_cost(const PoolJob& job) {
  constexpr double kCell = 1.5, kOutput = 3;
  const double lines = static_cast<double>(job.planes) * static_cast<double>(job.depth.size * job.rows.size);
  const double of_windows = static_cast<double>(job.planes) * static_cast<double>(job.depth.count * job.rows.count);
  return kCell * lines * static_cast<double>(job.columns.size) +
         kOutput * of_windows * static_cast<double>(job.columns.count) * (job.indices ? 2 : 1);
}
inline PoolCosts only_rows(const PoolJob& job) { return {{rough_cost(job), kNever, kNever, kNever, kNever}}; }
inline PoolCosts only_walks(const PoolJob& job) { return {{kNever, kNever, kNever, kNever, rough_cost(job)}}; }

// By the plans that can compute the job.
template <class Element, class Lane, bool indexed>
PoolCosts costs_of(const PoolJob& job, bool maps, bool planes, bool walks) {
  const LookupPieces pieces = lookup_pieces<Lane>(job);
  const bool lookups = pieces.count > 0, are_listed = job.depth.windows && job.rows.windows && job.columns.windows;
  if (!are_listed) {  // other plans need lists
    // Of lines that long, a unit has few: a walk would take more time to begin than to go on.
    const int64_t most = job.rows.count < lines_per_unit(job) ? job.rows.count : lines_per_unit(job);
    const bool are_walked = walks && job.columns.windows && most >= 4 * job.rows.length;
    return are_walked ? only_walks(job) : only_rows(job);
  }
  if (!maps && !planes && !lookups && !walks) return only_rows(job);
  constexpr const PlanCosts& costs = kPlanCosts<indexed, sizeof(Lane) == 8>;
  const JobCost<Lane, indexed> cost(job, sizeof(Element), costs);
  if (cost.is_one_long_window()) return only_rows(job);
  return {{cost.by_rows(), maps ? cost.by_maps() : kNever, planes ? cost.by_planes() : kNever,
           lookups ? cost.by_lookups(pieces) : kNever, walks ? cost.by_walks() : kNever}};
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
