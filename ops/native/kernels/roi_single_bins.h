// The maximum over the only bin of each ROI, of each channel by itself: all cells of a bin become one, so that its rows
// are folded as they come, whatever their columns. Lanes are neighbouring columns, and no row is transposed.
#pragma once

#include "kernels/roi.h"
#include "kernels/simd/order.h"
#include "kernels/window_cells.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Key>
class SingleBinsPool {
  using V = Vector<Key, kVectorBytes>;
  static constexpr int64_t kLanes = kVectorBytes / sizeof(Key);
  static constexpr int kMostVectors = 4;  // of a row at once

 public:
  // Returns whether all is pooled: where a number was NaN, keys have to pool the unit.
  static bool run(const RoiJob& job, int64_t number, void*) {
    const RoiUnit unit = job.units[number];
    const int64_t area = job.dims.height * job.dims.width, first = unit.block * kSingleBinsChannels,
                  count = channels_from(job, first, kSingleBinsChannels);
    const bool is_one = unit.end - unit.begin == 1;  // which reads nothing again
    const int64_t step = is_one ? count : single_bins_channels_at_once(count, area * int64_t{sizeof(Key)});
    SingleBinsPool pool(job, unit.image);
    for (int64_t from = 0; from < count && !pool.has_nan_; from += step) {
      const RoiChannels channels = {first + from, count - from < step ? count - from : step};
      for (int64_t i = unit.begin; i < unit.end; ++i) pool.pool(job.rois_by_image[i], channels);
    }
    return !pool.has_nan_;
  }

 private:
  SingleBinsPool(const RoiJob& job, int64_t image)
      : job_(job),
        order_(job.order),
        area_(job.dims.height * job.dims.width),
        planes_(static_cast<const Key*>(job.x) + (image * job.dims.channels + job.channels.first) * area_),
        end_(static_cast<const Key*>(job.x) + job.dims.images * job.dims.channels * area_) {}

  void pool(int64_t roi, RoiChannels channels) {
    const RoiWindow rows = job_.rows[roi], columns = job_.columns[roi];
    Key* const to = static_cast<Key*>(job_.y) + roi * job_.dims.channels + job_.channels.first + channels.first;
    const int64_t width = columns.end - columns.start, height = rows.end - rows.start;
    if (width <= 0 || height <= 0) {
      for (int64_t channel = 0; channel < channels.count; ++channel) to[channel] = Key{};  // M9
      return;
    }
    const Bin bin = {planes_ + channels.first * area_ + rows.start * job_.dims.width + columns.start, height, width};
    if (width < kLanes) return fold_part<16>(bin, channels, to);
    if (width <= 2 * kLanes) return fold_all<V, 2>(bin, channels, to);
    if (width <= 3 * kLanes) return fold_all<V, 3>(bin, channels, to);
    fold_all<V, kMostVectors>(bin, channels, to);
  }

  struct Bin {
    const Key* from;  // of the first channel
    int64_t height, width;
  };

  // Rows of less than a vector, in the narrowest vectors that they fit: of these the fewest lanes are compared in the
  // end.
  template <int bytes>
  void fold_part(Bin bin, RoiChannels channels, Key* to) {
    if constexpr (bytes < kVectorBytes) {
      if (bin.width > bytes / static_cast<int64_t>(sizeof(Key))) return fold_part<2 * bytes>(bin, channels, to);
    }
    fold_all<Vector<Key, bytes>, 0>(bin, channels, to);
  }

  // Of each of these channels, so many vectors of a row at once, or part of one (0).
  template <class W, int vectors>
  ONNX_MAXPOOL_NOINLINE void fold_all(Bin bin, RoiChannels channels, Key* to) {
    const ValueOrder<Key> order = order_;
    const int64_t area = area_, pitch = job_.dims.width;
    const W most = vectors == 0 ? greatest_of_first<W>(bin.width) : W{};
    NanWatch<W> watch;
    for (int64_t channel = 0; channel < channels.count; ++channel) {
      W best = fold<W, vectors>(bin.from + channel * area, bin, pitch, order, watch);
      if (vectors == 0) best = min(best, most);
      to[channel] = order.from_key(greatest_lane<Key>(best));
    }
    has_nan_ |= watch.any();
  }

  // The greatest key in the first lanes, and the lowest in the others: a minimum with it leaves out what lies beyond a
  // row.
  template <class W>
  static W greatest_of_first(int64_t count) {
    const W number = lane_numbers<Key, sizeof(W)>();
    return number < W{} + static_cast<Key>(count) ? W{} + kGreatest<Key> : W{} + kLowest<Key>;
  }

  // Watch is NanWatch<W>, for which GCC has no name in a function's signature.
  template <class W, int vectors, class Watch>
  ONNX_MAXPOOL_INLINE W fold(const Key* from, const Bin& bin, int64_t pitch, const ValueOrder<Key>& order,
                             Watch& watch) const {
    constexpr int kBests = vectors == 0 ? 1 : vectors;
    const int64_t last_vector = vectors == 0 ? 0 : bin.width - kLanes, last = bin.height - 1;
    W bests[kBests];
    // Two rows at a time, so that one look finds a NaN in either.
    const auto both = [&](const Key* a, const Key* b, int i, bool is_first) __attribute__((always_inline)) {
      const W one = order.to_key(vectors == 0 ? load_n<W>(a, bin.width, end_) : load<W>(a)),
              other = order.to_key(vectors == 0 ? load_n<W>(b, bin.width, end_) : load<W>(b));
      watch.see(one, other);
      bests[i] = is_first ? max(one, other) : max(bests[i], max(one, other));
    };
    // The last vectors of a row may have cells of those before.
    const auto rows = [&](const Key* a, const Key* b, bool is_first) __attribute__((always_inline)) {
#pragma GCC unroll 4
      for (int i = 0; i < kBests; ++i) {
        const int64_t x = i < kBests - 1 ? i * kLanes : last_vector;
        both(a + x, b + x, i, is_first);
      }
      if (vectors < kMostVectors) return;
      int64_t x = (kMostVectors - 1) * kLanes;
      for (; x + kMostVectors * kLanes <= last_vector; x += kMostVectors * kLanes) {
#pragma GCC unroll 4
        for (int i = 0; i < kBests; ++i) both(a + x + i * kLanes, b + x + i * kLanes, i, false);
      }
      for (; x < last_vector; x += kLanes) both(a + x, b + x, 0, false);
    };
    rows(from, from + last * pitch, true);
    for (int64_t y = 1; y < last; y += 2) rows(from + y * pitch, from + (y + 1) * pitch, false);
    W best = bests[0];
    for (int i = 1; i < kBests; ++i) best = max(best, bests[i]);
    return best;
  }

  const RoiJob& job_;
  const ValueOrder<Key> order_;
  const int64_t area_;
  const Key* const planes_;  // of the image
  const Key* const end_;     // of the tensor
  bool has_nan_ = false;
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
