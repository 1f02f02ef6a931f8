// Cells of as many planes as a vector has lanes, side by side: from the map, and their windows to the output.
#pragma once

#include "kernels/simd/transpose.h"
#include "kernels/window_line.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// What is known of each cell, in as many planes as there are lanes. Positions are a plane's.
template <class Lane, bool indexed>
struct PlaneCells {
  using V = Vector<Lane, kVectorBytes>;
  using Best = Cells<Lane, indexed>;
  V* keys;
  Positions<Lane>* positions;

  template <bool implicit>
  ONNX_MAXPOOL_INLINE Best at(int64_t i, int64_t position) const {
    if constexpr (!indexed) {
      return {keys[i]};
    } else if constexpr (implicit) {
      return {keys[i], Positions<Lane>{} + static_cast<Position<Lane>>(position + i)};
    } else {
      return {keys[i], positions[i]};
    }
  }
  ONNX_MAXPOOL_INLINE void set(int64_t i, const Best& best) const {
    keys[i] = best.key;
    if constexpr (indexed) positions[i] = best.position;
  }
};

// Planes from `first` on. Each of their cells is a vector, so that a map's are transposed on the way in, and its
// windows on the way out.
template <class Element, class Lane, bool indexed>
class PlanesLayout {
  static constexpr int kLanes = kVectorBytes / sizeof(Lane), kBlockLanes = 16 / sizeof(Lane);
  using V = Vector<Lane, kVectorBytes>;
  using Place = Position<Lane>;
  using Places = Positions<Lane>;
  using Block = Vector<Lane, 16>;
  using Bits = Vector<Element, kLanes * sizeof(Element)>;
  using Buffer = PlaneCells<Lane, indexed>;
  using Watch = typename CellReader<Element, Lane, indexed>::Watch;

 public:
  explicit PlanesLayout(const PoolJob& job)
      : job_(job), reader_(job), cells_per_plane_(cells_of_plane(job)), windows_per_plane_(windows_of_plane(job)) {}

  // So many cells as vectors of a cell in each plane. Lanes without a plane repeat the last one. A vector first has a
  // block of cells of every kBlockLanes-th plane; transposed in blocks, it has one cell of them all. Returns whether a
  // number was NaN.
  ONNX_MAXPOOL_NOINLINE bool pack(V* keys, int64_t first, int planes, int64_t first_cell, int64_t cells) const {
    const CellReader<Element, Lane, indexed> reader = reader_;
    const int64_t per_plane = cells_per_plane_;
    const Element* const x = static_cast<const Element*>(job_.x) + first * per_plane + first_cell;
    Watch watch;
    int64_t steps[kLanes];
    for (int i = 0; i < kLanes; ++i) steps[i] = (i < planes ? i : planes - 1) * per_plane;
    if (cells < kBlockLanes) {
      Element copies[kLanes][kBlockLanes] = {};
      for (int i = 0; i < kLanes; ++i) {
        for (int64_t cell = 0; cell < cells; ++cell) copies[i][cell] = x[steps[i] + cell];
      }
      pack_cells(keys, reader, watch, [&](int i) { return copies[i]; });
      return watch.any();
    }
    int64_t cell = 0;
    if constexpr (kHasSquares) {
      for (; cell + kLanes <= cells; cell += kLanes) pack_square(keys + cell, x + cell, steps, watch);
    }
    for (; cell < cells; cell += kBlockLanes) {
      const int64_t at = cell + kBlockLanes <= cells ? cell : cells - kBlockLanes;
      pack_cells(keys + at, reader, watch, [&](int i) { return x + steps[i] + at; });
    }
    return watch.any();
  }

  // Windows of each plane to the output, from this one of the plane on: the same way back.
  ONNX_MAXPOOL_NOINLINE void unpack(Buffer from, int64_t first, int planes, int64_t first_output,
                                    int64_t outputs) const {
    const int64_t per_plane = windows_per_plane_;
    if (per_plane == 1) return write_planes(from, first, planes);
    const int count = static_cast<int>(outputs < kBlockLanes ? outputs : kBlockLanes);
    int64_t output = 0;
    if constexpr (kHasSquares) {
      for (; output + kLanes <= outputs; output += kLanes) {
        unpack_square(from, output, planes, first, first_output + output);
      }
    }
    for (; output < outputs; output += kBlockLanes) {
      const int64_t at = output + count <= outputs ? output : outputs - count;
      unpack_windows(from, at, count, planes, first, first_output + at);
    }
  }

 private:
  // As many cells as planes are transposed by squares, which read and write whole lines of memory. Where planes lie a
  // multiple of a page apart, those lines are of one set of the first cache, which has no room for so many: of blocks,
  // each would be fetched more than once. Squares of narrow lanes would not fit the registers.
  static constexpr bool kHasSquares = sizeof(Element) == sizeof(Lane) && sizeof(Lane) >= 4 && kLanes > kBlockLanes;

  ONNX_MAXPOOL_INLINE void pack_square(V* keys, const Element* x, const int64_t (&steps)[kLanes], Watch& watch) const {
    V square[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) square[i] = reader_.order.to_key(load<V>(x + steps[i]));
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; i += 2) watch.see(square[i], square[i + 1]);
    transpose<Lane, kLanes>(square);
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) keys[i] = square[i];
  }

  ONNX_MAXPOOL_INLINE void unpack_square(Buffer from, int64_t at, int planes, int64_t first,
                                         int64_t first_output) const {
    const int64_t per_plane = windows_per_plane_, place = first * per_plane + first_output;
    V square[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) square[i] = from.keys[at + i];
    transpose<Lane, kLanes>(square);
    Element* const y = static_cast<Element*>(job_.y) + place;
    for (int plane = 0; plane < planes; ++plane) store(y + plane * per_plane, reader_.order.from_key(square[plane]));
    if constexpr (indexed) {
      Places places[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) places[i] = from.positions[at + i];
      transpose<Place, kLanes>(places);
      with_indices(job_, [&](auto* to) { write_indices(to + place, places, planes, first); });
    }
  }
  template <class Index>
  ONNX_MAXPOOL_INLINE void write_indices(Index* to, const Places* positions, int planes, int64_t first) const {
    for (int plane = 0; plane < planes; ++plane, to += windows_per_plane_) {
      write_positions(to, positions[plane], static_cast<Index>((first + plane) * job_.index_step));
    }
  }
  template <class Index>
  static ONNX_MAXPOOL_INLINE void write_positions(Index* to, Places positions, Index base) {
    Place lanes[kLanes];
    store(lanes, positions);
    for (int i = 0; i < kLanes; ++i) to[i] = base + static_cast<Index>(lanes[i]);
  }

  // As many cells of each plane as a block has lanes.
  template <class CellsOf>
  ONNX_MAXPOOL_INLINE static void pack_cells(V* keys, const CellReader<Element, Lane, indexed>& reader, Watch& watch,
                                             CellsOf cells_of) {
    V one[kBlockLanes], other[kBlockLanes];
    using Few = Vector<Element, kBlockLanes * sizeof(Element)>;
    constexpr int kBlocks = kLanes / kBlockLanes;
#pragma GCC unroll 16
    for (int i = 0; i < kBlockLanes; ++i) {
      Block blocks[kBlocks];
#pragma GCC unroll 4
      for (int block = 0; block < kBlocks; ++block) {
        const Few bits = load<Few>(cells_of(i + block * kBlockLanes));
        if constexpr (sizeof(Element) == sizeof(Lane)) {
          blocks[block] = bits;
        } else {
          blocks[block] = promote_to<Lane, Element, kBlockLanes>(reader.order.to_key(bits));
        }
      }
      one[i] = combine_blocks<V, Lane>(blocks);
      if constexpr (sizeof(Element) == sizeof(Lane)) one[i] = reader.order.to_key(one[i]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kBlockLanes; i += 2) watch.see(one[i], one[i + 1]);
    V *from = one, *to = other;
    transpose_in_blocks<Lane, kBlockLanes>(from, to);
#pragma GCC unroll 16
    for (int i = 0; i < kBlockLanes; ++i) keys[i] = from[i];
  }

  // As many windows as a block has lanes, or `count`.
  ONNX_MAXPOOL_INLINE void unpack_windows(Buffer from, int64_t at, int count, int planes, int64_t first,
                                          int64_t first_output) const {
    const int64_t per_plane = windows_per_plane_;
    const auto order = reader_.order;
    V one[kBlockLanes], other[kBlockLanes];
    V *keys = one, *spare = other;
#pragma GCC unroll 16
    for (int i = 0; i < kBlockLanes; ++i) keys[i] = from.keys[at + (i < count ? i : 0)];
    transpose_in_blocks<Lane, kBlockLanes>(keys, spare);
    Element* const y = static_cast<Element*>(job_.y) + first * per_plane + first_output;
    Bits values[kBlockLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kBlockLanes; ++i) values[i] = order.from_key(truncate_to<Element, Lane, kLanes>(keys[i]));
    write_blocks(y, per_plane, values, count, planes);
    if constexpr (indexed) {
      Places places[kBlockLanes], rest[kBlockLanes];
      Places *positions = places, *free = rest;
#pragma GCC unroll 16
      for (int i = 0; i < kBlockLanes; ++i) positions[i] = from.positions[at + (i < count ? i : 0)];
      transpose_in_blocks<Place, kBlockLanes>(positions, free);
      with_indices(job_, [&](auto* to) {
        write_indices(to + first * per_plane + first_output, positions, count, planes, first);
      });
    }
  }

  // Block b of vector i to plane b * kBlockLanes + i.
  ONNX_MAXPOOL_INLINE static void write_blocks(Element* y, int64_t per_plane, const Bits* values, int count,
                                               int planes) {
    constexpr int kBytes = kBlockLanes * sizeof(Element);
    Element lanes[kBlockLanes][kLanes];
    for (int i = 0; i < kBlockLanes; ++i) store(lanes[i], values[i]);
    if (count == kBlockLanes && planes == kLanes) {
#pragma GCC unroll 16
      for (int i = 0; i < kBlockLanes; ++i) {
        for (int block = 0; block < kLanes / kBlockLanes; ++block) {
          __builtin_memcpy(y + (block * kBlockLanes + i) * per_plane, lanes[i] + block * kBlockLanes, kBytes);
        }
      }
      return;
    }
    const auto block_of = [&](int plane) { return lanes[plane % kBlockLanes] + plane / kBlockLanes * kBlockLanes; };
    if (count == kBlockLanes) {
      for (int plane = 0; plane < planes; ++plane) __builtin_memcpy(y + plane * per_plane, block_of(plane), kBytes);
      return;
    }
    for (int plane = 0; plane < planes; ++plane) {
      for (int i = 0; i < count; ++i) y[plane * per_plane + i] = block_of(plane)[i];
    }
  }

  template <class Index>
  ONNX_MAXPOOL_INLINE void write_indices(Index* to, const Places* positions, int count, int planes,
                                         int64_t first) const {
    const int64_t per_plane = windows_per_plane_;
    Place lanes[kBlockLanes][kLanes];
    for (int i = 0; i < kBlockLanes; ++i) store(lanes[i], positions[i]);
    for (int plane = 0; plane < planes; ++plane) {
      const Place* const block = lanes[plane % kBlockLanes] + plane / kBlockLanes * kBlockLanes;
      const Index base = static_cast<Index>((first + plane) * job_.index_step);
      Index* const out = to + plane * per_plane;
      if (count == kBlockLanes) {
        for (int i = 0; i < kBlockLanes; ++i) out[i] = base + static_cast<Index>(block[i]);
      } else {
        for (int i = 0; i < count; ++i) out[i] = base + static_cast<Index>(block[i]);
      }
    }
  }

  // The only window of each plane: lanes are outputs.
  void write_planes(Buffer from, int64_t first, int planes) const {
    Element values[kLanes];
    store(values, reader_.order.from_key(truncate_to<Element, Lane, kLanes>(from.keys[0])));
    __builtin_memcpy(static_cast<Element*>(job_.y) + first, values, static_cast<size_t>(planes) * sizeof(Element));
    if constexpr (indexed) {
      Place positions[kLanes];
      store(positions, from.positions[0]);
      for (int i = 0; i < planes; ++i) {
        set_index(job_, first + i, (first + i) * job_.index_step + positions[i]);
      }
    }
  }

  const PoolJob& job_;
  const CellReader<Element, Lane, indexed> reader_;
  const int64_t cells_per_plane_, windows_per_plane_;
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
