// The maximum over windows that all planes share, and the index of its first cell. Compiled once per target.
//
// Lanes are neighbouring cells of a row. For a row of windows the best over the map's rows goes into a line
// (window_line.h), from which windows are taken in one of two ways:
//   sliding:   neighbouring windows start one or two cells apart: the line is combined with itself (window_slide.h);
//   gathering: each window is folded to a vector, and as many vectors as lanes are combined (window_gather.h).
// Where windows are of one row, gathering folds the map itself and there is no line. Large windows of narrow
// elements are window_large.h's where indices are wanted.
//
//   map ----------> line ----------> windows ----------> outputs
//    window_line.h      slide, gather        window_writer.h
#include "kernels/window.h"

#include "kernels/window_gather.h"
#include "kernels/window_large.h"
#include "kernels/window_line.h"
#include "kernels/window_list.h"
#include "kernels/window_slide.h"
#include "kernels/window_writer.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Whether the windows' starts are `step` cells apart, but for clipping.
inline bool is_sliding(const PoolAxis& axis) { return !axis.even && axis.grain == 1; }

// Keys of `Element`'s width are widened to `Lane`, which has to hold every position in a plane and one more.
template <class Element, class Lane, bool indexed, bool sliding>
class WindowPool {
  static constexpr int kLanes = kVectorBytes / sizeof(Lane);
  static constexpr int kMostLines = 4;  // at once
  using RowLine = Line<Lane, indexed>;

 public:
  static int64_t units(const PoolJob& job) {
    const int64_t per_unit = lines_per_unit(job);
    return (lines(job) + per_unit - 1) / per_unit;
  }

  static size_t scratch_bytes(const PoolJob& job) {
    return needs_no_line(job) ? 0 : static_cast<size_t>(lines_at_once(job) * line_elements(job)) * sizeof(Lane);
  }

  static void run(const PoolJob& job, int64_t unit, void* scratch) {
    const int64_t per_unit = lines_per_unit(job), begin = unit * per_unit, left = lines(job) - begin;
    const int64_t end = left < per_unit ? begin + left : begin + per_unit;
    WindowPool(job, begin, end, scratch).run(begin, end);
  }

 private:
  WindowPool(const PoolJob& job, int64_t begin, int64_t end, void* scratch)
      : job_(job),
        line_cells_(line_cells(job)),
        lines_(static_cast<Lane*>(scratch)),
        reader_(job),
        filler_(job),
        writer_(job, begin, end) {}

  // A line of the output is a row of windows.
  static int64_t lines_per_plane(const PoolJob& job) { return job.depth.count * job.rows.count; }
  static int64_t lines(const PoolJob& job) { return job.planes * lines_per_plane(job); }
  static int64_t plane_cells(const PoolJob& job) { return job.depth.size * job.rows.size * job.columns.size; }

  // By the size of the window in the middle.
  static int64_t lines_per_unit(const PoolJob& job) {
    const Window z = window_at(job.depth, job.depth.count / 2), y = window_at(job.rows, job.rows.count / 2);
    return pieces_per_unit((z.end - z.start) * (y.end - y.start) * job.columns.size);
  }

  // A line is taken in pieces of so many windows, so that however long it is, its memory is not. Sliding windows that
  // are long make longer pieces, as neighbouring pieces have cells of a window in common.
  static int64_t windows_per_piece(const PoolJob& job) {
    const int64_t most = !sliding ? kMostListed : job.columns.length > 512 ? 8 * job.columns.length : 4096;
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
      cells = axis.step * (count - 1) + axis.length;
    } else if (!is_one_piece(job)) {
      const int64_t n = axis.size / axis.grain;
      const int64_t wanted = axis.even ? count * (n / axis.count + 1) + 1 : axis.step * (count - 1) + axis.length;
      if (wanted < n) cells = wanted * axis.grain;
    }
    return (cells / kLanes + 6) * kLanes;
  }

  // A line is read by vectors that straddle those which were written, for which the processor waits until those are in
  // its cache. By the time that a few more lines are filled, they are.
  static int64_t lines_at_once(const PoolJob& job) {
    const int64_t bytes = line_cells(job) * RowLine::kArrays * static_cast<int64_t>(sizeof(Lane));
    return bytes < 4096 && is_one_piece(job) ? kMostLines : 1;
  }

  // Whether every window lies in one row.
  static bool needs_no_line(const PoolJob& job) {
    const auto is_one_cell = [](const PoolAxis& axis) {
      return axis.size == 1 || (is_sliding(axis) && axis.length == 1);
    };
    return !sliding && is_one_cell(job.depth) && is_one_cell(job.rows);
  }

  static int64_t line_elements(const PoolJob& job) { return line_cells(job) * RowLine::kArrays; }

  void run(int64_t begin, int64_t end) {
    const bool direct = needs_no_line(job_);
    const int64_t at_once = lines_at_once(job_), per_piece = windows_per_piece(job_), all = job_.columns.count;
    plane_ = static_cast<const Element*>(job_.x) + begin / lines_per_plane(job_) * plane_cells(job_);
    z_ = begin % lines_per_plane(job_) / job_.rows.count;
    y_ = begin % job_.rows.count;
    for (int64_t line = begin; line < end;) {
      const int64_t lines = end - line < at_once ? end - line : at_once;
      for (int64_t first = 0; first < all; first += per_piece) {
        const int64_t count = all - first < per_piece ? all - first : per_piece;
        const Window* const windows = windows_of(first, count);
        const Window columns = columns_of(windows, first, count);
        for (int64_t i = 0; i < lines; ++i) {
          if (direct) {
            if constexpr (!sliding) gather_from_row(windows, count);
          } else {
            fill(line_number(i), columns);
          }
          if (first + count == all) next_line();
        }
        if (windows == listed_ && !direct) shift(listed_, count, columns.start);
        for (int64_t i = 0; i < lines && !direct; ++i) pool(line_number(i), windows, count);
      }
      line += lines;
    }
    if constexpr (!sliding) gather_.finish([&](const auto& cells, int64_t wanted) { writer_.write(cells, wanted); });
  }

  ONNX_MAXPOOL_INLINE void next_line() {
    if (++y_ < job_.rows.count) return;
    y_ = 0;
    if (++z_ < job_.depth.count) return;
    z_ = 0;
    plane_ += plane_cells(job_);
  }

  // The line of the row of windows that is next, of these columns.
  ONNX_MAXPOOL_INLINE void fill(RowLine line, Window columns) const {
    filler_.template fill<sliding>(line, plane_, window_at(job_.depth, z_), window_at(job_.rows, y_), columns);
  }

  // The next `count` windows of a line, of which those that do not slide are cells of it.
  ONNX_MAXPOOL_INLINE void pool(RowLine line, const Window* windows, int64_t count) {
    const auto write = [&](const auto& cells, int64_t wanted) { writer_.write(cells, wanted); };
    if constexpr (sliding) {
      slide(line, count, job_.columns.step, job_.columns.length, write);
    } else {
      for (int64_t i = 0; i < count; ++i) gather_.add(fold(line, windows[i]), write);
    }
  }

  ONNX_MAXPOOL_INLINE void gather_from_row(const Window* windows, int64_t count) {
    const int64_t z = window_at(job_.depth, z_).start, y = window_at(job_.rows, y_).start;
    const int64_t offset = (z * job_.rows.size + y) * job_.columns.size;
    const Element* const row = plane_ + offset;
    const CellReader<Element, Lane, indexed> reader = reader_;
    for (int64_t i = 0; i < count; ++i) {
      gather_.add(fold(reader, row, offset, windows[i]),
                  [&](const auto& cells, int64_t wanted) { writer_.write(cells, wanted); });
    }
  }

  RowLine line_number(int64_t i) const {
    Lane* const keys = lines_ + i * RowLine::kArrays * line_cells_;
    return {keys, keys + (RowLine::kArrays - 1) * line_cells_};
  }

  // Of a line, `count` windows from the first on; sliding ones need no list.
  const Window* windows_of(int64_t first, int64_t count) {
    if (sliding || job_.columns.windows) return job_.columns.windows;
    list_windows(job_.columns, first, count, listed_);
    return listed_;
  }

  // From columns to cells of the line that begins with this one.
  static void shift(Window* windows, int64_t count, int64_t column) {
    for (int64_t i = 0; i < count; ++i) windows[i] = {windows[i].start - column, windows[i].end - column};
  }

  // The columns of a line for these windows: of sliding ones with their padding.
  Window columns_of(const Window* windows, int64_t first, int64_t count) const {
    const PoolAxis& axis = job_.columns;
    if (sliding) {
      const int64_t start = axis.first + first * axis.step;
      return {start, start + axis.step * (count - 1) + axis.length};
    }
    if (job_.columns.windows) return {0, axis.size};
    return {windows[0].start, windows[count - 1].end};
  }

  const PoolJob& job_;
  const int64_t line_cells_;
  Lane* const lines_;
  const CellReader<Element, Lane, indexed> reader_;
  const LineFiller<Element, Lane, indexed> filler_;
  WindowWriter<Element, Lane, indexed> writer_;
  Gather<Lane, indexed> gather_;
  const Element* plane_ = nullptr;            // of the next line
  int64_t z_ = 0, y_ = 0;                     // its windows
  Window listed_[sliding ? 1 : kMostListed];  // of a piece, where the job has no list
};

template <class Element, class Lane, bool indexed, bool sliding>
const PoolKernel& of() {
  using Pool = WindowPool<Element, Lane, indexed, sliding>;
  static constexpr PoolKernel kernel = {Pool::units, Pool::scratch_bytes, Pool::run};
  return kernel;
}

template <class Element, class Lane, bool indexed>
const PoolKernel& of_steps(const PoolJob& job) {
  // Not where padding would make the line much longer than its row.
  const PoolAxis& x = job.columns;
  const bool sliding = is_sliding(x) && x.count > 1 && (x.step == 1 || x.step == 2) &&
                       x.step * (x.count - 1) + x.length < 4 * x.size + 1024;
  return sliding ? of<Element, Lane, indexed, true>() : of<Element, Lane, indexed, false>();
}

template <class Element>
const PoolKernel& of_element(const PoolJob& job) {
  if (!job.indices) return of_steps<Element, Element, false>(job);
  const int64_t cells = job.depth.size * job.rows.size * job.columns.size;
  if constexpr (sizeof(Element) <= 2) {
    if (cells < int64_t{1} << 15) return of_steps<Element, int16_t, true>(job);
    using Large = LargeWindowPool<Element>;
    static constexpr PoolKernel large = {Large::units, Large::scratch_bytes, Large::run};
    if (Large::takes(job)) return large;
  }
  if constexpr (sizeof(Element) <= 4) {
    if (cells < int64_t{1} << 31) return of_steps<Element, int32_t, true>(job);
  }
  return of_steps<Element, int64_t, true>(job);
}

}  // namespace

const PoolKernel& pool_kernel(const PoolJob& job, size_t element_size) {
  switch (element_size) {
    case 1:
      return of_element<int8_t>(job);
    case 2:
      return of_element<int16_t>(job);
    case 4:
      return of_element<int32_t>(job);
    default:
      return of_element<int64_t>(job);
  }
}

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
