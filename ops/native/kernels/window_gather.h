// Windows of any size and place: each is folded to a vector, whose lanes have still to be combined; when there is a
// window for every lane, interleaving their vectors combines them all at once.
//
//   windows     A: a0 a1 a2 a3    round 1:  A and C   ac ac ac ac     round 2:  abcd
//               B: b0 b1 b2 b3              B and D   bd bd bd bd
//               C: c0 c1 c2 c3
//               D: d0 d1 d2 d3              half as many vectors, with twice as many windows each
#pragma once

#include "kernels/window_line.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Lane, bool indexed>
class Gather {
  static constexpr int kLanes = kVectorBytes / sizeof(Lane);
  using Vectors = Cells<Lane, indexed>;

 public:
  // Calls write(cells, count) when there is a window for every lane.
  template <class Write>
  ONNX_MAXPOOL_INLINE void add(const Vectors& window, Write write) {
    waiting_[count_++] = window;
    if (count_ == kLanes) write_all(write);
  }

  // The same for the windows that still wait.
  template <class Write>
  ONNX_MAXPOOL_INLINE void finish(Write write) {
    if (count_ > 0) write_rest(write);
  }

 private:
  template <class Write>
  ONNX_MAXPOOL_INLINE void write_all(Write write) {
#pragma GCC unroll 6
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) combine(i, half);
    }
    write(waiting_[0], kLanes);
    count_ = 0;
  }

  template <class Write>
  ONNX_MAXPOOL_RARE void write_rest(Write write) {
    int left = count_;
#pragma GCC unroll 6
    for (int half = kLanes / 2; half > 0; half /= 2) {
      const int both = left < half ? left : half;
      for (int i = 0; i < both; ++i) {
        if (i + half >= left) waiting_[i + half] = padding<Lane, indexed>();
        combine(i, half);
      }
      left = both;
    }
    write(waiting_[0], count_);
    count_ = 0;
  }

  // Halves the number of vectors while doubling the number of windows in each, to the windows' order at the end.
  ONNX_MAXPOOL_INLINE void combine(int i, int half) {
    constexpr int kPerBlock = 16 / sizeof(Lane);
    waiting_[i] = half >= kPerBlock ? either_half<true>(waiting_[i], waiting_[i + half])
                                    : either_half<false>(waiting_[i], waiting_[i + half]);
  }

  Vectors waiting_[kLanes];
  int count_ = 0;
};

// A window of a line: whole vectors, the last of which reaches back over cells that it has already, or the first lanes
// of one.
template <class Lane, bool indexed>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> fold(const Line<Lane, indexed> line, Window window) {
  constexpr int kLanes = kVectorBytes / sizeof(Lane);
  Cells<Lane, indexed> best = line.at(window.start);
  const int64_t last = window.end - kLanes;
  if (last < window.start) return first_lanes(best, window.end - window.start);
  for (int64_t x = window.start + kLanes; x < last; x += kLanes) best = either(best, line.at(x));
  return either(best, line.at(last));
}

// The same of a row of the map, whose first cell has position `offset`.
template <class Element, class Lane, bool indexed>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> fold(const CellReader<Element, Lane, indexed>& reader, const Element* row,
                                              int64_t offset, Window window,
                                              typename CellReader<Element, Lane, indexed>::Watch& watch) {
  constexpr int kLanes = kVectorBytes / sizeof(Lane), kAtOnce = 4;
  constexpr int kVectorOfElements = kLanes * sizeof(Element), kCacheLine = 64;
  const int64_t last = window.end - kLanes;
  if (last < window.start) {
    const auto key = reader.keys_at_end(row + window.start);
    watch.see(key);
    return first_lanes(cells_from<Lane, indexed>(key, offset + window.start), window.end - window.start);
  }
  const auto cells_at = [&](int64_t x) { return cells_from<Lane, indexed>(reader.keys_at(row + x), offset + x); };
  prefetch_next_page(row + window.start);
  Cells<Lane, indexed> best = cells_at(window.start);
  int64_t x = window.start + kLanes;
  // Long windows by several vectors at once, so that none waits for the one before.
  if (!indexed && x + kAtOnce * kLanes <= last) {
    Cells<Lane, indexed> bests[kAtOnce] = {best, cells_at(x), cells_at(x + kLanes), cells_at(x + 2 * kLanes)};
    see_all<kAtOnce>(bests, watch);
    for (x += (kAtOnce - 1) * kLanes; x + kAtOnce * kLanes <= last; x += kAtOnce * kLanes) {
      Cells<Lane, indexed> next[kAtOnce];
#pragma GCC unroll 4
      for (int i = 0; i < kAtOnce; ++i) {
        if (i * kVectorOfElements % kCacheLine == 0) prefetch_next_page(row + x + i * kLanes);
        next[i] = cells_at(x + i * kLanes);
      }
      see_all<kAtOnce>(next, watch);
#pragma GCC unroll 4
      for (int i = 0; i < kAtOnce; ++i) follow(bests[i], next[i]);
    }
    best = either(either(bests[0], bests[1]), either(bests[2], bests[3]));
  } else {
    watch.see(best.key);
  }
  Cells<Lane, indexed> next = cells_from<Lane, indexed>(Vector<Lane, kVectorBytes>{}, offset + x);
  for (; x < last; x += kLanes) {
    prefetch_next_page(row + x);
    next.key = reader.keys_at(row + x);
    watch.see(next.key);
    follow(best, next);
    if constexpr (indexed) next.position += static_cast<Position<Lane>>(kLanes);
  }
  next = cells_at(last);
  watch.see(next.key);
  follow(best, next);
  return best;
}

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
