// Squares of keys transposed in registers.
//
//   a0 a1 a2 a3                       a0 b0 c0 d0
//   b0 b1 b2 b3    log2(4) rounds     a1 b1 c1 d1
//   c0 c1 c2 c3   of interleaving     a2 b2 c2 d2
//   d0 d1 d2 d3                       a3 b3 c3 d3
#pragma once

#include "kernels/simd/shuffle.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {

// Of squares of keys as large as a block, one below the other in `count` vectors, every block is transposed: in rounds,
// each of which interleaves a square's halves. Uses both places, and leaves the result in `from`.
template <class Key, int count, class V>
inline void transpose_in_blocks(V*& from, V*& to) {
  constexpr int kGroup = 16 / sizeof(Key);
#pragma GCC unroll 4
  for (int n = 1; n < kGroup; n *= 2) {
#pragma GCC unroll 32
    for (int i = 0; i < count / 2; ++i) {
      const int first = i / (kGroup / 2) * kGroup, at = i % (kGroup / 2);
      const V a = from[first + at], b = from[first + at + kGroup / 2];
      to[first + 2 * at] = interleave_lower<Key>(a, b);
      to[first + 2 * at + 1] = interleave_upper<Key>(a, b);
    }
    V* swap = from;
    from = to;
    to = swap;
  }
}

// Transposes a square of vectors in place: lane j of vector i changes places with lane i of vector j. First in
// blocks, then the blocks.
template <class Key, int lanes>
inline void transpose(Vector<Key, lanes * sizeof(Key)>* v) {
  using V = Vector<Key, lanes * sizeof(Key)>;
  constexpr int kGroup = 16 / sizeof(Key), kGroups = lanes / kGroup;
  V other[lanes];
  V *from = v, *to = other;
  transpose_in_blocks<Key, lanes>(from, to);
  // Vector i of group g has in its block l the keys for column l * kGroup + i: those of the groups belong together.
#pragma GCC unroll 4
  for (int n = 1; n < kGroups; n *= 2) {
#pragma GCC unroll 32
    for (int i = 0; i < lanes / 2; ++i) {
      const int g = i / kGroup, at = i % kGroup;
      const V a = from[2 * g * kGroup + at], b = from[(2 * g + 1) * kGroup + at];
      to[g * kGroup + at] = concat_even_blocks(a, b);
      to[(g + kGroups / 2) * kGroup + at] = concat_odd_blocks(a, b);
    }
    V* swap = from;
    from = to;
    to = swap;
  }
  if (from != v)
    for (int i = 0; i < lanes; ++i) v[i] = from[i];
}

// The blocks of four vectors, block by block: the first of each, then the second of each, and so on.
template <class V>
inline void gather_blocks(V (&v)[4]) {
  if constexpr (sizeof(V) == 16) return;
  const V even[] = {concat_even_blocks(v[0], v[1]), concat_even_blocks(v[2], v[3])},
          odd[] = {concat_odd_blocks(v[0], v[1]), concat_odd_blocks(v[2], v[3])};
  if constexpr (sizeof(V) == 32) {
    v[0] = even[0];
    v[1] = even[1];
    v[2] = odd[0];
    v[3] = odd[1];
  } else {
    v[0] = concat_even_blocks(even[0], even[1]);
    v[1] = concat_even_blocks(odd[0], odd[1]);
    v[2] = concat_odd_blocks(even[0], even[1]);
    v[3] = concat_odd_blocks(odd[0], odd[1]);
  }
}

// Transposes half a square of 16-bit keys: as many vectors as half of their lanes, in place. The lower half of vector i
// is then lane `half_lane(i)` of all the vectors, and its upper half the lane that lies kHalfApart further on.
template <int lanes>
inline void transpose_half(Vector<int16_t, 2 * lanes>* v) {
  using V = Vector<int16_t, 2 * lanes>;
  constexpr int kVectors = lanes / 2, kGroup = 4;
  V other[kVectors];
  V *from = other, *to = v;
  // Pairs of keys as keys of twice the width.
#pragma GCC unroll 16
  for (int i = 0; i < kVectors / 2; ++i) {
    from[i] = interleave_lower<int16_t>(v[2 * i], v[2 * i + 1]);
    from[kVectors / 2 + i] = interleave_upper<int16_t>(v[2 * i], v[2 * i + 1]);
  }
  transpose_in_blocks<int32_t, kVectors>(from, to);
  if constexpr (kVectors > 2 * kGroup) {
#pragma GCC unroll 16
    for (int i = 0; i < kVectors / 2; ++i) {
      const int first = i / kGroup * 2 * kGroup + i % kGroup;
      const V a = from[first], b = from[first + kGroup];
      to[first] = interleave_lower_blocks(a, b);
      to[first + kGroup] = interleave_upper_blocks(a, b);
    }
    from = to;
  }
  if (from != v)
    for (int i = 0; i < kVectors; ++i) v[i] = from[i];
}
constexpr int kHalfApart = 8;
template <int lanes>
constexpr int half_lane(int i) {
  return i % 4 + i / (lanes / 4) * 4 + i / 4 % (lanes / 16) * 16;
}

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
