// Windows that start one or two cells apart: a vector holds a window per lane.
//
//   length 3     line     x0 x1 x2 x3 ...      length 5     line           x0 x1 x2 x3 x4 x5 x6 ...
//              + 1 on     x1 x2 x3 x4 ...                 best of 2        01 12 23 34 45 56
//              + 2 on     x2 x3 x4 x5 ...                 best of 4        0123 1234 2345 3456
//                windows  012 123 234                       windows 01234 = either(0123, 1234)
#pragma once

#include "kernels/window_line.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// How sliding windows are taken from a line: up to 3 cells are combined as they are; for more the line is made to hold
// the best of `part` cells first, so that two overlapping parts, `apart` cells from one another, make up a window.
struct SlideTaps {
  int64_t part, taps, apart;
};
inline SlideTaps slide_taps(int64_t length) {
  if (length <= 3) return {1, length, 1};
  int64_t part = 1;
  while (2 * part <= length) part *= 2;
  return {part, 2, length - part};
}

// Makes each of so many cells of a line the best of `part`, a power of two.
template <class Lane, bool indexed>
ONNX_MAXPOOL_INLINE void combine_parts(const Line<Lane, indexed> line, int64_t cells, int64_t part) {
  constexpr int kLanes = kVectorBytes / sizeof(Lane);
  for (int64_t tap = 1; tap < part; tap *= 2) {
    for (int64_t x = 0; x < cells - 2 * tap + 1; x += kLanes) line.set(x, either(line.at(x), line.at(x + tap)));
  }
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

// Windows that start `step` (1 or 2) cells apart, of lines that have been combined as `slide` says.
template <class Lane, bool indexed, class Writer>
ONNX_MAXPOOL_INLINE void take_windows(const SlidingLines<Lane, indexed>& from, int64_t step, SlideTaps slide,
                                      Writer& writer) {
  using Line = Line<Lane, indexed>;
  constexpr int kLanes = kVectorBytes / sizeof(Lane);
  const int64_t apart = slide.taps == 1 ? 0 : slide.apart;  // a cell twice is that cell
  const auto two = [=](const Line line, int64_t x) { return either(line.at(x), line.at(x + apart)); };
  if (step == 1 && slide.taps == 3) {
    write_lines(from, writer, [=](const Line line, int64_t i) { return either(two(line, i), line.at(i + 2)); });
  } else if (step == 1) {
    write_lines(from, writer, two);
  } else if (slide.part > 1 || slide.taps == 1) {
    write_lines(from, writer, [=](const Line line, int64_t i) {
      return in_order(every_other_lane<0>(two(line, 2 * i), two(line, 2 * i + kLanes)));
    });
  } else {
    const auto pairs = [](const Line line, int64_t x) {
      const Cells<Lane, indexed> a = line.at(x), b = line.at(x + kLanes);
      return either(every_other_lane<0>(a, b), every_other_lane<1>(a, b));
    };
    if (slide.taps == 2) {
      write_lines(from, writer, [=](const Line line, int64_t i) { return in_order(pairs(line, 2 * i)); });
    } else {
      write_lines(from, writer, [=](const Line line, int64_t i) {
        const int64_t x = 2 * i + 2;
        return in_order(either(pairs(line, 2 * i), every_other_lane<0>(line.at(x), line.at(x + kLanes))));
      });
    }
  }
}

// The same of windows of `length` cells. Changes the lines.
template <class Lane, bool indexed, class Writer>
ONNX_MAXPOOL_INLINE void slide(const SlidingLines<Lane, indexed>& from, int64_t step, int64_t length, Writer& writer) {
  const SlideTaps taps = slide_taps(length);
  for (int64_t n = 0; n < from.lines && taps.part > 1; ++n) {
    combine_parts(line_at(from.first, n * from.pitch), step * (from.count - 1) + length, taps.part);
  }
  take_windows(from, step, taps, writer);
}

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
