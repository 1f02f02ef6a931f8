// The bins of an ROI on few channels, folded from the best over the rows of each row of bins:
//
//   rows of a row of bins ----> line ----> bins, folded ----> output
//                  window_line.h        window_gather.h
#pragma once

#include "kernels/roi_planes.h"
#include "kernels/window_line.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Lane>
class BinLines {
  static constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  static constexpr int64_t kLines = 4;  // at once, for which the reason is RowsPool::lines_at_once's
  using Filler = LineFiller<Lane, Lane, false>;

 public:
  static size_t scratch_bytes(const RoiJob& job) { return static_cast<size_t>(kLines * pitch(job)) * sizeof(Lane); }

  // Pools each bin of an ROI. Returns whether a number was NaN.
  static ONNX_MAXPOOL_NOINLINE bool pool(const RoiJob& job, const RoiOfPlanes<Lane>& roi, void* scratch) {
    const int64_t bins_y = job.dims.bins_y, bins_x = job.dims.bins_x, pitch = BinLines::pitch(job);
    const RoiWindow all = roi.columns_of_all(job.dims);
    const PoolJob planes = planes_of(job);
    const Filler filler(planes);
    BinsOfPlanes<Lane> bins(job, planes, roi.number);
    typename Filler::Watch watch;
    const auto lines = Line<Lane, false>::in(static_cast<Lane*>(scratch), 0);
    const Lane* plane = roi.plane;
    for (int64_t channel = 0; channel < job.channels.count; ++channel, plane += job.dims.height * job.dims.width) {
      for (int64_t y = 0; y < bins_y; y += kLines) {
        const int64_t count = bins_y - y < kLines ? bins_y - y : kLines;
        // From the first bin's first column on.
        for (int64_t i = 0; i < count && !is_empty(all); ++i) {
          const RoiWindow rows = roi.rows[y + i];
          if (is_empty(rows)) continue;
          filler.template fill<false>(line_at(lines, i * pitch), plane, {0, 1}, {rows.start, rows.end},
                                      {all.start, all.end}, watch);
        }
        for (int64_t i = 0; i < count; ++i) {
          for (int64_t x = 0; x < bins_x; ++x) {
            const RoiWindow columns = roi.columns[x];
            if (is_empty(roi.rows[y + i]) || is_empty(columns)) {
              bins.add_empty();
            } else {
              bins.add(fold(line_at(lines, i * pitch), {columns.start - all.start, columns.end - all.start}));
            }
          }
        }
      }
    }
    bins.finish();
    return watch.any();
  }

 private:
  static int64_t pitch(const RoiJob& job) { return (job.dims.width / kLanes + 2) * kLanes; }
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
