// What a job takes by each plan (PoolPlan in window.h), in about tenths of nanoseconds: those that should take about
// the least are tried (plans/trials.h). window_plan_costs.h has the constants.
#pragma once

#include <type_traits>

#include "kernels/numbers.h"
#include "kernels/window_lines.h"
#include "kernels/window_list.h"
#include "kernels/window_lookups.h"
#include "kernels/window_plan_costs.h"
#include "kernels/window_walks.h"

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
  AxisWork work = {axis.size, axis.count, 0, 0, is_identity(axis)};
  for (int64_t i = 0; i < axis.count; ++i) {
    const int64_t length = axis.windows[i].length();
    work.cells += length;
    work.vectors += (length + lanes - 1) / lanes;
  }
  return work;
}

constexpr int log2_of(int64_t n) { return n > 1 ? 1 + log2_of(n / 2) : 0; }

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
    // As RowsPool::needs_no_line.
    const bool direct = !sliding && depth_.cells == depth_.count && rows_.cells == rows_.count;
    if (sliding && is_slid<Lane, indexed>(job_.columns)) {
      all += map_rows_ * cost.row_vector * vectors(columns_.size + kLanes);
    } else if (!direct) {
      all += map_rows_ * (cost.row + cost.row_vector * vectors(columns_.size));
    }
    if (sliding) {
      const SlideWork work = slide_work(vectors(reach_of(job_.columns)));
      all += lines_ * cost.slide * (1.5 * work.combined + work.taken);
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
    if (plan.kind == Columns::sliding) {
      const SlideWork work = slide_work(line_vectors);
      all +=
          lines_ * (cost.part * work.combined + cost.slide * work.taken + cost.slid_vector * vectors(columns_.count));
    } else if (is_turned<Lane>(plan, job_.columns) &&
               (is_separable_volume ? rows_.count : depth_.count * rows_.count) >= kLanes) {
      all += lines_ * (cost.turned * (line_vectors + vectors(columns_.count)) +
                       count * (cost.slide * static_cast<double>(plan.taps) + cost.slid_vector) / kLanes);
    } else if (plan.kind == Columns::picked) {
      all += lines_ * (cost.part * log2_of(plan.part) * line_vectors + cost.picked_line +
                       count * (cost.picked * static_cast<double>(plan.taps) + cost.slid_vector / kLanes));
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
    const double of_row = pieces * cost.row + cost.row_vector * static_cast<double>(found.vectors);
    return (lines_ * of_line + map_rows_ * of_row) * static_cast<double>(job_.planes) + far(cost.far);
  }

  double by_walks() const {
    if (is_walked_in_order()) return by_ordered_walks();
    constexpr double kEnds = 8;  // walks that the rows at the tensor's ends take, which are copied first
    constexpr int64_t kWalked = kVectorBytes == 64 && !indexed ? 4 : 2;  // about as many vectors at once
    const WalksCost& cost = costs_.walks;
    const PoolAxis &rows = job_.rows, &columns = job_.columns;
    // Float and double are walked as numbers, and more of their windows have code of their own then.
    using Walked = typename std::conditional<indexed, Lane, typename PooledAs<Lane>::type>::type;
    const WalkVectors found = walk_vectors<Walked, indexed>(job_);
    const int64_t bands = bands_of_plane();
    const int64_t tails = tails_at_once<Lane, indexed>(job_, element_size_);
    const bool are_one = walks_flat<Walked, indexed>(job_);  // all lines of a map
    const double whole = static_cast<double>(columns.count) / kLanes;
    const double of_line = static_cast<double>(found.read) - (tails > 0 ? 1 - 1 / static_cast<double>(tails) : 0);
    const double walks = are_one ? 1 : product((found.read + kWalked - 1) / kWalked, bands);
    const double read = are_one ? whole : of_line * static_cast<double>(columns.step);
    const double written = are_one ? whole : static_cast<double>(found.written);
    const int64_t before = kept_rows(rows);                                      // rows of a band's first window
    const int64_t known = (rows.length - before) * rows.count + before * bands;  // rows of a slice
    const bool is_short = has_own_walk<Walked, indexed>(job_);
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

  double by_ordered_walks() const {
    constexpr double kEnds = 8;  // as other walks
    const WalksCost& cost = costs_.walks;
    const PoolAxis &rows = job_.rows, &columns = job_.columns;
    const int64_t kept = kept_rows(rows), bands = bands_of_plane();
    const double strips = vectors(columns.count);
    const double read = strips * static_cast<double>((rows.length - kept) * rows.count + kept * bands);
    // Rows of a line that follow others; those that are kept do so once for each of what is known.
    const int64_t last = kept < rows.step ? kept : rows.step,
                  follow = kept > 0 ? rows.step - last + last * kept : rows.length - 1;
    const double taps = read * static_cast<double>(columns.length - 1) + strips * product(rows.count, follow);
    const double of_slice =
        strips * (cost.strip * static_cast<double>(bands) + cost.strip_line * static_cast<double>(rows.count)) +
        read * cost.strip_row * static_cast<double>(columns.step) + cost.strip_tap * taps;
    return kEnds * cost.strip + of_slice * product(depth_.cells, job_.planes) + far(cost.far);
  }

  // To combine slices (window_slices.h), as rows are loaded; not to pool what they become.
  double of_slices() const {
    const RowsCost& cost = costs_.rows;
    const double loaded = static_cast<double>(depth_.cells) * vectors(rows_.size * columns_.size);
    const double of_plane = cost.row * static_cast<double>(depth_.count) + cost.row_vector * loaded;
    return of_plane * static_cast<double>(job_.planes) + far(cost.far);
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
  bool is_walked_in_order() const { return element_size_ == sizeof(Lane) && walks_in_order<Lane, Lane, indexed>(job_); }
  // Bands of a plane's lines, which are walked at once.
  int64_t bands_of_plane() const {
    const int64_t at_once = lines_per_unit(job_) < kBand ? lines_per_unit(job_) : kBand;
    return (job_.rows.count + at_once - 1) / at_once;
  }
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

  // What sliding windows take of a line of so many vectors, in vectors: those that are combined to parts, and those
  // that are read and put in another order to decimate the line and to take windows.
  struct SlideWork {
    double combined, taken;
  };
  SlideWork slide_work(double line_vectors) const {
    const int64_t count = columns_.count;
    const Slide slide = slide_of(job_.columns.length, job_.columns.step, kLanes);
    SlideWork work = {log2_of(slide.part) * line_vectors, 0};
    const int64_t taps = slide.side_by_side ? 1 : slide.taps;
    const auto take = [&](int64_t step, int64_t left) {
      work.taken += vectors(left) * static_cast<double>(step * taps + lanes_apart(step, slide.side_by_side));
    };
    if (slide.decimation > 1) take(slide.decimation, count * slide.step);
    take(slide.step, count);
    return work;
  }
  // Instructions of `of_each`, about: to take the first of each `n` lanes, or the best.
  static constexpr int64_t lanes_apart(int64_t n, bool best) {
    if (n == 1) return 0;
    if (n % 2 == 0) return n / 2 * (best ? 3 : 1) + lanes_apart(n / 2, best);
    return best ? n * n : n;
  }

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
static_assert(sizeof kPoolPlans / sizeof *kPoolPlans == 6, "a cost for each plan");

// Of the only plan for a job: roughly, whatever the windows. An index is an output of its own.
inline double rough_cost(const PoolJob& job) {
  constexpr double kCell = 1.5, kOutput = 3;
  const double lines = static_cast<double>(job.planes) * static_cast<double>(job.depth.size * job.rows.size);
  const double of_windows = static_cast<double>(job.planes) * static_cast<double>(job.depth.count * job.rows.count);
  return kCell * lines * static_cast<double>(job.columns.size) +
         kOutput * of_windows * static_cast<double>(job.columns.count) * (job.indices ? 2 : 1);
}
inline PoolCosts only_rows(const PoolJob& job) { return {{rough_cost(job), kNever, kNever, kNever, kNever, kNever}}; }
inline PoolCosts only_walks(const PoolJob& job) { return {{kNever, kNever, kNever, kNever, rough_cost(job), kNever}}; }

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
           lookups ? cost.by_lookups(pieces) : kNever, walks ? cost.by_walks() : kNever, kNever}};
}

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
