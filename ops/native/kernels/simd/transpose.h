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

// Gathers the blocks of `count` vectors, of which each `group` follow one another: the first block of each group's
// first vector, and so on, which makes the first vector of a group. In rounds, each of which puts pairs of vectors'
// even blocks before their odd ones. Uses both places, and leaves the result in `from`.
template <int count, int group, class V>
inline void gather_blocks(V*& from, V*& to) {
  constexpr int kGroups = count / group, kBlocks = sizeof(V) / 16;
#pragma GCC unroll 4
  for (int n = 1; n < kBlocks; n *= 2) {
#pragma GCC unroll 32
    for (int i = 0; i < count / 2; ++i) {
      const int g = i / group, at = i % group;
      const V a = from[2 * g * group + at], b = from[(2 * g + 1) * group + at];
      to[g * group + at] = concat_even_blocks(a, b);
      to[(g + kGroups / 2) * group + at] = concat_odd_blocks(a, b);
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
  V other[lanes];
  V *from = v, *to = other;
  transpose_in_blocks<Key, lanes>(from, to);
  // Vector i of a group has in its block l the keys for column l * group + i: those of the groups belong together.
  gather_blocks<lanes, 16 / static_cast<int>(sizeof(Key))>(from, to);
  if (from != v)
    for (int i = 0; i < lanes; ++i) v[i] = from[i];
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
