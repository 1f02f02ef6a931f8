// A row of bins from lines of columns: the maximum over each bin's columns.
//
//   lines      x0 x1 x2 x3 x4 x5 x6 x7      columns of bins: [0, 3) [2, 6) [5, 8)
//   bins       max(x0 x1 x2)  max(x2 ... x5)  max(x5 x6 x7)      a vector each, with channels in the lanes
#pragma once

#include "kernels/roi_table.h"
#include "kernels/simd/streamed_copy.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Blocks of channels whose bins are pooled together: how many, and by how many vectors their lines and their bins lie
// apart.
struct Blocks {
  int64_t count, lines, bins;
};
constexpr Blocks kOneBlock = {1, 0, 0};

// The bins of a row to `bin`: (count). `pool(start, end)` is the maximum over a bin's columns, from `origin` on.
template <class V, class Copy, class Pool>
ONNX_MAXPOOL_INLINE void pool_each(const RoiWindow* columns, int64_t count, int64_t origin, Blocks blocks, V* bin,
                                   Copy& streamed, Pool pool) {
  Copy copy = streamed;  // a variable of its own, as the compiler takes any store for one to what it refers to
  for (int64_t block = 0; block < blocks.count; ++block, origin -= blocks.lines, bin += blocks.bins) {
    for (int64_t j = 0; j < count; ++j) {
      bin[j] = pool(columns[j].start - origin, columns[j].end - origin);
      // Half of a copy's lines go while the next ROI is pooled, the others while it is transposed.
      if (j % 2 == 0) copy.step();
    }
  }
  streamed = copy;
}

// The maximum over so many of a bin's first columns, and as many of its last. A column may count twice.
template <int ends, class At>
ONNX_MAXPOOL_INLINE auto max_of_ends(At at, int64_t start, int64_t end) {
  auto best = max(at(start), at(end - 1));
#pragma GCC unroll 4
  for (int i = 1; i < ends; ++i) best = max(best, max(at(start + i), at(end - 1 - i)));
  return best;
}

// `at(x)` is the maximum over the bins' rows in column `origin + x`; `empty` is what a bin without columns has. The
// widths of an ROI's bins say which loop pools them all: of a jump for each bin the processor foresees about half.
template <class V, class Copy, class At>
ONNX_MAXPOOL_INLINE void pool_columns(const RoiWindow* columns, int64_t count, BinWidths widths, int64_t origin,
                                      Blocks blocks, V empty, V* bin, Copy& copy, At at) {
  const auto up_to_three = [=](int64_t start, int64_t end) {
    return max(max_of_ends<1>(at, start, end), at(start + ((end - start) >> 1)));
  };
  if (widths.least >= 1 && widths.most <= 3) {
    pool_each(columns, count, origin, blocks, bin, copy, up_to_three);
  } else if (widths.least >= 2 && widths.most <= 4) {
    pool_each(columns, count, origin, blocks, bin, copy,
              [=](int64_t start, int64_t end) { return max_of_ends<2>(at, start, end); });
  } else if (widths.least >= 3 && widths.most <= 6) {
    pool_each(columns, count, origin, blocks, bin, copy,
              [=](int64_t start, int64_t end) { return max_of_ends<3>(at, start, end); });
  } else if (widths.least >= 4 && widths.most <= 8) {
    pool_each(columns, count, origin, blocks, bin, copy,
              [=](int64_t start, int64_t end) { return max_of_ends<4>(at, start, end); });
  } else {
    pool_each(columns, count, origin, blocks, bin, copy, [=](int64_t start, int64_t end) {
      if (end <= start) return empty;
      if (end - start <= 3) return up_to_three(start, end);
      V best = max(max(at(end - 1), at(end - 2)), max(at(end - 3), at(end - 4)));
      for (int64_t x = start; x < end - 4; x += 4) {
        best = max(best, max(max(at(x), at(x + 1)), max(at(x + 2), at(x + 3))));
      }
      return best;
    });
  }
}

// The maximum of all lines over these columns, of the block that is so many vectors on, to `to`, a vector each.
template <class V>
ONNX_MAXPOOL_INLINE void max_of_lines(const Lines<V>& lines, int64_t block, RoiWindow columns, V* to) {
  const int64_t count = columns.end - columns.start, first = block + columns.start;
  const V* const last = lines.last + first;
  int64_t n = lines.before % 2;
  const V* line = lines.at(0) + first;
  if (n == 1) {
    for (int64_t x = 0; x < count; ++x) to[x] = max(last[x], line[x]);
  } else {
    const V* next = lines.at(1) + first;
    for (int64_t x = 0; x < count; ++x) to[x] = max(last[x], max(line[x], next[x]));
    n = 2;
  }
  for (; n < lines.before; n += 2) {
    line = lines.at(n) + first;
    const V* next = lines.at(n + 1) + first;
    for (int64_t x = 0; x < count; ++x) to[x] = max(to[x], max(line[x], next[x]));
  }
}

// The bins of one row, whose windows along x are `columns`, to `bin`: (count), of each block. They span the columns
// `span`, for which `line` has room, for each block.
template <class V, class Copy>
ONNX_MAXPOOL_INLINE void pool_bins(const Lines<V>& lines, const RoiWindow* columns, int64_t count, BinWidths widths,
                                   RoiWindow span, Blocks blocks, V empty, V* line, V* bin, Copy& copy) {
  const V* last = lines.last;
  int64_t origin = lines.origin;
  if (lines.before == 1) {
    const V* const first = lines.at(0);
    return pool_columns(columns, count, widths, origin, blocks, empty, bin, copy,
                        [=](int64_t x) { return max(first[x], last[x]); });
  }
  if (lines.before > 1) {
    const int64_t width = span.end - span.start;
    for (int64_t n = 0; n < blocks.count; ++n) max_of_lines(lines, n * blocks.lines, span, line + n * width);
    last = line;
    origin = span.start;
    blocks.lines = width;
  }
  pool_columns(columns, count, widths, origin, blocks, empty, bin, copy, [=](int64_t x) { return last[x]; });
}

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
