// The maximum over the only bin of each ROI, of each channel by itself: all cells of a bin become one.
#pragma once

#include "kernels/roi.h"
#include "kernels/roi_bin_rows.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Key>
class SingleBinsPool {
 public:
  // Returns whether all is pooled: where a number was NaN, keys have to pool the unit.
  static bool run(const RoiJob& job, int64_t number, void*) {
    const RoiUnit unit = job.units[number];
    const int64_t first = unit.block * kSingleBinsChannels, count = channels_from(job, first, kSingleBinsChannels),
                  step = single_bins_channels_at_once(count, bytes_of_channel(job, unit, count)),
                  widest = widest_of(job, unit);
    bool has_nan = false;
    for (int64_t from = 0; from < count && !has_nan; from += step) {
      has_nan = pool_by<16>(job, unit, widest, {first + from, min(count - from, step)});
    }
    return !has_nan;
  }

 private:
  // Bytes of each of so many channels that a unit reads more than once, at most: those of its ROIs, with one more line
  // of memory for each row, or all. An only ROI reads nothing again. Where all are few, no sum makes a difference.
  static int64_t bytes_of_channel(const RoiJob& job, const RoiUnit& unit, int64_t channels) {
    constexpr int64_t kSize = sizeof(Key), kLine = 64;
    const int64_t plane = job.dims.height * job.dims.width * kSize, rois = unit.end - unit.begin;
    if (rois == 1) return 0;
    if (rois > kSingleBinsRois || channels * plane <= kSingleBinsBytes) return plane;
    int64_t bytes = 0;
    for (int64_t i = unit.begin; i < unit.end; ++i) {
      const RoiWindow rows = job.rows[job.rois_by_image[i]], columns = job.columns[job.rois_by_image[i]];
      bytes += (rows.end - rows.start) * ((columns.end - columns.start) * kSize + kLine);
    }
    return min(bytes, plane);
  }

  // Columns of the unit's widest bin.
  static int64_t widest_of(const RoiJob& job, const RoiUnit& unit) {
    int32_t widest = 0;
    for (int64_t i = unit.begin; i < unit.end; ++i) {
      const RoiWindow columns = job.columns[job.rois_by_image[i]];
      widest = max(widest, columns.end - columns.start);
    }
    return widest;
  }

  // In the narrowest vectors that the widest bin fits: of these the fewest lanes are compared in the end. To choose
  // for each bin would take as long as to fold it.
  template <int bytes>
  static bool pool_by(const RoiJob& job, const RoiUnit& unit, int64_t widest, RoiChannels channels) {
    using V = Vector<Key, bytes>;
    const bool fits = widest <= bytes / static_cast<int64_t>(sizeof(Key));
    if (fits) return pool<V, 1>(job, unit, channels);
    if constexpr (bytes < kVectorBytes) return pool_by<2 * bytes>(job, unit, widest, channels);
    return pool<V, kMostRowVectors>(job, unit, channels);
  }

  // Returns whether a number was NaN.
  template <class V, int vectors>
  ONNX_MAXPOOL_NOINLINE static bool pool(const RoiJob& job, const RoiUnit& unit, RoiChannels channels) {
    const RoiDims& dims = job.dims;
    const ValueOrder<Key> order(job.order);
    const int64_t area = dims.height * dims.width, pitch = dims.width, count = channels.count,
                  first = job.channels.first + channels.first;
    const Key* const planes = static_cast<const Key*>(job.x) + (unit.image * dims.channels + first) * area;
    const Key* const end = end_of_input<Key>(job);
    Key* const y = static_cast<Key*>(job.y) + first;
    NanWatch<V> watch;
    for (int64_t i = unit.begin; i < unit.end; ++i) {
      const int64_t roi = job.rois_by_image[i];
      const RoiWindow rows = job.rows[roi], columns = job.columns[roi];
      Key* const to = y + roi * dims.channels;
      if (is_empty(rows) || is_empty(columns)) {
        for (int64_t channel = 0; channel < count; ++channel) to[channel] = Key{};  // M9
        continue;
      }
      const Key* const from = planes + rows.start * pitch + columns.start;
      const int64_t height = rows.end - rows.start;
      with_bin_rows<Key, V, vectors>(
          columns.end - columns.start, end, [=, &watch](const auto& fold) ONNX_MAXPOOL_INLINED {
            const Key* plane = from;
            for (int64_t channel = 0; channel < count; ++channel, plane += area) {
              to[channel] = order.from_key(greatest_lane<Key>(fold(plane, height, pitch, order, watch)));
            }
          });
    }
    return watch.any();
  }
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
