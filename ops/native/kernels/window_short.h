// Short windows that start one cell apart take no line: a vector of it would be loaded right after the two that it
// straddles were stored, and waits for them. Of the best over the rows, a vector and the next one stay in registers:
//
//   here, next   x0 x1 x2 x3 | x4 x5 x6 x7    slid down by 1   x1 x2 x3 x4    by 2   x2 x3 x4 x5
#pragma once

#include "kernels/window_line.h"
#include "kernels/window_list.h"
#include "kernels/window_writer.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Columns, of windows that are taken so.
constexpr int kMostSlid = 3;

inline bool slides_by_one(const PoolAxis& axis) { return has_step(axis) && axis.step == 1; }

// On processors with half as many registers, others were slower so. Positions in 64 bits are not worth the code.
template <class Lane, bool indexed>
constexpr bool kSlidesShort = kVectorBytes == 64 ? !indexed || sizeof(Lane) < 8 : !indexed && sizeof(Lane) >= 4;
template <class Lane, bool indexed>
bool is_slid(const PoolAxis& columns) {
  return kSlidesShort<Lane, indexed> && slides_by_one(columns) && columns.length <= kMostSlid;
}

// Lanes from `begin` to `end` stay as they are, the others become padding.
template <class Lane, bool indexed>
class LaneLimits {
  using V = Vector<Lane, kVectorBytes>;

 public:
  LaneLimits() = default;
  explicit LaneLimits(V most) : most_(most) {}  // in each lane the greatest or the lowest number
  LaneLimits(int64_t begin, int64_t end) : most_(lanes_within<Lane, false>({V{} + kGreatest<Lane>}, begin, end).key) {}
  ONNX_MAXPOOL_INLINE Cells<Lane, indexed> of(Cells<Lane, indexed> cells) const {
    cells.key = min(cells.key, most_);
    if constexpr (indexed && kAreNumbers<Lane>) {
      cells.position = most_ > V{} ? cells.position : Positions<Lane>{} + kNowhere<Lane>;
    } else if constexpr (indexed) {
      cells.position = max(cells.position, ~most_);  // kNowhere is ~kLowest
    }
    return cells;
  }

 private:
  V most_;
};

// Windows of up to five columns, of a vector and the next one.
template <int length, class Lane, bool indexed>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> slid_windows(const Cells<Lane, indexed>& here,
                                                      const Cells<Lane, indexed>& next) {
  Cells<Lane, indexed> best = here;
  if constexpr (length > 1) best = either(best, slid_down<1>(here, next));
  if constexpr (length > 2) best = either(best, slid_down<2>(here, next));
  if constexpr (length > 3) best = either(best, slid_down<3>(here, next));
  if constexpr (length > 4) best = either(best, slid_down<4>(here, next));
  return best;
}

template <class Element, class Lane, bool indexed>
class ShortWindows {
 public:
  using Writer = WindowWriter<Element, Lane, indexed>;

  // Of a line, the `count` windows from column `column` on, where the first begins.
  ShortWindows(const PoolJob& job, int64_t column, int64_t count)
      : job_(job),
        reader_(job),
        x_(static_cast<const Element*>(job.x)),
        width_(job.columns.size),
        rows_(job.rows.size),
        slice_(rows_ * width_),
        length_(job.columns.length),
        column_(column),
        count_(count),
        last_((count - 1) / kLanes * kLanes),
        end_(last_ + (count - last_ + length_ - 1 > kLanes ? 2 * kLanes : kLanes)),
        at_first_(-column, last_ == 0 ? width_ - column : kLanes),
        at_last_(0, width_ - column - last_),
        beyond_(0, width_ - column - last_ - kLanes) {}

  // The lines of the output from `begin` to `end`.
  void pool(int64_t begin, int64_t end, Writer& writer) {
    each_slice(job_, begin, end, [&](int64_t plane, Window depth, Window lines) {
      if (length_ == 1) pool_lines<1>(x_ + plane, depth, lines, writer);
      if (length_ == 2) pool_lines<2>(x_ + plane, depth, lines, writer);
      if (length_ == 3) pool_lines<3>(x_ + plane, depth, lines, writer);
      return !has_nan_;
    });
  }

  // Whether a number was NaN: then not all is pooled.
  bool has_nan() const { return has_nan_; }

 private:
  static constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  using Best = Cells<Lane, indexed>;
  using Watch = typename CellReader<Element, Lane, indexed>::Watch;

  // Lines one after the other.
  template <int length>
  ONNX_MAXPOOL_NOINLINE void pool_lines(const Element* plane, Window depth, Window lines, Writer& unit_writer) {
    Writer writer = unit_writer;
    Watch watch;
    const PoolAxis row_axis = job_.rows;
    for (int64_t line = lines.start; line < lines.end && !watch.any(); ++line) {
      const Window rows = window_at(row_axis, line);
      const int64_t height = rows.end - rows.start, slices = depth.end - depth.start;
      const int64_t offset = (depth.start * rows_ + rows.start) * width_ + column_;
      const Element* const first = plane + offset;
      if (first < x_ || reader_.end - first < (slices - 1) * slice_ + (height - 1) * width_ + end_) {
        writer = pool_at_edge<length>(plane, depth, rows, writer);
      } else if (slices == 1 && height == 3) {
        slide<length>(RowsOf<3>{*this, first, offset, 1, 3}, writer, watch);
      } else if (slices == 1 && height == 2) {
        slide<length>(RowsOf<2>{*this, first, offset, 1, 2}, writer, watch);
      } else {
        slide<length>(RowsOf<0>{*this, first, offset, slices, height}, writer, watch);
      }
    }
    unit_writer = writer;
    has_nan_ |= watch.any();
  }

  // The best over the rows of a product of windows. `rows` is 0 where they are not known to be so many, of one slice.
  template <int rows>
  struct RowsOf {
    const ShortWindows& windows;
    const Element* first;
    int64_t offset, slices, height;

    // The columns from the x-th on.
    ONNX_MAXPOOL_INLINE Best at(int64_t x, Watch& watch) const {
      const int64_t width = windows.width_, slice = windows.slice_;
      const auto row = [&](int64_t at) ONNX_MAXPOOL_INLINED {
        const auto& reader = windows.reader_;
        const Element* const from = first + at + x;
        return cells_of_row<Lane, indexed>(rows > 0 ? reader.keys_once_at(from) : reader.keys_at(from), at);
      };
      if constexpr (rows > 0) {
        const auto best =
            best_of<rows, Lane, indexed>(watch, [&](int y) ONNX_MAXPOOL_INLINED { return row(y * width); });
        return along_row(best, offset + x);
      }
      Best best = row(0);
      watch.see(best.key);
      const auto add = [&](int64_t at) ONNX_MAXPOOL_INLINED {
        const Best next = row(at);
        watch.see(next.key);
        follow(best, next);
      };
      for (int64_t y = 1; y < height; ++y) add(y * width);
      for (int64_t z = 1; z < slices; ++z) {
        for (int64_t y = 0; y < height; ++y) add(z * slice + y * width);
      }
      return along_row(best, offset + x);
    }
  };

  template <int length, class Rows>
  ONNX_MAXPOOL_INLINE void slide(const Rows& rows, Writer& writer, Watch& watch) const {
    const int64_t last = last_, end = end_;
    writer.write_line_by(count_, [&](const auto& write) ONNX_MAXPOOL_INLINED {
      Best here = at_first_.of(rows.at(0, watch));
      int64_t x = 0;
      for (; x + kLanes < last; x += kLanes) {
        const Best next = rows.at(x + kLanes, watch);
        write(x, slid_windows<length>(here, next));
        here = next;
      }
      if (x < last) {
        const Best next = at_last_.of(rows.at(last, watch));
        write(x, slid_windows<length>(here, next));
        here = next;
      }
      write(last, slid_windows<length>(here, last + kLanes < end ? beyond_.of(rows.at(last + kLanes, watch)) : here));
    });
  }

  // A line whose vectors would leave the tensor. By value, so that no writer has to lie in memory.
  template <int length>
  ONNX_MAXPOOL_RARE Writer pool_at_edge(const Element* plane, Window depth, Window rows, Writer writer) {
    Best here = best_at_edge(plane, depth, rows, column_);
    writer.write_line(count_, [&](int64_t x) ONNX_MAXPOOL_INLINED {
      const Best next = best_at_edge(plane, depth, rows, column_ + x + kLanes), best = slid_windows<length>(here, next);
      here = next;
      return best;
    });
    return writer;
  }

  // The columns from this one on: nothing outside of the tensor is read.
  ONNX_MAXPOOL_RARE Best best_at_edge(const Element* plane, Window depth, Window rows, int64_t column) {
    const int64_t begin = max<int64_t>(column, 0), end = min(column + kLanes, width_);
    Best best = padding<Lane, indexed>();
    Watch watch;
    if (begin >= end) return best;
    for (int64_t z = depth.start; z < depth.end; ++z) {
      for (int64_t y = rows.start; y < rows.end; ++y) {
        const int64_t at = z * slice_ + y * width_ + column;
        const Best next = cells_from<Lane, indexed>(reader_.keys_within(plane + at, begin - column, end - column), at);
        watch.see(next.key);
        best = either(best, next);
      }
    }
    has_nan_ |= watch.any();
    return lanes_within(best, begin - column, end - column);
  }

  const PoolJob& job_;
  const CellReader<Element, Lane, indexed> reader_;
  const Element* const x_;
  const int64_t width_, rows_, slice_, length_, column_, count_;
  const int64_t last_, end_;  // of columns from the first on: where the last windows' vector begins, where vectors end
  bool has_nan_ = false;
  // Padding within the first vector of columns, the last that windows begin in, and what they reach beyond it. Others
  // have none, as each window has a cell of the map.
  const LaneLimits<Lane, indexed> at_first_, at_last_, beyond_;
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
