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
        per_plane_(windows_of_plane(job)) {
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
    } else {
      place().write(0, best);
    }
    add_outputs(count);
  }

  // The next `count` outputs, all of one plane: `cells_at(i)` has those from the i-th on, for each vector in turn.
  template <class CellsAt>
  ONNX_MAXPOOL_INLINE void write_line(int64_t count, CellsAt cells_at) {
    const Place to = place();
    const int64_t last = end_ - output_ - kLanes;
    for (int64_t i = 0; i < count; i += kLanes) {
      const auto cells = cells_at(i);
      if (i > last) {  // the unit's last vector
        write_last(i, cells, count - i);
        break;
      }
      to.write(i, cells);
    }
    add_outputs(count);
  }

  // The same, where `line(write)` calls write(i, cells) for each vector itself.
  template <class WriteLine>
  ONNX_MAXPOOL_INLINE void write_line_by(int64_t count, const WriteLine& line) {
    const Place to = place();
    const int64_t last = end_ - output_ - kLanes;
    line([&](int64_t i, const Cells<Lane, indexed>& cells) ONNX_MAXPOOL_INLINED {
      if (i <= last) return to.write(i, cells);
      write_last(i, cells, count - i);
    });
    add_outputs(count);
  }

  // The outputs of so many lines, all of one plane, which `all(write)` writes: write(i, cells) a vector, the i-th and
  // on, for i up to write.last; write.some(i, cells, wanted) the same, or as many as are wanted, for any i. Lanes
  // beyond are overwritten later. write.fetch(i) has outputs brought into the second cache; they may be anyone's.
  //
  // Or of no line: then write.planes(i, cells, lanes, wanted, planes) writes outputs of planes that are still to come.
  // A vector has `lanes` lanes of each, the first ones of which are wanted, from the plane's i-th output on.
  template <class WriteAll>
  ONNX_MAXPOOL_INLINE void write_band(int64_t lines, const WriteAll& all) {
    all(BandWrite{place(), this, end_ - output_ - kLanes});
    add_outputs(lines * job_->columns.count);
  }

 private:
  // What the next outputs need, in variables of its own, as the compiler takes any store for one to a member.
  struct Place {
    OutputOrder order;
    Element* values;
    void* indices;
    int64_t first_index;
    bool indices_are_64_bits;

    // A vector of outputs, the `i`-th from here on.
    ONNX_MAXPOOL_INLINE void write(int64_t i, const Cells<Lane, indexed>& best) const {
      const Bits bits = order.from_key(truncate_to<Element, Lane, kLanes>(best.key));
      store(values + i, bits);
      if constexpr (indexed) {
        Position<Lane> positions[kLanes];
        store(positions, best.position);
        // Asked for each vector: two templates would have all that pools inlined twice.
        if (indices_are_64_bits) {
          write_indices(static_cast<uint64_t*>(indices) + i, positions);
        } else {
          write_indices(static_cast<uint32_t*>(indices) + i, positions);
        }
      }
    }
    template <class Index>
    ONNX_MAXPOOL_INLINE void write_indices(Index* to, const Position<Lane>* positions) const {
      const auto first = static_cast<Index>(first_index);
      for (int lane = 0; lane < kLanes; ++lane) to[lane] = first + static_cast<Index>(positions[lane]);
    }
    ONNX_MAXPOOL_INLINE void fetch(int64_t i) const {
      prefetch<Cache::second>(values, i);
      if constexpr (indexed) {
        const int64_t bytes = indices_are_64_bits ? 8 : 4;
        for (int64_t at = 0; at < kLanes * bytes; at += 64) {
          prefetch<Cache::second>(static_cast<char*>(indices), i * bytes + at);
        }
      }
    }
  };
  ONNX_MAXPOOL_INLINE Place place() const {
    Place to = {order_, static_cast<Element*>(job_->y) + output_, nullptr, first_index_, job_->indices_are_64_bits};
    if (indexed) to.indices = static_cast<char*>(job_->indices) + output_ * (to.indices_are_64_bits ? 8 : 4);
    return to;
  }

  struct BandWrite {
    Place to;
    const WindowWriter* writer;
    int64_t last;

    ONNX_MAXPOOL_INLINE void operator()(int64_t i, const Cells<Lane, indexed>& cells) const { to.write(i, cells); }
    ONNX_MAXPOOL_INLINE void some(int64_t i, const Cells<Lane, indexed>& cells, int64_t wanted) const {
      if (i <= last) return to.write(i, cells);
      write_last_rarely(*writer, i, cells, wanted);
    }
    ONNX_MAXPOOL_INLINE void planes(int64_t i, const Cells<Lane, indexed>& cells, int64_t lanes, int64_t wanted,
                                    int64_t planes) const {
      lanes == kLanes / 4 ? write_planes<kLanes / 4>(i, cells, wanted, planes)
                          : write_planes<kLanes / 2>(i, cells, wanted, planes);
    }
    ONNX_MAXPOOL_INLINE void fetch(int64_t i) const { to.fetch(i); }

   private:
    template <int lanes>
    ONNX_MAXPOOL_INLINE void write_planes(int64_t i, const Cells<Lane, indexed>& cells, int64_t wanted,
                                          int64_t planes) const {
      const int64_t per_plane = writer->per_plane_;
      if (__builtin_expect(planes < kLanes / lanes || i + (planes - 1) * per_plane > last + kLanes - lanes, 0)) {
        return write_planes_rarely<lanes>(*this, i, cells, wanted, planes);
      }
      Element values[kLanes];
      store(values, to.order.from_key(truncate_to<Element, Lane, kLanes>(cells.key)));
#pragma GCC unroll 4
      for (int plane = 0; plane < kLanes / lanes; ++plane) {
        store(to.values + i + plane * per_plane,
              load<Vector<Element, lanes * sizeof(Element)>>(values + plane * lanes));
      }
      if constexpr (indexed) {
        if (to.indices_are_64_bits) {
          write_indices<lanes>(static_cast<int64_t*>(to.indices) + i, cells.position);
        } else {
          write_indices<lanes>(static_cast<int32_t*>(to.indices) + i, cells.position);
        }
      }
    }
    template <int lanes, class Index, class V>
    ONNX_MAXPOOL_INLINE void write_indices(Index* indices, V places) const {
      const int64_t per_plane = writer->per_plane_, index_step = writer->job_->index_step;
      Position<Lane> positions[kLanes];
      store(positions, places);
#pragma GCC unroll 4
      for (int plane = 0; plane < kLanes / lanes; ++plane) {
        const auto of_plane = load<Vector<Position<Lane>, lanes * sizeof(Lane)>>(positions + plane * lanes);
        const auto first = static_cast<Index>(to.first_index + plane * index_step);
        if constexpr (sizeof(Index) > sizeof(Lane)) {
          store(indices + plane * per_plane, promote_to<Index, Position<Lane>, lanes>(of_plane) + first);
        } else {
          store(indices + plane * per_plane, truncate_to<Index, Position<Lane>, lanes>(of_plane) + first);
        }
      }
    }
    // Only what is wanted, of the last planes.
    template <int lanes>
    ONNX_MAXPOOL_RARE static void write_planes_rarely(const BandWrite write, int64_t i, Cells<Lane, indexed> cells,
                                                      int64_t wanted, int64_t planes) {
      WindowWriter there = *write.writer;
      const auto values = there.order_.from_key(truncate_to<Element, Lane, kLanes>(cells.key));
      there.output_ += i;
      for (int64_t plane = 0; plane < planes; ++plane, there.output_ += there.per_plane_ - wanted) {
        for (int64_t lane = plane * lanes; lane < plane * lanes + wanted; ++lane, ++there.output_) {
          static_cast<Element*>(there.job_->y)[there.output_] = values[lane];
          if constexpr (indexed) there.write_index(cells.position[lane]);
        }
        there.first_index_ += there.job_->index_step;
      }
    }
  };

  ONNX_MAXPOOL_INLINE void add_outputs(int64_t count) {
    output_ += count;
    if (indexed && output_ == plane_end_) next_plane();
  }

  // Of a vector, the `i`-th output and on, as many as are wanted.
  ONNX_MAXPOOL_INLINE void write_last(int64_t i, const Cells<Lane, indexed>& cells, int64_t wanted) const {
    WindowWriter there = *this;
    there.output_ += i;
    write_lanes(there, cells, wanted < kLanes ? wanted : kLanes);
  }
  // The same out of line, for walks, whose writer lies in memory anyway.
  ONNX_MAXPOOL_RARE static void write_last_rarely(const WindowWriter& writer, int64_t i, Cells<Lane, indexed> cells,
                                                  int64_t wanted) {
    writer.write_last(i, cells, wanted);
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

  void write_index(Position<Lane> position) { set_index(*job_, output_, first_index_ + position); }

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
