// Walks that follow positions in their order: the best over the columns of a row of windows (window_ordered_rows.h),
// then over rows, each later cell having to be strictly greater. Other walks combine rows first, so that of equal cells
// each column may have an earlier one than those on its left, and all positions have to be moved and compared. In turn
// each column of a window takes a load of its own; of 64 bytes, most cross lines of memory.
//
// A strip is a vector of windows, and those below it. What is known of the rows that the next windows have, too, stays
// in registers: the best of the last row, of the last two, and so on.
#pragma once

#include "kernels/window_ordered_rows.h"
#include "kernels/window_walk_choice.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Element, class Lane>
class OrderedWalks {
  static constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  // Whether strips within the map have code of their own: with AVX-512 they would take as long as those at its edge. Of
  // float and double only, as others are not worth its size.
  static constexpr bool kHasInner = kVectorBytes < 64 && kAreNumbers<Lane>;
  using Best = Cells<Lane, true>;
  using Writer = WindowWriter<Element, Lane, true>;

 public:
  static int64_t scratch_bytes(const PoolJob& job) {
    const Room room(job);
    const int64_t of_bests = has_slices(job) ? Line<Lane, true>::kArrays * kBand * kLanes : 0;
    return (2 * room.limits + room.rows + of_bests) * static_cast<int64_t>(sizeof(Lane)) +
           room.limits * static_cast<int64_t>(sizeof(Element));
  }

  OrderedWalks(const PoolJob& job, Lane* scratch)
      : job_(job),
        room_(job),
        end_(CellReader<Element, Lane, true>(job).end),
        limits_(scratch),
        row_starts_(reinterpret_cast<Position<Lane>*>(scratch + 2 * room_.limits)),
        copy_(reinterpret_cast<Element*>(row_starts_ + room_.rows)),
        bests_(Line<Lane, true>::in(reinterpret_cast<Lane*>(copy_ + room_.limits), kBand * kLanes)) {}

  // The lines of the output from `begin` to `end`.
  void pool(int64_t begin, int64_t end, Writer& writer) {
    each_slice(job_, begin, end, [&](int64_t plane, Window slices, Window lines) {
      for (int64_t y = lines.start; y < lines.end && !has_nan_; y += kBand) {
        const Band band = {plane, slices, y, min(y + kBand, lines.end)};
        start_rows(band);
        writer.write_band(band.end - band.begin,
                          [&](const auto& write) ONNX_MAXPOOL_INLINED { walk_band(band, write); });
      }
      return !has_nan_;
    });
  }

  // Whether a number was NaN: then not all is pooled.
  bool has_nan() const { return has_nan_; }

 private:
  // Lines of windows, of so many slices of a plane, which begins with this cell.
  struct Band {
    int64_t plane;
    Window slices;
    int64_t begin, end;
  };
  // Cells of what a strip reads of a row, and rows of a band.
  struct Room {
    int64_t limits, rows;
    explicit Room(const PoolJob& job) {
      limits = kMostOrderedApart * kLanes + (kMostOrderedColumns + kLanes - 1) / kLanes * kLanes;
      rows = (rows_of(min(kBand, job.rows.count), job.rows) + kLanes - 1) / kLanes * kLanes;
    }
  };

  // Where the band's rows start. A window that reaches beyond the map has the row at its edge, so that this row will do
  // for those that there are not.
  void start_rows(const Band& band) {
    if (band.begin == started_ && band.end == ended_) return;
    started_ = band.begin;
    ended_ = band.end;
    const PoolAxis& rows = job_.rows;
    using Row = Position<Lane>;  // which takes all rows, and so do their products
    const int64_t begin = rows.first + band.begin * rows.step;
    // No sum leaves the type: of a map that has nearly as many rows as it, some that a window reaches would.
    const auto first = static_cast<Row>(begin), width = static_cast<Row>(job_.columns.size),
               most = static_cast<Row>(min<int64_t>(rows.size - 1 - begin, kGreatest<Row>));
    const int64_t count = rows_of(band.end - band.begin, rows);
    Row* const starts = row_starts_;
    for (int64_t i = 0; i < count; ++i) {
      starts[i] = static_cast<Row>(max(static_cast<Row>(first + min(static_cast<Row>(i), most)), Row{0}) * width);
    }
  }
  // That so many lines of windows reach, or step over.
  static int64_t rows_of(int64_t lines, const PoolAxis& rows) {
    return (lines - 1) * rows.step + max(rows.length, rows.step);
  }

  // For each cell of a row that a strip reads, the greatest key, or the lowest one if it is beside the map. Two strips'
  // are kept: that of the first windows, and the last one that was asked for.
  const Lane* limits_of(int64_t strip) {
    using V = Vector<Lane, kVectorBytes>;
    const int64_t place = strip > 0, column = job_.columns.first + strip * kLanes * job_.columns.step;
    Lane* const limits = limits_ + place * room_.limits;
    if (limited_[place] == strip) return limits;
    limited_[place] = strip;
    for (int64_t i = 0; i < room_.limits; i += kLanes) {
      const int64_t at = column + i;
      store(limits + i, lanes_within<Lane, false>({V{} + kGreatest<Lane>}, -at, job_.columns.size - at).key);
    }
    return limits;
  }

  // The most common lengths have code of their own.
  template <class Write>
  ONNX_MAXPOOL_INLINE void walk_band(const Band& band, const Write& write) {
    const int64_t length = job_.columns.length;
    if (job_.columns.step == 1) return length == 3 ? walk_columns<1, 3>(band, write) : walk_columns<1, 0>(band, write);
    if (length == 3) return walk_columns<2, 3>(band, write);
    length == 2 ? walk_columns<2, 2>(band, write) : walk_columns<2, 0>(band, write);
  }
  // 0 rows apart stands for all numbers of them that have no code of their own.
  template <int step, int length, class Write>
  ONNX_MAXPOOL_INLINE void walk_columns(const Band& band, const Write& write) {
    const int64_t kept = kept_rows(job_.rows);
    const bool are_next = job_.rows.step == 1;
    if (kept == 0) return walk_strips<step, length, 0, 0>(band, write);
    if (kept == 1)
      return are_next ? walk_strips<step, length, 1, 1>(band, write) : walk_strips<step, length, 1, 0>(band, write);
    if (kept == 2)
      return are_next ? walk_strips<step, length, 2, 1>(band, write) : walk_strips<step, length, 2, 0>(band, write);
    kept == 3 ? walk_strips<step, length, 3, 0>(band, write) : walk_strips<step, length, 4, 0>(band, write);
  }
  // From right to left, as what a line's last vector leaves beyond its windows is overwritten by the next line's first.
  template <int step, int length, int kept, int apart, class Write>
  ONNX_MAXPOOL_INLINE void walk_strips(const Band& band, const Write& write) {
    const PoolAxis& columns = job_.columns;
    const int64_t last = (columns.count - 1) / kLanes,
                  reach = OrderedRows<Element, Lane, step, length, true>::reach(job_);
    for (int64_t strip = last; strip >= 0; --strip) {
      const int64_t column = columns.first + strip * kLanes * step;
      const bool is_inner = kHasInner && strip < last && column >= 0 && column + reach <= columns.size;
      if (is_inner) {
        if constexpr (kHasInner) walk<step, length, kept, apart, false>(band, strip, write);
      } else {
        walk<step, length, kept, apart, true>(band, strip, write);
      }
    }
  }

  // Down a strip, of windows that have so many rows of the next ones: slice by slice, as all cells of one come before
  // those of the next.
  template <int step, int length, int kept, int apart, bool at_edge, class Write>
  ONNX_MAXPOOL_NOINLINE void walk(const Band& band, int64_t strip, Write write) {
    using Rows = OrderedRows<Element, Lane, step, length, at_edge>;
    const int64_t column = job_.columns.first + strip * kLanes * step, count = job_.columns.count;
    const int64_t lines = band.end - band.begin, height = job_.rows.length, down = apart > 0 ? apart : job_.rows.step;
    const int64_t slice_cells = job_.rows.size * job_.columns.size, begin = strip * kLanes;
    const Element* const first = static_cast<const Element*>(job_.x);
    const Element* const last = end_ - Rows::reach(job_);
    const Line<Lane, true> bests = bests_;
    for (int64_t slice = band.slices.start; slice < band.slices.end; ++slice) {
      const bool is_first = slice == band.slices.start, is_last = slice + 1 == band.slices.end;
      const Element* const base = first + band.plane + slice * slice_cells + column;
      const Position<Lane>* row_start = row_starts_;
      Rows rows(job_, slice * slice_cells, column, at_edge ? limits_of(strip) : nullptr);
      // Whether some row does not lie in the tensor, or some vector of windows in the unit's outputs.
      bool is_at_end = false;
      if (at_edge) {
        const int64_t last_row = (lines - 1) * down + height - 1;
        is_at_end = base < first || base + row_starts_[last_row] > last || begin + (lines - 1) * count > write.last;
      }
      const auto next_row = [&]() ONNX_MAXPOOL_INLINED {
        const Position<Lane> start = *row_start++;
        const Element* from = base + start;
        if (at_edge && __builtin_expect(is_at_end, 0)) {
          if (from < first || from > last) from = copied(from, column, Rows::reach(job_));
        }
        return rows.at(from, start);
      };
      Best known[kept > 0 ? kept : 1];  // of the last row, of the last two, ...
      const auto keep = [&](const Best& row) ONNX_MAXPOOL_INLINED {
#pragma GCC unroll 4
        for (int i = kept - 1; i > 0; --i) {
          known[i] = known[i - 1];
          follow(known[i], row);
        }
        known[0] = row;
      };
#pragma GCC unroll 4
      for (int i = 0; i < kept; ++i) known[i] = padding<Lane, true>();
#pragma GCC unroll 1
      for (int i = 0; i < kept; ++i) keep(next_row());
      for (int64_t line = 0; line < lines; ++line) {
        Best best;
        if constexpr (kept == 0) {
          best = next_row();
          for (int64_t y = 1; y < height; ++y) follow(best, next_row());
          row_start += down - height;
        } else {
          best = known[kept - 1];
          for (int64_t y = kept; y < down; ++y) follow(best, next_row());
          const int64_t more = apart > 0 ? apart : min<int64_t>(kept, down);
          for (int64_t y = 0; y < more; ++y) {
            const Best row = next_row();
            follow(best, row);
            keep(row);
          }
        }
        best = rows.finished(best);
        if (!is_first) {
          Best before = bests.at(line * kLanes);
          follow(before, best);
          best = before;
        }
        if (!is_last) {
          bests.set(line * kLanes, best);
        } else if (at_edge && __builtin_expect(is_at_end, 0)) {
          write.some(begin + line * count, best, count - begin);
        } else {
          write(begin + line * count, best);
        }
      }
      has_nan_ |= rows.has_nan();
    }
  }

  // A copy of cells of which not all lie in the tensor.
  ONNX_MAXPOOL_RARE const Element* copied(const Element* from, int64_t column, int64_t cells) {
    for (int64_t i = 0; i < cells; ++i) {
      copy_[i] = column + i >= 0 && column + i < job_.columns.size ? from[i] : Element{};
    }
    return copy_;
  }

  const PoolJob& job_;
  const Room room_;
  const Element* const end_;
  Lane* const limits_;
  Position<Lane>* const row_starts_;
  Element* const copy_;
  const Line<Lane, true> bests_;  // a vector for each line, where there are several slices
  int64_t started_ = -1, ended_ = -1, limited_[2] = {-1, -1};
  bool has_nan_ = false;
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
