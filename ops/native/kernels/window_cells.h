// What is known of as many cells as a vector has lanes, and how two such are combined. In the plans for windows, keys
// are integers of the elements' order (simd/order.h) or, of float and double, mostly the numbers themselves.
#pragma once

#include "kernels/simd/shuffle.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Of as many bits as a lane.
template <class Lane>
using Position = typename IntegerOf<sizeof(Lane)>::type;
template <class Lane>
using Positions = Vector<Position<Lane>, kVectorBytes>;

// For each lane the greatest key and, where indices are wanted, the first position in the plane that holds it.
template <class Lane, bool indexed>
struct Cells {
  using V = Vector<Lane, kVectorBytes>;
  V key;
};
template <class Lane>
struct Cells<Lane, true> {
  using V = Vector<Lane, kVectorBytes>;
  V key;
  Positions<Lane> position;
};

template <class Lane>
constexpr Lane kLowest = static_cast<Lane>(Lane{1} << (8 * sizeof(Lane) - 1));
template <>
constexpr float kLowest<float> = -__builtin_inff();
template <>
constexpr double kLowest<double> = -__builtin_inf();
template <class Lane>
constexpr Lane kGreatest = static_cast<Lane>(-1 - kLowest<Lane>);
template <>
constexpr float kGreatest<float> = __builtin_inff();
template <>
constexpr double kGreatest<double> = __builtin_inf();
template <class Lane>
constexpr Position<Lane> kNowhere = kGreatest<Position<Lane>>;  // behind every position

// Whether lanes are floating-point numbers, in place of integer keys.
template <class Lane>
constexpr bool kAreNumbers = false;
template <>
constexpr bool kAreNumbers<float> = true;
template <>
constexpr bool kAreNumbers<double> = true;
// And whether no positions go with them, so that a cell takes one register.
template <class Lane, bool indexed>
constexpr bool kAreOnlyNumbers = kAreNumbers<Lane> && !indexed;

// Cells in a row, of which the first has this position.
template <class Lane, bool indexed>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> cells_from(Vector<Lane, kVectorBytes> key, int64_t position) {
  if constexpr (indexed) {
    return {key, lane_numbers<Position<Lane>>() + static_cast<Position<Lane>>(position)};
  } else {
    return {key};
  }
}

// The same where rows are to be combined, which differ in where they begin: all cells have the position of the first,
// until along_row() adds the rest, once for all rows. Sums may wrap in narrow lanes; those of cells in the plane do
// not.
template <class Lane, bool indexed>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> cells_of_row(Vector<Lane, kVectorBytes> key, int64_t position) {
  if constexpr (indexed) {
    return {key, Positions<Lane>{} + static_cast<Position<Lane>>(position)};
  } else {
    return {key};
  }
}
template <class Lane, bool indexed>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> along_row(Cells<Lane, indexed> cells, int64_t first) {
  if constexpr (indexed) cells.position += lane_numbers<Position<Lane>>() + static_cast<Position<Lane>>(first);
  return cells;
}

// Cells that lose against every other.
template <class Lane, bool indexed>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> padding() {
  using V = Vector<Lane, kVectorBytes>;
  if constexpr (indexed) {
    return {V{} + kLowest<Lane>, Positions<Lane>{} + kNowhere<Lane>};
  } else {
    return {V{} + kLowest<Lane>};
  }
}

template <class Lane, bool indexed>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> first_lanes(Cells<Lane, indexed> cells, int64_t count) {
  using V = Vector<Lane, kVectorBytes>;
  const V number = lane_numbers<Lane>(), limit = V{} + static_cast<Lane>(count);
  cells.key = number < limit ? cells.key : V{} + kLowest<Lane>;
  if constexpr (indexed) cells.position = number < limit ? cells.position : Positions<Lane>{} + kNowhere<Lane>;
  return cells;
}

// Lanes from `begin` to `end`, which may lie beyond them on either side.
template <class Lane, bool indexed>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> lanes_within(Cells<Lane, indexed> cells, int64_t begin, int64_t end) {
  using V = Vector<Lane, kVectorBytes>;
  constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  begin = begin < 0 ? 0 : begin > kLanes ? kLanes : begin;
  end = end < 0 ? 0 : end > kLanes ? kLanes : end;
  const V number = lane_numbers<Lane>();
  const auto within = (number >= V{} + static_cast<Lane>(begin)) & (number < V{} + static_cast<Lane>(end));
  cells.key = within ? cells.key : V{} + kLowest<Lane>;
  if constexpr (indexed) cells.position = within ? cells.position : Positions<Lane>{} + kNowhere<Lane>;
  return cells;
}

// The better of what is known before and of cells whose positions are all greater.
template <class Lane, bool indexed>
ONNX_MAXPOOL_INLINE void follow(Cells<Lane, indexed>& best, const Cells<Lane, indexed>& next) {
  if constexpr (indexed) best.position = next.key > best.key ? next.position : best.position;
  best.key = max(best.key, next.key);
}

template <int count, class Lane, bool indexed>
ONNX_MAXPOOL_INLINE void follow_all(Cells<Lane, indexed>* best, const Cells<Lane, indexed>* next) {
#pragma GCC unroll 8
  for (int i = 0; i < count; ++i) follow(best[i], next[i]);
}
// The best of at(0), at(apart), ... at(last), later ones behind. `taps` is how many; 0 where they have no code of their
// own.
template <int taps, class At>
ONNX_MAXPOOL_INLINE auto best_of_taps(const At& at, int64_t apart, int64_t last) {
  auto best = at(0);
  if constexpr (taps > 2) follow(best, at(apart));
  if constexpr (taps > 3) follow(best, at(2 * apart));
  if constexpr (taps > 4) follow(best, at(3 * apart));
  if constexpr (taps == 0) {
    for (int64_t tap = apart; tap < last; tap += apart) follow(best, at(tap));
  }
  if constexpr (taps != 1) follow(best, at(last));
  return best;
}

template <int count, class Lane, bool indexed>
ONNX_MAXPOOL_INLINE void copy_all(const Cells<Lane, indexed>* from, Cells<Lane, indexed>* to) {
#pragma GCC unroll 8
  for (int i = 0; i < count; ++i) to[i] = from[i];
}

// Cells whose keys are what `move` makes of keys, and whose positions are what it makes of positions, so that both move
// to the same lanes.
template <class Move, class Lane, bool indexed, class... Others>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> moved(const Move& move, const Cells<Lane, indexed>& cells,
                                               const Others&... others) {
  if constexpr (indexed) {
    return {move(cells.key, others.key...), move(cells.position, others.position...)};
  } else {
    return {move(cells.key, others.key...)};
  }
}

// The better of cells in any order.
template <class Lane, bool indexed>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> either(const Cells<Lane, indexed>& a, const Cells<Lane, indexed>& b) {
  if constexpr (indexed && sizeof(Lane) < 4) {
    // Without a minimum that depends on a mask: of 16 bits, GCC 12 has none of lanes in memory, and stops.
    const Positions<Lane> nowhere = Positions<Lane>{} + kNowhere<Lane>;
    const auto key = max(a.key, b.key);
    return {key, min(a.key == key ? a.position : nowhere, b.key == key ? b.position : nowhere)};
  } else {
    Cells<Lane, indexed> best = a;
    follow(best, b);
    if constexpr (indexed) best.position = a.key == b.key ? min(a.position, b.position) : best.position;
    return best;
  }
}

// The better of what is known before and of cells that are known to follow (`are_ordered`), or may not.
template <int count, class Lane, bool indexed>
ONNX_MAXPOOL_INLINE void join_all(Cells<Lane, indexed>* best, const Cells<Lane, indexed>* next, bool are_ordered) {
  if (!indexed || are_ordered) return follow_all<count>(best, next);
#pragma GCC unroll 8
  for (int i = 0; i < count; ++i) best[i] = either(best[i], next[i]);
}

// Of two vectors of windows the better halves: half as many lanes of both. Blocks of two windows lie in turn, of `a`
// and of `b`, as long as a window has a whole block; then lanes do, in each block.
template <bool blocks, class Lane, bool indexed>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> either_half(const Cells<Lane, indexed>& a, const Cells<Lane, indexed>& b) {
  const auto lower = [](auto x, auto y) ONNX_MAXPOOL_INLINED {
    return blocks ? interleave_lower_blocks(x, y) : interleave_lower<Lane>(x, y);
  };
  const auto upper = [](auto x, auto y) ONNX_MAXPOOL_INLINED {
    return blocks ? interleave_upper_blocks(x, y) : interleave_upper<Lane>(x, y);
  };
  return either(moved(lower, a, b), moved(upper, a, b));
}

// Has a watch see so many vectors of cells, each pair at once.
template <int count, class Lane, bool indexed, class Watch>
ONNX_MAXPOOL_INLINE void see_all(const Cells<Lane, indexed>* cells, Watch& watch) {
#pragma GCC unroll 4
  for (int i = 0; i < count; i += 2) watch.see(cells[i].key, cells[i + 1 < count ? i + 1 : i].key);
}

// The best over so many rows, earlier ones first, each pair of which a watch sees at once.
template <int count, class Lane, bool indexed, class Watch, class Row>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> best_of(Watch& watch, const Row& row) {
  Cells<Lane, indexed> best = row(0), last = best;
#pragma GCC unroll 4
  for (int i = 1; i < count; ++i) {
    const Cells<Lane, indexed> next = row(i);
    if (i % 2 == 1) watch.see(last.key, next.key);
    follow(best, next);
    last = next;
  }
  if (count % 2 == 1) watch.see(last.key);
  return best;
}

// Lane i is that of `cells` and then `next` which is `n` further.
template <int n, class Lane, bool indexed>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> slid_down(const Cells<Lane, indexed>& cells,
                                                   const Cells<Lane, indexed>& next) {
  return moved([](auto v, auto after) ONNX_MAXPOOL_INLINED { return slide_down_lanes<Lane, n>(v, after); }, cells,
               next);
}

// Lane i is the one before that of `cells`; the first is the last of `before`.
template <class Lane, bool indexed>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> slid_up(const Cells<Lane, indexed>& before,
                                                 const Cells<Lane, indexed>& cells) {
  return moved([](auto v, auto after) ONNX_MAXPOOL_INLINED { return slide_up_lane<Lane>(v, after); }, before, cells);
}

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
