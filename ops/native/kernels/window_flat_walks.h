// Windows that start one row and one column apart, as many as the map has columns: their outputs lie as its cells do,
// so that all lines are walked as one. However narrow a map is, no lane is empty.
//
//   cells           a0 a1 a2 b0 b1 b2 c0 c1 c2     the best over the rows: of lanes a line apart
//   columns left    -- a0 a1 -- b0 b1 -- c0 c1     what lanes of another line there are become padding,
//   columns right   a1 a2 -- b1 b2 -- c1 c2 --     by a table of which lanes these are, from each column on
#pragma once

#include "kernels/window_doublings.h"
#include "kernels/window_short.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Lanes of one byte take too many instructions to slide, and narrower vectors to follow positions.
template <class Lane>
constexpr bool kWalksFlat = kVectorBytes == 64 && sizeof(Lane) > 1;

// Without indices only narrow maps are walked so: wide ones have few lanes empty in other walks, which load no row
// twice.
template <class Lane, bool indexed>
bool walks_flat(const PoolJob& job) {
  constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  constexpr int64_t kMostRows = 9, kMostColumns = indexed ? 512 : kLanes + kLanes / 4;
  const PoolAxis &rows = job.rows, &columns = job.columns;
  if (!kWalksFlat<Lane> || !slides_by_one(rows) || rows.length > kMostRows) return false;
  if (!slides_by_one(columns) || columns.count != columns.size || columns.size > kMostColumns) return false;
  return (columns.length == 3 && columns.first == -1) || (columns.length == 5 && columns.first == -2);
}

template <class Element, class Lane, bool indexed>
class FlatWalk {
  static constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  static constexpr int64_t kBandCells = (int64_t{16} << 10) / sizeof(Lane);
  static constexpr int64_t kMostBeside = 2;  // columns on either side of a window's middle
  using V = Vector<Lane, kVectorBytes>;
  using Best = Cells<Lane, indexed>;
  using RowLine = Line<Lane, indexed>;
  using Writer = WindowWriter<Element, Lane, indexed>;

 public:
  static int64_t scratch_bytes(const PoolJob& job) {
    const Room room(job);
    return (room.cells * RowLine::kArrays + room.table * kMostBeside) * static_cast<int64_t>(sizeof(Lane));
  }

  FlatWalk(const PoolJob& job, Lane* scratch)
      : job_(job),
        room_(job),
        width_(job.columns.size),
        slice_(job.rows.size * width_),
        beside_(job.columns.length / 2),
        cells_(RowLine::in(scratch, room_.cells)),
        table_(scratch + RowLine::kArrays * room_.cells) {
    for (int64_t n = 1; n <= beside_; ++n) fill_table(n, table_ + (n - 1) * room_.table);
  }

  // The lines of the output from `begin` to `end`.
  void pool(int64_t begin, int64_t end, Writer& writer) {
    each_slice(job_, begin, end, [&](int64_t plane, Window depth, Window lines) {
      for (int64_t y = lines.start; y < lines.end && !has_nan_; y += room_.lines) {
        pool_band(plane, depth, {y, min(y + room_.lines, lines.end)}, writer);
      }
      return !has_nan_;
    });
  }

  // Whether a number was NaN: then not all is pooled.
  bool has_nan() const { return has_nan_; }

 private:
  // Lines that are walked at once, and what a band of them takes.
  struct Room {
    int64_t lines, cells, table;
    explicit Room(const PoolJob& job) {
      const int64_t width = job.columns.size;
      lines = min(max<int64_t>(kBandCells / width, 8), job.rows.count);
      cells = (lines + job.rows.length - 1) * width + 3 * kLanes;
      table = width + 3 * kLanes;
    }
  };

  // Which lanes, from each column on, have `n` columns on their left in their own line.
  void fill_table(int64_t n, Lane* to) const {
    for (int64_t i = 0; i < room_.table - kLanes; i += kLanes) store(to + i, V{} + kGreatest<Lane>);
    for (int64_t i = 0; i < room_.table - kLanes; i += width_) {
      for (int64_t j = 0; j < n; ++j) to[i + j] = kLowest<Lane>;
    }
  }

  void pool_band(int64_t plane, Window depth, Window lines, Writer& writer) {
    const int64_t height = job_.rows.length, first = lines.start + job_.rows.first;
    const int64_t begin = max<int64_t>(first, 0),
                  end = min(first + lines.end - lines.start + height - 1, job_.rows.size);
    const int64_t beyond = (lines.end - lines.start + height - 1) * width_ + 2 * kLanes;
    copy_rows(plane, depth, {begin, end}, (begin - first) * width_, beyond);
    if constexpr (indexed) {
      if (has_slices(job_)) {
        return beside_ == 1 ? walk<0, 1, true>(first, lines, writer) : walk<0, 2, true>(first, lines, writer);
      }
    }
    if (beside_ == 1) {
      height == 3 ? walk<3, 1, false>(first, lines, writer) : walk<0, 1, false>(first, lines, writer);
    } else {
      height == 5 ? walk<5, 2, false>(first, lines, writer) : walk<0, 2, false>(first, lines, writer);
    }
  }

  // The best over slices of these rows, behind so many cells of padding, and before padding up to `beyond`.
  ONNX_MAXPOOL_NOINLINE void copy_rows(int64_t plane, Window depth, Window rows, int64_t above, int64_t beyond) {
    const CellReader<Element, Lane, indexed> reader(job_);
    const int64_t position = depth.start * slice_ + rows.start * width_, slice = slice_;
    const Element* const from = static_cast<const Element*>(job_.x) + plane + position;
    const int64_t count = (rows.end - rows.start) * width_, slices = depth.end - depth.start;
    const bool are_kept = indexed && has_slices(job_);
    const RowLine cells = cells_;
    typename CellReader<Element, Lane, indexed>::Watch watch;
    const auto set = [&](int64_t i, const Best& best) ONNX_MAXPOOL_INLINED {
      if (are_kept) return cells.set(i, best);
      store(cells.keys + i, best.key);
    };
    const auto copy = [&](int64_t i, const auto& keys_at) ONNX_MAXPOOL_INLINED {
      Best best = cells_from<Lane, indexed>(keys_at(from + i), position + i);
      watch.see(best.key);
      for (int64_t z = 1; z < slices; ++z) {
        const int64_t at = z * slice + i;
        const Best next = cells_from<Lane, indexed>(keys_at(from + at), position + at);
        watch.see(next.key);
        follow(best, next);
      }
      set(above + i, best);
    };
    for (int64_t i = 0; i < above; i += kLanes) set(i, padding<Lane, indexed>());
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      copy(i, [&](const Element* at) ONNX_MAXPOOL_INLINED { return reader.keys_once_at(at); });
    }
    if (i < count) copy(i, [&](const Element* at) ONNX_MAXPOOL_INLINED { return reader.keys_at_end(at); });
    for (i = above + count; i < beyond; i += kLanes) set(i, padding<Lane, indexed>());
    has_nan_ |= watch.any();
  }

  // Where positions are `kept`, those of cells lie behind their keys; else they follow from where cells lie.
  template <int rows, int beside, bool kept>
  ONNX_MAXPOOL_NOINLINE void walk(int64_t first_row, Window lines, Writer& unit_writer) const {
    Writer writer = unit_writer;
    const int64_t width = width_, height = rows > 0 ? rows : job_.rows.length;
    const int64_t position = first_row * width, above = first_row < 0 ? -first_row * width : 0;
    const RowLine cells = cells_;
    const auto best_over_rows = [&](int64_t i) ONNX_MAXPOOL_INLINED {
      if constexpr (kept) {
        Best best = cells.at(i);
        for (int64_t y = 1; y < height; ++y) best = either(best, cells.at(i + y * width));
        return best;
      } else {
        const auto at_row = [&](int64_t y) ONNX_MAXPOOL_INLINED {
          return cells_of_row<Lane, indexed>(load_once<V>(cells.keys + i + y * width), y * width);
        };
        Best best = at_row(0);
#pragma GCC unroll 4
        for (int64_t y = 1; y < height; ++y) follow(best, at_row(y));
        best = along_row(best, position + i);
        // Where all cells are as low as padding, the first of them.
        if constexpr (indexed) {
          for (int64_t cell = i; __builtin_expect(cell < above, 0); cell += width) {
            best.position +=
                best.position < 0 ? Positions<Lane>{} + static_cast<Position<Lane>>(width) : Positions<Lane>{};
          }
        }
        return best;
      }
    };
    const int64_t count = (lines.end - lines.start) * width, step = kLanes % width;
    const Lane* const table = table_;
    const int64_t per_table = room_.table;
    int64_t column = 0;
    Best before = padding<Lane, indexed>(), here = best_over_rows(0);
    writer.write_line(count, [&](int64_t i) ONNX_MAXPOOL_INLINED {
      const Best next = best_over_rows(i + kLanes);
      Best best = here;
      const auto add = [&](Best slid, const Lane* from) ONNX_MAXPOOL_INLINED {
        if constexpr (indexed) {  // one instruction with the slide
          const auto within = load<V>(from) > V{};
          slid.key = within ? slid.key : V{} + kLowest<Lane>;
          slid.position = within ? slid.position : Positions<Lane>{} + kNowhere<Lane>;
        } else {
          slid = LaneLimits<Lane, indexed>(load<V>(from)).of(slid);
        }
        best = either(best, slid);
      };
      add(slid_up(before, here), table + column);
      add(slid_down<1>(here, next), table + column + 1);
      if constexpr (beside > 1) {
        const Lane* const second = table + per_table + column;
        add(slid_down<static_cast<int>(kLanes) - 2>(before, here), second);
        add(slid_down<2>(here, next), second + 2);
      }
      before = here;
      here = next;
      column += step;
      column -= column >= width ? width : 0;
      return best;
    });
    unit_writer = writer;
  }

  const PoolJob& job_;
  const Room room_;
  const int64_t width_, slice_, beside_;
  const RowLine cells_;
  Lane* const table_;
  bool has_nan_ = false;
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
