// A unit's outputs, in order: values in the elements' type, and indices.
#pragma once

#include "kernels/window_line.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Element, class Lane, bool indexed>
class WindowWriter {
  static constexpr int kLanes = kVectorBytes / sizeof(Lane);
  using Bits = Vector<Element, kLanes * sizeof(Element)>;

 public:
  // For the lines of windows from `begin` to `end`.
  WindowWriter(const PoolJob& job, int64_t begin, int64_t end)
      : job_(&job),
        order_(job.order),
        output_(begin * job.columns.count),
        end_(end * job.columns.count),
        per_plane_(job.depth.count * job.rows.count * job.columns.count) {
    const int64_t plane = output_ / per_plane_;
    plane_end_ = (plane + 1) * per_plane_;
    first_index_ = plane * job.index_step;
  }

  // The next outputs: the first `count` lanes, or all. They are one contiguous piece, so that lanes beyond are
  // overwritten by what follows; but nothing may stick out of the piece.
  void write(const Cells<Lane, indexed>& best, int64_t count) {
    if (count > kLanes) count = kLanes;
    const Bits values = order_.from_key(truncate_to<Element, Lane, kLanes>(best.key));
    const bool whole = output_ + kLanes <= end_;
    Element* to = static_cast<Element*>(job_->y) + output_;
    if (whole) {
      store(to, values);
    } else {
      __builtin_memcpy(to, &values, static_cast<size_t>(count) * sizeof(Element));
    }
    if constexpr (indexed) {
      if (job_->indices_are_64_bits) {
        write_indices<uint64_t>(best.position, count, whole);
      } else {
        write_indices<uint32_t>(best.position, count, whole);
      }
    }
    output_ += count;
  }

 private:
  template <class Index>
  void write_indices(const Vector<Lane, kVectorBytes>& position, int64_t count, bool whole) {
    Lane positions[kLanes];
    store(positions, position);
    Index* to = static_cast<Index*>(job_->indices) + output_;
    Index rest[kLanes];
    Index* out = whole ? to : rest;
    if (job_->index_step == 0 || output_ + count <= plane_end_) {
      const Index first = static_cast<Index>(first_index_);
      for (int i = 0; i < kLanes; ++i) out[i] = first + static_cast<Index>(positions[i]);
    } else {
      for (int i = 0; i < count; ++i) {
        if (output_ + i == plane_end_) next_plane();
        out[i] = static_cast<Index>(first_index_) + static_cast<Index>(positions[i]);
      }
    }
    if (!whole) __builtin_memcpy(to, rest, static_cast<size_t>(count) * sizeof(Index));
    if (job_->index_step && output_ + count == plane_end_) next_plane();
  }

  void next_plane() {
    first_index_ += job_->index_step;
    plane_end_ += per_plane_;
  }

  const PoolJob* job_;
  typename OrderFor<Element, indexed>::type order_;
  int64_t output_;  // the next one's number
  int64_t end_, per_plane_;
  int64_t plane_end_, first_index_;  // of the plane that the next output belongs to
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
