// A block of channels of one image's map, read with channels in the lanes.
//
//   memory, by channel               vectors, by cell
//   c0: x0 x1 x2 x3 ...              x0: c0 c1 c2 c3
//   c1: x0 x1 x2 x3 ...   square     x1: c0 c1 c2 c3
//   c2: x0 x1 x2 x3 ...  ------->    x2: c0 c1 c2 c3
//   c3: x0 x1 x2 x3 ...  transpose   x3: c0 c1 c2 c3
#pragma once

#include "kernels/roi.h"
#include "kernels/simd/order.h"
#include "kernels/simd/transpose.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Loops work on a copy of it, as the compiler takes any store of keys for one to what `this` points to.
template <class Key, int bytes>
class MapBlock {
  using V = Vector<Key, bytes>;

 public:
  static constexpr int kLanes = bytes / sizeof(Key);

  MapBlock(const RoiJob& job, int64_t image, int64_t block)
      : order(job.order),
        channel(job.channels.first + block * kLanes),
        channels(static_cast<int>(channels_of_block(job, block, kLanes))),
        width_(job.dims.width),
        area_(job.dims.height * job.dims.width),
        plane_(static_cast<const Key*>(job.x) + (image * job.dims.channels + channel) * area_),
        x_end_(end_of_input<Key>(job)),
        is_far_(job.dims.images * job.dims.channels * area_ * int64_t{sizeof(Key)} > kFirstCache),
        may_be_in_memory_(job.dims.images * job.dims.channels * area_ > kNearBytes / int64_t{sizeof(Key)}),
        sweeps_(job.tables.sweep) {}

  // The keys of `count` cells from one on, in the order of memory, to `to`: (count). Returns whether one is NaN that
  // has no key. Rows above these are fetched, as rows are packed upwards. A sweep pools bins between rows, so that
  // there is time for two rows to come from memory.
  bool pack(int64_t first, int64_t count, V* to) const {
    const Key* const from = plane_ + first;
    if (sweeps_ && may_be_in_memory_) {
      return pack(from, count, to, [=](int64_t cell) { prefetch<Cache::second>(from, cell - 2 * count); });
    }
    if (is_far_) return pack(from, count, to, [=](int64_t cell) { prefetch(from, cell - count); });
    return pack(from, count, to, [](int64_t) {});
  }

  // The maxima over these rows of each of these columns to `to`, which has room for a vector more than there are
  // columns. Over rows first, as fewer squares are then left to transpose. Returns the same.
  ONNX_MAXPOOL_NOINLINE bool max_of_rows(RoiWindow rows, RoiWindow columns, V* to) const {
    const MapBlock map = *this;
    const Key* from = map.plane_ + rows.start * map.width_;
    if (bytes < kVectorBytes && rows.end - rows.start > 1 && columns.end - columns.start > kLanes) {
      return map.max_of_wide_rows(from, rows.end - rows.start, columns, to);
    }
    Watch watch;
    for (int64_t x = columns.start; x < columns.end; x += kLanes) {
      map.max_of_columns(from + x, rows.end - rows.start, columns.end - x, to + (x - columns.start), watch);
    }
    return watch.any();
  }

  // Has an ROI's cells brought into a cache before it is pooled, if they may be in memory. It has so many rows of bins,
  // and is one of so many ROIs. To pool it has as many reads under way at once as a vector has lanes, in each row of a
  // bin: where these are many, more are not faster. The first cache has room for some 300 lines beside what is pooled.
  ONNX_MAXPOOL_INLINE void fetch(RoiWindow rows, RoiWindow columns, int64_t bins_y, int64_t rois) const {
    constexpr int64_t kLine = 64 / sizeof(Key), kFirstLines = 320, kMostLines = kLanes <= 8 ? 1024 : 640;
    const int64_t width = columns.end - columns.start, height = rows.end - rows.start;
    if (!may_be_in_memory_ || width <= 0 || (kLanes > 8 && height > 2 * bins_y)) return;
    // What other ROIs have read stays in the second cache, where that has room for it.
    if (kLanes * area_ * int64_t{sizeof(Key)} <= kNearBlock && rois * height * width > area_) return;
    const int64_t lines = height * (width / kLine + 2) * channels;
    if (lines > kMostLines) return;
    lines <= kFirstLines ? fetch<Cache::first>(rows, columns) : fetch<Cache::second>(rows, columns);
  }

  const ValueOrder<Key> order;
  const int64_t channel;  // the first
  const int channels;     // of them: as many as there are lanes, or what is left

 private:
  using Watch = NanWatch<V>;

  // Calls fetch(cell) for each channel and vector of its cells, for the first of these, counted from `from` on.
  template <class Fetch>
  ONNX_MAXPOOL_NOINLINE bool pack(const Key* from, int64_t count, V* to, Fetch fetch) const {
    const MapBlock map = *this;
    Watch watch;
    for (int64_t x = 0; x < count; x += kLanes) {
      for (int c = 0; c < kLanes; ++c) fetch(c * map.area_ + x);
      const int64_t left = count - x;
      if (left >= kLanes) {
        map.max_of_columns(from + x, 1, left, to + x, watch);
        continue;
      }
      V square[kLanes];
      map.max_of_columns(from + x, 1, left, square, watch);
      for (int64_t j = 0; j < left; ++j) to[x + j] = square[j];
    }
    return watch.any();
  }

  template <Cache cache>
  ONNX_MAXPOOL_INLINE void fetch(RoiWindow rows, RoiWindow columns) const {
    constexpr int64_t kLine = 64 / sizeof(Key);
    const int64_t width = columns.end - columns.start, height = rows.end - rows.start;
    const Key* channel_rows = plane_ + columns.start;
    for (int c = 0; c < channels; ++c, channel_rows += area_) {
      const Key* row = channel_rows + rows.start * width_;
      for (int64_t y = 0; y < height; ++y, row += width_) {
        for (int64_t x = 0; x < width; x += kLine) prefetch<cache>(row, x);
        prefetch<cache>(row, width - 1);
      }
    }
  }

  // The same where channels are few, and so vectors narrow: over rows in vectors as wide as there are.
  ONNX_MAXPOOL_INLINE bool max_of_wide_rows(const Key* from, int64_t rows, RoiWindow columns, V* to) const {
    using Wide = Vector<Key, kVectorBytes>;
    constexpr int kWide = kVectorBytes / sizeof(Key);
    Key lines[kLanes][kWide] = {};
    NanWatch<Wide> watch;
    for (int64_t x = columns.start; x < columns.end; x += kWide) {
      for (int c = 0; c < channels; ++c) {
        const Key* line = from + c * area_ + x;
        Wide best = order.to_key(lanes_at<Wide>(line));
        for (int64_t y = 1; y < rows; ++y) {
          const Wide next = order.to_key(lanes_at<Wide>(line += width_));
          watch.see(best, next);
          best = max(best, next);
        }
        store(lines[c], best);
      }
      const int64_t left = columns.end - x < kWide ? columns.end - x : kWide;
      for (int64_t i = 0; i < left; i += kLanes) {
        V square[kLanes];
        for (int c = 0; c < kLanes; ++c) square[c] = load<V>(&lines[c][i]);
        transpose<Key, kLanes>(square);
        for (int j = 0; j < kLanes; ++j) to[x - columns.start + i + j] = square[j];
      }
    }
    return watch.any();
  }

  // The maxima over `rows` rows of as many columns as there are lanes, or of `left` that are left. Vectors beyond these
  // may be anything.
  ONNX_MAXPOOL_INLINE void max_of_columns(const Key* from, int64_t rows, int64_t left, V* to, Watch& watch) const {
    // Whether the lanes' channels are all there, with as many columns in the tensor.
    const bool whole = channels == kLanes && x_end_ - (from + (kLanes - 1) * area_ + (rows - 1) * width_) >= kLanes;
    if (!whole) return max_of_square<false>(from, rows, to, watch);
    if (left > kLanes / 2) return max_of_square<true>(from, rows, to, watch);
    for (int64_t x = 0; x < left; x += kBlockLanes) max_of_blocks(from + x, rows, to + x, watch);
  }

  // Of as many columns as there are lanes: a vector for each channel. Lanes beyond what is wanted may be anything, but
  // nothing beyond the tensor is read.
  template <bool whole>
  ONNX_MAXPOOL_INLINE void max_of_square(const Key* from, int64_t rows, V* to, Watch& watch) const {
    V square[kLanes];
    for (int c = 0; c < kLanes; ++c) {
      V best{};
      if (whole || c < channels) {
        const Key* line = from + c * area_;
        best = order.to_key(whole ? load<V>(line) : lanes_at<V>(line));
        for (int64_t y = 1; y < rows; ++y) {
          line += width_;
          const V next = order.to_key(whole ? load<V>(line) : lanes_at<V>(line));
          watch.see(best, next);
          best = max(best, next);
        }
      }
      square[c] = best;
    }
    if (rows == 1) {
      for (int c = 0; c < kLanes; c += 2) watch.see(square[c], square[c + 1]);
    }
    transpose<Key, kLanes>(square);
    for (int i = 0; i < kLanes; ++i) to[i] = square[i];
  }

  // Of as many columns as a block has lanes: a block for each channel, so that fewer lanes are idle where columns are
  // few.
  ONNX_MAXPOOL_INLINE void max_of_blocks(const Key* from, int64_t rows, V* to, Watch& watch) const {
    V best[kBlockLanes], other[kBlockLanes];
    for (int i = 0; i < kBlockLanes; ++i) best[i] = blocks_at(from, i);
    for (int64_t y = 1; y < rows; ++y) {
      from += width_;
      for (int i = 0; i < kBlockLanes; ++i) {
        const V next = blocks_at(from, i);
        watch.see(best[i], next);
        best[i] = max(best[i], next);
      }
    }
    if (rows == 1) {
      for (int i = 0; i < kBlockLanes; i += 2) watch.see(best[i], best[i + 1]);
    }
    V *now = best, *next = other;
    transpose_in_blocks<Key, kBlockLanes>(now, next);
    for (int i = 0; i < kBlockLanes; ++i) to[i] = now[i];
  }

  // The keys of the i-th of every few channels, a block each.
  ONNX_MAXPOOL_INLINE V blocks_at(const Key* from, int i) const {
    Vector<Key, 16> blocks[kLanes / kBlockLanes];
    for (int g = 0; g < kLanes / kBlockLanes; ++g) {
      blocks[g] = load<Vector<Key, 16>>(from + (g * kBlockLanes + i) * area_);
    }
    return order.to_key(combine_blocks<V, Key>(blocks));
  }

  template <class W>
  W lanes_at(const Key* from) const {
    const int64_t left = x_end_ - from;
    if (left >= static_cast<int64_t>(sizeof(W) / sizeof(Key))) return load_once<W>(from);
    W v{};
    __builtin_memcpy(&v, from, static_cast<size_t>(left) * sizeof(Key));
    return v;
  }

  static constexpr int kBlockLanes = 16 / sizeof(Key);
  static constexpr int64_t kFirstCache = 32 << 10, kNearBlock = 256 << 10;  // bytes
  const int64_t width_, area_;
  const Key* const plane_;
  const Key* const x_end_;
  const bool is_far_;            // the tensor, from the first cache
  const bool may_be_in_memory_;  // the same: it is larger than a core's own caches
  const bool sweeps_;
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
