// The bins of an ROI on few channels, looked up as in a narrow map (roi_narrow_map.h): as many of a row at a time as
// there are lanes, in the columns of a vector of 64 bytes or two of 32.
#pragma once

#include "kernels/roi_narrow_map.h"
#include "kernels/roi_planes.h"

#if defined(__AVX2__)

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Lane>
class BinLookups {
  static constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  static constexpr int kMostVectors = static_cast<int>(most_lookup_vectors(kVectorBytes));
  static constexpr int64_t kAhead = 8;  // channels, of which a far map's cells are fetched
  using V = Vector<Lane, kVectorBytes>;

 public:
  // Pools each bin of an ROI. Returns whether a number was NaN.
  static bool pool(const RoiJob& job, const RoiOfPlanes<Lane>& roi) {
    const BinLookups lookups(job, roi);
    const RoiWindow columns = roi.columns_of_all(job.dims);
    return columns.end - columns.start <= kLanes ? lookups.pool_pieces<1>() : lookups.pool_pieces<kMostVectors>();
  }

 private:
  BinLookups(const RoiJob& job, const RoiOfPlanes<Lane>& roi) : job_(job), roi_(roi) {}

  // From the caches that are the core's own.
  bool is_far() const {
    const RoiDims& dims = job_.dims;
    return dims.images * job_.channels.count * dims.height * dims.width * int64_t{sizeof(Lane)} > kSecondCache;
  }
  // So many columns of these rows, to the first cache.
  ONNX_MAXPOOL_INLINE void fetch(const Lane* from, RoiWindow rows, int64_t count) const {
    for (int64_t y = rows.start; y < rows.end; ++y) {
      prefetch(from, y * job_.dims.width);
      prefetch(from, y * job_.dims.width + count - 1);
    }
  }

  // Of the columns in so many vectors.
  template <int vectors>
  ONNX_MAXPOOL_NOINLINE bool pool_pieces() const {
    const int64_t bins_x = job_.dims.bins_x;
    const RoiWindow* const columns = roi_.columns;
    bool has_nan = false;
    for (int64_t first = 0, end = 0; first < bins_x && !has_nan; first = end) {
      const int32_t start = columns[first].start;
      for (++end; end < bins_x && end - first < kLanes && columns[end].end - start <= vectors * kLanes;) ++end;
      const RoiWindow reached = {start, columns[end - 1].end};
      const BinColumns<PlaceOf<Lane>, vectors> bins(columns + first, end - first, start);
      with_bins<Lane>(bins, ValueOrder<Lane>(job_.order), [&](const auto& bins_of) {
        has_nan |= pool_piece<vectors>(bins_of, reached, first, end - first);
      });
    }
    return has_nan;
  }

  // Bins `first` on of each row, of these columns.
  template <int vectors, class BinsOf>
  ONNX_MAXPOOL_INLINE bool pool_piece(BinsOf bins_of, RoiWindow columns, int64_t first, int64_t count) const {
    const RoiDims dims = job_.dims;
    const ValueOrder<Lane> order(job_.order);
    const RoiWindow* const rows = roi_.rows;
    const int64_t cells = dims.height * dims.width, width = columns.end - columns.start;
    const Lane* const end = end_of_input<Lane>(job_);
    const Lane* plane = roi_.plane + columns.start;
    const int64_t channels = job_.channels.count, area = dims.bins_y * dims.bins_x;
    Lane* to = static_cast<Lane*>(job_.y) + (roi_.number * dims.channels + job_.channels.first) * area + first;
    // Where a piece is a whole row, its vector may reach into rows that are still to come.
    Lane* const room = count == dims.bins_x ? to + channels * area : nullptr;
    NanWatch<V> watch;
    const auto line_at = [&](const Lane* from) {
      MapLine<Lane, vectors> line{};
      for (int v = 0; v < vectors; ++v) {
        const int64_t left = width - v * kLanes;
        if (left > 0) line.at[v] = order.to_key(load_n<V>(from + v * kLanes, left < kLanes ? left : kLanes, end));
        watch.see(line.at[v]);
      }
      return line;
    };
    const bool is_far = this->is_far();
    for (int64_t channel = 0; channel < channels; ++channel, plane += cells) {
      if (is_far && channel + kAhead < channels) fetch(plane + kAhead * cells, roi_.rows_of_all(dims), width);
      V bins{};
      for (int64_t y = 0; y < dims.bins_y; ++y, to += dims.bins_x) {
        if (!repeats(rows, y)) {
          const int64_t lines = rows[y].end - rows[y].start;
          const Lane* const from = plane + rows[y].start * dims.width;
          V best = bins_of.empty;
          if (lines > 0 && width > 0) {
            best = bins_of(max_over_rows(lines, [&](int64_t line) { return line_at(from + line * dims.width); }));
          }
          bins = order.from_key(best);
        }
        store_n(to, bins, count, room ? room : to);
      }
    }
    return watch.any();
  }

  const RoiJob& job_;
  const RoiOfPlanes<Lane>& roi_;
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET

#endif
