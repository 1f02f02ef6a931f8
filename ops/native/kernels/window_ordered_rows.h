// The best over the columns of each of a vector of windows, in one row of the map. Columns come first to last, and each
// is a vector of its own, so that a later one has to be strictly greater and no positions have to be compared or moved:
// what is followed is how many columns of its window come before the best one, a small number.
//
//   step 1   x0 x1 x2 x3     0      step 2   x0 x2 x4 x6     0
//            x1 x2 x3 x4     1               x1 x3 x5 x7     1
//            x2 x3 x4 x5     2               x2 x4 x6 x8     2
#pragma once

#include "kernels/window_line.h"
#include "kernels/window_strides.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Columns of windows, and how many columns apart these start, at most.
constexpr int64_t kMostOrderedColumns = 16, kMostOrderedApart = 2;

// Of windows `step` columns apart that have `length` columns, or as many as the job says if it is 0. Those `at_edge`
// may have columns beside the map.
template <class Element, class Lane, int step, int length, bool at_edge>
class OrderedRows {
  static constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  using V = Vector<Lane, kVectorBytes>;
  using P = Positions<Lane>;
  using Best = Cells<Lane, true>;
  using Column = Cells<Lane, false>;
  using Reader = CellReader<Element, Lane, true>;
  using Watch = typename Reader::Watch;
  static_assert(step <= kMostOrderedApart);

 public:
  // Of windows whose first one starts in this column of a slice, which begins so many cells into its plane. Cells of a
  // row from there on are limited by what `limits` has.
  OrderedRows(const PoolJob& job, int64_t slice, int64_t column, const Lane* limits)
      : reader_(job), length_(job.columns.length), limits_(limits) {
    const auto apart = static_cast<Position<Lane>>(step);
    const P columns = lane_numbers<Position<Lane>>() * apart + static_cast<Position<Lane>>(column);
    first_cells_ = columns + static_cast<Position<Lane>>(slice);
    if (at_edge && column < 0) before_map_ = in_their_order(columns < P{} ? -columns : P{});
  }

  // How many cells of a row are read.
  static int64_t reach(const PoolJob& job) { return step * kLanes + job.columns.length; }

  // Of the row whose cell in the first window's first column is at `from`. A position is that of the row's first cell,
  // which is given, and as many more as there are columns of the window before: finished() adds where windows begin.
  ONNX_MAXPOOL_INLINE Best at(const Element* from, Position<Lane> position) {
    Best best = {V{}, before_map_};
    if constexpr (length > 0) {
      static_assert(length >= step && length <= 3);
      add<true, step>(from, 0, P{}, best);
      if constexpr (length > step) add<false, 1>(from, step, P{} + Position<Lane>{step}, best);
      if constexpr (length > step + 1) add<false, 1>(from, 2, P{} + Position<Lane>{2}, best);
    } else {
      const int64_t columns = length_;
      columns < step ? add<true, 1>(from, 0, P{}, best) : add<true, step>(from, 0, P{}, best);
      P before = P{} + Position<Lane>{step};
      int64_t n = step;
      for (; n + step <= columns; n += step, before += Position<Lane>{step}) add<false, step>(from, n, before, best);
      if (step > 1 && n < columns) add<false, 1>(from, n, before, best);
    }
    best.position += P{} + position;
    return best;
  }

  // The positions of what is best over rows, in the windows' order.
  ONNX_MAXPOOL_INLINE Best finished(const Best& best) const {
    return {in_their_order(best.key), in_their_order(best.position) + first_cells_};
  }

  // Whether a number was NaN: then what is best may be wrong.
  bool has_nan() const { return watch_.any(); }

 private:
  // The next `count` columns, at most `step`, or the first ones, of a window of which so many come before.
  template <bool are_first, int count>
  ONNX_MAXPOOL_INLINE void add(const Element* from, int64_t column, P before, Best& best) {
    Column cells[step];
#pragma GCC unroll 2
    for (int v = 0; v < step; ++v) {
      cells[v].key = reader_.keys_once_at(from + column + v * kLanes);
    }
    // Each cell is in the first columns of some vector, but for the last cells of a row: those are at its edge.
    if (at_edge || are_first) see_all<step>(cells, watch_);
    if constexpr (at_edge) {
#pragma GCC unroll 2
      for (int v = 0; v < step; ++v) {
        cells[v].key = min(cells[v].key, load<V>(limits_ + column + v * kLanes));
      }
    }
    if constexpr (step == 1) {
      add_column<are_first>(cells[0].key, before, best);
    } else {
      add_column<are_first>(every_other_lane<0>(cells[0], cells[1]).key, before, best);
      if constexpr (count > 1) {
        add_column<false>(every_other_lane<1>(cells[0], cells[1]).key, before + Position<Lane>{1}, best);
      }
    }
  }
  template <bool is_first>
  ONNX_MAXPOOL_INLINE static void add_column(V key, P before, Best& best) {
    if constexpr (is_first) {
      best.key = key;
    } else {
      follow(best, Best{key, before});
    }
  }

  // What every_other_lane() leaves to do: once for what is best over all rows, not for each column.
  template <class T>
  ONNX_MAXPOOL_INLINE static T in_their_order(T v) {
    if constexpr (step == 2 && kVectorBytes == 32) return concat_words(v);
    return v;
  }

  Reader reader_;
  Watch watch_;
  int64_t length_;
  const Lane* limits_;
  P first_cells_, before_map_{};  // of each window in its first row; and how many of its columns lie before the map
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
