// The maximum over the rows of a bin, of one channel by itself: they are folded as they come, whatever their columns.
// Lanes are neighbouring columns, and no row is transposed.
#pragma once

#include "kernels/roi_planes.h"
#include "kernels/simd/order.h"
#include "kernels/window_cells.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

constexpr int kMostRowVectors = 4;  // of a row that have a best of their own; those beyond share these

// Of bins whose `width` columns are in so many vectors, of which the last may have cells of the one before; if
// `vectors` is kMostRowVectors, in as many or more.
template <class Lane, class V, int vectors>
class BinRows {
  static constexpr int64_t kLanes = sizeof(V) / sizeof(Lane);

 public:
  // Of a tensor that ends at `end`.
  BinRows(int64_t width, const Lane* end) : width_(width), greatest_(greatest_of_first(width)), end_(end) {}

  // Folds `height` rows, 1 or more, of a map whose rows are `pitch` cells apart. Lanes beyond the bin's columns are the
  // lowest. Watch is NanWatch<V>, for which GCC has no name in a function's signature.
  template <class Watch>
  ONNX_MAXPOOL_INLINE V operator()(const Lane* from, int64_t height, int64_t pitch, const ValueOrder<Lane>& order,
                                   Watch& watch) const {
    const int64_t last_vector = vectors == 1 ? 0 : width_ - kLanes, last = height - 1;
    V bests[vectors];
    const auto key_at = [&](const Lane* at) ONNX_MAXPOOL_INLINED {
      return order.to_key(vectors == 1 ? load_n<V>(at, width_, end_) : load<V>(at));
    };
    // Two rows at a time, so that one look finds a NaN in either.
    const auto both = [&](const Lane* a, const Lane* b, int i, bool is_first) ONNX_MAXPOOL_INLINED {
      const V one = key_at(a), other = key_at(b);
      watch.see(one, other);
      bests[i] = is_first ? max(one, other) : max(bests[i], max(one, other));
    };
    const auto rows = [&](const Lane* a, const Lane* b, bool is_first) ONNX_MAXPOOL_INLINED {
#pragma GCC unroll 4
      for (int i = 0; i < vectors; ++i) {
        const int64_t x = i < vectors - 1 ? i * kLanes : last_vector;
        both(a + x, b + x, i, is_first);
      }
      if (vectors < kMostRowVectors) return;
      int64_t x = (kMostRowVectors - 1) * kLanes;
      for (; x + kMostRowVectors * kLanes <= last_vector; x += kMostRowVectors * kLanes) {
#pragma GCC unroll 4
        for (int i = 0; i < vectors; ++i) both(a + x + i * kLanes, b + x + i * kLanes, i, false);
      }
      for (; x < last_vector; x += kLanes) both(a + x, b + x, 0, false);
    };
    rows(from, from + last * pitch, true);
    for (int64_t y = 1; y < last; y += 2) rows(from + y * pitch, from + (y + 1) * pitch, false);
    V best = bests[0];
    for (int i = 1; i < vectors; ++i) best = max(best, bests[i]);
    return vectors == 1 ? min(best, greatest_) : best;
  }

 private:
  // The greatest key in the first lanes, and the lowest in the others: a minimum with it leaves out what lies beyond.
  static V greatest_of_first(int64_t count) {
    const V number = lane_numbers<Lane, sizeof(V)>();
    return number < V{} + static_cast<Lane>(count) ? V{} + kGreatest<Lane> : V{} + kLowest<Lane>;
  }

  const int64_t width_;
  const V greatest_;
  const Lane* const end_;
};

// Calls use(fold) with the BinRows of bins of this width, of which there are none wider than a vector if `most` is 1.
template <class Lane, class V, int most, class Use>
ONNX_MAXPOOL_INLINE void with_bin_rows(int64_t width, const Lane* end, const Use& use) {
  constexpr int64_t kLanes = sizeof(V) / sizeof(Lane);
  if (most == 1 || width <= kLanes) {
    use(BinRows<Lane, V, 1>(width, end));
  } else if (width <= 2 * kLanes) {
    use(BinRows<Lane, V, 2>(width, end));
  } else if (width <= 3 * kLanes) {
    use(BinRows<Lane, V, 3>(width, end));
  } else {
    use(BinRows<Lane, V, kMostRowVectors>(width, end));
  }
}

// Of so many channels, each bin of an ROI. Returns whether a number was NaN.
template <class Lane>
ONNX_MAXPOOL_NOINLINE bool pool_by_rows(const RoiJob& job, const RoiOfPlanes<Lane>& roi) {
  using V = Vector<Lane, kVectorBytes>;
  const RoiDims dims = job.dims;
  const RoiWindow *const rows = roi.rows, *const columns = roi.columns;
  const ValueOrder<Lane> order(job.order);
  const Lane* const end = end_of_input<Lane>(job);
  const PoolJob planes = planes_of(job);
  BinsOfPlanes<Lane> bins(job, planes, roi.number);
  NanWatch<V> watch;
  const Lane* plane = roi.plane;
  for (int64_t channel = 0; channel < job.channels.count; ++channel, plane += dims.height * dims.width) {
    for (int64_t y = 0; y < dims.bins_y; ++y) {
      const int64_t height = rows[y].end - rows[y].start;
      for (int64_t x = 0; x < dims.bins_x; ++x) {
        if (is_empty(rows[y]) || is_empty(columns[x])) {
          bins.add_empty();
          continue;
        }
        const Lane* const from = plane + rows[y].start * dims.width + columns[x].start;
        with_bin_rows<Lane, V, kMostRowVectors>(
            columns[x].end - columns[x].start, end,
            [&](const auto& fold) ONNX_MAXPOOL_INLINED { bins.add({fold(from, height, dims.width, order, watch)}); });
      }
    }
  }
  bins.finish();
  return watch.any();
}

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
