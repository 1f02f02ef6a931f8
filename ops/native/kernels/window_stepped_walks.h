// Windows of a few columns that start two or three columns apart: of as many vectors, a vector has the first columns of
// all windows, another the second ones, and so on. A window may have the first columns of the next one, or all of them.
//
//   step 2   x0 x1 x2 x3 | x4 x5 x6 x7   first   x0 x2 x4 x6    second   x1 x3 x5 x7    next   x2 x4 x6 x8
//
// Or one column of the window before, where the first column is padding and so is not read. Then windows that fill
// vectors take no column of another one (32 columns with windows of three and a padding of one); but a walk knows no
// column before it, so that it has to take whole lines.
//
//   padding 1   x0 x1 x2 x3 | x4 x5 x6 x7   second   x0 x2 x4 x6    third   x1 x3 x5 x7    before   -- x1 x3 x5
#pragma once

#include "kernels/window_doublings.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

constexpr int64_t kMostKept = 2;

// How many columns apart windows may start. To take every third lane takes too many instructions of narrow lanes, and
// of narrow vectors.
template <class Lane>
constexpr int64_t kMostColumnsStepped = kVectorBytes > 16 && sizeof(Lane) >= 128 / kVectorBytes ? 3 : 2;

// Of the rows of a window, how many the next windows have, too.
inline int64_t kept_rows(const PoolAxis& rows) { return rows.length > rows.step ? rows.length - rows.step : 0; }

template <class Lane>
bool is_stepped(const PoolAxis& rows, const PoolAxis& columns) {
  return has_step(rows) && rows.step <= kMostRowsApart && kept_rows(rows) <= kMostKept && has_step(columns) &&
         columns.step >= 2 && columns.step <= kMostColumnsStepped<Lane> && columns.length <= 2 * columns.step;
}

// Vectors of windows that are walked at once: as many as there are registers for to read, or fewer, where their code is
// not worth its size.
template <class Lane, bool indexed, int step>
constexpr int kSteppedAtOnce = (kVectorBytes == 64 && kAreOnlyNumbers<Lane, indexed> ? 8 : 4) / step;

// Whether each window takes its first column from the window before, and no window any of the next. Of others,
// takes_neighbours() tells.
template <class Lane, bool indexed>
bool takes_column_before(const PoolJob& job) {
  constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  const PoolAxis& columns = job.columns;
  if (columns.first != -1 || columns.length != columns.step + 1 || !is_stepped<Lane>(job.rows, columns)) return false;
  const int64_t most =
      kLanes * (columns.step == 2 ? kSteppedAtOnce<Lane, indexed, 2> : kSteppedAtOnce<Lane, indexed, 3>);
  const bool fills_vectors = columns.count % kLanes == 0 && columns.count * columns.step <= columns.size;
  return fills_vectors && columns.count <= most;
}

// Of the most common ones, squares that start one row apart or as many rows as columns, how many rows apart; 0 of
// others.
inline int64_t squares_apart(const PoolAxis& rows, const PoolAxis& columns) {
  const bool are_squares = rows.length == columns.length && rows.length >= rows.step;
  return are_squares && (rows.step == 1 || rows.step == columns.step) ? rows.step : 0;
}

// What a walk over so many vectors knows (window_walk.h says what it is asked for), of windows that start `step`
// columns apart and have `kept` rows of the next ones. So many of the last vectors are `missing`: no window reaches
// them. Sides of squares, which start `apart` rows from one another, are known when code is compiled.
template <class Lane, bool indexed, int step_, int kept, int apart, int vectors_, int missing>
class SteppedWalk {
  using Best = Cells<Lane, indexed>;

 public:
  static constexpr int step = step_, vectors = vectors_, kRead = step * vectors - missing, kEdge = 1;
  static_assert(missing < step, "each vector of windows has a column");

  template <class Parts>
  SteppedWalk(const PoolJob& job, const Parts&)
      : rows_(job.rows.length),
        rows_apart_(job.rows.step),
        columns_(job.columns.length),
        are_ordered_(!has_slices(job)),
        takes_before_(takes_column_before<Lane, indexed>(job)) {}

  static constexpr int64_t beyond() { return 0; }

  template <class NextRow>
  ONNX_MAXPOOL_INLINE void begin(const NextRow& next_row) {
    if constexpr (kept > 0) next_row(known_[0]);
    if constexpr (kept > 1) keep_next(next_row);
  }

  template <class NextRow, class SkipRow>
  ONNX_MAXPOOL_INLINE void line(const NextRow& next_row, const SkipRow& skip_row, Best* here) {
    if constexpr (kept == 0) {
      next_row(here);
      for (int64_t y = 1; y < height(); ++y) follow_next(next_row, here);
      for (int64_t y = height(); y < row_step(); ++y) skip_row();
    } else {
      copy_all<kRead>(known_[kept - 1], here);
      for (int64_t y = kept == 1 ? 1 : 2; y < row_step(); ++y) follow_next(next_row, here);
      if constexpr (kept > 1) {
        if (row_step() > 1) {
          next_row(known_[0]);
          add(here, known_[0]);
        }
        keep_next(next_row);
      } else {
        next_row(known_[0]);
      }
      add(here, known_[0]);
    }
  }

  ONNX_MAXPOOL_INLINE void windows(const Best* here, Best* edge, Best* found) const {
    const auto all = [&](auto length) ONNX_MAXPOOL_INLINED {
      constexpr int kOfNext = length.value > step ? length.value - step : 0;
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) {
        found[v] = of_columns<length.value - kOfNext>(here + v * step);
        if constexpr (kOfNext > 0) {
          const Best next = v + 1 < vectors ? of_columns<kOfNext>(here + (v + 1) * step) : edge[0];
          found[v] = either(found[v], slid_down<1>(of_columns<kOfNext>(here + v * step), next));
        }
      }
      if constexpr (kOfNext > 0) edge[0] = of_columns<kOfNext>(here);
    };
    if (length() == step + 1 && takes_before_) {
      windows_with_before(here, found);
    } else if (length() == 1) {
      all(Number<1>());
    } else if (length() == 2) {
      all(Number<2>());
    } else if (length() == 3) {
      all(Number<3>());
    } else if (step == 2 || length() == 4) {
      all(Number<4>());
    } else if constexpr (step > 2) {
      length() == 5 ? all(Number<5>()) : all(Number<6>());
    }
  }

 private:
  static constexpr int kSide = apart > 0 ? apart + kept : 0;

  ONNX_MAXPOOL_INLINE int64_t height() const { return kSide > 0 ? kSide : rows_; }
  ONNX_MAXPOOL_INLINE int64_t row_step() const { return kSide > 0 ? apart : rows_apart_; }
  ONNX_MAXPOOL_INLINE int64_t length() const { return kSide > 0 ? kSide : columns_; }

  template <class NextRow>
  ONNX_MAXPOOL_INLINE void follow_next(const NextRow& next_row, Best* best) const {
    Best row[kRead];
    next_row(row);
    add(best, row);
  }

  // Later rows to what is known of earlier ones.
  ONNX_MAXPOOL_INLINE void add(Best* best, const Best* next) const { join_all<kRead>(best, next, are_ordered_); }

  // Of two rows that are kept the last one is read, and the one before is known.
  template <class NextRow>
  ONNX_MAXPOOL_INLINE void keep_next(const NextRow& next_row) {
    copy_all<kRead>(known_[0], known_[1]);
    next_row(known_[0]);
    add(known_[1], known_[0]);
  }

  // The best of the first `count` columns of each window.
  template <int count>
  ONNX_MAXPOOL_INLINE static Best of_columns(const Best* here) {
    if constexpr (step == 2) return of_each<count == 1 ? Of::first : Of::best, step>(here);
    if constexpr (step == 3) return best_odd_lanes<step, count>(here);
  }

  ONNX_MAXPOOL_INLINE static Best last_column(const Best* here) {
    if constexpr (step == 2) return in_order(every_other_lane<1>(here[0], here[1]));
    if constexpr (step == 3) return odd_lanes<step, step - 1>(here);
  }

  ONNX_MAXPOOL_INLINE static void windows_with_before(const Best* here, Best* found) {
    Best before = padding<Lane, indexed>();
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      const Best last = last_column(here + v * step);
      found[v] = either(of_columns<step>(here + v * step), slid_up(before, last));
      before = last;
    }
  }

  const int64_t rows_, rows_apart_, columns_;
  const bool are_ordered_, takes_before_;
  Best known_[kept > 0 ? kept : 1][kRead];  // of those rows the best of the last one, of the last two
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
