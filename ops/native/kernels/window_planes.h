// Windows of many small planes: neighbouring planes lie side by side in the lanes of vectors, so that no lane is empty
// however narrow a map is, and any windows are combined by whole vectors, one axis after the other.
//
//   planes   a0 a1 a2 ...    transposed    a0 b0 c0 ...    columns, then        max(a0 b0 c0, a1 b1 c1) ...
//            b0 b1 b2 ...   ----------->   a1 b1 c1 ...   rows, then depth      transposed back
//            c0 c1 c2 ...                  a2 b2 c2 ...   ---------------->     ---------------> windows of a, of b,
//            ...
//
// Where windows overlap so much that it pays, cells become the best of 2, 4, ... cells of their axis first, and a
// window takes every 2nd, 4th, ... of these (van Herk and Gil-Werman need fewer for long windows, but two passes).
#pragma once

#include "kernels/window_list.h"
#include "kernels/window_planes_layout.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Element, class Lane, bool indexed>
class PlanesPool {
  static constexpr int kLanes = kVectorBytes / sizeof(Lane), kBlockLanes = 16 / sizeof(Lane);
  static constexpr int64_t kMostBytes = 512 << 10;  // of each half of what is at hand, for the second cache
  static constexpr int kArrays = indexed ? 2 : 1;
  using V = Vector<Lane, kVectorBytes>;
  using Best = Cells<Lane, indexed>;
  using Buffer = PlaneCells<Lane, indexed>;

 public:
  // Whether planes are so small, or a band of them is, that what is known of them stays in a cache.
  static bool takes(const PoolJob& job) {
    if (!job.depth.windows || !job.rows.windows || !job.columns.windows) return false;
    return bands_of(job).outputs > 0;
  }

  static int64_t units(const PoolJob& job) {
    const Bands bands = bands_of(job);
    const int64_t per_unit = groups_per_unit(job, bands);
    return (groups(job) + per_unit - 1) / per_unit * bands.count;
  }
  static size_t scratch_bytes(const PoolJob& job) {
    const Bands bands = bands_of(job);
    return static_cast<size_t>(kArrays * (2 * bands.vectors + bands.slices + kLanes) * kVectorBytes);
  }

  static bool run(const PoolJob& job, int64_t unit, void* scratch) {
    const Bands bands = bands_of(job);
    const Window all = groups_of(job, bands, unit);
    PlanesPool pool(job, bands, unit % bands.count, scratch);
    for (int64_t group = all.start; group < all.end && !pool.has_nan_; ++group) pool.pool_group(group);
    return !pool.has_nan_;
  }

  // use(begin, end) of each piece of the outputs that a unit writes.
  template <class Use>
  static void each_piece(const PoolJob& job, int64_t unit, const Use& use) {
    const Bands bands = bands_of(job);
    const Window all = groups_of(job, bands, unit);
    const int64_t end = all.end * kLanes < job.planes ? all.end * kLanes : job.planes;
    each_piece_of_band(job, {all.start * kLanes, end}, unit % bands.count, bands.outputs, use);
  }

 private:
  // Windows of the outermost axis are taken in bands, of which all but the last have as many.
  struct Bands {
    int64_t outputs, count;  // windows of the axis in a band, 0 where not even one fits; bands
    int64_t vectors;         // that either of two buffers has room for, by which stages take turns
    int64_t slices;          // the same of what is known of a volume's slices
  };
  static constexpr int64_t kMostVectors = kMostBytes / (kArrays * kVectorBytes);
  static constexpr bool kFewTaps = indexed && kVectorBytes == 64;

  static int64_t groups(const PoolJob& job) { return (job.planes + kLanes - 1) / kLanes; }
  static int64_t groups_per_unit(const PoolJob& job, const Bands& bands) {
    return bands.count > 1 ? 1 : pieces_per_unit(job, groups(job), kLanes * work_of_plane(job));
  }

  static Window groups_of(const PoolJob& job, const Bands& bands, int64_t unit) {
    const int64_t per_unit = groups_per_unit(job, bands), begin = unit / bands.count * per_unit;
    return {begin, begin + per_unit < groups(job) ? begin + per_unit : groups(job)};
  }

  // How many vectors a buffer needs: cells of so many rows of the map, before or after the columns' stage, or windows
  // of so many rows, whichever are more.
  static int64_t vectors_of(const PoolJob& job, int64_t rows, int64_t counts) {
    const int64_t cells = rows * max(job.columns.size, job.columns.count), windows = counts * job.columns.count;
    return max(cells, windows) + kLanes;
  }
  // Slices of the output that are folded at once, so that they have vectors' worth of windows.
  static int64_t slices_at_once(const PoolJob& job) {
    const int64_t outputs = job.rows.count * job.columns.count;
    return (kBlockLanes - 1) / outputs + 1;
  }

  static Bands bands_of(const PoolJob& job) {
    if (is_flat(job)) {
      const int64_t all = vectors_of(job, job.rows.size, job.rows.count), inner = vectors_of(job, 1, 0) - kLanes;
      if (all <= kMostVectors / 2) return {job.rows.count, 1, all, 0};
      const Bands bands = banded(job.rows, kMostVectors / 2 / inner);
      return {bands.outputs, bands.count, bands.vectors * inner + kLanes, 0};
    }
    const int64_t outputs = job.rows.count * job.columns.count;
    const int64_t vectors = max(vectors_of(job, job.rows.size, job.rows.count), slices_at_once(job) * outputs);
    if (vectors > kMostVectors) return {0, 0, 0, 0};
    if (job.depth.size * outputs <= 2 * kMostVectors) return {job.depth.count, 1, vectors, job.depth.size * outputs};
    const Bands bands = banded(job.depth, 2 * kMostVectors / outputs);
    return {bands.outputs, bands.count, vectors, bands.vectors * outputs};
  }

  static Bands banded(const PoolAxis& axis, int64_t most) {
    const AxisBands bands = bands_of_axis(axis, most);
    return {bands.outputs, bands.count, bands.cells, 0};
  }

  PlanesPool(const PoolJob& job, const Bands& bands, int64_t band, void* scratch)
      : job_(job), layout_(job), depth_(job.depth), rows_(job.rows), columns_(job.columns), flat_(is_flat(job)) {
    V* vectors = static_cast<V*>(scratch);
    const auto take = [&](int64_t count) {
      const Buffer buffer = {vectors, reinterpret_cast<Positions<Lane>*>(vectors + (kArrays - 1) * count)};
      vectors += kArrays * count;
      return buffer;
    };
    buffers_[0] = take(bands.vectors);
    buffers_[1] = take(bands.vectors);
    slices_ = take(bands.slices + kLanes);
    const int64_t first = band * bands.outputs;
    (flat_ ? rows_ : depth_).cut(first, bands.outputs);
    first_output_ = first * columns_.count * (flat_ ? 1 : rows_.count);
    depth_.choose_tap();
    rows_.choose_tap();
    columns_.choose_tap();
  }

  void pool_group(int64_t group) {
    const int64_t first = group * kLanes, left = job_.planes - first;
    const int planes = static_cast<int>(left < kLanes ? left : kLanes);
    if (flat_) {
      layout_.unpack(pool_slice(first, planes, 0, buffers_[0]), first, planes, first_output_,
                     rows_.count * columns_.count);
      return;
    }
    const int64_t outputs = rows_.count * columns_.count;
    for (int64_t z = 0; z < depth_.size; ++z) {
      const Buffer to = {slices_.keys + z * outputs, slices_.positions + z * outputs};
      const Buffer found = pool_slice(first, planes, depth_.start + z, to);
      for (int64_t i = 0; found.keys != to.keys && i < outputs; ++i) to.set(i, found.template at<false>(i, 0));
    }
    if (depth_.tap > 1) combine_cells(depth_, slices_, depth_.size * outputs, outputs, false, 0);
    const int64_t at_once = slices_at_once(job_) < depth_.count ? slices_at_once(job_) : depth_.count;
    for (int64_t z = 0; z < depth_.count; z += at_once) {
      AxisPart part = depth_;
      const int64_t begin = z + at_once < depth_.count ? z : depth_.count - at_once;
      part.windows += begin;
      part.count = at_once;
      fold_axis<false>(part, slices_, buffers_[0], 1, outputs, 0);
      layout_.unpack(buffers_[0], first, planes, first_output_ + begin * outputs, at_once * outputs);
    }
  }

  // The best over columns and rows, in a buffer of its own or where the last stage is to put it.
  Buffer pool_slice(int64_t first, int planes, int64_t slice, Buffer last) {
    const int64_t first_cell = (slice * job_.rows.size + rows_.start) * columns_.size;
    const bool rows_too = !is_identity(job_.rows);
    has_nan_ |= layout_.pack(buffers_[0].keys, first, planes, first_cell, rows_.size * columns_.size);
    Buffer found = buffers_[0];
    if (indexed || !is_identity(job_.columns)) {
      const Buffer to = rows_too || flat_ ? buffers_[1] : last;
      if (columns_.tap > 1) combine_cells(columns_, found, rows_.size * columns_.size, 1, true, first_cell);
      if (columns_.tap > 1) {
        fold_axis<false>(columns_, found, to, rows_.size, 1, first_cell);
      } else {
        fold_axis<true>(columns_, found, to, rows_.size, 1, first_cell);
      }
      found = to;
    }
    if (!rows_too) return found;
    const Buffer to = !flat_ ? last : found.keys == buffers_[0].keys ? buffers_[1] : buffers_[0];
    if (rows_.tap > 1) combine_cells(rows_, found, rows_.size * columns_.count, columns_.count, false, 0);
    fold_axis<false>(rows_, found, to, 1, columns_.count, 0);
    return to;
  }

  // Makes each of `cells` the best of as many as `part.tap`, `apart` vectors from one to the next.
  ONNX_MAXPOOL_NOINLINE void combine_cells(const AxisPart& part, Buffer cells, int64_t count, int64_t apart,
                                           bool positions_are_implicit, int64_t first) const {
    for (int64_t tap = 1; tap < part.tap; tap *= 2) {
      const int64_t end = count - (2 * tap - 1) * apart, distance = tap * apart;
      if (indexed && positions_are_implicit && tap == 1) {
        for (int64_t i = 0; i < end; ++i) combine_cell<true>(cells, i, distance, first);
      } else {
        for (int64_t i = 0; i < end; ++i) combine_cell<false>(cells, i, distance, first);
      }
    }
  }
  template <bool implicit>
  ONNX_MAXPOOL_INLINE static void combine_cell(Buffer cells, int64_t i, int64_t distance, int64_t first) {
    Best best = cells.template at<implicit>(i, first);
    follow(best, cells.template at<implicit>(i + distance, first));
    cells.set(i, best);
  }

  // From (outer, size, inner) cells to (outer, count, inner) windows.
  template <bool implicit>
  ONNX_MAXPOOL_NOINLINE void fold_axis(const AxisPart& part, Buffer from, Buffer to, int64_t outer, int64_t inner,
                                       int64_t first_position) const {
    // Innermost windows are taken in all rows at once.
    const bool across = inner == 1;
    const int64_t points = across ? outer : inner, repeats = across ? 1 : outer;
    const int64_t from_step = across ? part.size : 1, to_step = across ? part.count : 1;
    for (int64_t repeat = 0; repeat < repeats; ++repeat) {
      for (int64_t i = 0; i < part.count; ++i) {
        const Window window = part.windows[i];
        const int64_t length = window.end - window.start, taps = taps_of(length, part.tap);
        const Points run = {(repeat * part.size + window.start - part.start) * inner,
                            from_step,
                            (repeat * part.count + i) * inner,
                            to_step,
                            points,
                            part.tap * inner,
                            (length - part.tap) * inner,
                            first_position};
        with_taps<kFewTaps>(taps, [&](auto number) { fold_points<number.value, implicit>(from, to, run); });
      }
    }
  }

  struct Points {
    int64_t from, from_step, to, to_step, count;
    int64_t apart, last;  // from tap to tap, and to the last one from the first
    int64_t first_position;
  };
  // `taps` is 0 where there are more of them than have code of their own.
  template <int taps, bool implicit>
  ONNX_MAXPOOL_INLINE static void fold_points(Buffer from, Buffer to, const Points run) {
    int64_t at = run.from, target = run.to;
    for (int64_t i = 0; i < run.count; ++i, at += run.from_step, target += run.to_step) {
      const auto cell = [&](int64_t tap)
                            ONNX_MAXPOOL_INLINED { return from.template at<implicit>(at + tap, run.first_position); };
      to.set(target, best_of_taps<taps>(cell, run.apart, run.last));
    }
  }

  const PoolJob& job_;
  const PlanesLayout<Element, Lane, indexed> layout_;
  Buffer buffers_[2], slices_;
  AxisPart depth_, rows_, columns_;
  const bool flat_;
  int64_t first_output_;  // of a plane: the band's
  bool has_nan_ = false;
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
