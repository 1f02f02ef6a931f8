// The plan by rows: lanes are neighbouring cells of a row. For a row of windows the best over the map's rows goes into
// a line (window_line.h), from which windows are taken in one of two ways:
//   sliding:   neighbouring windows start a few cells apart: the line is combined with itself (window_slides.h);
//              short ones that start one apart need no line (window_short.h);
//   gathering: each window is folded to a vector, and as many vectors as lanes are combined (window_gather.h).
// Where windows are of one row, gathering folds the map itself and there is no line.
//
//   map ----------> line ----------> windows ----------> outputs
//    window_line.h      slide, gather        window_writer.h
#pragma once

#include "kernels/window_gather.h"
#include "kernels/window_line.h"
#include "kernels/window_list.h"
#include "kernels/window_short.h"
#include "kernels/window_slides.h"
#include "kernels/window_writer.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Keys of `Element`'s width are widened to `Lane`, which has to hold every position in a plane and one more.
template <class Element, class Lane, bool indexed, bool sliding>
class RowsPool : public UnitsOfLines {
  static constexpr int kLanes = kVectorBytes / sizeof(Lane);
  static constexpr int kMostLines = 4;  // at once
  static constexpr int64_t kMostPiece = 4096;
  using RowLine = Line<Lane, indexed>;
  using Watch = typename CellReader<Element, Lane, indexed>::Watch;

 public:
  static size_t scratch_bytes(const PoolJob& job) {
    const int64_t cells = needs_no_line(job) ? 0 : lines_at_once(job) * line_cells(job) * RowLine::kArrays;
    return list_bytes(job) + static_cast<size_t>(cells) * sizeof(Lane);
  }

  // Returns whether all is pooled: where a number was NaN, keys have to pool the unit, and what follows is left out.
  static bool run(const PoolJob& job, int64_t unit, void* scratch) {
    const Window lines = lines_of_unit(job, unit);
    RowsPool pool(job, lines.start, lines.end, scratch);
    pool.run(lines.start, lines.end);
    return !pool.has_nan_;
  }

 private:
  RowsPool(const PoolJob& job, int64_t begin, int64_t end, void* scratch)
      : job_(job),
        line_cells_(line_cells(job)),
        listed_(static_cast<Window*>(scratch)),
        lines_(reinterpret_cast<Lane*>(static_cast<char*>(scratch) + list_bytes(job))),
        writer_(job, begin, end) {}

  // Of the list of a piece's windows, where the job has none.
  static size_t list_bytes(const PoolJob& job) {
    return sliding || is_one_piece(job) ? 0 : static_cast<size_t>(kMostListed) * sizeof(Window);
  }

  // A line is taken in pieces of so many windows, so that however long it is, its memory is not. Sliding windows that
  // are long make longer pieces, as neighbouring pieces have cells of a window in common.
  static int64_t windows_per_piece(const PoolJob& job) {
    const int64_t few = job.columns.step > 3 ? kMostPiece * 3 / job.columns.step : kMostPiece;
    const int64_t most = !sliding ? kMostListed : job.columns.length > 512 ? 8 * job.columns.length : few;
    return job.columns.count < most ? job.columns.count : most;
  }
  static bool is_one_piece(const PoolJob& job) {
    return sliding ? windows_per_piece(job) == job.columns.count : job.columns.windows != nullptr;
  }

  // A line's cells: of the longest piece, its padding included, and what vectors may stick out by.
  static int64_t line_cells(const PoolJob& job) {
    const PoolAxis& axis = job.columns;
    const int64_t count = windows_per_piece(job);
    int64_t cells = axis.size;
    if (sliding) {
      cells = reach_of(axis, count);
    } else if (!is_one_piece(job)) {
      const int64_t n = axis.size / axis.grain;
      const int64_t wanted = axis.even ? count * (n / axis.count + 1) + 1 : reach_of(axis, count);
      if (wanted < n) cells = wanted * axis.grain;
    }
    return (cells / kLanes + kBeyondLine) * kLanes;
  }

  // A line is read by vectors that straddle those which were written, for which the processor waits until those are in
  // its cache. By the time that a few more lines are filled, they are. Of wide vectors the rest of the line is enough.
  static int64_t lines_at_once(const PoolJob& job) {
    constexpr int64_t kCellBytes = RowLine::kArrays * sizeof(Lane);
    constexpr int64_t kLongLine = kVectorBytes == 64 ? (6 + kBeyondLine) * kLanes : 4096 / kCellBytes;
    return line_cells(job) < kLongLine && is_one_piece(job) ? kMostLines : 1;
  }

  // Whether windows are taken from the map's rows as they come: short ones, or where each lies in one row.
  static bool needs_no_line(const PoolJob& job) {
    if (sliding) return is_slid<Lane, indexed>(job.columns);
    const auto is_one_cell = [](const PoolAxis& axis) {
      return axis.size == 1 || (has_step(axis) && axis.length == 1);
    };
    return is_one_cell(job.depth) && is_one_cell(job.rows);
  }

  void run(int64_t begin, int64_t end) {
    if (is_one_piece(job_)) {
      pool(begin, end, {0, job_.columns.count, job_.columns.windows});
    } else {
      for (int64_t line = begin; line < end && !has_nan_; ++line) pool_line_in_pieces(line);
    }
  }

  // Windows of a row: those from `first` on, with their list where they do not slide.
  struct Piece {
    int64_t first, count;
    const Window* windows;
  };

  ONNX_MAXPOOL_NOINLINE void pool_line_in_pieces(int64_t line) {
    const int64_t all = job_.columns.count, most = windows_per_piece(job_);
    for (int64_t first = 0; first < all; first += most) {
      const int64_t count = all - first < most ? all - first : most;
      if (!sliding) list_windows(job_.columns, first, count, listed_);
      pool(line, line + 1, {first, count, listed_});
    }
  }

  // The lines from `begin` to `end`, or the same piece of each.
  void pool(int64_t begin, int64_t end, const Piece& piece) {
    if constexpr (sliding && kSlidesShort<Lane, indexed>) {
      if (is_slid<Lane, indexed>(job_.columns)) {
        ShortWindows<Element, Lane, indexed> windows(job_, columns_of(piece).start, piece.count);
        windows.pool(begin, end, writer_);
        has_nan_ |= windows.has_nan();
        return;
      }
    }
    pool_lines(begin, end, piece);
  }

  ONNX_MAXPOOL_NOINLINE void pool_lines(int64_t begin, int64_t end, Piece piece) {
    const bool direct = !sliding && needs_no_line(job_);
    const int64_t at_once = lines_at_once(job_), rows = job_.rows.count, cells_per_plane = cells_of_plane(job_);
    const Window columns = columns_of(piece);
    const Window* windows = piece.windows;
    if (!sliding && !direct && windows == listed_) shift(listed_, piece.count, columns.start);
    const Element* plane = static_cast<const Element*>(job_.x);
    int64_t z = 0, y = 0;
    if (begin > 0) {  // a small job has one unit, and would notice the divisions
      const int64_t per_plane = job_.depth.count * rows, number = begin / per_plane, line = begin - number * per_plane;
      plane += number * cells_per_plane;
      z = line / rows;
      y = line - z * rows;
    }
    const LineFiller<Element, Lane, indexed> filler(job_);
    const CellReader<Element, Lane, indexed> reader(job_);
    const PoolAxis depth_axis = job_.depth, row_axis = job_.rows;
    const int64_t step = job_.columns.step, length = job_.columns.length;
    [[maybe_unused]] const int64_t row_cells = job_.columns.size;
    WindowWriter<Element, Lane, indexed> writer = writer_;
    [[maybe_unused]] const auto write = [&](const auto& cells, int64_t wanted) { writer.write(cells, wanted); };
    [[maybe_unused]] Gather<Lane, indexed> gather;
    Watch watch;
    for (int64_t line = begin; line < end && !watch.any();) {
      const int64_t lines = end - line < at_once ? end - line : at_once;
      for (int64_t i = 0; i < lines; ++i) {
        if (direct) {
          if constexpr (!sliding) {
            const int64_t row = window_at(depth_axis, z).start * row_axis.size + window_at(row_axis, y).start;
            const int64_t offset = row * row_cells;
            for (int64_t j = 0; j < piece.count; ++j) {
              gather.add(fold(reader, plane + offset, offset, windows[j], watch), write);
            }
          }
        } else {
          filler.template fill<sliding>(line_number(i), plane, window_at(depth_axis, z), window_at(row_axis, y),
                                        columns, watch);
        }
        if (++y < rows) continue;
        y = 0;
        if (++z < depth_axis.count) continue;
        z = 0;
        plane += cells_per_plane;
      }
      if constexpr (sliding) {
        slide<Lane, indexed>({line_number(0), lines, RowLine::kArrays * line_cells_, piece.count}, step, length,
                             writer);
      } else {
        for (int64_t i = 0; i < lines && !direct; ++i) {
          for (int64_t j = 0; j < piece.count; ++j) gather.add(fold(line_number(i), windows[j]), write);
        }
      }
      line += lines;
    }
    if constexpr (!sliding) gather.finish(write);
    writer_ = writer;
    has_nan_ |= watch.any();
  }

  RowLine line_number(int64_t i) const { return RowLine::in(lines_ + i * RowLine::kArrays * line_cells_, line_cells_); }

  // From columns to cells of the line that begins with this one.
  static void shift(Window* windows, int64_t count, int64_t column) {
    for (int64_t i = 0; i < count; ++i) windows[i] = {windows[i].start - column, windows[i].end - column};
  }

  // The columns of a line for these windows: of sliding ones with their padding.
  Window columns_of(const Piece& piece) const {
    const PoolAxis& axis = job_.columns;
    if (sliding) {
      const int64_t start = axis.first + piece.first * axis.step;
      return {start, start + reach_of(axis, piece.count)};
    }
    if (axis.windows) return {0, axis.size};
    return {piece.windows[0].start, piece.windows[piece.count - 1].end};
  }

  const PoolJob& job_;
  const int64_t line_cells_;
  Window* const listed_;  // of a piece, where the job has no list
  Lane* const lines_;
  WindowWriter<Element, Lane, indexed> writer_;
  bool has_nan_ = false;
};
template <class Element, class Lane, bool indexed>
using SlidingPool = RowsPool<Element, Lane, indexed, true>;
template <class Element, class Lane, bool indexed>
using GatheringPool = RowsPool<Element, Lane, indexed, false>;

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
