// Windows of any map, one axis after the other: first rows, then depth, then columns, whose lines lie one behind the
// other in a cache. So a row of the map becomes keys once, however many windows it is in, and no vector waits for one
// that has only just been stored.
//
//   map     a0 a1 a2 a3    keys, with padding       rows of windows          columns of windows
//           b0 b1 b2 b3    . a0 a1 a2 a3 .          . ab0 ab1 ab2 ab3 .      abc01 abc012 ...
//           c0 c1 c2 c3    . b0 b1 b2 b3 . ...      . bc0 bc1 bc2 bc3 .      bc01  bc012  ...
//
// Where rows are in few windows, those of a line are read from the map itself (window_line.h). Columns slide
// (window_slides.h), or large windows are gathered (window_gather.h); others, which are further apart, are picked:
// cells become the best of 2, 4, ... cells first, and one to three of them make up a window. Where windows are many,
// they are picked from as many lines at once as a vector has lanes, which are transposed before and after.
#pragma once

#include "kernels/simd/transpose.h"
#include "kernels/window_gather.h"
#include "kernels/window_lines.h"
#include "kernels/window_list.h"
#include "kernels/window_writer.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Element, class Lane, bool indexed>
class MapPool {
  static constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  using RowLine = Line<Lane, indexed>;
  static constexpr int kArrays = RowLine::kArrays;
  using Watch = typename CellReader<Element, Lane, indexed>::Watch;

 public:
  static bool takes(const PoolJob& job) {
    if (!job.depth.windows || !job.rows.windows || !job.columns.windows) return false;
    return bands_of(job).outputs > 0;
  }

  static int64_t units(const PoolJob& job) {
    const Bands bands = bands_of(job);
    return (job.planes + bands.planes_per_unit - 1) / bands.planes_per_unit * bands.count;
  }
  static size_t scratch_bytes(const PoolJob& job) {
    const Bands bands = bands_of(job);
    const int64_t cells = bands.keys + bands.slices + bands.lines + bands.picked + bands.turned;
    return static_cast<size_t>(kArrays * cells) * sizeof(Lane);
  }

  static bool run(const PoolJob& job, int64_t unit, void* scratch) {
    const Bands bands = bands_of(job);
    const Window planes = planes_of(job, bands, unit);
    MapPool pool(job, bands, unit % bands.count, static_cast<Lane*>(scratch));
    pool.pool_planes(planes.start, planes.end);
    return !pool.has_nan_;
  }

  // use(begin, end) of each piece of the outputs that a unit writes.
  template <class Use>
  static void each_piece(const PoolJob& job, int64_t unit, const Use& use) {
    const Bands bands = bands_of(job);
    each_piece_of_band(job, planes_of(job, bands, unit), unit % bands.count, bands.outputs, use);
  }

 private:
  // Windows of the outermost axis are taken in bands. Cells that each buffer has room for, with what vectors stick out.
  struct Bands {
    ColumnPlan columns;
    bool flat, separable;
    int64_t outputs, count, planes_per_unit;
    int64_t keys, slices, lines, picked, turned;
  };
  static constexpr int64_t kMostCells = (int64_t{256} << 10) / (kArrays * static_cast<int64_t>(sizeof(Lane)));
  static constexpr int64_t kFewCells = kMostCells / 8;  // where no cell is read for two bands
  static constexpr int64_t kSlack = kBeyondLine * kLanes;

  static Bands bands_of(const PoolJob& job) {
    Bands bands = {column_plan(job, kLanes), is_flat(job), rows_are_separable(job), 0, 0, 0, 0, 0, 0, 0, 0};
    const ColumnPlan& columns = bands.columns;
    const bool flat = bands.flat, separable = bands.separable;
    const bool turned = is_turned<Lane>(columns, job.columns);
    const int64_t line = columns.pitch + (columns.kind == Columns::picked ? job.columns.count : 0);
    const int64_t lines_per_output = flat ? 1 : job.rows.count;
    const PoolAxis& outer = flat ? job.rows : job.depth;
    if (!separable) {
      bands.outputs = kFewCells / (line * lines_per_output);
      if (turned && bands.outputs * lines_per_output < kLanes && 2 * kLanes * line <= kMostCells) {
        bands.outputs = (kLanes - 1) / lines_per_output + 1;
      }
      if (bands.outputs < 1) bands.outputs = 1;
      if (bands.outputs > outer.count) bands.outputs = outer.count;
      // A line of the output that is longer than that is not worth its copy.
      if (bands.outputs * line * lines_per_output > kMostCells) return {};
      bands.count = (outer.count + bands.outputs - 1) / bands.outputs;
      bands.lines = bands.outputs * lines_per_output * columns.pitch + kSlack;
    } else if (flat) {
      const AxisBands rows = bands_of_axis(job.rows, kMostCells / (columns.pitch + line));
      bands.outputs = rows.outputs;
      bands.count = rows.count;
      bands.keys = rows.cells * columns.pitch + kSlack;
      bands.lines = rows.outputs * columns.pitch + kSlack;
    } else {
      const int64_t slice = job.rows.count * columns.pitch;
      const int64_t fixed = job.rows.size * columns.pitch + job.rows.count * line;
      if (fixed > kMostCells) return {};
      const AxisBands depth = bands_of_axis(job.depth, (2 * kMostCells - fixed) / slice);
      bands.outputs = depth.outputs;
      bands.count = depth.count;
      bands.keys = job.rows.size * columns.pitch + kSlack;
      bands.slices = depth.cells * slice + kSlack;
      bands.lines = slice + kSlack;
    }
    if (bands.outputs < 1) return {};
    if (columns.kind == Columns::picked) bands.picked = (bands.lines / columns.pitch + 1) * job.columns.count + kSlack;
    const int64_t lines_at_once = separable && !flat ? job.rows.count : bands.outputs * lines_per_output;
    if (turned && lines_at_once >= kLanes) {
      bands.turned = (columns.pitch + job.columns.count + 2 * kLanes) * kLanes;
    }
    bands.planes_per_unit = bands.count > 1 ? 1 : pieces_per_unit(job, job.planes, work_of_plane(job));
    return bands;
  }

  static Window planes_of(const PoolJob& job, const Bands& bands, int64_t unit) {
    const int64_t first = unit / bands.count * bands.planes_per_unit, left = job.planes - first;
    return {first, first + (left < bands.planes_per_unit ? left : bands.planes_per_unit)};
  }

  MapPool(const PoolJob& job, const Bands& bands, int64_t band, Lane* scratch)
      : job_(job),
        columns_(bands.columns),
        pitch_(columns_.pitch),
        turns_(bands.turned > 0),
        separable_(bands.separable),
        flat_(bands.flat),
        depth_(job.depth),
        rows_(job.rows) {
    const auto take = [&](int64_t cells) {
      const RowLine line = RowLine::in(scratch, cells);
      scratch += kArrays * cells;
      return line;
    };
    turned_ = take(bands.turned);  // first, as it alone is of whole vectors
    keys_ = take(bands.keys);
    slices_ = take(bands.slices);
    lines_ = take(bands.lines);
    picked_ = take(bands.picked);
    const int64_t first = band * bands.outputs;
    (flat_ ? rows_ : depth_).cut(first, bands.outputs);
    first_line_ = first * (flat_ ? 1 : job.rows.count);
    if (!separable_) return;
    depth_.choose_tap();
    rows_.choose_tap();
    if (columns_.before > 0 || columns_.before + columns_.cells < pitch_) {
      for (int64_t x = 0; x < bands.keys - kLanes; x += kLanes) keys_.set(x, padding<Lane, indexed>());
    }
  }

  void pool_planes(int64_t begin, int64_t end) {
    const int64_t lines_per_plane = job_.depth.count * job_.rows.count;
    const int64_t lines = depth_.count * rows_.count, first = begin * lines_per_plane + first_line_;
    // More than one plane has no bands.
    WindowWriter<Element, Lane, indexed> writer(job_, first, first + (end - begin) * lines);
    for (int64_t plane = begin; plane < end && !has_nan_; ++plane) {
      const Element* const x = static_cast<const Element*>(job_.x) + plane * cells_of_plane(job_);
      if (!separable_) {
        fill_lines(x);
        take_columns(lines_, lines, writer);
      } else if (flat_) {
        fold_rows(x, 0, lines_);
        take_columns(lines_, lines, writer);
      } else {
        pool_volume(x, writer);
      }
    }
  }

  // Each line from the map's rows themselves.
  ONNX_MAXPOOL_NOINLINE void fill_lines(const Element* plane) {
    const LineFiller<Element, Lane, indexed> filler(job_);
    Watch watch;
    int64_t at = 0;
    for (int64_t z = 0; z < depth_.count; ++z) {
      for (int64_t y = 0; y < rows_.count; ++y, at += pitch_) {
        filler.template fill<true>(line_at(lines_, at), plane, depth_.windows[z], rows_.windows[y],
                                   {columns_.start, columns_.start + pitch_}, watch);
      }
    }
    has_nan_ |= watch.any();
  }

  template <class Writer>
  void pool_volume(const Element* plane, Writer& writer) {
    const int64_t slice = rows_.count * pitch_;
    for (int64_t z = 0; z < depth_.size; ++z) fold_rows(plane, depth_.start + z, line_at(slices_, z * slice));
    combine_lines(slices_, depth_.size * slice, depth_.tap, slice);
    AxisPart one = depth_;
    one.count = 1;
    for (int64_t z = 0; z < depth_.count; ++z, ++one.windows) {
      fold_lines(one, slices_, lines_, slice);
      take_columns(lines_, rows_.count, writer);
    }
  }

  // A slice's rows as keys, and the best over each row of windows.
  ONNX_MAXPOOL_NOINLINE void fold_rows(const Element* plane, int64_t z, RowLine to) {
    const CellReader<Element, Lane, indexed> reader(job_);
    Watch watch;
    const int64_t cells = columns_.cells, width = job_.columns.size;
    for (int64_t y = 0; y < rows_.size; ++y) {
      const int64_t offset = (z * job_.rows.size + rows_.start + y) * width + columns_.start + columns_.before;
      const RowLine line = line_at(keys_, y * pitch_ + columns_.before);
      int64_t x = 0;
      for (; x + kLanes <= cells; x += kLanes) {
        prefetch_next_page(plane + offset + x);
        const auto next = cells_from<Lane, indexed>(reader.keys_once_at(plane + offset + x), offset + x);
        watch.see(next.key);
        line.set(x, next);
      }
      if (x == cells) continue;
      const auto last = cells_from<Lane, indexed>(reader.keys_at_end(plane + offset + x), offset + x);
      watch.see(last.key);
      line.set(x, first_lanes(last, cells - x));
    }
    has_nan_ |= watch.any();
    combine_lines(keys_, rows_.size * pitch_, rows_.tap, pitch_);
    fold_lines(rows_, keys_, to, pitch_);
  }

  template <class Writer>
  ONNX_MAXPOOL_NOINLINE void take_columns(RowLine lines, int64_t count, Writer& unit_writer) {
    Writer writer = unit_writer;  // in registers
    const auto write = [&](const auto& cells, int64_t wanted) { writer.write(cells, wanted); };
    const int64_t windows = job_.columns.count;
    if (columns_.kind == Columns::sliding) {
      slide_together<Lane, indexed>({lines, count, pitch_, windows}, job_.columns.step, job_.columns.length, writer);
    } else if (columns_.kind == Columns::gathered) {
      Gather<Lane, indexed> gather;
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t j = 0; j < windows; ++j) gather.add(fold(line_at(lines, i * pitch_), window_of(j)), write);
      }
      gather.finish(write);
    } else {
      combine_parts(lines, count * pitch_, columns_.part);
      pick_lines(lines, count);
      writer.write_line(count * windows, [&](int64_t i) { return picked_.at(i); });
    }
    unit_writer = writer;
  }

  // A window's cells of a line.
  Window window_of(int64_t j) const {
    if (!columns_.uniform) return job_.columns.windows[j];
    return {j * job_.columns.step, j * job_.columns.step + job_.columns.length};
  }

  // The windows of each line, one line's behind the other's.
  void pick_lines(const RowLine lines, int64_t count) const {
    const int64_t windows = job_.columns.count;
    if constexpr (kTurns<Lane>) {
      if (turns_ && count >= kLanes) {
        for (int64_t i = 0; i < count; i += kLanes) {
          const int64_t first = i + kLanes <= count ? i : count - kLanes;
          pick_turned(line_at(lines, first * pitch_), line_at(picked_, first * windows));
        }
        return;
      }
    }
    for (int64_t i = 0; i < count; ++i) pick(line_at(lines, i * pitch_), line_at(picked_, i * windows));
  }

  // Of as many lines as a vector has lanes: they are turned, so that a vector has a cell of each line, and all lines'
  // windows are taken at once.
  ONNX_MAXPOOL_NOINLINE void pick_turned(const RowLine lines, const RowLine to) const {
    const int64_t windows = job_.columns.count;
    const RowLine cells = turned_, found = line_at(turned_, (pitch_ + kLanes) * kLanes);
    turn(lines.keys, cells.keys);
    if constexpr (indexed) turn(lines.positions, cells.positions);
    const auto cell = [&](int64_t x) { return cells.at(x * kLanes); };
    with_picked_taps([&](auto taps, auto taps_of) {
      for (int64_t j = 0; j < windows; ++j) {
        const Taps at = taps_of(j);
        Cells<Lane, indexed> best = cell(at.first);
        if constexpr (decltype(taps)::value == 3) best = either(best, cell(at.middle));
        if constexpr (decltype(taps)::value > 1) best = either(best, cell(at.last));
        found.set(j * kLanes, best);
      }
    });
    turn_back(found.keys, to.keys);
    if constexpr (indexed) turn_back(found.positions, to.positions);
  }

  // Of keys, or of positions.
  template <class Cell>
  ONNX_MAXPOOL_INLINE void turn(const Cell* from, Cell* to) const {
    using V = Vector<Cell, kVectorBytes>;
    const int64_t pitch = pitch_;
    for (int64_t x = 0; x < pitch; x += kLanes) {
      V square[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) square[i] = load<V>(from + i * pitch + x);
      transpose<Cell, kLanes>(square);
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) store(to + (x + i) * kLanes, square[i]);
    }
  }
  // From the last square to the first: what the last one writes beyond a line, the next line's other ones overwrite.
  template <class Cell>
  ONNX_MAXPOOL_INLINE void turn_back(const Cell* from, Cell* to) const {
    using V = Vector<Cell, kVectorBytes>;
    const int64_t windows = job_.columns.count;
    for (int64_t j = (windows - 1) / kLanes * kLanes; j >= 0; j -= kLanes) {
      V square[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) square[i] = load<V>(from + (j + i) * kLanes);
      transpose<Cell, kLanes>(square);
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) store(to + i * windows + j, square[i]);
    }
  }

  void pick(const RowLine line, const RowLine to) const {
    with_picked_taps(
        [&](auto taps, auto taps_of) { pick_each<decltype(taps)::value>(line, to, job_.columns.count, taps_of); });
  }

  // use(number of taps, the taps of the j-th window): the first and the last of its parts, and one in between where
  // these do not meet.
  template <class Use>
  ONNX_MAXPOOL_INLINE void with_picked_taps(const Use& use) const {
    const int64_t part = columns_.part;
    if (columns_.uniform) {
      const int64_t step = job_.columns.step, last = job_.columns.length - part;
      if (columns_.taps == 1) return use(Number<1>(), [=](int64_t j) { return Taps{j * step, 0, 0}; });
      if (columns_.taps == 2) return use(Number<2>(), [=](int64_t j) { return Taps{j * step, 0, j * step + last}; });
      return use(Number<3>(), [=](int64_t j) { return Taps{j * step, j * step + last / 2, j * step + last}; });
    }
    const Window* const windows = job_.columns.windows;
    const auto taps = [=](int64_t j) {
      const int64_t start = windows[j].start, last = windows[j].end - part;
      return Taps{start, (start + last) / 2, last};
    };
    if (columns_.taps == 1) return use(Number<1>(), taps);
    if (columns_.taps == 2) return use(Number<2>(), taps);
    return use(Number<3>(), taps);
  }

  struct Taps {
    int64_t first, middle, last;
  };
  template <int taps, class TapsOf>
  ONNX_MAXPOOL_INLINE static void pick_each(const RowLine line, const RowLine to, int64_t count, TapsOf taps_of) {
    for (int64_t j = 0; j < count; ++j) {
      const Taps at = taps_of(j);
      Lane key = line.keys[at.first];
      Position<Lane> position = line.positions[at.first];
      const auto add = [&](int64_t x) {
        const Lane other = line.keys[x];
        const Position<Lane> its_position = line.positions[x];
        if constexpr (indexed) {
          // Without a jump, which could not be foreseen.
          using Place = Position<Lane>;
          const auto is_better = static_cast<Place>(-((other > key) | ((other == key) & (its_position < position))));
          position = static_cast<Place>((its_position & is_better) | (position & ~is_better));
        }
        key = other > key ? other : key;
      };
      if constexpr (taps == 3) add(at.middle);
      if constexpr (taps > 1) add(at.last);
      to.keys[j] = key;
      if constexpr (indexed) to.positions[j] = position;
    }
  }

  const PoolJob& job_;
  const ColumnPlan columns_;
  const int64_t pitch_;
  const bool turns_, separable_, flat_;
  RowLine keys_, slices_, lines_, picked_, turned_;
  AxisPart depth_, rows_;
  int64_t first_line_;  // of a plane: the band's
  bool has_nan_ = false;
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
