// Every n-th of the cells of `n` vectors, or the best of each n of them: of windows that start several columns apart.
#pragma once

#include "kernels/window_cells.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Every other lane of two vectors. With vectors of two blocks `in_order` has still to follow, as there are instructions
// for lanes within blocks and for whole blocks, but none for both.
template <int odd, class Lane, bool indexed>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> every_other_lane(const Cells<Lane, indexed>& a,
                                                          const Cells<Lane, indexed>& b) {
  const auto lanes = [](auto x, auto y) ONNX_MAXPOOL_INLINED {
    if constexpr (kVectorBytes == 32) return odd ? concat_odd_in_blocks<Lane>(x, y) : concat_even_in_blocks<Lane>(x, y);
    return odd ? concat_odd<Lane>(x, y) : concat_even<Lane>(x, y);
  };
  return moved(lanes, a, b);
}
template <class Lane, bool indexed>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> in_order(Cells<Lane, indexed> cells) {
  if constexpr (kVectorBytes == 32) return moved([](auto v) ONNX_MAXPOOL_INLINED { return concat_words(v); }, cells);
  return cells;
}

// Every n-th lane of `n` vectors, from lane `phase` on, for an odd `n`.
template <int n, int phase, class Lane, bool indexed>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> odd_lanes(const Cells<Lane, indexed>* all) {
  const auto lanes = [&](auto part_of) ONNX_MAXPOOL_INLINED {
    decltype(part_of(all[0])) vectors[n];
#pragma GCC unroll 8
    for (int v = 0; v < n; ++v) vectors[v] = part_of(all[v]);
    return order_apart<Lane, n, phase>(blend_apart<Lane, n, phase>(vectors));
  };
  Cells<Lane, indexed> cells;
  cells.key = lanes([](const auto& each) ONNX_MAXPOOL_INLINED { return each.key; });
  if constexpr (indexed) cells.position = lanes([](const auto& each) ONNX_MAXPOOL_INLINED { return each.position; });
  return cells;
}
// The best of the first `count` lanes of each `n`.
template <int n, int count, class Lane, bool indexed>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> best_odd_lanes(const Cells<Lane, indexed>* all) {
  const Cells<Lane, indexed> last = odd_lanes<n, count - 1>(all);
  if constexpr (count > 1) return either(best_odd_lanes<n, count - 1>(all), last);
  return last;
}

enum class Of { first, best };

// Of each two neighbouring lanes. `in_order` has still to follow.
template <Of wanted, class Lane, bool indexed>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> of_each_two(const Cells<Lane, indexed>& a, const Cells<Lane, indexed>& b) {
  if constexpr (wanted == Of::first) return every_other_lane<0>(a, b);
  return either(every_other_lane<0>(a, b), every_other_lane<1>(a, b));
}

// Of each four lanes of four vectors.
template <Of wanted, class Lane, bool indexed>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> of_each_four(const Cells<Lane, indexed>* all) {
  const auto ab = of_each_two<wanted>(all[0], all[1]), cd = of_each_two<wanted>(all[2], all[3]);
  if constexpr (sizeof(Lane) == 8) {
    // A block of two lanes has one of either vector, which are no neighbours.
    return in_order(of_each_two<wanted>(in_order(ab), in_order(cd)));
  } else {
    const Cells<Lane, indexed> cells = of_each_two<wanted>(ab, cd);
    if constexpr (kVectorBytes == 32) {
      return moved([](auto v) ONNX_MAXPOOL_INLINED { return order_fourths<Lane>(v); }, cells);
    }
    return cells;
  }
}

// Of each `n` lanes of `n` vectors: lane i is the first of lanes n*i to n*i + n - 1, or the best of them.
template <Of wanted, int n, class Lane, bool indexed>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> of_each(const Cells<Lane, indexed>* all) {
  if constexpr (n == 1) {
    return all[0];
  } else if constexpr (n == 4) {
    return of_each_four<wanted>(all);
  } else if constexpr (n % 2 == 0) {
    Cells<Lane, indexed> half[n / 2];
#pragma GCC unroll 4
    for (int v = 0; v < n / 2; ++v) half[v] = in_order(of_each_two<wanted>(all[2 * v], all[2 * v + 1]));
    return of_each<wanted, n / 2>(half);
  } else {
    return best_odd_lanes<n, wanted == Of::first ? 1 : n>(all);
  }
}

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
