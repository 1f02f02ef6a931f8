// The maximum over windows that all planes share, and the index of its first cell. Compiled once per target.
//
// Lanes are neighbouring cells of a row. For a row of windows the best over the map's rows goes into a line: element by
// element, and earlier rows first, so that a later row has to be strictly greater and ties go to the first. Windows are
// then taken from the line in one of two ways:
//   sliding:   neighbouring windows start one or two cells apart, so that a vector holds a window per lane: the line is
//              combined with itself, shifted by 1, 2, 4, ... cells;
//   gathering: each window is first folded to a vector, whose lanes have still to be combined; when there is a window
//              for every lane, interleaving their vectors combines them all at once.
// Where windows are of one row, gathering folds the map itself and there is no line. Large windows of narrow
// elements are kernels/window_large.h's where indices are wanted.
#include "kernels/window.h"

#include "kernels/simd/order.h"
#include "kernels/simd/shuffle.h"
#include "kernels/window_large.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// What is known of a lane's cells: the greatest key and, if indices are wanted, the first position that holds it.
template <class V, bool indexed>
struct Best {
  V key;
};
template <class V>
struct Best<V, true> {
  V key, position;
};

template <class Element, bool indexed>
struct OrderFor {
  using type = KeyOrder<Element>;
};
template <class Element>
struct OrderFor<Element, true> {
  using type = TieOrder<Element>;
};

// Keys of `Element`'s width are widened to `Lane`, which has to hold every position in a plane and one more.
template <class Element, class Lane, bool indexed, bool sliding>
class WindowPool {
  static constexpr int kLanes = kVectorBytes / sizeof(Lane);
  static constexpr int kRowsAtOnce = 4;            // read side by side
  static constexpr int kArrays = indexed ? 2 : 1;  // of a line
  static constexpr Lane kLowest = static_cast<Lane>(Lane{1} << (8 * sizeof(Lane) - 1));
  static constexpr Lane kNowhere = static_cast<Lane>(~kLowest);

  using V = Vector<Lane, kVectorBytes>;
  using Bits = Vector<Element, kLanes * sizeof(Element)>;
  using Cells = Best<V, indexed>;

 public:
  static int64_t units(const PoolJob& job) {
    const int64_t per_unit = lines_per_unit(job);
    return (lines(job) + per_unit - 1) / per_unit;
  }

  static size_t scratch_bytes(const PoolJob& job) {
    if (needs_no_line(job)) return 0;
    return static_cast<size_t>(lines_at_once(job) * line_cells(job) * kArrays) * sizeof(Lane);
  }

  static void run(const PoolJob& job, int64_t unit, void* scratch) {
    const int64_t per_unit = lines_per_unit(job), begin = unit * per_unit, left = lines(job) - begin;
    WindowPool(job, scratch).run(begin, left < per_unit ? begin + left : begin + per_unit);
  }

 private:
  WindowPool(const PoolJob& job, void* scratch)
      : job_(job),
        order_(job.order),
        width_(job.columns.size),
        line_cells_(line_cells(job)),
        x_end_(static_cast<const Element*>(job.x) + job.planes * plane_cells(job)),
        lines_(static_cast<Lane*>(scratch)) {
    for (int i = 0; i < kLanes; ++i) number_[i] = static_cast<Lane>(i);
  }

  // A line of the output is a row of windows.
  static int64_t lines_per_plane(const PoolJob& job) { return job.depth.count * job.rows.count; }
  static int64_t lines(const PoolJob& job) { return job.planes * lines_per_plane(job); }
  static int64_t plane_cells(const PoolJob& job) { return job.depth.size * job.rows.size * job.columns.size; }

  // By the size of the window in the middle.
  static int64_t lines_per_unit(const PoolJob& job) {
    const Window z = job.depth.windows[job.depth.count / 2], y = job.rows.windows[job.rows.count / 2];
    return pieces_per_unit((z.end - z.start) * (y.end - y.start) * job.columns.size);
  }

  // The line's cells: those that padding adds to a row before and after, and what vectors may stick out by.
  static int64_t line_cells(const PoolJob& job) {
    int64_t cells = job.columns.size;
    if (sliding) {
      const int64_t wanted = job.columns.step * (job.columns.count - 1) + job.columns.length;
      const int64_t given = cells - job.columns.first;
      cells = wanted > given ? wanted : given;
    }
    return (cells / kLanes + 6) * kLanes;
  }

  // A line is read by vectors that straddle those which were written, for which the processor waits until those are in
  // its cache. By the time that a few more lines are filled, they are.
  static int64_t lines_at_once(const PoolJob& job) {
    const int64_t bytes = line_cells(job) * kArrays * static_cast<int64_t>(sizeof(Lane));
    return bytes < 4096 ? 4 : 1;
  }

  // Whether every window lies in one row.
  static bool needs_no_line(const PoolJob& job) {
    const auto is_one_cell = [](const PoolAxis& axis) { return axis.size == 1 || (axis.step && axis.length == 1); };
    return !sliding && is_one_cell(job.depth) && is_one_cell(job.rows);
  }

  void run(int64_t begin, int64_t end) {
    output_ = begin * job_.columns.count;
    end_ = end * job_.columns.count;
    const int64_t first_plane = begin / lines_per_plane(job_);
    plane_end_ = (first_plane + 1) * lines_per_plane(job_) * job_.columns.count;
    first_index_ = first_plane * job_.index_step;
    int64_t z = begin % lines_per_plane(job_) / job_.rows.count, y = begin % job_.rows.count;
    const Element* plane = static_cast<const Element*>(job_.x) + first_plane * plane_cells(job_);
    const bool direct = needs_no_line(job_);
    const int64_t at_once = lines_at_once(job_);
    for (int64_t line = begin; line < end;) {
      const int64_t count = end - line < at_once ? end - line : at_once;
      for (int64_t i = 0; i < count; ++i) {
        use_line(i);
        const Window depth = job_.depth.windows[z], rows = job_.rows.windows[y];
        if (direct) {
          if constexpr (!sliding) gather_from_row(plane, (depth.start * job_.rows.size + rows.start) * width_);
        } else {
          fill_line(plane, depth, rows);
        }
        if (++y < job_.rows.count) continue;
        y = 0;
        if (++z < job_.depth.count) continue;
        z = 0;
        plane += plane_cells(job_);
      }
      for (int64_t i = 0; i < count && !direct; ++i) {
        use_line(i);
        if constexpr (sliding) {
          slide();
        } else {
          gather_from_line();
        }
      }
      line += count;
    }
    if constexpr (!sliding) {
      if (gathered_) combine_gathered();
    }
  }

  void use_line(int64_t i) {
    keys_ = lines_ + i * kArrays * line_cells_;
    positions_ = keys_ + (kArrays - 1) * line_cells_;
  }

  // The cells of a row from `from` on. Lanes beyond the row may hold anything, but nothing beyond the tensor is read.
  V keys_at(const Element* from) const { return promote_to<Lane, Element, kLanes>(order_.to_key(load<Bits>(from))); }
  V keys_at_end(const Element* from) const {
    const int64_t left = x_end_ - from;
    if (left >= kLanes) return keys_at(from);
    Element copy[kLanes] = {};
    __builtin_memcpy(copy, from, static_cast<size_t>(left) * sizeof(Element));
    return keys_at(copy);
  }

  Cells cells_at(V key, int64_t position) const {
    if constexpr (indexed) {
      return {key, number_ + static_cast<Lane>(position)};
    } else {
      return {key};
    }
  }

  // The better of what is known before and of cells whose positions are all greater.
  static void follow(Cells& best, const Cells& next) {
    if constexpr (indexed) best.position = next.key > best.key ? next.position : best.position;
    best.key = max(best.key, next.key);
  }

  // The better of cells in any order.
  static Cells either(const Cells& a, const Cells& b) {
    const V key = max(a.key, b.key);
    if constexpr (indexed) {
      const V nowhere = V{} + kNowhere;
      const V i = a.key == key ? a.position : nowhere, j = b.key == key ? b.position : nowhere;
      return {key, i < j ? i : j};
    } else {
      return {key};
    }
  }

  Cells line_at(int64_t x) const {
    if constexpr (indexed) {
      return {load<V>(keys_ + x), load<V>(positions_ + x)};
    } else {
      return {load<V>(keys_ + x)};
    }
  }
  void set_line(int64_t x, const Cells& cells) {
    store(keys_ + x, cells.key);
    if constexpr (indexed) store(positions_ + x, cells.position);
  }

  // Cells that lose against every other.
  static Cells padding() {
    if constexpr (indexed) {
      return {V{} + kLowest, V{} + kNowhere};
    } else {
      return {V{} + kLowest};
    }
  }

  // The line of a row of windows, and the padding on either side of it (P4).
  void fill_line(const Element* plane, Window depth, Window rows) {
    const int64_t before = sliding ? -job_.columns.first : 0;
    for (int64_t x = 0; x < before; x += kLanes) set_line(x, padding());
    int64_t offsets[kRowsAtOnce];
    int count = 0;
    bool first = true;
    for (int64_t z = depth.start; z < depth.end; ++z) {
      for (int64_t y = rows.start; y < rows.end; ++y) {
        offsets[count++] = (z * job_.rows.size + y) * width_;
        if (count < kRowsAtOnce) continue;
        add_rows<kRowsAtOnce>(plane, offsets, first, before);
        first = false;
        count = 0;
      }
    }
    if (count == 1) add_rows<1>(plane, offsets, first, before);
    if (count == 2) add_rows<2>(plane, offsets, first, before);
    if (count == 3) add_rows<3>(plane, offsets, first, before);
    if (sliding) {
      const int64_t wanted = job_.columns.step * (job_.columns.count - 1) + job_.columns.length;
      for (int64_t x = before + width_; x < wanted; x += kLanes) set_line(x, padding());
    }
  }

  template <int count>
  void add_rows(const Element* plane, const int64_t* offsets, bool first, int64_t before) {
    const Element* rows[count];
    for (int i = 0; i < count; ++i) rows[i] = plane + offsets[i];
    int64_t x = 0;
    for (; x + kLanes <= width_; x += kLanes) {
      for (int i = 0; i < count; ++i) prefetch_next_page(rows[i] + x);
      add_cells<count>(offsets, first, x, before, [&](int i) { return keys_at(rows[i] + x); });
    }
    if (x < width_) add_cells<count>(offsets, first, x, before, [&](int i) { return keys_at_end(rows[i] + x); });
  }

  template <int count, class KeysAt>
  void add_cells(const int64_t* offsets, bool first, int64_t x, int64_t before, KeysAt keys_at_row) {
    Cells best = cells_at(keys_at_row(0), offsets[0] + x);
#pragma GCC unroll 4
    for (int i = 1; i < count; ++i) follow(best, cells_at(keys_at_row(i), offsets[i] + x));
    if (!first) {
      Cells earlier = line_at(before + x);
      follow(earlier, best);
      best = earlier;
    }
    set_line(before + x, best);
  }

  // A window per lane.
  void slide() {
    const int64_t count = job_.columns.count, length = job_.columns.length;
    // Up to 3 cells are combined as they are; for more the line is made to hold the best of 2, 4, ... cells first,
    // so that two overlapping parts make up a window.
    int64_t taps = length, apart = 1;
    if (length > 3) {
      int64_t part = 1;
      for (; 2 * part <= length; part *= 2) {
        const int64_t end = job_.columns.step * (count - 1) + length - part;
        for (int64_t x = 0; x < end; x += kLanes) set_line(x, either(line_at(x), line_at(x + part)));
      }
      taps = 2;
      apart = length - part;
    }
    if (job_.columns.step == 1) {
      for (int64_t i = 0; i < count; i += kLanes) {
        Cells best = line_at(i);
        for (int64_t tap = 1; tap < taps; ++tap) best = either(best, line_at(i + tap * apart));
        write(best, count - i);
      }
    } else if (length > 3) {
      for (int64_t i = 0; i < count; i += kLanes) {
        const int64_t x = 2 * i;
        write(even(either(line_at(x), line_at(x + apart)), either(line_at(x + kLanes), line_at(x + kLanes + apart))),
              count - i);
      }
    } else {
      for (int64_t i = 0; i < count; i += kLanes) {
        const Cells a = line_at(2 * i), b = line_at(2 * i + kLanes);
        Cells best = even(a, b);
        if (taps > 1) best = either(best, odd(a, b));
        if (taps > 2) best = either(best, even(line_at(2 * i + 2), line_at(2 * i + 2 + kLanes)));
        write(best, count - i);
      }
    }
  }

  // The windows of a row of them, each folded to a vector: whole vectors, the last of which reaches back over cells
  // that it has already, or the first lanes of one.
  void gather_from_line() {
    for (int64_t i = 0; i < job_.columns.count; ++i) {
      const Window window = job_.columns.windows[i];
      Cells best = line_at(window.start);
      const int64_t last = window.end - kLanes;
      if (last < window.start) {
        gather(first_lanes(best, window.end - window.start));
        continue;
      }
      for (int64_t x = window.start + kLanes; x < last; x += kLanes) best = either(best, line_at(x));
      gather(either(best, line_at(last)));
    }
  }

  void gather_from_row(const Element* plane, int64_t offset) {
    const Element* row = plane + offset;
    for (int64_t i = 0; i < job_.columns.count; ++i) {
      const Window window = job_.columns.windows[i];
      const int64_t last = window.end - kLanes;
      if (last < window.start) {
        const V key = keys_at_end(row + window.start);
        gather(first_lanes(cells_at(key, offset + window.start), window.end - window.start));
        continue;
      }
      Cells best = cells_at(keys_at(row + window.start), offset + window.start);
      for (int64_t x = window.start + kLanes; x < last; x += kLanes) {
        prefetch_next_page(row + x);
        follow(best, cells_at(keys_at(row + x), offset + x));
      }
      follow(best, cells_at(keys_at(row + last), offset + last));
      gather(best);
    }
  }

  Cells first_lanes(Cells cells, int64_t count) const {
    const V limit = V{} + static_cast<Lane>(count);
    cells.key = number_ < limit ? cells.key : padding().key;
    if constexpr (indexed) cells.position = number_ < limit ? cells.position : padding().position;
    return cells;
  }

  void gather(const Cells& window) {
    waiting_[gathered_++] = window;
    if (gathered_ == kLanes) combine_gathered();
  }

  // Halves the number of vectors while doubling the number of windows in each, to the windows' order at the end.
  void combine_gathered() {
    for (int i = gathered_; i < kLanes; ++i) waiting_[i] = padding();
#pragma GCC unroll 6
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) waiting_[i] = interleaved(waiting_[i], waiting_[i + half]);
    }
    write(waiting_[0], gathered_);
    gathered_ = 0;
  }

  static Cells interleaved(const Cells& a, const Cells& b) {
    if constexpr (indexed) {
      return either({interleave_whole_lower<Lane>(a.key, b.key), interleave_whole_lower<Lane>(a.position, b.position)},
                    {interleave_whole_upper<Lane>(a.key, b.key), interleave_whole_upper<Lane>(a.position, b.position)});
    } else {
      return either({interleave_whole_lower<Lane>(a.key, b.key)}, {interleave_whole_upper<Lane>(a.key, b.key)});
    }
  }
  static Cells even(const Cells& a, const Cells& b) {
    if constexpr (indexed) {
      return {concat_even<Lane>(a.key, b.key), concat_even<Lane>(a.position, b.position)};
    } else {
      return {concat_even<Lane>(a.key, b.key)};
    }
  }
  static Cells odd(const Cells& a, const Cells& b) {
    if constexpr (indexed) {
      return {concat_odd<Lane>(a.key, b.key), concat_odd<Lane>(a.position, b.position)};
    } else {
      return {concat_odd<Lane>(a.key, b.key)};
    }
  }

  // The next outputs: the first `count` lanes, or all. A unit's outputs are one contiguous piece and come in order,
  // so that lanes beyond are overwritten by what follows; but nothing may stick out of the piece.
  void write(const Cells& best, int64_t count) {
    if (count > kLanes) count = kLanes;
    const Bits values = order_.from_key(truncate_to<Element, Lane, kLanes>(best.key));
    const bool whole = output_ + kLanes <= end_;
    Element* to = static_cast<Element*>(job_.y) + output_;
    if (whole) {
      store(to, values);
    } else {
      __builtin_memcpy(to, &values, static_cast<size_t>(count) * sizeof(Element));
    }
    if constexpr (indexed) {
      if (job_.indices_are_64_bits) {
        write_indices<uint64_t>(best.position, count, whole);
      } else {
        write_indices<uint32_t>(best.position, count, whole);
      }
    }
    output_ += count;
  }

  template <class Index>
  void write_indices(const V& position, int64_t count, bool whole) {
    Lane positions[kLanes];
    store(positions, position);
    Index* to = static_cast<Index*>(job_.indices) + output_;
    Index rest[kLanes];
    Index* out = whole ? to : rest;
    if (job_.index_step == 0 || output_ + count <= plane_end_) {
      const Index first = static_cast<Index>(first_index_);
      for (int i = 0; i < kLanes; ++i) out[i] = first + static_cast<Index>(positions[i]);
    } else {
      for (int i = 0; i < count; ++i) {
        if (output_ + i == plane_end_) next_plane();
        out[i] = static_cast<Index>(first_index_) + static_cast<Index>(positions[i]);
      }
    }
    if (!whole) __builtin_memcpy(to, rest, static_cast<size_t>(count) * sizeof(Index));
    if (job_.index_step && output_ + count == plane_end_) next_plane();
  }

  void next_plane() {
    first_index_ += job_.index_step;
    plane_end_ += lines_per_plane(job_) * job_.columns.count;
  }

  const PoolJob& job_;
  const typename OrderFor<Element, indexed>::type order_;
  const int64_t width_, line_cells_;
  const Element* const x_end_;
  Lane* const lines_;
  Lane *keys_ = nullptr, *positions_ = nullptr;  // of the line in use
  V number_;                                     // of each lane
  Cells waiting_[sliding ? 1 : kLanes];
  int gathered_ = 0;
  int64_t output_ = 0, end_ = 0;             // numbers of outputs: the next one, and the unit's end
  int64_t plane_end_ = 0, first_index_ = 0;  // of the plane that the next output belongs to
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
  const bool sliding =
      x.count > 1 && (x.step == 1 || x.step == 2) && x.step * (x.count - 1) + x.length < 4 * x.size + 1024;
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
