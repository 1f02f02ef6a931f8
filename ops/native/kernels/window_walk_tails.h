// The last vector of a line often has few columns, or none but what the windows before it reach. A vector has room for
// those of two or four planes: they are copied side by side and walked at once, before the planes' other columns are.
//
//   plane 0   a0 a1 a2 a3 | a4 a5         other columns   a0 a1 a2 a3   b0 b1 b2 b3
//   plane 1   b0 b1 b2 b3 | b4 b5         tails           a4 a5 b4 b5
//
// A tail's outputs are written with lanes beyond them, over the first outputs of the next line or plane. So all planes'
// tails are written first. What is written after them overwrites no tail: where tails have windows, vectors before them
// are whole, and a line has more outputs before its tail than a vector leaves beyond the line before.
#pragma once

#include "kernels/window_short.h"
#include "kernels/window_walk_choice.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Element, class Lane, bool indexed>
class WalkTails {
  static constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  static constexpr int64_t kEdgeCells = (2 * kBand + 1) * kLanes, kCells = kMostTailVectors * kLanes;
  using Best = Cells<Lane, indexed>;
  using RowLine = Line<Lane, indexed>;

 public:
  static constexpr int64_t kScratchCells = kEdgeCells * RowLine::kArrays + kCells;

  // `scratch` has room for kScratchCells where planes are taken together.
  WalkTails(const PoolJob& job, Lane* scratch)
      : job_(job),
        planes_(tails_at_once<Lane, indexed>(job, sizeof(Element))),
        lanes_(planes_ == 4 ? kLanes / 4 : kLanes / 2),
        vector_(planes_ > 0 ? walk_vectors<Lane, indexed>(job).read - 1 : 0),
        edges_(RowLine::in(scratch, planes_ > 0 ? kEdgeCells : 0)),
        cells_(reinterpret_cast<Element*>(planes_ > 0 ? scratch + RowLine::kArrays * kEdgeCells : scratch)) {}

  int64_t planes() const { return planes_; }

  // What the walk on the left needs of the `plane`-th of those that were walked last.
  RowLine edges(int64_t plane) const { return line_at(edges_, plane * lanes_); }

  // The tails of so many planes, at most planes(), of which the first has this first cell. Returns whether no number
  // was NaN. `Windows` is one of one vector, as of Walk::walk().
  template <class Windows, class Parts, class Write>
  ONNX_MAXPOOL_NOINLINE bool walk(const Element* first, int64_t planes, const Parts& parts, Write write) const {
    static_assert(Windows::vectors == 1, "of all planes");
    constexpr int kRead = Windows::kRead, kEdge = Windows::kEdge;
    const PoolAxis &rows = job_.rows, &columns = job_.columns;
    const int64_t column = columns.first + vector_ * kLanes * columns.step, width = columns.size;
    const CellReader<Element, Lane, indexed> reader(job_);
    Windows windows(job_, parts);
    const int64_t all = (rows.count - 1) * rows.step + rows.length + windows.beyond();
    copy_columns<kRead>(first + column, reader.end, planes, all);
    LaneLimits<Lane, indexed> limits[kRead];
    Positions<Lane> numbers[kRead];  // of columns
    number_columns<kRead>(width - column, limits, numbers);
    typename CellReader<Element, Lane, indexed>::Watch watch;
    const Element* from = cells_;
    int64_t y = rows.first, position = column;
    const auto skip_row = [&]() ONNX_MAXPOOL_INLINED {
      from += kRead * kLanes;
      if (has_another_after(y)) position += width;
      ++y;
    };
    const auto next_row = [&](Best* row) ONNX_MAXPOOL_INLINED {
#pragma GCC unroll 8
      for (int v = 0; v < kRead; ++v) {
        row[v] = cells_of_row<Lane, indexed>(reader.keys_once_at(from + v * kLanes), position);
        if constexpr (indexed) row[v].position += numbers[v];
      }
      see_all<kRead>(row, watch);
      skip_row();
    };
    windows.begin(next_row);
    const int64_t before = vector_ * kLanes, wanted = columns.count - before;
    for (int64_t line = 0; line < rows.count; ++line) {
      Best here[kRead], edge[kEdge], found;
      windows.line(next_row, skip_row, here);
#pragma GCC unroll 8
      for (int v = 0; v < kRead; ++v) here[v] = limits[v].of(here[v]);
#pragma GCC unroll 2
      for (int n = 0; n < kEdge; ++n) edge[n] = padding<Lane, indexed>();
      windows.windows(here, edge, &found);
#pragma GCC unroll 2
      for (int n = 0; n < kEdge; ++n) edges_.set((kEdge * line + n) * kLanes, edge[n]);
      if (wanted > 0) write.planes(line * columns.count + before, found, lanes_, wanted, planes);
    }
    return !watch.any();
  }

 private:
  // Whether the row that follows the y-th one is another one. A row that is not there is the one at the map's edge,
  // which its window has, too.
  bool has_another_after(int64_t y) const { return y >= 0 && y < job_.rows.size - 1; }

  // So many rows of each plane, from the first window's on, of planes that `first` is the first column of. Where there
  // are fewer planes, the first one is there several times.
  template <int read>
  ONNX_MAXPOOL_NOINLINE void copy_columns(const Element* first, const Element* end, int64_t planes,
                                          int64_t rows) const {
    for (int64_t plane = 0; plane < planes_; ++plane) {
      const Element* const from = plane < planes ? first + plane * job_.rows.size * job_.columns.size : first;
      planes_ == 4 ? copy_plane<read, kLanes / 4>(from, end, plane, rows)
                   : copy_plane<read, kLanes / 2>(from, end, plane, rows);
    }
  }
  template <int read, int64_t lanes>
  ONNX_MAXPOOL_INLINE void copy_plane(const Element* from, const Element* end, int64_t number, int64_t rows) const {
    constexpr int64_t kCopied = read * lanes, kPitch = read * kLanes;
    const int64_t width = job_.columns.size, last = job_.rows.size - 1, first = job_.rows.first, all = first + rows;
    Element* to = cells_ + number * kCopied;
    int64_t y = first;
    const auto copy = [&](int64_t until, int64_t pace) ONNX_MAXPOOL_INLINED {
      for (; y < until; ++y, from += pace, to += kPitch) __builtin_memcpy(to, from, kCopied * sizeof(Element));
    };
    // Rows above the map are its first one, and those below its last one, of which some may lie beyond the tensor.
    const bool is_whole = end - from >= last * width + kCopied;
    if (last > 0 || is_whole) {
      copy(min<int64_t>(0, all), 0);
      copy(min(last, all), width);
    }
    if (is_whole) return copy(all, 0);
    for (; y < all; ++y, to += kPitch) copy_last(to, from, end - from, kCopied);
  }
  ONNX_MAXPOOL_RARE static void copy_last(Element* to, const Element* from, int64_t left, int64_t wanted) {
    for (int64_t i = 0; i < wanted; ++i) to[i] = i < left ? from[i] : Element{};
  }

  // Of each plane's columns the numbers, and which of them are the map's.
  template <int read>
  ONNX_MAXPOOL_NOINLINE void number_columns(int64_t within, LaneLimits<Lane, indexed>* limits,
                                            Positions<Lane>* numbers) const {
    Lane most[kLanes];
    Position<Lane> number[kLanes];
    int64_t column = 0;
    for (int v = 0; v < read; ++v) {
      for (int64_t i = 0; i < kLanes; ++i) {
        most[i] = column < within ? kGreatest<Lane> : kLowest<Lane>;
        number[i] = static_cast<Position<Lane>>(column);
        if (++column == read * lanes_) column = 0;
      }
      limits[v] = LaneLimits<Lane, indexed>(load<Vector<Lane, kVectorBytes>>(most));
      numbers[v] = load<Positions<Lane>>(number);
    }
  }

  const PoolJob& job_;
  const int64_t planes_, lanes_, vector_;
  const RowLine edges_;  // a vector or two for each line
  Element* const cells_;
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
