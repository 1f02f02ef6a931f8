// A unit's outputs, in order: values in the elements' type, and indices.
#pragma once

#include "kernels/window_line.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Element, class Lane, bool indexed, class OutputOrder = typename OrderFor<Element, indexed>::type>
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
    if (!indexed || job.index_step == 0) return;
    const int64_t plane = output_ / per_plane_;
    plane_end_ = (plane + 1) * per_plane_;
    first_index_ = plane * job.index_step;
  }

  // The next outputs: the first `count` lanes, or all. A unit's outputs are one contiguous piece, so that lanes beyond
  // are overwritten by what follows; but nothing may stick out of the piece.
  ONNX_MAXPOOL_INLINE void write(const Cells<Lane, indexed>& best, int64_t count) {
    if (count > kLanes) count = kLanes;
    if (output_ + kLanes > end_ || (indexed && output_ + count > plane_end_)) {
      write_lanes(best, count);
    } else if (indexed && job_->indices_are_64_bits) {
      place<uint64_t>().write(order_, 0, best);
    } else {
      place<uint32_t>().write(order_, 0, best);
    }
    output_ += count;
    if (indexed && output_ == plane_end_) next_plane();
  }

  // The next `count` outputs, all of one plane: `cells_at(i)` has those from the i-th on, for each vector in turn.
  template <class CellsAt>
  ONNX_MAXPOOL_INLINE void write_line(int64_t count, CellsAt cells_at) {
    if (indexed && job_->indices_are_64_bits) {
      write_line_as<uint64_t>(count, cells_at);
    } else {
      write_line_as<uint32_t>(count, cells_at);
    }
  }

  // The same, where `line(write)` calls write(i, cells) for each vector itself.
  template <class WriteLine>
  ONNX_MAXPOOL_INLINE void write_line_by(int64_t count, const WriteLine& line) {
    if (indexed && job_->indices_are_64_bits) {
      write_line_by_as<uint64_t>(count, line);
    } else {
      write_line_by_as<uint32_t>(count, line);
    }
  }

  // The outputs of so many lines, all of one plane, which `all(write)` writes: write(i, cells) a vector, the i-th and
  // on, for i up to write.last; write.some(i, cells, wanted) the same, or as many as are wanted, for any i. Lanes
  // beyond are overwritten later. write.fetch(i) has outputs brought into the second cache; they may be anyone's.
  template <class WriteAll>
  ONNX_MAXPOOL_INLINE void write_band(int64_t lines, const WriteAll& all) {
    if (indexed && job_->indices_are_64_bits) {
      write_band_as<uint64_t>(all);
    } else {
      write_band_as<uint32_t>(all);
    }
    output_ += lines * job_->columns.count;
    if (indexed && output_ == plane_end_) next_plane();
  }

 private:
  // What the next outputs need, in variables of its own, as the compiler takes any store for one to a member.
  template <class Index>
  struct Place {
    Element* values;
    Index* indices;
    Index first;

    // A vector of outputs, the `i`-th from here on.
    ONNX_MAXPOOL_INLINE void write(const OutputOrder& order, int64_t i, const Cells<Lane, indexed>& best) const {
      const Bits bits = order.from_key(truncate_to<Element, Lane, kLanes>(best.key));
      store(values + i, bits);
      if constexpr (indexed) {
        Lane positions[kLanes];
        store(positions, best.position);
        for (int lane = 0; lane < kLanes; ++lane) indices[i + lane] = first + static_cast<Index>(positions[lane]);
      }
    }
    ONNX_MAXPOOL_INLINE void fetch(int64_t i) const {
      prefetch<Cache::second>(values, i);
      constexpr int kInLine = 64 / sizeof(Index);
      for (int lane = 0; indexed && lane < kLanes; lane += kInLine) prefetch<Cache::second>(indices, i + lane);
    }
  };
  template <class Index>
  ONNX_MAXPOOL_INLINE Place<Index> place() const {
    Place<Index> place = {static_cast<Element*>(job_->y) + output_, nullptr, static_cast<Index>(first_index_)};
    if (indexed) place.indices = static_cast<Index*>(job_->indices) + output_;
    return place;
  }

  template <class Index, class CellsAt>
  ONNX_MAXPOOL_INLINE void write_line_as(int64_t count, CellsAt cells_at) {
    const OutputOrder order = order_;
    const Place<Index> to = place<Index>();
    const int64_t fits = end_ - output_ - kLanes + 1, whole = count < fits ? count : fits;
    int64_t i = 0;
    for (; i < whole; i += kLanes) to.write(order, i, cells_at(i));
    for (; i < count; i += kLanes) {
      output_ += i;
      write_lanes(cells_at(i), count - i < kLanes ? count - i : kLanes);
      output_ -= i;
    }
    output_ += count;
    if (indexed && output_ == plane_end_) next_plane();
  }

  template <class Index, class WriteLine>
  ONNX_MAXPOOL_INLINE void write_line_by_as(int64_t count, const WriteLine& line) {
    const OutputOrder order = order_;
    const Place<Index> to = place<Index>();
    const int64_t last = end_ - output_ - kLanes;
    line([&](int64_t i, const Cells<Lane, indexed>& cells) __attribute__((always_inline)) {
      if (i <= last) return to.write(order, i, cells);
      output_ += i;
      write_lanes(cells, count - i < kLanes ? count - i : kLanes);
      output_ -= i;
    });
    output_ += count;
    if (indexed && output_ == plane_end_) next_plane();
  }

  template <class Index, class WriteAll>
  ONNX_MAXPOOL_INLINE void write_band_as(const WriteAll& all) const {
    struct Write {
      const WindowWriter* writer;
      OutputOrder order;
      Place<Index> to;
      int64_t last;
      ONNX_MAXPOOL_INLINE void operator()(int64_t i, const Cells<Lane, indexed>& cells) const {
        to.write(order, i, cells);
      }
      ONNX_MAXPOOL_INLINE void some(int64_t i, const Cells<Lane, indexed>& cells, int64_t wanted) const {
        if (i <= last) return to.write(order, i, cells);
        write_last(*writer, i, cells, wanted < kLanes ? wanted : kLanes);
      }
      ONNX_MAXPOOL_INLINE void fetch(int64_t i) const { to.fetch(i); }
    };
    all(Write{this, order_, place<Index>(), end_ - output_ - kLanes});
  }
  ONNX_MAXPOOL_RARE static void write_last(const WindowWriter& writer, int64_t i, Cells<Lane, indexed> cells,
                                           int64_t count) {
    WindowWriter there = writer;
    there.output_ += i;
    write_lanes(there, cells, count);
  }

  // Where the piece ends within the vector, or a plane does. By value, so that no writer has to lie in memory.
  ONNX_MAXPOOL_RARE static void write_lanes(WindowWriter writer, Cells<Lane, indexed> best, int64_t count) {
    const Bits values = writer.order_.from_key(truncate_to<Element, Lane, kLanes>(best.key));
    store_n(static_cast<Element*>(writer.job_->y) + writer.output_, values, count);
    if constexpr (indexed) {
      for (int64_t i = 0; i < count; ++i, ++writer.output_) {
        if (writer.output_ == writer.plane_end_) writer.next_plane();
        writer.write_index(best.position[i]);
      }
    }
  }
  void write_lanes(const Cells<Lane, indexed>& best, int64_t count) {
    write_lanes(*this, best, count);
    while (indexed && output_ + count > plane_end_) next_plane();
  }

  void write_index(Lane position) {
    const int64_t index = first_index_ + position;
    if (job_->indices_are_64_bits) {
      static_cast<int64_t*>(job_->indices)[output_] = index;
    } else {
      static_cast<uint32_t*>(job_->indices)[output_] = static_cast<uint32_t>(index);
    }
  }

  void next_plane() {
    first_index_ += job_->index_step;
    plane_end_ += per_plane_;
  }

  const PoolJob* job_;
  OutputOrder order_;
  int64_t output_;  // the next one's number
  int64_t end_, per_plane_;
  // Of the plane that the next output belongs to; all planes are one where indices count in each plane anew.
  int64_t plane_end_ = INT64_MAX, first_index_ = 0;
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
