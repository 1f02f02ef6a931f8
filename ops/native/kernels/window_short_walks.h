// What a walk keeps in registers, of windows whose sides are known when code is compiled.
#pragma once

#include "kernels/window_walk_choice.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// What a walk over so many vectors knows (window_walk.h says what it is asked for), of windows of `height` rows and
// `length` columns, which start one row and one column apart. Where `length` is 0 the job knows it, at most `kMost`.
// Windows of three columns, as many as the map has, may take one column before their own and one behind it: then those
// that fill vectors are all that is read of a row.
template <class Lane, bool indexed, int height, int length, int vectors_, int kMost>
class ShortWalk {
  using Best = Cells<Lane, indexed>;

 public:
  static constexpr int step = 1, vectors = vectors_, kRead = vectors, kEdge = 1;

  template <class Parts>
  ShortWalk(const PoolJob& job, const Parts&)
      : length_(job.columns.length),
        are_ordered_(!has_slices(job)),
        takes_neighbours_(takes_neighbours<Lane, indexed>(job)) {}

  static constexpr int64_t beyond() { return 0; }

  template <class NextRow>
  ONNX_MAXPOOL_INLINE void begin(const NextRow& next_row) {
#pragma GCC unroll 8
    for (int i = 0; i < kKept; ++i) {
      Best row[kRead];
      next_row(row);
      add(row, i + 1);
    }
  }

  template <class NextRow, class SkipRow>
  ONNX_MAXPOOL_INLINE void line(const NextRow& next_row, const SkipRow&, Best* here) {
    Best row[kRead];
    next_row(row);
    copy_all<kRead>(kKept > 0 ? known_[kKept > 0 ? kKept - 1 : 0] : row, here);
    if constexpr (kKept > 0) join_all<kRead>(here, row, are_ordered_);
    if constexpr (kKept > 0) add(row, kKept);
  }

  ONNX_MAXPOOL_INLINE void windows(const Best* here, Best* edge, Best* found) const {
    if ((length == 0 || length == 3) && takes_neighbours_) return windows_with_neighbours(here, found);
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) found[v] = window(here[v], v + 1 < vectors ? here[v + 1] : edge[0]);
    edge[0] = here[0];
  }

 private:
  static constexpr int kKept = height - 1;  // rows that the next windows have, too

  ONNX_MAXPOOL_INLINE void add(const Best* row, int rows) {
#pragma GCC unroll 8
    for (int i = rows - 1; i > 0; --i) {
      copy_all<kRead>(known_[i - 1], known_[i]);
      join_all<kRead>(known_[i], row, are_ordered_);
    }
    copy_all<kRead>(row, known_[0]);
  }

  ONNX_MAXPOOL_INLINE Best window(const Best& here, const Best& next) const {
    if constexpr (length > 0) return slid<length>(here, next);
    if (length_ == 1) return here;
    if (length_ == 2) return slid<2>(here, next);
    if constexpr (kMost > 3) {
      if (length_ == 4) return slid<4>(here, next);
      if (length_ == 5) return slid<5>(here, next);
    }
    if constexpr (kMost > 5) {
      if (length_ == 6) return slid<6>(here, next);
      if (length_ == 7) return slid<7>(here, next);
    }
    return slid<3>(here, next);
  }

  ONNX_MAXPOOL_INLINE static void windows_with_neighbours(const Best* here, Best* found) {
    const Best none = padding<Lane, indexed>();
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      const Best &before = v > 0 ? here[v - 1] : none, &next = v + 1 < vectors ? here[v + 1] : none;
      found[v] = either(either(slid_up(before, here[v]), here[v]), slid_down<1>(here[v], next));
    }
  }

  template <int columns>
  ONNX_MAXPOOL_INLINE static Best slid(const Best& here, const Best& next) {
    if constexpr (columns <= 5) {
      return slid_windows<columns>(here, next);
    } else {
      // Windows of two first, then of four.
      const Best two = either(here, slid_down<1>(here, next)), next_two = either(next, slid_down<1>(next, next));
      const Best four = either(two, slid_down<2>(two, next_two));
      if constexpr (columns == 6) return either(four, slid_down<4>(two, next_two));
      return either(four, slid_down<3>(four, either(next_two, slid_down<2>(next_two, next_two))));
    }
  }

  const int64_t length_;
  const bool are_ordered_, takes_neighbours_;
  // The best of the last row, of the last two, ..., of those that the next windows have.
  Best known_[kKept > 0 ? kKept : 1][kRead];
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
