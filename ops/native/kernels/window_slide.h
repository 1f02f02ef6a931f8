// Windows that start one or two cells apart: a vector holds a window per lane. They are taken from lines, or short ones
// from the map's rows as they come.
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

// Short windows take no line. A vector of it would be loaded right after the two that it straddles were stored, and
// waits for them. Instead, of the best over the rows, a vector and the next one stay in registers:
//
//   here, next   x0 x1 x2 x3 | x4 x5 x6 x7    slid down by 1   x1 x2 x3 x4    by 2   x2 x3 x4 x5
template <int number>
struct Constant {
  static constexpr int value = number;
};

// The best over the rows of a product of windows, a vector of columns at a time. `rows` is 0 where they are not known
// to be so many, one below the other.
template <class Element, class Lane, bool indexed, int rows>
class RowsOfWindow {
  static constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  using Best = Cells<Lane, indexed>;

 public:
  RowsOfWindow(const PoolJob& job, const CellReader<Element, Lane, indexed>& reader, const Element* plane, Window depth,
               Window height)
      : reader_(reader),
        width_(job.columns.size),
        slice_(job.rows.size * width_),
        depth_(depth.end - depth.start),
        height_(height.end - height.start),
        offset_((depth.start * job.rows.size + height.start) * width_),
        first_(plane + offset_),
        least_(static_cast<const Element*>(job.x) - first_),
        most_(reader.end - kLanes - (first_ + (depth_ - 1) * slice_ + (height_ - 1) * width_)) {}

  // From column `x` on; columns beyond the map are padding.
  ONNX_MAXPOOL_INLINE Best at(int64_t x) const {
    if (x < least_ || x > most_) return at_end(*this, x);
    const Best best =
        fold(x, [this](const Element* row) __attribute__((always_inline)) { return reader_.keys_at(row); });
    return x < 0 || x + kLanes > width_ ? lanes_within(best, -x, width_ - x) : best;
  }

 private:
  template <class KeysAt>
  ONNX_MAXPOOL_INLINE Best fold(int64_t x, const KeysAt& keys_at) const {
    Best best = cells(x, keys_at);
    if constexpr (rows > 0) {
#pragma GCC unroll 4
      for (int y = 1; y < rows; ++y) follow(best, cells(y * width_ + x, keys_at));
    } else {
      for (int64_t y = 1; y < height_; ++y) follow(best, cells(y * width_ + x, keys_at));
      for (int64_t z = 1; z < depth_; ++z) {
        for (int64_t y = 0; y < height_; ++y) follow(best, cells(z * slice_ + y * width_ + x, keys_at));
      }
    }
    return best;
  }
  template <class KeysAt>
  ONNX_MAXPOOL_INLINE Best cells(int64_t at, const KeysAt& keys_at) const {
    return cells_from<Lane, indexed>(keys_at(first_ + at), offset_ + at);
  }

  // Where a vector would reach beyond the tensor. By value, so that no rows have to lie in memory.
  ONNX_MAXPOOL_RARE static Best at_end(RowsOfWindow all, int64_t x) {
    const int64_t begin = x < 0 ? 0 : x, end = x + kLanes < all.width_ ? x + kLanes : all.width_;
    if (begin >= end) return padding<Lane, indexed>();
    const Best best = all.fold(x, [&](const Element* row) {
      Element copy[kLanes] = {};
      __builtin_memcpy(copy + (begin - x), row + (begin - x), static_cast<size_t>(end - begin) * sizeof(Element));
      return all.reader_.keys_at(copy);
    });
    return lanes_within(best, begin - x, end - x);
  }

  const CellReader<Element, Lane, indexed> reader_;
  const int64_t width_, slice_, depth_, height_, offset_;
  const Element* const first_;
  const int64_t least_, most_;  // the columns from which a vector lies within the tensor
};

// Windows of `length` cells, one for each column from `column` on. Neighbours have cells in common, of this vector and
// of the next one.
template <int length, class Lane, bool indexed, class Rows, class Writer>
ONNX_MAXPOOL_INLINE void slide_rows(const Rows& from, int64_t column, int64_t count, Writer& writer) {
  constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  using Best = Cells<Lane, indexed>;
  if constexpr (length == 1) {
    writer.write_line(count, [&](int64_t i) { return from.at(column + i); });
  } else {
    Best next = from.at(column);
    writer.write_line(count, [&](int64_t i) {
      const Best here = next;
      next = from.at(column + i + kLanes);
      const Best two = either(here, slid_down<1>(here, next));
      return length == 2 ? two : either(two, slid_down<2>(here, next));
    });
  }
}

// The same, of a line of the output.
template <int length, class Element, class Lane, bool indexed, class Writer>
ONNX_MAXPOOL_INLINE void slide_rows(const PoolJob& job, const CellReader<Element, Lane, indexed>& reader,
                                    const Element* plane, Window depth, Window rows, int64_t column, Writer& writer,
                                    int64_t count) {
  const auto slide = [&](auto height) {
    const RowsOfWindow<Element, Lane, indexed, height.value> from(job, reader, plane, depth, rows);
    slide_rows<length, Lane, indexed>(from, column, count, writer);
  };
  const int64_t height = depth.end - depth.start == 1 ? rows.end - rows.start : 0;
  if (height == 3) return slide(Constant<3>{});
  if (height == 2) return slide(Constant<2>{});
  slide(Constant<0>{});
}

// Which windows are taken so. Those that start two cells apart were slower, and on processors with half as many
// registers so were those with indices and narrow keys.
template <class Lane, bool indexed>
constexpr bool kSlidesRows = kVectorBytes == 64 || (!indexed && sizeof(Lane) >= 4);
template <class Lane, bool indexed>
bool slides_rows(const PoolAxis& columns) {
  return kSlidesRows<Lane, indexed> && columns.step == 1 && columns.length <= 3;
}

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
