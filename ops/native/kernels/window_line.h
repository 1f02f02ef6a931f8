// A line: the best over the rows of a row of windows, cell by cell.
//
//   rows of the map    a0 a1 a2 a3 a4        earlier rows first, so that a later one has to be strictly greater, and
//                      b0 b1 b2 b3 b4        ties go to the first (G5)
//                      c0 c1 c2 c3 c4
//   line         -- -- max of each column -- --      and the padding on either side (P4)
#pragma once

#include "kernels/simd/order.h"
#include "kernels/window.h"
#include "kernels/window_cells.h"
#include "kernels/window_list.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Lane, bool indexed>
struct Line {
  static constexpr int kArrays = indexed ? 2 : 1;
  Lane* keys;
  Position<Lane>* positions;

  // In scratch, where positions lie so many cells behind keys.
  static Line in(Lane* scratch, int64_t cells) {
    return {scratch, reinterpret_cast<Position<Lane>*>(scratch + (kArrays - 1) * cells)};
  }

  ONNX_MAXPOOL_INLINE Cells<Lane, indexed> at(int64_t x) const {
    using V = Vector<Lane, kVectorBytes>;
    if constexpr (indexed) {
      return {load<V>(keys + x), load<Positions<Lane>>(positions + x)};
    } else {
      return {load<V>(keys + x)};
    }
  }
  ONNX_MAXPOOL_INLINE void set(int64_t x, const Cells<Lane, indexed>& cells) const {
    store(keys + x, cells.key);
    if constexpr (indexed) store(positions + x, cells.position);
  }
};

template <class Lane, bool indexed>
ONNX_MAXPOOL_INLINE Line<Lane, indexed> line_at(const Line<Lane, indexed>& lines, int64_t cell) {
  return {lines.keys + cell, lines.positions + cell};
}

template <class Element, bool indexed>
struct OrderFor {
  using type = KeyOrder<Element>;
};
template <>
struct OrderFor<float, false> {
  using type = ValueOrder<float>;
};
template <>
struct OrderFor<double, false> {
  using type = ValueOrder<double>;
};
template <>
struct OrderFor<float, true> : OrderFor<float, false> {};
template <>
struct OrderFor<double, true> : OrderFor<double, false> {};
template <class Element>
struct OrderFor<Element, true> {
  using type = TieOrder<Element>;
};

// Reads the map's cells as keys, widened to lanes, or as numbers, of which a NaN has to be seen.
template <class Element, class Lane, bool indexed>
class CellReader {
  using V = Vector<Lane, kVectorBytes>;
  static constexpr int kLanes = kVectorBytes / sizeof(Lane);
  using Bits = Vector<Element, kLanes * sizeof(Element)>;

 public:
  explicit CellReader(const PoolJob& job)
      : order(job.order), end(static_cast<const Element*>(job.x) + job.planes * cells_of_plane(job)) {}

  using Watch = NanWatch<V>;

  // The keys of the cells of a row from `from` on. Numbers are loaded once, for the watch and the maximum. Of keys, a
  // line that combines several rows at once is slower so with AVX-512.
  ONNX_MAXPOOL_INLINE V keys_at(const Element* from) const {
    if constexpr (kVectorBytes < 64 || kAreNumbers<Lane>) return keys_once_at(from);
    return promote_to<Lane, Element, kLanes>(order.to_key(load<Bits>(from)));
  }
  // The same, loaded once whatever they are.
  ONNX_MAXPOOL_INLINE V keys_once_at(const Element* from) const {
    return promote_to<Lane, Element, kLanes>(order.to_key(load_once<Bits>(from)));
  }
  // Of cells from `begin` to `end`, which may lie beyond the lanes on either side: nothing else is read.
  ONNX_MAXPOOL_INLINE V keys_within(const Element* from, int64_t begin, int64_t end) const {
    return promote_to<Lane, Element, kLanes>(order.to_key(load_within<Bits>(from, begin, end)));
  }
  // Lanes beyond the tensor may hold anything, but nothing beyond it is read.
  ONNX_MAXPOOL_INLINE V keys_at_end(const Element* from) const {
    const int64_t left = end - from;
    return left >= kLanes ? keys_at(from) : last_keys(order, from, left);
  }

  using Order = typename OrderFor<Element, indexed>::type;
  const Order order;
  const Element* const end;

 private:
  // By value, so that no reader has to lie in memory.
  ONNX_MAXPOOL_RARE static V last_keys(Order order, const Element* from, int64_t count) {
    return promote_to<Lane, Element, kLanes>(order.to_key(load_n<Bits>(from, count)));
  }
};

// How far ahead memory is fetched, in cells: whole steps of windows, as there may be rows between these that are not
// read. No step counts for more than the map, so that the product stays within a plane.
template <class Element>
int64_t rows_ahead(const PoolJob& job) {
  constexpr int64_t kFetched = 8192 / sizeof(Element);
  const int64_t rows = max<int64_t>(min(job.rows.step, job.rows.size), 1), step = rows * job.columns.size;
  return step < kFetched ? (kFetched + step - 1) / step * step : step;
}

// Fills lines from planes of (depth, rows, columns) cells.
template <class Element, class Lane, bool indexed>
class LineFiller {
  static constexpr int kLanes = kVectorBytes / sizeof(Lane);
  static constexpr int kRowsAtOnce = 4;  // read side by side

  // Whether rows are as short as a few lines of memory, of a tensor that is so small that a cache may hold it: else
  // memory is read in its own order.
  static bool are_near(const PoolJob& job) {
    constexpr int64_t kShort = 256 / sizeof(Element), kNear = kNearBytes / sizeof(Element);
    return job.columns.size <= kShort && cells_of_plane(job) <= kNear / job.planes;
  }

 public:
  explicit LineFiller(const PoolJob& job)
      : reader_(job),
        rows_(job.rows.size),
        width_(job.columns.size),
        ahead_(rows_ahead<Element>(job)),
        are_near_(are_near(job)) {}

  using Watch = typename CellReader<Element, Lane, indexed>::Watch;

  // The line of the rows in a product of windows. Its first cell is that of column `columns.start`; where there are
  // columns beyond the plane (`padded`), they are padding.
  template <bool padded>
  ONNX_MAXPOOL_INLINE void fill(Line<Lane, indexed> line, const Element* plane, Window depth, Window rows,
                                Window columns, Watch& watch) const {
    const int64_t start = padded && columns.start < 0 ? 0 : columns.start;
    const int64_t end = padded && columns.end > width_ ? width_ : columns.end;
    const int64_t before = padded ? start - columns.start : 0;
    for (int64_t x = 0; x < before; x += kLanes) line.set(x, padding<Lane, indexed>());
    // Where rows begin stays in registers: counters in memory would take as long as short rows.
    const int64_t height = rows.end - rows.start, slices = depth.end - depth.start;
    int64_t all = slices * height;
    int64_t offset = (depth.start * rows_ + rows.start) * width_ + start, rows_left = height;
    const auto next = [&] {
      const int64_t begin = offset;
      offset += --rows_left ? width_ : (rows_ - height + 1) * width_;
      if (rows_left == 0) rows_left = height;
      return begin;
    };
    const int64_t last = offset + ((slices - 1) * rows_ + height - 1) * width_;
    if (!padded && all > kRowsAtOnce && are_near_ && reader_.end - (plane + last) >= end - start + kLanes) {
      watch.see(fill_columns(line_at(line, before), plane, offset, slices, height, end - start));
      all = 0;
    }
    for (int64_t row = 0; row < all; row += kRowsAtOnce) {
      const int64_t count = all - row;
      if (count == 1) add_rows<1>(line, plane, next, row == 0, before, end - start, watch);
      if (count == 2) add_rows<2>(line, plane, next, row == 0, before, end - start, watch);
      if (count == 3) add_rows<3>(line, plane, next, row == 0, before, end - start, watch);
      if (count >= kRowsAtOnce) add_rows<kRowsAtOnce>(line, plane, next, row == 0, before, end - start, watch);
    }
    for (int64_t x = end - columns.start; padded && x < columns.end - columns.start; x += kLanes) {
      line.set(x, padding<Lane, indexed>());
    }
  }

 private:
  // The best over so many rows of each of so many slices, from `offset` on, to the line: of a few vectors of columns at
  // a time, so that it stays in registers.
  ONNX_MAXPOOL_NOINLINE Watch fill_columns(Line<Lane, indexed> line, const Element* plane, int64_t offset,
                                           int64_t slices, int64_t height, int64_t cells) const {
    Watch watch;
    int64_t x = 0;
    for (; cells - x > 3 * kLanes; x += 4 * kLanes) add_columns<4>(line, plane, offset, slices, height, x, watch);
    const int64_t left = cells - x;
    if (left > 2 * kLanes) {
      add_columns<3>(line, plane, offset, slices, height, x, watch);
    } else if (left > kLanes) {
      add_columns<2>(line, plane, offset, slices, height, x, watch);
    } else if (left > 0) {
      add_columns<1>(line, plane, offset, slices, height, x, watch);
    }
    return watch;
  }
  template <int count>
  ONNX_MAXPOOL_INLINE void add_columns(Line<Lane, indexed> line, const Element* plane, int64_t offset, int64_t slices,
                                       int64_t height, int64_t x, Watch& watch) const {
    const CellReader<Element, Lane, indexed> reader = reader_;
    constexpr int kApart = 64 / (kLanes * static_cast<int>(sizeof(Element)));
    const int64_t width = width_, to_slice = (rows_ - height) * width, ahead = ahead_;
    const auto cells_at = [&](int i) ONNX_MAXPOOL_INLINED {
      const Element* const from = plane + offset + x;
      if (kApart <= 1 || i % kApart == 0) prefetch<Cache::second>(from, ahead + i * kLanes);
      return cells_of_row<Lane, indexed>(reader.keys_at(from + i * kLanes), offset);
    };
    Cells<Lane, indexed> best[count];
#pragma GCC unroll 4
    for (int i = 0; i < count; ++i) best[i] = cells_at(i);
    see_all<count>(best, watch);
    offset += width;
    for (int64_t z = 0, y = 1; z < slices; ++z, y = 0, offset += to_slice) {
      for (; y < height; ++y, offset += width) {
        Cells<Lane, indexed> next[count];
#pragma GCC unroll 4
        for (int i = 0; i < count; ++i) next[i] = cells_at(i);
        see_all<count>(next, watch);
#pragma GCC unroll 4
        for (int i = 0; i < count; ++i) follow(best[i], next[i]);
      }
    }
    for (int i = 0; i < count; ++i) line.set(x + i * kLanes, along_row(best[i], x + i * kLanes));
  }

  // `cells` of each of the next rows, which begin where `next()` says, to the line from cell `to` on.
  template <int count, class Next>
  ONNX_MAXPOOL_INLINE void add_rows(Line<Lane, indexed> line, const Element* plane, Next& next, bool first, int64_t to,
                                    int64_t cells, Watch& watch) const {
    const CellReader<Element, Lane, indexed> reader = reader_;  // as the compiler takes stores for ones to members
    const Element* rows[count];
    int64_t offsets[count];
    for (int i = 0; i < count; ++i) {
      offsets[i] = next();
      rows[i] = plane + offsets[i];
    }
    // What comes next is fetched in the order of memory: several rows at once are several streams, which the processor
    // follows less well. Of rows that do not lie one after the other, or of which little is read, the next page.
    const bool in_order = offsets[count - 1] - offsets[0] == (count - 1) * width_ && cells > width_ - width_ / 8;
    const int64_t pace = in_order ? count : 1;
    int64_t ahead[count];  // of each row
    for (int i = 0; i < count; ++i) ahead[i] = in_order ? ahead_ + i * kLanes - i * width_ : kPage<Element>;
    int64_t x = 0;
    const auto add = [&](auto apart) ONNX_MAXPOOL_INLINED {
      for (; x + kLanes <= cells; x += kLanes) {
        for (int i = 0; i < count; i += apart.value) prefetch<Cache::second>(rows[i], ahead[i] + x * pace);
        add_cells<count>(line, offsets, first, x, to, watch, [&](int i) { return reader.keys_at(rows[i] + x); });
      }
    };
    // Rows in order are one stream, of which one prefetch for each line of memory is enough.
    constexpr int kApart = 64 / (kLanes * static_cast<int>(sizeof(Element)));
    if constexpr (kApart > 1) {
      if (in_order) add(Number<kApart>());
    }
    add(Number<1>());
    if (x < cells) {
      add_cells<count>(line, offsets, first, x, to, watch, [&](int i) { return reader.keys_at_end(rows[i] + x); });
    }
  }

  template <int count, class KeysAt>
  ONNX_MAXPOOL_INLINE static void add_cells(Line<Lane, indexed> line, const int64_t* offsets, bool first, int64_t x,
                                            int64_t to, Watch& watch, KeysAt keys_at_row) {
    Cells<Lane, indexed> best = best_of<count, Lane, indexed>(
        watch, [&](int i) ONNX_MAXPOOL_INLINED { return cells_of_row<Lane, indexed>(keys_at_row(i), offsets[i]); });
    best = along_row(best, x);
    if (!first) {
      Cells<Lane, indexed> earlier = line.at(to + x);
      follow(earlier, best);
      best = earlier;
    }
    line.set(to + x, best);
  }

  const CellReader<Element, Lane, indexed> reader_;
  const int64_t rows_, width_, ahead_;
  const bool are_near_;
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
