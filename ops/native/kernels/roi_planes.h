// The planes of an image, each by itself: what all ways to pool few channels (roi_few_channels.h) need to know of them.
#pragma once

#include "kernels/roi.h"
#include "kernels/window_gather.h"
#include "kernels/window_writer.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// An ROI's windows, on an image whose first channel begins at `plane`.
template <class Lane>
struct RoiOfPlanes {
  int64_t number;
  const Lane* plane;
  const RoiWindow *rows, *columns;

  RoiOfPlanes(const RoiJob& job, int64_t image, int64_t roi)
      : number(roi),
        plane(static_cast<const Lane*>(job.x) +
              (image * job.dims.channels + job.channels.first) * job.dims.height * job.dims.width),
        rows(job.rows + roi * job.dims.bins_y),
        columns(job.columns + roi * job.dims.bins_x) {}

  // What all its bins reach.
  RoiWindow rows_of_all(const RoiDims& dims) const { return span_of(rows, dims.bins_y); }
  RoiWindow columns_of_all(const RoiDims& dims) const { return span_of(columns, dims.bins_x); }
};

inline bool is_empty(RoiWindow window) { return window.start >= window.end; }

// What readers and writers of planes need to know.
inline PoolJob planes_of(const RoiJob& job) {
  PoolJob planes{};
  planes.x = job.x;
  planes.y = job.y;
  planes.planes = job.dims.images * job.dims.channels;
  planes.depth.size = planes.depth.count = 1;
  planes.rows.size = job.dims.height;
  planes.rows.count = job.dims.bins_y;
  planes.columns.size = job.dims.width;
  planes.columns.count = job.dims.bins_x;
  planes.order = job.order;
  return planes;
}

// The bins of an ROI in the output's order, each a vector whose lanes have still to be combined.
template <class Lane>
class BinsOfPlanes {
  using V = Vector<Lane, kVectorBytes>;

 public:
  BinsOfPlanes(const RoiJob& job, const PoolJob& planes, int64_t roi)
      : writer_(planes, first_row(job, roi), first_row(job, roi) + job.channels.count * job.dims.bins_y),
        zero_{ValueOrder<Lane>(job.order).template key_of_zero<V>()} {}

  ONNX_MAXPOOL_INLINE void add(const Cells<Lane, false>& bin) { bins_.add(bin, write()); }
  ONNX_MAXPOOL_INLINE void add_empty() { bins_.add(zero_, write()); }  // M9
  ONNX_MAXPOOL_INLINE void finish() { bins_.finish(write()); }

 private:
  static int64_t first_row(const RoiJob& job, int64_t roi) {
    return (roi * job.dims.channels + job.channels.first) * job.dims.bins_y;
  }
  ONNX_MAXPOOL_INLINE auto write() {
    return [this](const auto& bins, int64_t wanted) { writer_.write(bins, wanted); };
  }

  WindowWriter<Lane, Lane, false, ValueOrder<Lane>> writer_;
  Gather<Lane, false> bins_;
  const Cells<Lane, false> zero_;
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
