// The maximum over the bins of ROIs. Compiled once per target.
//
// Lanes are channels: a block of as many channels as fit a vector is pooled at once, so that every step but the last
// is the same plain maximum whatever a bin's width. For each row of bins the maximum over the map's rows goes into a
// line, one vector per column; each bin is then the maximum over its part of the line. At the end a ROI's bins are
// transposed to the output's order, in which the block is one contiguous piece.
#include "pool_roi.h"

#include "simd.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Key, int bytes>
class RoiPool {
  using V = Vector<Key, bytes>;
  static constexpr int kLanes = bytes / sizeof(Key);

 public:
  static int64_t blocks(const RoiJob& job) { return (job.channels + kLanes - 1) / kLanes; }

  static int64_t shared_units(const RoiJob& job) { return job.images * blocks(job); }
  static int64_t separate_units(const RoiJob& job) { return job.rois * blocks(job); }

  static size_t separate_scratch(const RoiJob& job) {
    // A line; the bins; the bins in the output's order, where a last vector may stick out.
    const size_t bins = static_cast<size_t>(job.bins_y * job.bins_x);
    return sizeof(V) * (static_cast<size_t>(job.width) + kLanes + 2 * (bins + kLanes));
  }
  static size_t shared_scratch(const RoiJob& job) {
    return separate_scratch(job) + sizeof(V) * static_cast<size_t>(job.height * job.width + kLanes);
  }

  static void run_shared(const RoiJob& job, int64_t unit, void* scratch) {
    const int64_t image = unit / blocks(job);
    const int64_t begin = job.image_begins[image], end = job.image_begins[image + 1];
    if (begin == end) return;
    RoiPool pool(job, image, unit % blocks(job), scratch);
    V* packed = pool.bins_ + 2 * (job.bins_y * job.bins_x + kLanes);
    pool.pack(pool.plane_, job.height * job.width, packed);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t roi = job.image_rois[i];
      pool.run(roi, [&](Window rows, Window span) {
        pool.line_of_packed(packed + rows.start * job.width + span.start, rows.end - rows.start, span.end - span.start);
      });
    }
    if (job.stream) stream_fence();
  }

  static void run_separate(const RoiJob& job, int64_t unit, void* scratch) {
    const int64_t roi = unit / blocks(job);
    RoiPool pool(job, job.image[roi], unit % blocks(job), scratch);
    pool.run(roi, [&](Window rows, Window span) { pool.line_of_map(rows, span); });
    if (job.stream) stream_fence();
  }

 private:
  RoiPool(const RoiJob& job, int64_t image, int64_t block, void* scratch)
      : job_(job),
        order_(job.order),
        channel_(block * kLanes),
        channels_(job.channels - channel_ < kLanes ? static_cast<int>(job.channels - channel_) : kLanes),
        area_(job.height * job.width),
        plane_(static_cast<const Key*>(job.x) + (image * job.channels + channel_) * area_),
        x_end_(static_cast<const Key*>(job.x) + job.images * job.channels * area_),
        line_(static_cast<V*>(scratch)),
        bins_(line_ + job.width + kLanes) {}

  // All the bins of one ROI; `fill_line(rows, columns)` leaves the line's maxima from line_[0] on.
  template <class FillLine>
  void run(int64_t roi, FillLine fill_line) {
    const Window* rows = job_.rows + roi * job_.bins_y;
    const Window* columns = job_.columns + roi * job_.bins_x;
    // Bins overlap or touch, so the columns from the first bin's start to the last one's end are all wanted.
    const Window span = {columns[0].start, columns[job_.bins_x - 1].end};
    const V zero = V{} - order_.offset;  // the key of 0, the value of an empty bin
    V* bin = bins_;
    for (int64_t i = 0; i < job_.bins_y; ++i) {
      const bool empty = rows[i].start >= rows[i].end || span.start >= span.end;
      if (!empty) fill_line(rows[i], span);
      for (int64_t j = 0; j < job_.bins_x; ++j) {
        const int64_t count = columns[j].end - columns[j].start;
        *bin++ = empty || count <= 0 ? zero : max_of(line_ + (columns[j].start - span.start), count);
      }
    }
    write(roi);
  }

  static V max_of(const V* v, int64_t count) {
    V best = v[0];
    for (int64_t i = 1; i < count; ++i) best = max(best, v[i]);
    return best;
  }

  // The bins as elements in the output's order, to where they belong.
  void write(int64_t roi) {
    const int64_t bins = job_.bins_y * job_.bins_x;
    V* transposed = bins_ + bins + kLanes;
    Key* out = job_.stream ? reinterpret_cast<Key*>(transposed) : destination(roi);
    // Squares from last to first: what a channel's last square leaves beyond its bins, the next channels' squares
    // overwrite. In the output itself nothing may stick out of the block, which others write beside.
    const int64_t room = job_.stream ? channels_ * bins + kLanes : channels_ * bins;
    for (int64_t first = (bins - 1) / kLanes * kLanes; first >= 0; first -= kLanes) {
      V square[kLanes];
      for (int i = 0; i < kLanes; ++i) square[i] = order_.from_key(bins_[first + i]);
      transpose<Key, kLanes>(square);
      for (int c = 0; c < channels_; ++c) {
        const int64_t at = c * bins + first;
        if (at + kLanes <= room) {
          store(out + at, square[c]);
        } else {
          const int64_t left = bins - first < kLanes ? bins - first : kLanes;
          __builtin_memcpy(out + at, &square[c], static_cast<size_t>(left) * sizeof(Key));
        }
      }
    }
    if (job_.stream) stream_copy(destination(roi), transposed, static_cast<size_t>(channels_ * bins) * sizeof(Key));
  }

  Key* destination(int64_t roi) const {
    return static_cast<Key*>(job_.y) + (roi * job_.channels + channel_) * job_.bins_y * job_.bins_x;
  }

  // `count` elements of each of the block's channels, from `from` on, as keys with channels in the lanes. Squares
  // stick out beyond `count` by less than a vector.
  void pack(const Key* from, int64_t count, V* to) const {
    for (int64_t i = 0; i < count; i += kLanes) {
      V square[kLanes];
      for (int c = 0; c < kLanes; ++c) square[c] = order_.to_key(c < channels_ ? row(from + c * area_ + i) : V{});
      transpose<Key, kLanes>(square);
      for (int j = 0; j < kLanes; ++j) to[i + j] = square[j];
    }
  }

  // A vector from the map. Lanes beyond what is wanted may be anything, but nothing beyond the tensor is read.
  V row(const Key* from) const {
    const int64_t left = x_end_ - from;
    if (left >= kLanes) return load<V>(from);
    V v{};
    __builtin_memcpy(&v, from, static_cast<size_t>(left) * sizeof(Key));
    return v;
  }

  void line_of_packed(const V* first, int64_t rows, int64_t columns) {
    const int64_t stride = job_.width;
    for (int64_t x = 0; x < columns; ++x) {
      V best = first[x];
      for (int64_t y = 1; y < rows; ++y) best = max(best, first[y * stride + x]);
      line_[x] = best;
    }
  }

  // The same from the map itself: maxima over rows first, as fewer squares are then left to transpose.
  void line_of_map(Window rows, Window columns) {
    for (int64_t x = columns.start; x < columns.end; x += kLanes) {
      V square[kLanes];
      for (int c = 0; c < kLanes; ++c) {
        if (c >= channels_) {
          square[c] = V{};
          continue;
        }
        const Key* from = plane_ + c * area_ + rows.start * job_.width + x;
        V best = order_.to_key(row(from));
        for (int64_t y = rows.start + 1; y < rows.end; ++y) best = max(best, order_.to_key(row(from += job_.width)));
        square[c] = best;
      }
      transpose<Key, kLanes>(square);
      for (int j = 0; j < kLanes; ++j) line_[x - columns.start + j] = square[j];
    }
  }

  const RoiJob& job_;
  const KeyOrder<Key> order_;
  const int64_t channel_;
  const int channels_;
  const int64_t area_;
  const Key* const plane_;
  const Key* const x_end_;
  V* const line_;
  V* const bins_;
};

template <class Key, int bytes>
constexpr RoiKernel kernel() {
  using Pool = RoiPool<Key, bytes>;
  return {{Pool::shared_units, Pool::shared_scratch, Pool::run_shared},
          {Pool::separate_units, Pool::separate_scratch, Pool::run_separate}};
}

// The kernel whose vectors are the widest that the channels fill, so that few channels leave few lanes idle.
template <class Key>
const RoiKernel& of_width(int64_t channels) {
  static constexpr RoiKernel narrow = kernel<Key, 16>();
  static constexpr RoiKernel wide = kernel<Key, kVectorBytes>();
  if (channels <= static_cast<int64_t>(16 / sizeof(Key))) return narrow;
  if constexpr (kVectorBytes > 32) {
    static constexpr RoiKernel middle = kernel<Key, 32>();
    if (channels <= static_cast<int64_t>(32 / sizeof(Key))) return middle;
  }
  return wide;
}

}  // namespace

const RoiKernel& roi_kernel(size_t element_size, int64_t channels) {
  switch (element_size) {
    case 2:
      return of_width<int16_t>(channels);
    case 4:
      return of_width<int32_t>(channels);
    default:
      return of_width<int64_t>(channels);
  }
}

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
