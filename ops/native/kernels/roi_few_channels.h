// The maximum over the bins of ROIs on few channels, each by itself: lanes are neighbouring columns, as where windows
// are pooled by rows (kernels/window_rows.h), so that none is idle for want of a channel.
#pragma once

#include "kernels/roi_bin_lines.h"
#include "kernels/roi_bin_lookups.h"
#include "kernels/roi_bin_rows.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Lane>
class FewChannelsPool {
 public:
  static size_t scratch_bytes(const RoiJob& job) { return BinLines<Lane>::scratch_bytes(job); }

  // Returns whether all is pooled: where a number was NaN, keys have to pool the unit.
  static bool run(const RoiJob& job, int64_t number, void* scratch) {
    const RoiUnit unit = job.units[number];
    bool has_nan = false;
    for (int64_t i = unit.begin; i < unit.end && !has_nan; ++i) {
      has_nan = pool(job, {job, unit.image, job.rois_by_image[i]}, scratch);
    }
    return !has_nan;
  }

 private:
  static bool pool(const RoiJob& job, const RoiOfPlanes<Lane>& roi, void* scratch) {
    switch (way_of(job, roi)) {
      case BinsBy::rows:
        return pool_by_rows(job, roi);
      case BinsBy::lines:
        return BinLines<Lane>::pool(job, roi, scratch);
      default:
#if defined(__AVX2__)
        return BinLookups<Lane>::pool(job, roi);
#else
        __builtin_unreachable();
#endif
    }
  }

  static BinsBy way_of(const RoiJob& job, const RoiOfPlanes<Lane>& roi) {
    constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
#if defined(__AVX2__)
    constexpr bool kLooksUp = true;
#else
    constexpr bool kLooksUp = false;
#endif
    const RoiDims& dims = job.dims;
    const RoiWindow rows = roi.rows_of_all(dims), columns = roi.columns_of_all(dims);
    const int64_t width = columns.end - columns.start, widest = dims.bins_x > 1 ? job.widths[roi.number].most : width;
    return bins_by(kLooksUp, dims.width * int64_t{sizeof(Lane)},
                   {dims.bins_y, dims.bins_x, rows.end - rows.start, (width + kLanes - 1) / kLanes,
                    (widest + kLanes - 1) / kLanes});
  }
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
