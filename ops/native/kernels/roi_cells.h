// The maximum over the bins of ROIs cell by cell: the fewest cells, for which to fill a vector would take longer.
#pragma once

#include "kernels/roi.h"
#include "kernels/simd/order.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// The ROIs of one image.
template <class Key>
struct CellPool {
  static size_t scratch_bytes(const RoiJob&) { return 0; }

  static void run(const RoiJob& job, int64_t number, void*) {
    const RoiUnit unit = job.units[number];
    const int64_t bins_y = job.dims.bins_y, bins_x = job.dims.bins_x;
    for (int64_t i = unit.begin; i < unit.end; ++i) {
      const int64_t roi = job.rois_by_image[i];
      Key* to = static_cast<Key*>(job.y) + (roi * job.dims.channels + job.channels.first) * bins_y * bins_x;
      for (int64_t row = 0; row < bins_y; ++row) {
        for (int64_t column = 0; column < bins_x; ++column) {
          pool_bin(job, unit.image, job.rows[roi * bins_y + row], job.columns[roi * bins_x + column], to++);
        }
      }
    }
  }

 private:
  // A bin of each of the channels, the first one's to `to`.
  static ONNX_MAXPOOL_INLINE void pool_bin(const RoiJob& job, int64_t image, RoiWindow rows, RoiWindow columns,
                                           Key* to) {
    const ValueOrder<Key> order(job.order);
    const RoiDims& dims = job.dims;
    const int64_t channels = job.channels.count, area = dims.height * dims.width, width = dims.width,
                  bins = dims.bins_y * dims.bins_x, height = rows.end - rows.start, side = columns.end - columns.start;
    const Key* from = static_cast<const Key*>(job.x) + (image * dims.channels + job.channels.first) * area +
                      rows.start * width + columns.start;
    if (height <= 0 || side <= 0) {
      for (int64_t channel = 0; channel < channels; ++channel) to[channel * bins] = 0;  // M9
      return;
    }
    for (int64_t channel = 0; channel < channels; ++channel, from += area, to += bins) {
      const Key* line = from;
      Key best = order.to_key(*from);
      for (int64_t y = 0; y < height; ++y, line += width) {
        for (int64_t x = 0; x < side; ++x) {
          const Key key = order.to_key(line[x]);
          best = key > best ? key : best;
          asm("" : "+r"(best));  // no vectors, which the compiler would make of this loop
        }
      }
      *to = order.from_key(best);
    }
  }
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
