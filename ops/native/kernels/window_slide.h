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

// `count` windows, `step` (1 or 2) apart from the line's first cell on: calls write(cells, left) for each vector of
// them in turn, where `left` windows, or all lanes, are wanted. The line has been combined as `slide` says.
template <class Lane, bool indexed, class Write>
ONNX_MAXPOOL_INLINE void take_windows(const Line<Lane, indexed> line, int64_t count, int64_t step, SlideTaps slide,
                                      Write write) {
  constexpr int kLanes = kVectorBytes / sizeof(Lane);
  const int64_t taps = slide.taps, apart = slide.apart;
  if (step == 1) {
    for (int64_t i = 0; i < count; i += kLanes) {
      Cells<Lane, indexed> best = line.at(i);
      for (int64_t tap = 1; tap < taps; ++tap) best = either(best, line.at(i + tap * apart));
      write(best, count - i);
    }
  } else if (slide.part > 1) {
    for (int64_t i = 0; i < count; i += kLanes) {
      const int64_t x = 2 * i;
      write(
          even_lanes(either(line.at(x), line.at(x + apart)), either(line.at(x + kLanes), line.at(x + kLanes + apart))),
          count - i);
    }
  } else {
    for (int64_t i = 0; i < count; i += kLanes) {
      const Cells<Lane, indexed> a = line.at(2 * i), b = line.at(2 * i + kLanes);
      Cells<Lane, indexed> best = even_lanes(a, b);
      if (taps > 1) best = either(best, odd_lanes(a, b));
      if (taps > 2) best = either(best, even_lanes(line.at(2 * i + 2), line.at(2 * i + 2 + kLanes)));
      write(best, count - i);
    }
  }
}

// The same of windows of `length` cells. Changes the line.
template <class Lane, bool indexed, class Write>
ONNX_MAXPOOL_INLINE void slide(const Line<Lane, indexed> line, int64_t count, int64_t step, int64_t length,
                               Write write) {
  const SlideTaps taps = slide_taps(length);
  combine_parts(line, step * (count - 1) + length, taps.part);
  take_windows(line, count, step, taps, write);
}

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
