// A block of channels of one image's map, read with channels in the lanes.
//
//   memory, by channel               vectors, by cell
//   c0: x0 x1 x2 x3 ...              x0: c0 c1 c2 c3
//   c1: x0 x1 x2 x3 ...   square     x1: c0 c1 c2 c3
//   c2: x0 x1 x2 x3 ...  ------->    x2: c0 c1 c2 c3
//   c3: x0 x1 x2 x3 ...  transpose   x3: c0 c1 c2 c3
#pragma once

#include "kernels/roi.h"
#include "kernels/simd/order.h"
#include "kernels/simd/transpose.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Loops work on a copy of it, as the compiler takes any store of keys for one to what `this` points to.
template <class Key, int bytes>
class MapBlock {
  using V = Vector<Key, bytes>;

 public:
  static constexpr int kLanes = bytes / sizeof(Key);
  static int64_t blocks(const RoiDims& dims) { return (dims.channels + kLanes - 1) / kLanes; }

  MapBlock(const RoiJob& job, int64_t image, int64_t block)
      : order(job.order),
        channel(block * kLanes),
        channels(job.dims.channels - channel < kLanes ? static_cast<int>(job.dims.channels - channel) : kLanes),
        width_(job.dims.width),
        area_(job.dims.height * job.dims.width),
        plane_(static_cast<const Key*>(job.x) + (image * job.dims.channels + channel) * area_),
        x_end_(static_cast<const Key*>(job.x) + job.dims.images * job.dims.channels * area_) {}

  // The keys of row y to `to`: (width).
  ONNX_MAXPOOL_NOINLINE void pack_row(int64_t y, V* to) const {
    const MapBlock map = *this;
    const Key* from = map.plane_ + y * map.width_;
    for (int64_t x = 0; x < map.width_; x += kLanes) {
      V square[kLanes];
      for (int c = 0; c < kLanes; ++c) {
        prefetch(from, c * map.area_ + x - map.width_);  // rows are packed upwards
        square[c] = map.order.to_key(c < map.channels ? map.vector_at(from + c * map.area_ + x) : V{});
      }
      transpose<Key, kLanes>(square);
      const int64_t left = map.width_ - x < kLanes ? map.width_ - x : kLanes;
      for (int64_t j = 0; j < left; ++j) to[x + j] = square[j];
    }
  }

  // The maxima over these rows of each of these columns to `to`, which has room for a vector more than there are
  // columns. Over rows first, as fewer squares are then left to transpose.
  ONNX_MAXPOOL_NOINLINE void max_of_rows(RoiWindow rows, RoiWindow columns, V* to) const {
    const MapBlock map = *this;
    for (int64_t x = columns.start; x < columns.end; x += kLanes) {
      V square[kLanes];
      for (int c = 0; c < kLanes; ++c) {
        square[c] = c < map.channels ? map.max_at(map.plane_ + c * map.area_ + x, rows) : V{};
      }
      transpose<Key, kLanes>(square);
      for (int i = 0; i < kLanes; ++i) to[x - columns.start + i] = square[i];
    }
  }

  const KeyOrder<Key> order;
  const int64_t channel;  // the first
  const int channels;     // of them: as many as there are lanes, or what is left

 private:
  // Lanes beyond what is wanted may be anything, but nothing beyond the tensor is read.
  V vector_at(const Key* from) const {
    const int64_t left = x_end_ - from;
    if (left >= kLanes) return load<V>(from);
    V v{};
    __builtin_memcpy(&v, from, static_cast<size_t>(left) * sizeof(Key));
    return v;
  }

  V max_at(const Key* column, RoiWindow rows) const {
    const Key* from = column + rows.start * width_;
    V best = order.to_key(vector_at(from));
    for (int64_t y = rows.start + 1; y < rows.end; ++y) best = max(best, order.to_key(vector_at(from += width_)));
    return best;
  }

  const int64_t width_, area_;
  const Key* const plane_;
  const Key* const x_end_;
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
