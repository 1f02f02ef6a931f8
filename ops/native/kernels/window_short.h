// Short windows that start one cell apart take no line: a vector of it would be loaded right after the two that it
// straddles were stored, and waits for them. Of the best over the rows, a vector and the next one stay in registers:
//
//   here, next   x0 x1 x2 x3 | x4 x5 x6 x7    slid down by 1   x1 x2 x3 x4    by 2   x2 x3 x4 x5
//
// Where rows slide by one as well, columns may be walked, as many at once as there are lanes: each row becomes keys
// once, as what is known of the rows above it stays in registers too. A walk finds its `next` where the walk before has
// left it for each line. Walks go from right to left: what a line's last vector leaves beyond its windows, the next
// line's first overwrites. Of long lines in memory, this reads and writes too many at once: it is a plan of its own.
#pragma once

#include "kernels/window_line.h"
#include "kernels/window_list.h"
#include "kernels/window_writer.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Rows, and columns: lanes slide by no more than a block, and with indices larger windows were no faster.
template <class Lane, bool indexed>
constexpr int kMostWalked = indexed || sizeof(Lane) == 8 ? 3 : 5;
constexpr int kMostSlid = 3;   // columns, of windows that are not walked
constexpr int64_t kBand = 64;  // lines that are walked at once
// Tensors of fewer bytes, cells and outputs, are mostly in a cache that is near: to fetch them would take longer.
constexpr int64_t kFar = 4 << 20;

inline bool slides_by_one(const PoolAxis& axis, int most) {
  return !axis.even && axis.grain == 1 && axis.step == 1 && axis.length <= most;
}

// Of a value and its index.
template <bool indexed>
int64_t output_bytes(const PoolJob& job, int64_t element_size) {
  return element_size + (!indexed ? 0 : job.indices_are_64_bits ? 8 : 4);
}
// Of its cells and outputs.
template <bool indexed>
int64_t plane_bytes(const PoolJob& job, int64_t element_size) {
  return job.depth.size * job.rows.size * job.columns.size * element_size +
         job.depth.count * job.rows.count * job.columns.count * output_bytes<indexed>(job, element_size);
}

// Whether columns can be walked, and may be the faster for it: where lines are as short as two of memory, or all is in
// a share of the third cache. From memory, walks of longer lines take up to three times as long as rows.
template <class Lane, bool indexed>
bool can_be_walked(const PoolJob& job, int64_t element_size) {
  constexpr int64_t kFewWindows = 8, kShortLine = 144, kNear = 16 << 20;
  constexpr int kMost = kMostWalked<Lane, indexed>;
  // Narrower vectors take several operations to compare such keys, or to follow positions.
  constexpr bool kIsFaster = !(indexed ? kVectorBytes < 64 : kVectorBytes == 16 && sizeof(Lane) == 8);
  if (!kIsFaster || !slides_by_one(job.rows, kMost) || !slides_by_one(job.columns, kMost)) return false;
  // Of several slices, a walk does not come to cells in the order of their positions.
  if (indexed && job.depth.length != 1) return false;
  // At a tensor's ends, lines are not walked.
  if (job.planes * job.rows.size < kFewWindows * job.rows.length) return false;
  const int64_t line = job.columns.size * element_size,
                of_windows = job.columns.count * output_bytes<indexed>(job, element_size);
  if (line <= kShortLine && of_windows <= kShortLine) return true;
  return plane_bytes<indexed>(job, element_size) <= kNear / job.planes;
}
// On processors with half as many registers, others were slower so.
template <class Lane, bool indexed>
bool is_slid(const PoolAxis& columns) {
  constexpr bool kIsFaster = kVectorBytes == 64 || (!indexed && sizeof(Lane) >= 4);
  return kIsFaster && slides_by_one(columns, kMostSlid);
}

// Lanes from `begin` to `end` stay as they are, the others become padding.
template <class Lane, bool indexed>
class LaneLimits {
  using V = Vector<Lane, kVectorBytes>;

 public:
  LaneLimits(int64_t begin, int64_t end) : most_(lanes_within<Lane, false>({V{} + kGreatest<Lane>}, begin, end).key) {}
  ONNX_MAXPOOL_INLINE Cells<Lane, indexed> of(Cells<Lane, indexed> cells) const {
    cells.key = min(cells.key, most_);
    if constexpr (indexed) cells.position = max(cells.position, ~most_);  // kNowhere is ~kLowest
    return cells;
  }

 private:
  V most_;
};

template <class Element, class Lane, bool indexed>
class ShortWindows {
  static constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  static constexpr int64_t kBests = kBand * kLanes;
  using Best = Cells<Lane, indexed>;
  using RowLine = Line<Lane, indexed>;
  using Writer = WindowWriter<Element, Lane, indexed>;
  using Watch = typename CellReader<Element, Lane, indexed>::Watch;

 public:
  static constexpr int64_t kScratchBytes = 2 * kBests * RowLine::kArrays * sizeof(Lane);

  // Of a line, the `count` windows from column `column` on, where the first begins. Only walks need scratch.
  ShortWindows(const PoolJob& job, int64_t column, int64_t count, bool walks, Lane* scratch)
      : job_(job),
        reader_(job),
        x_(static_cast<const Element*>(job.x)),
        width_(job.columns.size),
        rows_(job.rows.size),
        slice_(rows_ * width_),
        height_(job.rows.length),
        length_(job.columns.length),
        first_row_(job.rows.first),
        column_(column),
        count_(count),
        last_((count - 1) / kLanes * kLanes),
        end_(last_ + (count - last_ + length_ - 1 > kLanes ? 2 * kLanes : kLanes)),
        walks_(walks),
        is_far_(plane_bytes<indexed>(job, sizeof(Element)) > kFar / job.planes),
        at_first_(-column, last_ == 0 ? width_ - column : kLanes),
        at_last_(0, width_ - column - last_),
        beyond_(0, width_ - column - last_ - kLanes),
        scratch_(scratch) {}

  // The lines of the output from `begin` to `end`.
  void pool(int64_t begin, int64_t end, Writer& writer) {
    const int64_t rows = job_.rows.count, slice = begin / rows, cells = job_.depth.size * slice_;
    int64_t y = begin % rows, z = slice % job_.depth.count;
    const Element* plane = x_ + slice / job_.depth.count * cells;
    for (int64_t left = end - begin; left > 0 && !has_nan_; y = 0) {
      const int64_t lines = lesser(rows - y, left);
      pool(plane, window_at(job_.depth, z), y, y + lines, writer);
      left -= lines;
      if (++z < job_.depth.count) continue;
      z = 0;
      plane += cells;
    }
  }

  // Whether a number was NaN: then not all is pooled.
  bool has_nan() const { return has_nan_; }

 private:
  // The lines from `begin` to `end` of these slices of a plane.
  void pool(const Element* plane, Window depth, int64_t begin, int64_t end, Writer& writer) {
    if (!walks_) return pool_lines(plane, depth, begin, end, writer);
    for (int64_t next; begin < end && !has_nan_; begin = next) {
      next = lesser(begin + kBand, end);
      pool_band(plane, depth, begin, next, writer);
    }
  }

  template <class Call>
  static ONNX_MAXPOOL_INLINE void with_number(int64_t number, const Call& call) {
    if (number == 1) return call(Number<1>{});
    if (number == 2) return call(Number<2>{});
    if constexpr (kMostWalked<Lane, indexed> > 3) {
      if (number == 4) return call(Number<4>{});
      if (number == 5) return call(Number<5>{});
    }
    call(Number<3>{});
  }

  ONNX_MAXPOOL_NOINLINE void pool_band(const Element* plane, Window depth, int64_t begin, int64_t end, Writer& writer) {
    // Walks read and write whole vectors: not the lines of which one would leave the tensor, or the unit's outputs.
    const int64_t position = depth.start * slice_ + column_;
    const int64_t before = plane + position - x_;
    const int64_t left = reader_.end - plane - ((depth.end - 1) * slice_ + column_ + end_);
    const int64_t room = writer.room() - last_ - kLanes;
    int64_t first = begin, last = end;
    if (before < 0) first = greater(first, (width_ - 1 - before) / width_ - first_row_);
    if (left < 0 || room < 0) {
      last = first;
    } else {
      if (left < (rows_ - 1) * width_) last = lesser(last, left / width_ - first_row_ - height_ + 2);
      if (room < (end - begin - 1) * count_) last = lesser(last, begin + room / count_ + 1);
    }
    if (first >= last) return pool_lines(plane, depth, begin, end, writer);
    if (begin < first) pool_lines(plane, depth, begin, first, writer);
    writer.write_whole((last - first) * count_, [&](const auto& write) __attribute__((always_inline)) {
      const int64_t slices = depth.end - depth.start;
      if (is_far_) {
        pool_columns<true>(plane, position, slices, first, last, write);
      } else {
        pool_columns<false>(plane, position, slices, first, last, write);
      }
    });
    if (last < end) pool_lines(plane, depth, last, end, writer);
  }

  // Of so many slices, from the one whose cell of row 0 and column_ has this position.
  template <bool fetches, class Write>
  ONNX_MAXPOOL_INLINE void pool_columns(const Element* plane, int64_t position, int64_t slices, int64_t begin,
                                        int64_t end, const Write& write) {
    RowLine here = {scratch_, scratch_ + (RowLine::kArrays - 1) * 2 * kBests}, next = line_at(here, kBests);
    // The usual windows are taken in the walk itself, which finds what it follows where it leaves its own.
    const bool at_once = height_ == length_ && length_ <= 3;
    for (int64_t x = end_ - kLanes; x >= 0; x -= kLanes) {
      const int64_t first = position + x;
      if (at_once && x <= last_) {
        if (length_ == 1) walk<fetches, 1, 1>(plane, first, slices, x, begin, end, here, write);
        if (length_ == 2) walk<fetches, 2, 2>(plane, first, slices, x, begin, end, here, write);
        if (length_ == 3) walk<fetches, 3, 3>(plane, first, slices, x, begin, end, here, write);
        continue;
      }
      with_number(height_, [&](auto height) {
        walk<fetches, height.value, 0>(plane, first, slices, x, begin, end, here, write);
      });
      if (x <= last_) with_number(length_, [&](auto length) { take<length.value>(here, next, x, end - begin, write); });
      if (at_once) continue;
      const RowLine walked = here;
      here = next;
      next = walked;
    }
  }

  // The columns from the x-th on: the best over the rows of each line, to `bests`, and windows of `length` columns, if
  // it is not 0, of these and of the bests that there are.
  template <bool fetches, int height, int length, class Write>
  ONNX_MAXPOOL_NOINLINE void walk(const Element* plane, int64_t position, int64_t slices, int64_t x, int64_t begin,
                                  int64_t end, const RowLine bests, Write write) {
    // Meanwhile a share of the next band's rows and outputs is fetched, in the order of memory, if they may be far.
    [[maybe_unused]] const int64_t lines = end - begin, next_outputs = (count_ + x) * lines;
    [[maybe_unused]] const int64_t next_cells = position - x + (first_row_ + height - 1 + end) * width_ + x * lines;
    const LaneLimits<Lane, indexed> limits(-column_ - x, width_ - column_ - x);
    const CellReader<Element, Lane, indexed> reader = reader_;
    const int64_t width = width_, slice = slice_, rows = rows_, count = count_;
    Watch watch;
    // A window that reaches beyond the map has the row at its edge, so that this row will do for those that there are
    // not.
    const auto row_at = [&](int64_t row) __attribute__((always_inline)) {
      const int64_t at = position + lesser(greater(row, 0), rows - 1) * width;
      Best best = cells_from<Lane, indexed>(reader.keys_once_at(plane + at), at);
      watch.see(best.key);
      for (int64_t z = 1; z < slices; ++z) {
        const Best next = cells_from<Lane, indexed>(reader.keys_once_at(plane + at + z * slice), at + z * slice);
        watch.see(next.key);
        follow(best, next);
      }
      return limits.of(best);
    };
    Best known[height];  // of the last row, the best of the last two, ...
    for (Best& each : known) each = padding<Lane, indexed>();
    const auto add = [&](const Best& row) __attribute__((always_inline)) {
#pragma GCC unroll 8
      for (int i = height - 1; i > 0; --i) {
        known[i] = known[i - 1];
        follow(known[i], row);
      }
      known[0] = row;
    };
    int64_t row = first_row_ + begin;
    for (int i = 1; i < height; ++i) add(row_at(row++));
    for (int64_t i = 0; i < (end - begin) * kLanes; i += kLanes, x += count) {
      if constexpr (fetches) {
        prefetch<Cache::second>(plane, next_cells + i);
        write.fetch(next_outputs + i);
      }
      add(row_at(row++));
      const Best here = known[height - 1];
      if constexpr (length > 0) write(x, windows<length>(here, bests.at(i)));
      bests.set(i, here);
    }
    has_nan_ |= watch.any();
  }

  // The windows of so many lines in the columns from the x-th on.
  template <int length, class Write>
  ONNX_MAXPOOL_NOINLINE void take(const RowLine here, const RowLine next, int64_t x, int64_t lines, Write write) const {
    const int64_t count = count_;
    for (int64_t i = 0; i < lines * kLanes; i += kLanes, x += count) {
      write(x, windows<length>(here.at(i), next.at(i)));
    }
  }

  template <int length>
  static ONNX_MAXPOOL_INLINE Best windows(const Best& here, const Best& next) {
    Best best = here;
    if constexpr (length > 1) best = either(best, slid_down<1>(here, next));
    if constexpr (length > 2) best = either(best, slid_down<2>(here, next));
    if constexpr (length > 3) best = either(best, slid_down<3>(here, next));
    if constexpr (length > 4) best = either(best, slid_down<4>(here, next));
    return best;
  }

  // Lines one after the other.
  void pool_lines(const Element* plane, Window depth, int64_t begin, int64_t end, Writer& writer) {
    with_number(length_, [&](auto length) { pool_lines<length.value>(plane, depth, begin, end, writer); });
  }
  template <int length>
  ONNX_MAXPOOL_NOINLINE void pool_lines(const Element* plane, Window depth, int64_t begin, int64_t end,
                                        Writer& unit_writer) {
    Writer writer = unit_writer;
    Watch watch;
    const PoolAxis row_axis = job_.rows;
    for (int64_t line = begin; line < end && !watch.any(); ++line) {
      const Window rows = window_at(row_axis, line);
      const int64_t height = rows.end - rows.start, slices = depth.end - depth.start;
      const int64_t offset = (depth.start * rows_ + rows.start) * width_ + column_;
      const Element* const first = plane + offset;
      if constexpr (length <= kMostSlid) {
        if (first >= x_ && reader_.end - first >= (slices - 1) * slice_ + (height - 1) * width_ + end_) {
          if (slices == 1 && height == 3) {
            slide<length>(RowsOf<3>{*this, first, offset, 1, 3}, writer, watch);
          } else if (slices == 1 && height == 2) {
            slide<length>(RowsOf<2>{*this, first, offset, 1, 2}, writer, watch);
          } else {
            slide<length>(RowsOf<0>{*this, first, offset, slices, height}, writer, watch);
          }
          continue;
        }
      }
      writer = pool_at_edge<length>(plane, depth, rows, writer);
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
      const auto row = [&](int64_t at) __attribute__((always_inline)) {
        const auto& reader = windows.reader_;
        const Element* const from = first + at + x;
        return cells_of_row<Lane, indexed>(rows > 0 ? reader.keys_once_at(from) : reader.keys_at(from), at);
      };
      if constexpr (rows > 0) {
        const auto best =
            best_of<rows, Lane, indexed>(watch, [&](int y) __attribute__((always_inline)) { return row(y * width); });
        return along_row(best, offset + x);
      }
      Best best = row(0);
      watch.see(best.key);
      const auto add = [&](int64_t at) __attribute__((always_inline)) {
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
    writer.write_line_by(count_, [&](const auto& write) __attribute__((always_inline)) {
      Best here = at_first_.of(rows.at(0, watch));
      int64_t x = 0;
      for (; x + kLanes < last; x += kLanes) {
        const Best next = rows.at(x + kLanes, watch);
        write(x, windows<length>(here, next));
        here = next;
      }
      if (x < last) {
        const Best next = at_last_.of(rows.at(last, watch));
        write(x, windows<length>(here, next));
        here = next;
      }
      write(last, windows<length>(here, last + kLanes < end ? beyond_.of(rows.at(last + kLanes, watch)) : here));
    });
  }

  // A line whose vectors would leave the tensor. By value, so that no writer has to lie in memory.
  template <int length>
  ONNX_MAXPOOL_RARE Writer pool_at_edge(const Element* plane, Window depth, Window rows, Writer writer) {
    Best here = best_at_edge(plane, depth, rows, column_);
    writer.write_line(count_, [&](int64_t x) __attribute__((always_inline)) {
      const Best next = best_at_edge(plane, depth, rows, column_ + x + kLanes), best = windows<length>(here, next);
      here = next;
      return best;
    });
    return writer;
  }

  // The columns from this one on: nothing outside of the tensor is read.
  ONNX_MAXPOOL_RARE Best best_at_edge(const Element* plane, Window depth, Window rows, int64_t column) {
    const int64_t begin = greater(column, 0), end = lesser(column + kLanes, width_);
    Best best = padding<Lane, indexed>();
    Watch watch;
    if (begin >= end) return best;
    for (int64_t z = depth.start; z < depth.end; ++z) {
      for (int64_t y = rows.start; y < rows.end; ++y) {
        const int64_t at = z * slice_ + y * width_ + column;
        const Element* from = plane + at;
        Element copy[kLanes] = {};
        if (from < x_ || reader_.end - from < kLanes) {
          __builtin_memcpy(copy + (begin - column), from + (begin - column),
                           static_cast<size_t>(end - begin) * sizeof(Element));
          from = copy;
        }
        const Best next = cells_from<Lane, indexed>(reader_.keys_at(from), at);
        watch.see(next.key);
        best = either(best, next);
      }
    }
    has_nan_ |= watch.any();
    return lanes_within(best, begin - column, end - column);
  }

  static int64_t greater(int64_t a, int64_t b) { return a > b ? a : b; }
  static int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }

  const PoolJob& job_;
  const CellReader<Element, Lane, indexed> reader_;
  const Element* const x_;
  const int64_t width_, rows_, slice_, height_, length_, first_row_, column_, count_;
  const int64_t last_, end_;  // of columns from the first on: where the last windows' vector begins, where vectors end
  const bool walks_, is_far_;
  // Padding within the first vector of columns, the last that windows begin in, and what they reach beyond it. Others
  // have none, as each window has a cell of the map.
  const LaneLimits<Lane, indexed> at_first_, at_last_, beyond_;
  Lane* const scratch_;  // of walks: a vector for each line, twice
  bool has_nan_ = false;
};

// The plan by walks.
template <class Element, class Lane, bool indexed>
struct WalkPool : UnitsOfLines {
  static bool takes(const PoolJob& job) { return can_be_walked<Lane, indexed>(job, sizeof(Element)); }

  static size_t scratch_bytes(const PoolJob&) { return ShortWindows<Element, Lane, indexed>::kScratchBytes; }

  static bool run(const PoolJob& job, int64_t unit, void* scratch) {
    const Window lines = lines_of_unit(job, unit);
    const PoolAxis& columns = job.columns;
    WindowWriter<Element, Lane, indexed> writer(job, lines.start, lines.end);
    ShortWindows<Element, Lane, indexed> windows(job, columns.first, columns.count, true, static_cast<Lane*>(scratch));
    windows.pool(lines.start, lines.end, writer);
    return !windows.has_nan();
  }
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
