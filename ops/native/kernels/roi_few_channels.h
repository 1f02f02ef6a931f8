// The maximum over the bins of ROIs on few channels, each by itself: lanes are neighbouring columns, as where
// windows are pooled by rows (kernels/window.cc), so that none is idle for want of a channel.
//
//   rows of a row of bins ----> line ----> bins, folded ----> output
//                  window_line.h        window_gather.h
//
// Where lanes can be looked up, bins are, as in a narrow map: those no wider than a vector of 64 bytes or two of 32.
#pragma once

#include "kernels/roi.h"
#include "kernels/roi_narrow_map.h"
#include "kernels/window_gather.h"
#include "kernels/window_writer.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Key>
class FewChannelsPool {
  static constexpr int64_t kLanes = kVectorBytes / sizeof(Key);
  static constexpr int64_t kLines = 4;  // at once, for which the reason is WindowPool::lines_at_once's
  using RowLine = Line<Key, false>;
  using Bins = Gather<Key, false>;

 public:
  static size_t scratch_bytes(const RoiJob& job) { return static_cast<size_t>(kLines * pitch(job)) * sizeof(Key); }

  static void run(const RoiJob& job, int64_t number, void* scratch) {
    const RoiUnit unit = job.units[number];
    const FewChannelsPool pool(job, scratch);
    for (int64_t i = unit.begin; i < unit.end; ++i) {
      const int64_t roi = job.rois_by_image[i];
      pool.is_short(roi) ? pool.pool_short_roi(unit.image, roi) : pool.pool_roi(unit.image, roi);
    }
  }

 private:
  FewChannelsPool(const RoiJob& job, void* scratch)
      : job_(job), pitch_(pitch(job)), lines_{static_cast<Key*>(scratch), static_cast<Key*>(scratch)} {}

  // What readers and writers of planes need to know. Most ROIs need neither.
  PoolJob planes() const {
    const RoiDims& dims = job_.dims;
    PoolJob planes{};
    planes.x = job_.x;
    planes.y = job_.y;
    planes.planes = dims.images * dims.channels;
    planes.depth.size = planes.depth.count = 1;
    planes.rows.size = dims.height;
    planes.rows.count = dims.bins_y;
    planes.columns.size = dims.width;
    planes.columns.count = dims.bins_x;
    planes.order = job_.order;
    return planes;
  }

  static int64_t pitch(const RoiJob& job) { return (job.dims.width / kLanes + 2) * kLanes; }
  RowLine line(int64_t i) const { return line_at(lines_, i * pitch_); }
  static bool is_empty(RoiWindow window) { return window.start >= window.end; }
  // Of the first channel.
  const Key* plane_of(int64_t image) const {
    return static_cast<const Key*>(job_.x) +
           (image * job_.dims.channels + job_.channels.first) * job_.dims.height * job_.dims.width;
  }

#if defined(__AVX2__)
  static constexpr int kMostVectors = static_cast<int>(most_lookup_vectors(kVectorBytes));
  static constexpr int64_t kAhead = 8;  // channels, of which a far map's cells are fetched

  // From the caches that are the core's own.
  bool is_far() const {
    const RoiDims& dims = job_.dims;
    return dims.images * job_.channels.count * dims.height * dims.width * int64_t{sizeof(Key)} > kSecondCache;
  }
  // Where the tensor ends.
  const Key* end() const {
    const RoiDims& dims = job_.dims;
    return static_cast<const Key*>(job_.x) + dims.images * dims.channels * dims.height * dims.width;
  }
  // So many columns of these rows, to the first cache.
  ONNX_MAXPOOL_INLINE void fetch(const Key* from, RoiWindow rows, int64_t count) const {
    for (int64_t y = rows.start; y < rows.end; ++y) {
      prefetch(from, y * job_.dims.width);
      prefetch(from, y * job_.dims.width + count - 1);
    }
  }

  int64_t width_of(int64_t roi) const {
    const int64_t bins_x = job_.dims.bins_x;
    const RoiWindow* const columns = job_.columns + roi * bins_x;
    return columns[bins_x - 1].end - columns[0].start;
  }
  bool is_short(int64_t roi) const {
    const int64_t width = width_of(roi), widest = job_.dims.bins_x > 1 ? job_.widths[roi].most : width;
    return widest <= kMostVectors * kLanes && width <= kLookedUpVectors * kLanes;
  }

  void pool_short_roi(int64_t image, int64_t roi) const {
    width_of(roi) <= kLanes ? pool_pieces<1>(image, roi) : pool_pieces<kMostVectors>(image, roi);
  }

  // As many bins of a row at a time as there are lanes, of the columns in so many vectors.
  template <int vectors>
  ONNX_MAXPOOL_NOINLINE void pool_pieces(int64_t image, int64_t roi) const {
    const int64_t bins_x = job_.dims.bins_x;
    const RoiWindow* const columns = job_.columns + roi * bins_x;
    for (int64_t first = 0, end = 0; first < bins_x; first = end) {
      const int32_t start = columns[first].start;
      for (++end; end < bins_x && end - first < kLanes && columns[end].end - start <= vectors * kLanes;) ++end;
      const int32_t width = columns[end - 1].end - start;
      with_bins(BinColumns<Key, vectors>(columns + first, end - first, start), ValueOrder<Key>(job_.order),
                [&](const auto& bins_of) {
                  pool_piece<vectors>(bins_of, image, roi, {start, start + width}, first, end - first);
                });
    }
  }

  template <int vectors, class BinsOf>
  ONNX_MAXPOOL_INLINE void pool_piece(BinsOf bins_of, int64_t image, int64_t roi, RoiWindow columns, int64_t first,
                                      int64_t count) const {
    using V = Vector<Key, kVectorBytes>;
    const RoiDims dims = job_.dims;
    const ValueOrder<Key> order(job_.order);
    const RoiWindow* const rows = job_.rows + roi * dims.bins_y;
    const int64_t cells = dims.height * dims.width, width = columns.end - columns.start;
    const Key* const end = this->end();
    const Key* plane = plane_of(image) + columns.start;
    const int64_t channels = job_.channels.count, area = dims.bins_y * dims.bins_x;
    Key* to = static_cast<Key*>(job_.y) + (roi * dims.channels + job_.channels.first) * area + first;
    // Where a piece is a whole row, its vector may reach into rows that are still to come.
    Key* const room = count == dims.bins_x ? to + channels * area : nullptr;
    const auto line_at = [&](const Key* from) {
      MapLine<Key, vectors> line{};
      for (int v = 0; v < vectors; ++v) {
        const int64_t left = width - v * kLanes;
        if (left > 0) line.at[v] = order.to_key(load_n<V>(from + v * kLanes, left < kLanes ? left : kLanes, end));
      }
      return line;
    };
    const bool is_far = this->is_far();
    for (int64_t channel = 0; channel < channels; ++channel, plane += cells) {
      if (is_far && channel + kAhead < channels) {
        fetch(plane + kAhead * cells, {rows[0].start, rows[dims.bins_y - 1].end}, width);
      }
      V bins{};
      for (int64_t y = 0; y < dims.bins_y; ++y, to += dims.bins_x) {
        if (!repeats(rows, y)) {
          const int64_t lines = rows[y].end - rows[y].start;
          const Key* const from = plane + rows[y].start * dims.width;
          V best = bins_of.empty;
          if (lines > 0 && width > 0) {
            best = bins_of(max_over_rows(lines, [&](int64_t line) { return line_at(from + line * dims.width); }));
          }
          bins = order.from_key(best);
        }
        store_n(to, bins, count, room ? room : to);
      }
    }
  }
#else
  static constexpr bool is_short(int64_t) { return false; }
  static void pool_short_roi(int64_t, int64_t) {}
#endif

  ONNX_MAXPOOL_NOINLINE void pool_roi(int64_t image, int64_t roi) const {
    const RoiDims& dims = job_.dims;
    const int64_t channels = job_.channels.count, bins_y = dims.bins_y, cells = dims.height * dims.width,
                  first = (roi * dims.channels + job_.channels.first) * bins_y;
    const RoiWindow* const rows = job_.rows + roi * bins_y;
    const RoiWindow* const columns = job_.columns + roi * dims.bins_x;
    const PoolJob planes = this->planes();
    const LineFiller<Key, Key, false> filler(planes);
    WindowWriter<Key, Key, false, ValueOrder<Key>> writer(planes, first, first + channels * bins_y);
    const auto write = [&](const auto& bins, int64_t wanted) { writer.write(bins, wanted); };
    Bins bins;
    const Key* plane = plane_of(image);
    for (int64_t channel = 0; channel < channels; ++channel, plane += cells) {
      for (int64_t y = 0; y < bins_y; y += kLines) {
        const int64_t lines = bins_y - y < kLines ? bins_y - y : kLines;
        for (int64_t i = 0; i < lines; ++i) fill(filler, plane, rows[y + i], columns, line(i));
        for (int64_t i = 0; i < lines; ++i) fold_bins(rows[y + i], columns, line(i), bins, write);
      }
    }
    bins.finish(write);
  }

  // From the first bin's first column on.
  ONNX_MAXPOOL_INLINE void fill(const LineFiller<Key, Key, false>& filler, const Key* plane, RoiWindow rows,
                                const RoiWindow* columns, const RowLine to) const {
    const Window span = {columns[0].start, columns[job_.dims.bins_x - 1].end};
    if (is_empty(rows) || span.start >= span.end) return;
    typename LineFiller<Key, Key, false>::Watch watch;  // of keys nothing is asked
    filler.template fill<false>(to, plane, {0, 1}, {rows.start, rows.end}, span, watch);
  }

  template <class Write>
  ONNX_MAXPOOL_INLINE void fold_bins(RoiWindow rows, const RoiWindow* columns, const RowLine from, Bins& bins,
                                     Write write) const {
    const Cells<Key, false> zero = {ValueOrder<Key>(job_.order).template key_of_zero<Vector<Key, kVectorBytes>>()};
    const int64_t count = job_.dims.bins_x, start = columns[0].start;
    for (int64_t j = 0; j < count; ++j) {
      if (is_empty(rows) || is_empty(columns[j])) {
        bins.add(zero, write);  // M9
      } else {
        bins.add(fold(from, {columns[j].start - start, columns[j].end - start}), write);
      }
    }
  }

  const RoiJob& job_;
  const int64_t pitch_;
  const RowLine lines_;
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
