// A row of bins from lines of columns: the maximum over each bin's columns.
//
//   lines      x0 x1 x2 x3 x4 x5 x6 x7      columns of bins: [0, 3) [2, 6) [5, 8)
//   bins       max(x0 x1 x2)  max(x2 ... x5)  max(x5 x6 x7)      a vector each, with channels in the lanes
#pragma once

#include "kernels/roi_table.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Blocks of channels whose bins are pooled together: how many, and by how many vectors their lines and their bins lie
// apart.
struct Blocks {
  int64_t count, lines, bins;
};
constexpr Blocks kOneBlock = {1, 0, 0};

// The maximum over the rows of bins in column x, from one line or from two. `next` is that of the block of channels
// that is so many vectors on.
template <class V>
struct OneLine {
  const V* line;
  // Of a line that begins with column `origin`. Addresses are subtracted as numbers, as no pointer may leave its array.
  static OneLine from(const V* first, int64_t origin) {
    return {
        reinterpret_cast<const V*>(reinterpret_cast<uintptr_t>(first) - static_cast<uintptr_t>(origin) * sizeof(V))};
  }
  V operator()(int64_t x) const { return line[x]; }
  OneLine next(int64_t vectors) const { return {line + vectors}; }
};
template <class V>
struct TwoLines {
  OneLine<V> one, other;
  V operator()(int64_t x) const { return max(one(x), other(x)); }
  TwoLines next(int64_t vectors) const { return {one.next(vectors), other.next(vectors)}; }
};

// The bins of a row to `bin`: (count), of each block. `bin_of(at, j)` is the j-th. Meanwhile the copy before goes on:
// most of its lines go while the next ROI is pooled, the others while it is transposed. How many bins a line waits for,
// measurements say (docs/benchmark/rois.md).
template <class V, class Copy, class At, class BinOf>
ONNX_MAXPOOL_INLINE void for_each_bin(int64_t count, Blocks blocks, V* bin, Copy& streamed, At at, BinOf bin_of) {
  constexpr int64_t kBinsOfLine = sizeof(V) == 64 ? 2 : 1;
  Copy copy = streamed;  // a variable of its own, as the compiler takes any store for one to what it refers to
  for (int64_t block = 0; block < blocks.count; ++block, at = at.next(blocks.lines), bin += blocks.bins) {
    for (int64_t j = 0; j < count; ++j) {
      bin[j] = bin_of(at, j);
      if (j % kBinsOfLine == 0) copy.step();
    }
  }
  streamed = copy;
}

// The bins of a row that are those of the row before.
template <class V, class Copy>
ONNX_MAXPOOL_INLINE void repeat_bins(int64_t count, Blocks blocks, V* bin, Copy& copy) {
  blocks.lines = blocks.bins;
  for_each_bin(count, blocks, bin, copy, OneLine<V>{bin - count},
               [](OneLine<V> before, int64_t j) { return before(j); });
}

// The maximum over so many of a bin's first columns, and as many of its last. A column may count twice.
template <int ends, class At>
ONNX_MAXPOOL_INLINE auto max_of_ends(At at, int64_t start, int64_t end) {
  auto best = max(at(start), at(end - 1));
#pragma GCC unroll 4
  for (int i = 1; i < ends; ++i) best = max(best, max(at(start + i), at(end - 1 - i)));
  return best;
}

// `all` has the maximum over the bins' rows in each column; `empty` is what a bin without columns has. The widths of an
// ROI's bins say which loop pools them all: of a jump for each bin the processor foresees about half.
template <class V, class Copy, class At>
ONNX_MAXPOOL_INLINE void pool_columns(const RoiWindow* columns, int64_t count, BinWidths widths, Blocks blocks, V empty,
                                      V* bin, Copy& copy, At all) {
  const auto each = [&](auto pool) ONNX_MAXPOOL_INLINED {
    for_each_bin(count, blocks, bin, copy, all,
                 [=](At at, int64_t j) { return pool(at, int64_t{columns[j].start}, int64_t{columns[j].end}); });
  };
  const auto up_to_three = [](At at, int64_t start, int64_t end) {
    return max(max_of_ends<1>(at, start, end), at(start + ((end - start) >> 1)));
  };
  if (widths.least >= 1 && widths.most <= 2) {
    each([](At at, int64_t start, int64_t end) { return max_of_ends<1>(at, start, end); });
  } else if (widths.least >= 1 && widths.most <= 3) {
    each(up_to_three);
  } else if (widths.least >= 2 && widths.most <= 4) {
    each([](At at, int64_t start, int64_t end) { return max_of_ends<2>(at, start, end); });
  } else if (widths.least >= 3 && widths.most <= 6) {
    each([](At at, int64_t start, int64_t end) { return max_of_ends<3>(at, start, end); });
  } else if (widths.least >= 4 && widths.most <= 8) {
    each([](At at, int64_t start, int64_t end) { return max_of_ends<4>(at, start, end); });
  } else {
    each([=](At at, int64_t start, int64_t end) {
      if (end <= start) return empty;
      if (end - start <= 3) return up_to_three(at, start, end);
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
  auto last = OneLine<V>::from(lines.last, lines.origin);
  if (lines.before == 1) {
    const TwoLines<V> both = {OneLine<V>::from(lines.at(0), lines.origin), last};
    return pool_columns(columns, count, widths, blocks, empty, bin, copy, both);
  }
  if (lines.before > 1) {
    const int64_t width = span.end - span.start;
    for (int64_t n = 0; n < blocks.count; ++n) max_of_lines(lines, n * blocks.lines, span, line + n * width);
    last = OneLine<V>::from(line, span.start);
    blocks.lines = width;
  }
  pool_columns(columns, count, widths, blocks, empty, bin, copy, last);
}

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
