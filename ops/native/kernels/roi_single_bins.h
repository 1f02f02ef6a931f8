// The maximum over the only bin of each ROI, of each channel by itself: all cells of a bin become one.
#pragma once

#include "kernels/roi.h"
#include "kernels/roi_bin_rows.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Key>
class SingleBinsPool {
  using V = Vector<Key, kVectorBytes>;
  static constexpr int64_t kLanes = kVectorBytes / sizeof(Key);

 public:
  // Returns whether all is pooled: where a number was NaN, keys have to pool the unit.
  static bool run(const RoiJob& job, int64_t number, void*) {
    const RoiUnit unit = job.units[number];
    const int64_t first = unit.block * kSingleBinsChannels, count = channels_from(job, first, kSingleBinsChannels),
                  step = single_bins_channels_at_once(count, bytes_of_channel(job, unit));
    SingleBinsPool pool(job, unit.image);
    for (int64_t from = 0; from < count && !pool.has_nan_; from += step) {
      const RoiChannels channels = {first + from, count - from < step ? count - from : step};
      for (int64_t i = unit.begin; i < unit.end; ++i) pool.pool(job.rois_by_image[i], channels);
    }
    return !pool.has_nan_;
  }

 private:
  // Bytes of each channel that a unit reads more than once, at most: those of its ROIs, with one more line of memory
  // for each row, or all. An only ROI reads nothing again.
  static int64_t bytes_of_channel(const RoiJob& job, const RoiUnit& unit) {
    constexpr int64_t kSize = sizeof(Key), kLine = 64;
    const int64_t plane = job.dims.height * job.dims.width * kSize, rois = unit.end - unit.begin;
    if (rois == 1) return 0;
    if (rois > kSingleBinsRois) return plane;
    int64_t bytes = 0;
    for (int64_t i = unit.begin; i < unit.end; ++i) {
      const RoiWindow rows = job.rows[job.rois_by_image[i]], columns = job.columns[job.rois_by_image[i]];
      bytes += (rows.end - rows.start) * ((columns.end - columns.start) * kSize + kLine);
    }
    return bytes < plane ? bytes : plane;
  }

  SingleBinsPool(const RoiJob& job, int64_t image)
      : job_(job),
        order_(job.order),
        area_(job.dims.height * job.dims.width),
        planes_(static_cast<const Key*>(job.x) + (image * job.dims.channels + job.channels.first) * area_),
        end_(end_of_planes<Key>(job)) {}

  void pool(int64_t roi, RoiChannels channels) {
    const RoiWindow rows = job_.rows[roi], columns = job_.columns[roi];
    Key* const to = static_cast<Key*>(job_.y) + roi * job_.dims.channels + job_.channels.first + channels.first;
    const int64_t width = columns.end - columns.start, height = rows.end - rows.start;
    if (width <= 0 || height <= 0) {
      for (int64_t channel = 0; channel < channels.count; ++channel) to[channel] = Key{};  // M9
      return;
    }
    const Bin bin = {planes_ + channels.first * area_ + rows.start * job_.dims.width + columns.start, height, width};
    if (width <= kLanes) return fold_part<16>(bin, channels, to);
    if (width <= 2 * kLanes) return fold_all<V, 2>(bin, channels, to);
    if (width <= 3 * kLanes) return fold_all<V, 3>(bin, channels, to);
    fold_all<V, 4>(bin, channels, to);
  }

  struct Bin {
    const Key* from;  // of the first channel
    int64_t height, width;
  };

  // Rows of a vector at most, in the narrowest vectors that they fit: of these the fewest lanes are compared in the
  // end.
  template <int bytes>
  void fold_part(Bin bin, RoiChannels channels, Key* to) {
    if constexpr (bytes < kVectorBytes) {
      if (bin.width > bytes / static_cast<int64_t>(sizeof(Key))) return fold_part<2 * bytes>(bin, channels, to);
    }
    fold_all<Vector<Key, bytes>, 1>(bin, channels, to);
  }

  // Of each of these channels.
  template <class W, int vectors>
  ONNX_MAXPOOL_NOINLINE void fold_all(Bin bin, RoiChannels channels, Key* to) {
    const ValueOrder<Key> order = order_;
    const BinRows<Key, W, vectors> fold(bin.width, end_);
    const int64_t area = area_, pitch = job_.dims.width;
    NanWatch<W> watch;
    for (int64_t channel = 0; channel < channels.count; ++channel) {
      const W best = fold(bin.from + channel * area, bin.height, pitch, order, watch);
      to[channel] = order.from_key(greatest_lane<Key>(best));
    }
    has_nan_ |= watch.any();
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
