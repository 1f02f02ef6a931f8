// A row of bins from lines of columns: the maximum over each bin's columns.
//
//   lines      x0 x1 x2 x3 x4 x5 x6 x7      columns of bins: [0, 3) [2, 6) [5, 8)
//   bins       max(x0 x1 x2)  max(x2 ... x5)  max(x5 x6 x7)      a vector each, with channels in the lanes
#pragma once

#include "kernels/roi_table.h"
#include "kernels/simd/streamed_copy.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// `at(x)` is the maximum over the bins' rows in column `origin + x`; `empty` is what a bin without columns has.
template <class V, class At>
ONNX_MAXPOOL_INLINE void pool_columns(const RoiWindow* columns, int64_t count, int64_t origin, V empty, V* bin,
                                      StreamedCopy& streamed, At at) {
  StreamedCopy copy = streamed;  // a variable of its own, as the compiler takes any store for one to what it refers to
  for (int64_t j = 0; j < count; ++j) {
    const int64_t start = columns[j].start - origin, end = columns[j].end - origin, width = end - start;
    if (width <= 0) {
      bin[j] = empty;
    } else if (width < 4) {
      // A column may count twice. That is cheaper than a jump that the processor foresees half of the time.
      bin[j] = max(max(at(start), at(end - 1)), at(start + width / 2));
    } else {
      V best = max(max(at(end - 1), at(end - 2)), max(at(end - 3), at(end - 4)));
      for (int64_t x = start; x < end - 4; x += 4) {
        best = max(best, max(max(at(x), at(x + 1)), max(at(x + 2), at(x + 3))));
      }
      bin[j] = best;
    }
    // Half of a copy's lines go while the next ROI is pooled, the others while it is transposed.
    if (j % 2) copy.step();
  }
  streamed = copy;
}

// The maximum of all lines over these columns to `to`, a vector each.
template <class V>
ONNX_MAXPOOL_INLINE void max_of_lines(const Lines<V>& lines, RoiWindow columns, V* to) {
  const int64_t count = columns.end - columns.start;
  const V* const last = lines.last + columns.start;
  int64_t n = lines.before % 2;
  const V* line = lines.at(0) + columns.start;
  if (n == 1) {
    for (int64_t x = 0; x < count; ++x) to[x] = max(last[x], line[x]);
  } else {
    const V* next = lines.at(1) + columns.start;
    for (int64_t x = 0; x < count; ++x) to[x] = max(last[x], max(line[x], next[x]));
    n = 2;
  }
  for (; n < lines.before; n += 2) {
    line = lines.at(n) + columns.start;
    const V* next = lines.at(n + 1) + columns.start;
    for (int64_t x = 0; x < count; ++x) to[x] = max(to[x], max(line[x], next[x]));
  }
}

// The bins of one row, whose windows along x are `columns`, to `bin`: (count). They span the columns `span`, for which
// `line` has room.
template <class V>
ONNX_MAXPOOL_INLINE void pool_bins(const Lines<V>& lines, const RoiWindow* columns, int64_t count, RoiWindow span,
                                   V empty, V* line, V* bin, StreamedCopy& copy) {
  const V* const last = lines.last;
  if (lines.before == 0) {
    pool_columns(columns, count, lines.origin, empty, bin, copy, [=](int64_t x) { return last[x]; });
  } else if (lines.before == 1) {
    const V* const first = lines.at(0);
    pool_columns(columns, count, 0, empty, bin, copy, [=](int64_t x) { return max(first[x], last[x]); });
  } else {
    max_of_lines(lines, span, line);
    pool_columns(columns, count, span.start, empty, bin, copy, [=](int64_t x) { return line[x]; });
  }
}

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
