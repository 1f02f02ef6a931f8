// The maximum over the bins of ROIs of a map that is no wider than a vector: for processors with AVX-512.
//
// Lanes are columns: a row of a map is one vector, and a row of bins is the maximum of a few lookups in one. So bins
// come in the output's order, where kernels/roi.cc's other modes have to transpose them.
//
//   columns of bins      [0, 3)  [2, 5)  [4, 6)
//   line, over rows      x0 x1 x2 x3 x4 x5
//   first columns        x0      x2      x4       table_lookup_lanes(line, {0, 2, 4})
//   second               x1      x3      x5                               {1, 3, 5}
//   third                x2      x4      x5                               {2, 4, 5}: the last one again
//   bins                 their maximum
#pragma once

#include "kernels/roi.h"
#include "kernels/simd/order.h"
#include "kernels/simd/streamed_copy.h"

#if defined(__AVX512BW__)

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Of each bin in a row of them, as elements of vectors: its columns one by one, of which the last may come several
// times; and whether it has any.
template <class Key>
struct BinColumns {
  using V = Vector<Key, kVectorBytes>;
  V at[kVectorBytes / sizeof(Key)];
  int64_t widest = 1;
  V any;

  BinColumns(const RoiWindow* columns, int64_t count) {
    V start{}, last{};
    for (int64_t j = 0; j < count; ++j) {
      start[j] = static_cast<Key>(columns[j].start);
      last[j] = static_cast<Key>(columns[j].end - 1);
      if (columns[j].end - columns[j].start > widest) widest = columns[j].end - columns[j].start;
    }
    any = start <= last;
    for (int64_t n = 0; n < widest; ++n) {
      const V column = start + static_cast<Key>(n);
      at[n] = column < last ? column : last;
    }
  }
};

// The maximum of `count` vectors, 1 or more.
template <class V>
inline V max_of_lines(const V* line, int64_t count) {
  // A row may count twice. That is cheaper than a jump that the processor foresees half of the time.
  if (count < 4) return max(max(line[0], line[count - 1]), line[count / 2]);
  V best = max(max(line[count - 1], line[count - 2]), max(line[count - 3], line[count - 4]));
  for (int64_t y = 0; y < count - 4; ++y) best = max(best, line[y]);
  return best;
}

template <class Key>
class NarrowMapPool {
  using V = Vector<Key, kVectorBytes>;
  using Columns = BinColumns<Key>;
  static constexpr int kLanes = kVectorBytes / sizeof(Key);

 public:
  static size_t scratch_bytes(const RoiJob& job) {
    return sizeof(V) * static_cast<size_t>(kNarrowMapChannels * job.dims.height) + 2 * buffer_bytes(job);
  }

  static void run(const RoiJob& job, int64_t number, void* scratch) {
    const RoiUnit unit = job.units[number];
    NarrowMapPool pool(job, unit, scratch);
    for (int64_t i = unit.begin; i < unit.end; ++i) pool.pool_roi(job.rois_by_image[i]);
    pool.copy_.finish();
  }

 private:
  // Reads the rows of the unit's channels as keys.
  NarrowMapPool(const RoiJob& job, const RoiUnit& unit, void* scratch)
      : job_(job),
        order_(job.order),
        channel_(unit.block * kNarrowMapChannels),
        channels_(job.dims.channels - channel_ < kNarrowMapChannels ? job.dims.channels - channel_
                                                                    : kNarrowMapChannels),
        group_(group(job)),
        buffer_bytes_(buffer_bytes(job)),
        map_(static_cast<V*>(scratch)),
        buffers_(reinterpret_cast<char*>(map_ + kNarrowMapChannels * job.dims.height)) {
    const RoiDims& dims = job.dims;
    const Key* from =
        static_cast<const Key*>(job.x) + (unit.image * dims.channels + channel_) * dims.height * dims.width;
    for (int64_t y = 0; y < channels_ * dims.height; ++y, from += dims.width) {
      map_[y] = order_.to_key(load_n<V>(from, dims.width));
    }
  }

  static int64_t bins_per_channel(const RoiJob& job) { return job.dims.bins_y * job.dims.bins_x; }

  // Channels that are pooled, and streamed, together: whole lines where that leaves room in the first-level cache.
  static int64_t group(const RoiJob& job) {
    const int64_t bytes = bins_per_channel(job) * static_cast<int64_t>(sizeof(Key));
    int64_t channels = 1;
    while (channels < kNarrowMapChannels && 2 * channels * bytes <= 8192 &&
           (channels * bytes < 2048 || channels * bytes % kVectorBytes)) {
      channels *= 2;
    }
    return channels;
  }
  static size_t buffer_bytes(const RoiJob& job) {
    if (!job.stream) return 0;
    const size_t bytes = static_cast<size_t>(group(job) * bins_per_channel(job)) * sizeof(Key);
    return (bytes + sizeof(V) - 1) / sizeof(V) * sizeof(V);
  }

  ONNX_MAXPOOL_NOINLINE void pool_roi(int64_t roi) {
    const Columns columns(job_.columns + roi * job_.dims.bins_x, job_.dims.bins_x);
    const RoiWindow* rows = job_.rows + roi * job_.dims.bins_y;
    const int64_t bins = bins_per_channel(job_), most = group_;
    for (int64_t c = 0; c < channels_; c += most) {
      const int64_t count = channels_ - c < most ? channels_ - c : most;
      Key* to = static_cast<Key*>(job_.y) + (roi * job_.dims.channels + channel_ + c) * bins;
      if (!job_.stream) {
        pool_channels(rows, columns, c, count, to);
        continue;
      }
      second_ = !second_;  // the buffer that the last copy does not still read
      Key* buffer = reinterpret_cast<Key*>(buffers_ + second_ * buffer_bytes_);
      pool_channels(rows, columns, c, count, buffer);
      copy_.begin(to, buffer, static_cast<size_t>(count * bins) * sizeof(Key));
    }
  }

  // The bins of channels `first` on, to `to`: (count, bins_y, bins_x).
  void pool_channels(const RoiWindow* rows, const Columns& columns, int64_t first, int64_t count, Key* to) {
    switch (columns.widest) {
      case 1:
        return pool_channels<1>(rows, columns, first, count, to);
      case 2:
        return pool_channels<2>(rows, columns, first, count, to);
      case 3:
        return pool_channels<3>(rows, columns, first, count, to);
      default:
        return pool_channels<kLanes>(rows, columns, first, count, to);
    }
  }

  // What the loop needs is in variables of its own, as the compiler takes any store for one to a member.
  template <int most>
  void pool_channels(const RoiWindow* rows, const Columns& bin_columns, int64_t first, int64_t count, Key* to) {
    const int64_t height = job_.dims.height, bins_y = job_.dims.bins_y, bins_x = job_.dims.bins_x;
    const KeyOrder<Key> order = order_;
    const V empty = V{} - order.offset, any = bin_columns.any;  // the key of 0 (M9)
    const int64_t widest = most < kLanes ? most : bin_columns.widest;
    V columns[most];
    for (int64_t n = 0; n < widest; ++n) columns[n] = bin_columns.at[n];
    StreamedCopy copy = copy_;
    for (int64_t i = 0; i < bins_y; ++i) {
      const int64_t start = rows[i].start, lines = rows[i].end - start;
      for (int64_t c = 0; c < count; ++c) {
        V best = empty;
        if (lines > 0) {
          const V line = max_of_lines(map_ + (first + c) * height + start, lines);
          best = table_lookup_lanes(line, columns[0]);
          for (int64_t n = 1; n < widest; ++n) best = max(best, table_lookup_lanes(line, columns[n]));
          best = any ? best : empty;
        }
        store_n(to + (c * bins_y + i) * bins_x, order.from_key(best), bins_x);
        copy.step();
      }
    }
    copy_ = copy;
  }

  const RoiJob& job_;
  const KeyOrder<Key> order_;
  const int64_t channel_, channels_;
  const int64_t group_;
  const size_t buffer_bytes_;
  V* const map_;
  char* const buffers_;
  bool second_ = false;
  StreamedCopy copy_;
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET

#endif
