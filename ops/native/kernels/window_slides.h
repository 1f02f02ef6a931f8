// Windows that slide: neighbouring ones start a few cells apart, so that a vector holds a window per lane, and the line
// is combined with itself:
//
//   length 3     line     x0 x1 x2 x3 ...      length 5     line           x0 x1 x2 x3 x4 x5 x6 ...
//              + 1 on     x1 x2 x3 x4 ...                 best of 2        01 12 23 34 45 56
//              + 2 on     x2 x3 x4 x5 ...                 best of 4        0123 1234 2345 3456
//                windows  012 123 234                       windows 01234 = either(0123, 1234)
//
// Those that start up to eight cells apart are taken from as many vectors (window_strides.h). Of others that lie side
// by side, the plan by maps first makes two or three cells of the line one.
#pragma once

#include "kernels/window_line.h"
#include "kernels/window_strides.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// How far apart windows may start that are taken from a line. To put lanes of one byte in another order takes many
// instructions, and narrow vectors have none that blends lanes.
constexpr int64_t kMostApart = 8;
constexpr int64_t most_apart(int64_t lanes) {
  if (lanes == kVectorBytes) return 2;
  return kVectorBytes > 16 || lanes == 2 ? kMostApart : 4;
}
// Vectors that are read beyond a line.
constexpr int64_t kBeyondLine = kMostApart + 2;

// Which windows slide.
inline bool is_sliding(const PoolAxis& axis, int64_t lanes) {
  return may_hold_padding(axis) && axis.count > 1 && axis.step >= 1 && axis.step <= most_apart(lanes);
}

// How many cells of a line become one, so that windows are near enough; 0 where that makes none so, or where windows
// are not side by side.
constexpr int64_t decimation(int64_t length, int64_t step, int64_t lanes) {
  const int64_t most = most_apart(lanes);
  if (step <= most) return 1;
  if (step != length || lanes == kVectorBytes) return 0;
  if (step % 2 == 0 && step <= 2 * most) return 2;
  return step % 3 == 0 && step <= 3 * most ? 3 : 0;
}

// How windows are taken from a line: few cells are combined as they are; for more the line is made to hold the best of
// `part` cells first, so that two overlapping parts, `apart` cells from one another, make up a window.
struct Slide {
  int64_t part, taps, apart;
  int64_t decimation, step;  // windows are so far apart after it
  bool side_by_side;         // whether a window's cells are those up to the next window
};
// Of windows that have a decimation.
inline Slide slide_of(int64_t length, int64_t step, int64_t lanes) {
  const int64_t fewer = decimation(length, step, lanes);
  Slide slide = {1, length, 1, fewer, step / fewer, step > 1 && length == step};
  if (slide.side_by_side || length <= (step < 3 ? 3 : 2)) return slide;
  while (2 * slide.part <= length) slide.part *= 2;
  slide.taps = 2;
  slide.apart = length - slide.part;
  return slide;
}

// Makes each of so many cells of a line the best of `part`, a power of two.
template <class Lane, bool indexed>
ONNX_MAXPOOL_INLINE void combine_parts(const Line<Lane, indexed> line, int64_t cells, int64_t part) {
  constexpr int kLanes = kVectorBytes / sizeof(Lane);
  for (int64_t tap = 1; tap < part; tap *= 2) {
    for (int64_t x = 0; x < cells - 2 * tap + 1; x += kLanes) line.set(x, either(line.at(x), line.at(x + tap)));
  }
}

// The best of each `n` cells of a line from `x` on.
template <int n, class Lane, bool indexed>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> best_of_each(const Line<Lane, indexed> line, int64_t x) {
  constexpr int kLanes = kVectorBytes / sizeof(Lane);
  Cells<Lane, indexed> all[n];
#pragma GCC unroll 8
  for (int v = 0; v < n; ++v) all[v] = line.at(x + v * kLanes);
  return of_each<Of::best, n>(all);
}
// The first of them, or the better of it and the cell so far `apart`.
template <int n, class Lane, bool indexed>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> first_of_each(const Line<Lane, indexed> line, int64_t x, int64_t apart) {
  constexpr int kLanes = kVectorBytes / sizeof(Lane);
  Cells<Lane, indexed> all[n];
#pragma GCC unroll 8
  for (int v = 0; v < n; ++v) all[v] = either(line.at(x + v * kLanes), line.at(x + v * kLanes + apart));
  return of_each<Of::first, n>(all);
}

// Makes each `n` of so many cells of a line one, the best of them.
template <int n, class Lane, bool indexed>
ONNX_MAXPOOL_INLINE void decimate(const Line<Lane, indexed> line, int64_t cells) {
  constexpr int kLanes = kVectorBytes / sizeof(Lane);
  for (int64_t x = 0; n * x < cells; x += kLanes) line.set(x, best_of_each<n>(line, n * x));
}

// Rows of `count` windows each, from lines that lie `pitch` elements apart.
template <class Lane, bool indexed>
struct SlidingLines {
  Line<Lane, indexed> first;
  int64_t lines, pitch, count;
};

// Writes them in order; `cells_at(line, i)` has a line's windows from the i-th on.
template <class Lane, bool indexed, class Writer, class CellsAt>
ONNX_MAXPOOL_INLINE void write_lines(const SlidingLines<Lane, indexed>& from, Writer& writer, CellsAt cells_at) {
  for (int64_t n = 0; n < from.lines; ++n) {
    const Line<Lane, indexed> line = line_at(from.first, n * from.pitch);
    writer.write_line(from.count, [&](int64_t i) { return cells_at(line, i); });
  }
}

// Windows that start `step` cells apart, of lines whose cells are parts.
template <int step, class Lane, bool indexed, class Writer>
ONNX_MAXPOOL_INLINE void take_windows(const SlidingLines<Lane, indexed>& from, const Slide& slide, Writer& writer) {
  using Line = Line<Lane, indexed>;
  constexpr int kLanes = kVectorBytes / sizeof(Lane);
  const int64_t apart = slide.taps == 1 ? 0 : slide.apart;  // 0 combines each cell with itself
  const auto write = [&](const auto& cells_at) {
    write_lines(from, writer, [=](const Line line, int64_t i) { return cells_at(line, step * i); });
  };
  if (step > 1 && slide.side_by_side) {
    write([](const Line line, int64_t x) { return best_of_each<step>(line, x); });
  } else if (slide.taps <= 2) {
    write([=](const Line line, int64_t x) { return first_of_each<step>(line, x, apart); });
  } else if constexpr (step == 1) {
    write([](const Line line, int64_t x) { return either(either(line.at(x), line.at(x + 1)), line.at(x + 2)); });
  } else if constexpr (step == 2) {
    write([](const Line line, int64_t x) {
      const auto third = of_each_two<Of::first>(line.at(x + 2), line.at(x + 2 + kLanes));
      return in_order(either(of_each_two<Of::best>(line.at(x), line.at(x + kLanes)), third));
    });
  }
}
template <class Lane, bool indexed, class Writer>
ONNX_MAXPOOL_INLINE void take_windows(const SlidingLines<Lane, indexed>& from, const Slide& slide, Writer& writer) {
  if (slide.step == 1) return take_windows<1>(from, slide, writer);
  if (slide.step == 2) return take_windows<2>(from, slide, writer);
  constexpr int64_t kMost = most_apart(kVectorBytes / sizeof(Lane));
  if constexpr (kMost > 2) {
    if (slide.step == 3) return take_windows<3>(from, slide, writer);
    if (slide.step == 4) return take_windows<4>(from, slide, writer);
  }
  if constexpr (kMost > 4) {
    if (slide.step == 5) return take_windows<5>(from, slide, writer);
    if (slide.step == 6) return take_windows<6>(from, slide, writer);
    if (slide.step == 7) return take_windows<7>(from, slide, writer);
    take_windows<8>(from, slide, writer);
  }
}

// The same of windows of `length` cells, and of lines that are as they were filled. Changes them.
template <class Lane, bool indexed, class Writer>
ONNX_MAXPOOL_INLINE void slide(const SlidingLines<Lane, indexed>& from, int64_t step, int64_t length, Writer& writer) {
  const Slide found = slide_of(length, step, kVectorBytes / sizeof(Lane));
  for (int64_t n = 0; n < from.lines && found.part > 1; ++n) {
    combine_parts(line_at(from.first, n * from.pitch), step * (from.count - 1) + length, found.part);
  }
  take_windows(from, found, writer);
}

// The same of lines one behind the other, of `pitch` cells each, and of windows that may be further apart.
template <class Lane, bool indexed, class Writer>
ONNX_MAXPOOL_INLINE void slide_together(const SlidingLines<Lane, indexed>& from, int64_t step, int64_t length,
                                        Writer& writer) {
  const int64_t cells = from.lines * from.pitch;
  const Slide found = slide_of(length, step, kVectorBytes / sizeof(Lane));
  combine_parts(from.first, cells, found.part);
  if constexpr (most_apart(kVectorBytes / sizeof(Lane)) > 2) {
    if (found.decimation == 2) decimate<2>(from.first, cells);
    if (found.decimation == 3) decimate<3>(from.first, cells);
  }
  take_windows<Lane, indexed>({from.first, from.lines, from.pitch / found.decimation, from.count}, found, writer);
}

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
