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

// The bins of one row, whose windows along x are `columns`, to `bin`: (count).
template <class V>
ONNX_MAXPOOL_INLINE void pool_bins(const Lines<V>& lines, const RoiWindow* columns, int64_t count, V empty, V* bin,
                                   StreamedCopy& copy) {
  const V* const last = lines.last;
  if (lines.before == 0) {
    pool_columns(columns, count, lines.origin, empty, bin, copy, [=](int64_t x) { return last[x]; });
  } else if (lines.before == 1) {
    const V* const first = lines.at(0);
    pool_columns(columns, count, 0, empty, bin, copy, [=](int64_t x) { return max(first[x], last[x]); });
  } else {
    pool_columns(columns, count, 0, empty, bin, copy, [&](int64_t x) {
      V best = last[x];
      for (int64_t n = 0; n < lines.before; ++n) best = max(best, lines.at(n)[x]);
      return best;
    });
  }
}

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
