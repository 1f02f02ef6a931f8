// The maximum over the bins of ROIs of a map that is no wider than a vector: for processors with AVX-512.
//
// Lanes are columns: a row of a map is one vector, and a row of bins is the maximum of a few lookups in one. So
// bins come in the output's order, where kernels/roi.cc's other modes have to transpose them.
#pragma once

#include "kernels/roi.h"
#include "kernels/simd/order.h"
#include "kernels/simd/streamed_copy.h"

#if defined(__AVX512BW__)

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Key>
class NarrowMapPool {
  using V = Vector<Key, kVectorBytes>;
  static constexpr int kLanes = kVectorBytes / sizeof(Key);

 public:
  static int64_t units(const RoiJob& job) { return job.unit_count; }

  static size_t scratch_bytes(const RoiJob& job) {
    return sizeof(V) * static_cast<size_t>(kNarrowMapChannels * job.height) + 2 * buffer_bytes(job);
  }

  static void run(const RoiJob& job, int64_t unit, void* scratch) {
    const auto [image, block, begin, end] = job.units[unit];
    NarrowMapPool pool(job, image, block, scratch);
    pool.read_map();
    for (int64_t i = begin; i < end; ++i) pool.pool_roi(job.rois_by_image[i]);
    pool.copy_.finish();
  }

 private:
  NarrowMapPool(const RoiJob& job, int64_t image, int64_t block, void* scratch)
      : job_(job),
        order_(job.order),
        channel_(block * kNarrowMapChannels),
        channels_(job.channels - channel_ < kNarrowMapChannels ? job.channels - channel_ : kNarrowMapChannels),
        x_(static_cast<const Key*>(job.x) + (image * job.channels + channel_) * job.height * job.width),
        group_(group(job)),
        buffer_bytes_(buffer_bytes(job)),
        map_(static_cast<V*>(scratch)),
        buffers_(reinterpret_cast<char*>(map_ + kNarrowMapChannels * job.height)) {}

  // Channels that are pooled, and streamed, together: whole lines where that leaves room in the first-level cache.
  static int64_t group(const RoiJob& job) {
    const int64_t bytes = job.bins_y * job.bins_x * static_cast<int64_t>(sizeof(Key));
    int64_t channels = 1;
    while (channels < kNarrowMapChannels && 2 * channels * bytes <= 8192 &&
           (channels * bytes < 2048 || channels * bytes % kVectorBytes)) {
      channels *= 2;
    }
    return channels;
  }
  static size_t buffer_bytes(const RoiJob& job) {
    if (!job.stream) return 0;
    const size_t bytes = static_cast<size_t>(group(job) * job.bins_y * job.bins_x) * sizeof(Key);
    return (bytes + sizeof(V) - 1) / sizeof(V) * sizeof(V);
  }

  // The block's rows as keys.
  void read_map() {
    const Key* from = x_;
    for (int64_t y = 0; y < channels_ * job_.height; ++y, from += job_.width) {
      map_[y] = order_.to_key(load_n<V>(from, job_.width));
    }
  }

  // Of each bin in a row, as elements of vectors: its columns one by one, of which the last may come several times; and
  // whether it has any.
  struct Bins {
    V columns[kLanes];
    int64_t widest;
    V any;
  };
  void read_columns(int64_t roi, Bins& bins) const {
    const RoiWindow* columns = job_.columns + roi * job_.bins_x;
    V start{}, last{};
    bins.widest = 1;
    for (int64_t j = 0; j < job_.bins_x; ++j) {
      start[j] = static_cast<Key>(columns[j].start);
      last[j] = static_cast<Key>(columns[j].end - 1);
      if (columns[j].end - columns[j].start > bins.widest) bins.widest = columns[j].end - columns[j].start;
    }
    bins.any = start <= last;
    for (int64_t n = 0; n < bins.widest; ++n) {
      const V column = start + static_cast<Key>(n);
      bins.columns[n] = column < last ? column : last;
    }
  }

  void pool_roi(int64_t roi) {
    Bins bins;
    read_columns(roi, bins);
    const int64_t bins_per_channel = job_.bins_y * job_.bins_x;
    for (int64_t c = 0; c < channels_; c += group_) {
      const int64_t count = channels_ - c < group_ ? channels_ - c : group_;
      Key* to = static_cast<Key*>(job_.y) + (roi * job_.channels + channel_ + c) * bins_per_channel;
      if (!job_.stream) {
        pool_channels(roi, bins, c, count, to);
        continue;
      }
      second_ = !second_;  // the buffer that the last copy does not still read
      Key* buffer = reinterpret_cast<Key*>(buffers_ + second_ * buffer_bytes_);
      pool_channels(roi, bins, c, count, buffer);
      copy_.begin(to, buffer, static_cast<size_t>(count * bins_per_channel) * sizeof(Key));
    }
  }

  void pool_channels(int64_t roi, const Bins& bins, int64_t first, int64_t count, Key* to) {
    switch (bins.widest) {
      case 1:
        return pool_channels<1>(roi, bins, first, count, to);
      case 2:
        return pool_channels<2>(roi, bins, first, count, to);
      case 3:
        return pool_channels<3>(roi, bins, first, count, to);
      default:
        return pool_channels<kLanes>(roi, bins, first, count, to);
    }
  }

  // The bins of channels `first` on, to `to`. What the loop needs is in variables of its own, as the compiler takes any
  // store for one to a member.
  template <int most>
  void pool_channels(int64_t roi, const Bins& bins, int64_t first, int64_t count, Key* to) {
    const int64_t height = job_.height, bins_y = job_.bins_y, bins_x = job_.bins_x;
    const RoiWindow* rows = job_.rows + roi * bins_y;
    const KeyOrder<Key> order = order_;
    const V empty = V{} - order.offset, any = bins.any;  // the key of 0 (M9)
    const int64_t widest = most < kLanes ? most : bins.widest;
    V columns[most];
    for (int64_t n = 0; n < widest; ++n) columns[n] = bins.columns[n];
    StreamedCopy copy = copy_;
    for (int64_t i = 0; i < bins_y; ++i) {
      const int64_t start = rows[i].start, lines = rows[i].end - start;
      for (int64_t c = 0; c < count; ++c) {
        V best = empty;
        if (lines > 0) {
          const V line = max_of_rows(map_ + (first + c) * height + start, lines);
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

  static V max_of_rows(const V* row, int64_t count) {
    // A row may count twice. That is cheaper than a jump that the processor foresees half of the time.
    if (count < 4) return max(max(row[0], row[count - 1]), row[count / 2]);
    V best = max(max(row[count - 1], row[count - 2]), max(row[count - 3], row[count - 4]));
    for (int64_t y = 0; y < count - 4; ++y) best = max(best, row[y]);
    return best;
  }

  const RoiJob& job_;
  const KeyOrder<Key> order_;
  const int64_t channel_, channels_;
  const Key* const x_;
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
