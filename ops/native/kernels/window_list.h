// The windows of an axis, whether it has a list of them or not: one by one, in bands, so that what is at hand stays in
// a cache, and in steps, where they overlap.
#pragma once

#include <type_traits>

#include "kernels/simd/vector.h"
#include "kernels/window.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

inline Window clipped_window(const PoolAxis& axis, int64_t start, int64_t grains) {
  const int64_t end = start + axis.length;
  return {(start < 0 ? 0 : start) * axis.grain, (end < grains ? end : grains) * axis.grain};
}

ONNX_MAXPOOL_RARE inline Window unlisted_window(const PoolAxis& axis, int64_t i) {
  const int64_t n = axis.size / axis.grain;
  if (!axis.even) return clipped_window(axis, axis.first + i * axis.step, n);
  // i*n / count without a product that leaves 64 bits, as counts are below 2^31.
  const int64_t whole = n / axis.count, part = n % axis.count, next = (i + 1) * part;
  return {(i * whole + i * part / axis.count) * axis.grain,
          ((i + 1) * whole + (next + axis.count - 1) / axis.count) * axis.grain};
}

ONNX_MAXPOOL_INLINE Window window_at(const PoolAxis& axis, int64_t i) {
  return axis.windows ? axis.windows[i] : unlisted_window(axis, i);
}

// Whether windows start as many cells apart and are as long as each other, but for what lies beside the map.
inline bool has_step(const PoolAxis& axis) { return !axis.even && axis.grain == 1; }

// Of an axis that has a list of its windows: the cells of all of them, and of the shortest and the longest one.
inline int64_t cells_of_windows(const PoolAxis& axis) {
  int64_t cells = 0;
  for (int64_t i = 0; i < axis.count; ++i) cells += axis.windows[i].length();
  return cells;
}
struct Lengths {
  int64_t shortest, longest;
};
inline Lengths lengths_of(const PoolAxis& axis) {
  Lengths lengths = {axis.size, 0};
  for (int64_t i = 0; i < axis.count; ++i) {
    const int64_t length = axis.windows[i].length();
    lengths.shortest = length < lengths.shortest ? length : lengths.shortest;
    lengths.longest = length > lengths.longest ? length : lengths.longest;
  }
  return lengths;
}

// Cells from the start of the first of `count` such windows to the end of the last one.
inline int64_t reach_of(const PoolAxis& axis, int64_t count) { return axis.step * (count - 1) + axis.length; }
inline int64_t reach_of(const PoolAxis& axis) { return reach_of(axis, axis.count); }

// Whether a line of cells may hold the padding of such windows: not where it would be much longer than a row.
inline bool may_hold_padding(const PoolAxis& axis) { return has_step(axis) && reach_of(axis) < 4 * axis.size + 1024; }

// `count` windows from the `first`-th on, to `to`. Even ones by additions: the quotients of i*n / count are followed by
// their remainders, as to divide for each would take longer than pooling a small one.
inline void list_windows(const PoolAxis& axis, int64_t first, int64_t count, Window* to) {
  const int64_t n = axis.size / axis.grain, grain = axis.grain, all = axis.count;
  if (!axis.even) {
    int64_t start = axis.first + first * axis.step;
    for (int64_t i = 0; i < count; ++i, start += axis.step) to[i] = clipped_window(axis, start, n);
    return;
  }
  const int64_t whole = n / all, part = n % all;
  int64_t start = first * whole + first * part / all, remainder = first * part % all;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t sum = remainder + part, carry = sum >= all, rest = sum - (-carry & all), next = start + whole + carry;
    to[i] = {start * grain, (next + (rest > 0)) * grain};
    start = next;
    remainder = rest;
  }
}

// Whether each cell is a window of its own. No window is empty, so that the only one of a single cell has it.
inline bool is_identity(const PoolAxis& axis) {
  if (axis.count != axis.size || axis.grain != 1) return false;
  return axis.even || axis.size == 1 || (axis.first == 0 && axis.step == 1 && axis.length == 1);
}

// A job's lines, each a row of windows; and how they are shared out to units, by the size of the window in the middle:
// whole planes, and several, where units hardly change by it, as walks may take some columns of these at once.
inline int64_t lines(const PoolJob& job) { return job.planes * job.depth.count * job.rows.count; }
inline int64_t lines_per_unit(const PoolJob& job) {
  const Window z = window_at(job.depth, job.depth.count / 2), y = window_at(job.rows, job.rows.count / 2);
  const int64_t all = lines(job);
  const int64_t pieces = pieces_per_unit(job, all, (z.end - z.start) * (y.end - y.start) * job.columns.size);
  // Few units of several workers are as many for each.
  if (pieces == all || (job.workers > 1 && all < 4 * job.workers * pieces)) return pieces;
  constexpr int64_t kPlanes[] = {4, 1};
  for (const int64_t planes : kPlanes) {
    const int64_t rest = pieces % (planes * job.depth.count * job.rows.count);
    if (6 * rest <= pieces) return pieces - rest;
  }
  return pieces;
}
inline Window lines_of_unit(const PoolJob& job, int64_t unit) {
  const int64_t per_unit = lines_per_unit(job), begin = unit * per_unit, left = lines(job) - begin;
  return {begin, left < per_unit ? begin + left : begin + per_unit};
}

// use(plane, depth, lines) for the lines from `begin` to `end`: of each window of slices those of one plane, whose
// first cell has that number. Until one returns false.
template <class Use>
ONNX_MAXPOOL_INLINE void each_slice(const PoolJob& job, int64_t begin, int64_t end, const Use& use) {
  const int64_t rows = job.rows.count, cells = cells_of_plane(job);
  const int64_t slice = begin / rows;
  int64_t plane = slice / job.depth.count * cells, z = slice % job.depth.count, y = begin % rows;
  for (int64_t left = end - begin; left > 0; y = 0) {
    const int64_t last = y + left < rows ? y + left : rows;
    left -= last - y;
    if (!use(plane, window_at(job.depth, z), Window{y, last})) return;
    if (++z < job.depth.count) continue;
    z = 0;
    plane += cells;
  }
}

// What plans have in common whose units are lines.
struct UnitsOfLines {
  static int64_t units(const PoolJob& job) {
    const int64_t per_unit = lines_per_unit(job);
    return (lines(job) + per_unit - 1) / per_unit;
  }
  // use(begin, end) of each piece of the outputs that a unit writes.
  template <class Use>
  static void each_piece(const PoolJob& job, int64_t unit, const Use& use) {
    const Window lines = lines_of_unit(job, unit);
    use(lines.start * job.columns.count, lines.end * job.columns.count);
  }
};

inline bool is_flat(const PoolJob& job) { return job.depth.size == 1 && job.depth.count == 1; }

// The same of units of planes, of which each has this band of `outputs` windows of the outermost axis.
template <class Use>
void each_piece_of_band(const PoolJob& job, Window planes, int64_t band, int64_t outputs, const Use& use) {
  const PoolAxis& outer = is_flat(job) ? job.rows : job.depth;
  const int64_t per_plane = windows_of_plane(job), of_window = per_plane / outer.count;
  const int64_t first = band * outputs, end = first + outputs < outer.count ? first + outputs : outer.count;
  for (int64_t plane = planes.start; plane < planes.end; ++plane) {
    use(plane * per_plane + first * of_window, plane * per_plane + end * of_window);
  }
}

// use(indices) of the job, of the type that they have.
template <class Use>
ONNX_MAXPOOL_INLINE void with_indices(const PoolJob& job, const Use& use) {
  job.indices_are_64_bits ? use(static_cast<uint64_t*>(job.indices)) : use(static_cast<uint32_t*>(job.indices));
}

ONNX_MAXPOOL_INLINE void set_index(const PoolJob& job, int64_t output, int64_t index) {
  with_indices(job, [&](auto* indices) ONNX_MAXPOOL_INLINED {
    indices[output] = static_cast<std::remove_pointer_t<decltype(indices)>>(index);
  });
}

// A number that is known when code is compiled, as an argument.
template <int number>
struct Number {
  static constexpr int value = number;
};

// All bands but the last have as many windows, 0 where not even one fits; `cells` is the most that a band has.
struct AxisBands {
  int64_t outputs, count, cells;
};

// With at most so many cells and windows each.
inline AxisBands bands_of_axis(const PoolAxis& axis, int64_t most) {
  const int64_t longest = lengths_of(axis).longest;
  // A band has cells beyond those that it shares out with its neighbours: of its last window.
  int64_t outputs = (most - longest) * axis.count / axis.size;
  if (outputs > most) outputs = most;
  if (outputs > axis.count) outputs = axis.count;
  if (2 * longest > most || outputs < 1) return {0, 0, 0};
  int64_t widest = outputs;
  for (int64_t i = 0; i < axis.count; i += outputs) {
    const int64_t last = (i + outputs < axis.count ? i + outputs : axis.count) - 1;
    const int64_t cells = axis.windows[last].end - axis.windows[i].start;
    widest = cells > widest ? cells : widest;
  }
  return {outputs, (axis.count + outputs - 1) / outputs, widest};
}

// How many of so many cells, a power of two, make up a window. A small job would notice divisions.
inline int64_t taps_of(int64_t length, int64_t tap) {
  return (length + tap - 1) >> __builtin_ctzll(static_cast<uint64_t>(tap));
}

// use(Number<taps>) of up to five taps, and use(Number<0>) of more, and of more than three where `few`: then code of
// their own is not worth it.
template <bool few, class Use>
ONNX_MAXPOOL_INLINE void with_taps(int64_t taps, const Use& use) {
  if (taps == 1) return use(Number<1>{});
  if (taps == 2) return use(Number<2>{});
  if (taps == 3) return use(Number<3>{});
  if constexpr (!few) {
    if (taps == 4) return use(Number<4>{});
    if (taps == 5) return use(Number<5>{});
  }
  use(Number<0>{});
}

// Where windows overlap, cells may become the best of 2, 4, ... cells of their axis first: of how many, so that it
// costs least. The power of two is no longer than any window.
inline int64_t cheapest_tap(const Window* windows, int64_t count, int64_t size) {
  int64_t best = 1, least = -1, doublings = 0;
  for (int64_t tap = 1;; tap *= 2, ++doublings) {
    int64_t taps = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t length = windows[i].length();
      if (length < tap) return best;
      taps += taps_of(length, tap) - 1;
    }
    // A doubling also stores.
    const int64_t cost = taps + 2 * doublings * size;
    if (least < 0 || cost < least) {
      least = cost;
      best = tap;
    }
  }
}

// The windows of an axis that a band has, of cells from `start` on.
struct AxisPart {
  explicit AxisPart(const PoolAxis& axis) : windows(axis.windows), count(axis.count), start(0), size(axis.size) {}

  // Keeps at most so many windows, from the `first` on.
  void cut(int64_t first, int64_t most) {
    windows += first;
    count = count - first < most ? count - first : most;
    start = windows[0].start;
    size = windows[count - 1].end - start;
  }
  void choose_tap() { tap = cheapest_tap(windows, count, size); }

  const Window* windows;
  int64_t count, start, size;
  int64_t tap = 1;  // cells that are combined before windows are
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
