// How a map's lines are laid out for kernels/window_maps.h, and how rows and slices are folded to lines.
#pragma once

#include "kernels/window_list.h"
#include "kernels/window_slides.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

enum class Columns { sliding, picked, gathered };

// The columns' windows in lines that lie `pitch` cells apart.
struct ColumnPlan {
  Columns kind;
  bool uniform;        // windows are as long as each other, as padding is a part of the line; else they are the axis's
  int64_t start;       // the column of the line's first cell
  int64_t pitch;       // a line's cells
  int64_t before;      // how many of them are padding before the map's,
  int64_t cells;       // and how many the map's
  int64_t part, taps;  // cells that are combined before windows are, and how many of those make up a window
};

// Whether windows that are picked are picked from as many lines at once as a vector has lanes. Where windows are
// further apart, that takes no less time. Squares of narrow lanes would not fit the registers.
template <class Lane>
constexpr bool kTurns = sizeof(Lane) >= 4 && kVectorBytes > 16;
template <class Lane>
bool is_turned(const ColumnPlan& plan, const PoolAxis& axis) {
  constexpr int64_t kMostTurned = 5;
  return kTurns<Lane> && plan.kind == Columns::picked && plan.pitch <= kMostTurned * axis.count;
}

// From windows of at least `shortest` cells and at most `longest`.
inline void choose_parts(ColumnPlan& plan, int64_t shortest, int64_t longest, int64_t lanes) {
  if (shortest > 2 * lanes) {
    plan.kind = Columns::gathered;
    return;
  }
  plan.kind = Columns::picked;
  plan.part = 1;
  while (3 * plan.part < longest) plan.part *= 2;
  if (plan.part > shortest) plan.kind = Columns::gathered;
  plan.taps = longest <= plan.part ? 1 : longest <= 2 * plan.part ? 2 : 3;
}

inline ColumnPlan column_plan(const PoolJob& job, int64_t lanes) {
  const PoolAxis& axis = job.columns;
  ColumnPlan plan = {Columns::gathered, false, 0, axis.size, 0, axis.size, 1, 1};
  plan.uniform = may_hold_padding(axis);
  if (!plan.uniform) {
    const Lengths lengths = lengths_of(axis);
    choose_parts(plan, lengths.shortest, lengths.longest, lanes);
    return plan;
  }
  plan.start = axis.first;
  plan.pitch = reach_of(axis);
  plan.before = axis.first < 0 ? -axis.first : 0;
  const int64_t begin = axis.first < 0 ? 0 : axis.first, end = axis.first + plan.pitch;
  plan.cells = (end < axis.size ? end : axis.size) - begin;
  if (axis.count > 1 && decimation(axis.length, axis.step, lanes) > 0) {
    plan.kind = Columns::sliding;
    return plan;
  }
  choose_parts(plan, axis.length, axis.length, lanes);
  return plan;
}

// How often cells of an axis of `size` are combined for `count` windows that have so many cells. Long windows that
// overlap are combined in steps.
inline int64_t steps_of(int64_t cells, int64_t count, int64_t size) {
  const int64_t mean = cells / count;
  int64_t best = cells;
  for (int doublings = 1; (int64_t{2} << doublings) <= mean; ++doublings) {
    const int64_t fewer = (cells >> doublings) + count + 2 * doublings * size;
    best = fewer < best ? fewer : best;
  }
  return best;
}

// What an axis costs that is pooled after its cells have become keys, in vectors that are loaded and combined.
inline int64_t separate_taps(const PoolAxis& axis) {
  return steps_of(cells_of_windows(axis), axis.count, axis.size) + axis.count;
}

// Whether it pays to make rows keys before they are combined: where windows overlap.
inline bool rows_are_separable(const PoolJob& job) {
  const double direct =
      3.0 * static_cast<double>(cells_of_windows(job.rows)) * static_cast<double>(cells_of_windows(job.depth));
  const double keys = 4.0 * static_cast<double>(job.depth.size) * static_cast<double>(job.rows.size);
  double folds = static_cast<double>(job.depth.size) * static_cast<double>(separate_taps(job.rows));
  if (job.depth.size > 1) folds += static_cast<double>(job.rows.count) * static_cast<double>(separate_taps(job.depth));
  return keys + folds < direct;
}

// Makes each of so many cells the best of `tap`, `apart` cells from one to the next.
template <class Lane, bool indexed>
ONNX_MAXPOOL_NOINLINE void combine_lines(const Line<Lane, indexed> lines, int64_t cells, int64_t tap, int64_t apart) {
  constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  for (int64_t done = 1; done < tap; done *= 2) {
    const int64_t distance = done * apart, end = cells - (2 * done - 1) * apart;
    for (int64_t x = 0; x < end; x += kLanes) {
      Cells<Lane, indexed> best = lines.at(x);
      follow(best, lines.at(x + distance));
      lines.set(x, best);
    }
  }
}

// `count` cells, each of which is the best of some that are `apart` cells from one to the next, up to `last`. `taps` is
// 0 where there are more than 5.
template <int taps, class Lane, bool indexed>
ONNX_MAXPOOL_INLINE void fold_cells(const Line<Lane, indexed> from, const Line<Lane, indexed> to, int64_t count,
                                    int64_t apart, int64_t last) {
  constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  for (int64_t x = 0; x < count; x += kLanes) {
    const auto at = [&](int64_t tap) ONNX_MAXPOOL_INLINED { return from.at(x + tap); };
    to.set(x, best_of_taps<taps>(at, apart, last));
  }
}

// From lines, or slices, of `inner` cells to those of windows. Neighbouring windows that start one apart and are as
// long as each other are one piece.
template <class Lane, bool indexed>
ONNX_MAXPOOL_NOINLINE void fold_lines(const AxisPart& part, const Line<Lane, indexed> from,
                                      const Line<Lane, indexed> to, int64_t inner) {
  for (int64_t i = 0; i < part.count;) {
    const Window window = part.windows[i];
    int64_t alike = 1;
    while (i + alike < part.count && part.windows[i + alike].start == window.start + alike &&
           part.windows[i + alike].end == window.end + alike) {
      ++alike;
    }
    const int64_t length = window.end - window.start, taps = taps_of(length, part.tap);
    const Line<Lane, indexed> source = line_at(from, (window.start - part.start) * inner);
    const Line<Lane, indexed> target = line_at(to, i * inner);
    const int64_t count = alike * inner, apart = part.tap * inner, last = (length - part.tap) * inner;
    with_taps<false>(taps, [&](auto number) { fold_cells<number.value>(source, target, count, apart, last); });
    i += alike;
  }
}

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
