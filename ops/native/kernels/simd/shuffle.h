// Lanes of two vectors in other places.
#pragma once

#include "kernels/simd/vector.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {

// Sequence<0, 1, ..., count - 1>, to write a shuffle's lane numbers as an expression.
template <int... numbers>
struct Sequence {};
template <int count, int... numbers>
struct MakeSequence : MakeSequence<count - 1, count - 1, numbers...> {};
template <int... numbers>
struct MakeSequence<0, numbers...> {
  using type = Sequence<numbers...>;
};

// Vectors of the lanes of `a` and then `b`, of which the result has those with these numbers: as many as `Result` has,
// which may be half as many as `a`, or twice. GCC 10 and 11 have only a builtin that keeps their number.
#if __has_builtin(__builtin_shufflevector)
template <class Result, class V, int... i>
ONNX_MAXPOOL_INLINE Result picked_lanes(V a, V b, Sequence<i...>) {
  return reinterpret_cast<Result>(__builtin_shufflevector(a, b, i...));
}
#else
template <class Result, class V, int... i>
ONNX_MAXPOOL_INLINE Result picked_lanes(V a, V b, Sequence<i...>) {
  constexpr int kLane = sizeof(Result) / sizeof...(i);
  if constexpr (sizeof(Result) == sizeof(V)) {
    using Place = typename IntegerOf<kLane>::type;
    return reinterpret_cast<Result>(__builtin_shuffle(a, b, Vector<Place, sizeof(V)>{static_cast<Place>(i)...}));
  } else {
    // Neighbours, as blocks and halves are.
    constexpr int kFirst[] = {i...};
    const V both[] = {a, b};
    Result result;
    __builtin_memcpy(&result, reinterpret_cast<const char*>(both) + kFirst[0] * kLane, sizeof(Result));
    return result;
  }
}
#endif

// Lane i of the result is the `of(i)`-th of the lanes of `a` and then `b`.
template <class Key, class Of, class V, int... i>
inline auto shuffled(V a, V b, Sequence<i...>) {
  using Keys = Vector<Key, sizeof(V)>;
  return picked_lanes<Keys>(reinterpret_cast<Keys>(a), reinterpret_cast<Keys>(b), Sequence<Of::of(i)...>{});
}
template <class Key, class Of, class V>
inline V shuffled(V a, V b) {
  return reinterpret_cast<V>(shuffled<Key, Of>(a, b, typename MakeSequence<sizeof(V) / sizeof(Key)>::type{}));
}

// Of each pair of blocks their lower halves in turn, a0 b0 a1 b1 ..., or the upper ones: one cheap instruction.
template <int lanes, int per_block, int upper>
struct InterleavedInBlocks {
  static constexpr int of(int i) {
    return i / per_block * per_block + upper * per_block / 2 + i % per_block / 2 + i % 2 * lanes;
  }
};
template <class Key, class V>
inline V interleave_lower(V a, V b) {
  return shuffled<Key, InterleavedInBlocks<sizeof(V) / sizeof(Key), 16 / sizeof(Key), 0>>(a, b);
}
template <class Key, class V>
inline V interleave_upper(V a, V b) {
  return shuffled<Key, InterleavedInBlocks<sizeof(V) / sizeof(Key), 16 / sizeof(Key), 1>>(a, b);
}

// The same of all lanes: the lower halves of the vectors in turn, or the upper ones.
template <int lanes, int upper>
struct Interleaved {
  static constexpr int of(int i) { return upper * lanes / 2 + i / 2 + i % 2 * lanes; }
};
template <class Key, class V>
inline V interleave_whole_lower(V a, V b) {
  return shuffled<Key, Interleaved<sizeof(V) / sizeof(Key), 0>>(a, b);
}
template <class Key, class V>
inline V interleave_whole_upper(V a, V b) {
  return shuffled<Key, Interleaved<sizeof(V) / sizeof(Key), 1>>(a, b);
}

// Every other lane, a0 a2 ... b0 b2 ..., or a1 a3 ... b1 b3 .... Highway has the lower half's vector second.
template <int odd>
struct EveryOther {
  static constexpr int of(int i) { return 2 * i + odd; }
};
template <class Key, class V>
inline V concat_even(V a, V b) {
  return shuffled<Key, EveryOther<0>>(a, b);
}
template <class Key, class V>
inline V concat_odd(V a, V b) {
  return shuffled<Key, EveryOther<1>>(a, b);
}

// The same in each pair of blocks: the lower half of a block is of `a`, the upper one of `b`. One instruction where
// those above take several, and `concat_words` puts the halves in order.
template <int lanes, int per_block, int odd>
struct EveryOtherInBlocks {
  static constexpr int of(int i) {
    return i / per_block * per_block + 2 * i % per_block + odd + i % per_block * 2 / per_block * lanes;
  }
};
template <class Key, class V>
inline V concat_even_in_blocks(V a, V b) {
  return shuffled<Key, EveryOtherInBlocks<sizeof(V) / sizeof(Key), 16 / sizeof(Key), 0>>(a, b);
}
template <class Key, class V>
inline V concat_odd_in_blocks(V a, V b) {
  return shuffled<Key, EveryOtherInBlocks<sizeof(V) / sizeof(Key), 16 / sizeof(Key), 1>>(a, b);
}

// Puts in order what two calls of `concat_even_in_blocks`, or of `concat_odd_in_blocks`, one after the other have taken
// of four vectors of two blocks: words of 4 bytes, from either block in turns.
template <int lanes, int of_word>
struct FourthsOrder {
  static constexpr int of(int i) { return i / of_word % 2 * (lanes / 2) + i / of_word / 2 * of_word + i % of_word; }
};
template <class Key, class V>
inline V order_fourths(V v) {
  static_assert(sizeof(Key) <= 4 && sizeof(V) == 32);
  return shuffled<Key, FourthsOrder<sizeof(V) / sizeof(Key), 4 / sizeof(Key)>>(v, v);
}

// Every n-th lane of `n` vectors, from lane `phase` on, for an odd `n`, but not in their order: each stays in its
// place, as no two have the same. `order_apart` puts them in order.
template <int lanes, int n, int phase, int vector>
struct BlendedApart {
  // The vector that lane i is of.
  static constexpr int vector_of(int i) {
    int cell = phase;
    while (cell % lanes != i) cell += n;
    return cell / lanes;
  }
  static constexpr int of(int i) { return i + (vector_of(i) >= vector ? lanes : 0); }
};
template <int lanes, int n, int phase>
struct ApartInOrder {
  static constexpr int of(int i) { return (n * i + phase) % lanes; }
};
// `found` is what the vectors before `vector` have.
template <class Key, int n, int phase, int vector = 1, class V>
inline V blend_apart(const V* vectors, V found) {
  constexpr int lanes = sizeof(V) / sizeof(Key);
  const V blended = shuffled<Key, BlendedApart<lanes, n, phase, vector>>(found, vectors[vector]);
  if constexpr (vector + 1 < n) return blend_apart<Key, n, phase, vector + 1>(vectors, blended);
  return blended;
}
template <class Key, int n, int phase, class V>
inline V blend_apart(const V* vectors) {
  return blend_apart<Key, n, phase>(vectors, vectors[0]);
}
template <class Key, int n, int phase, class V>
inline V order_apart(V v) {
  return shuffled<Key, ApartInOrder<sizeof(V) / sizeof(Key), n, phase>>(v, v);
}

// Lane i of the result is the (i + n)-th of the lanes of `v` and then `next`, of at most a block. Highway slides zeros
// in.
template <int n>
struct Slid {
  static constexpr int of(int i) { return i + n; }
};
template <class Key, int n, class V>
inline V slide_down_lanes(V v, V next) {
  constexpr int kBytes = n * sizeof(Key);
  static_assert(kBytes <= 16 || (sizeof(V) == 64 && kBytes % 4 == 0 && kBytes < 64));
#if defined(__AVX512BW__)
  const __m512i lower = reinterpret_cast<__m512i>(v), upper = reinterpret_cast<__m512i>(next);
  if constexpr (kBytes % 4 == 0) {
    return reinterpret_cast<V>(_mm512_maskz_alignr_epi32(0xffff, upper, lower, kBytes / 4));
  } else {
    const __m512i blocks = _mm512_maskz_alignr_epi64(0xff, upper, lower, 2);  // a block further
    return reinterpret_cast<V>(_mm512_alignr_epi8(blocks, lower, kBytes));
  }
#elif defined(__AVX2__)
  const __m256i lower = reinterpret_cast<__m256i>(v), upper = reinterpret_cast<__m256i>(next);
  return reinterpret_cast<V>(_mm256_alignr_epi8(_mm256_permute2x128_si256(lower, upper, 0x21), lower, kBytes));
#else
  return shuffled<Key, Slid<n>>(v, next);
#endif
}

// Lane i of the result is the lane before the i-th one of `v`, of which `before` has the first one's in its last lane.
template <class Key, class V>
inline V slide_up_lane(V before, V v) {
#if defined(__AVX512BW__)
  const __m512i lower = reinterpret_cast<__m512i>(before), upper = reinterpret_cast<__m512i>(v);
  if constexpr (sizeof(Key) >= 4) return slide_down_lanes<Key, sizeof(V) / sizeof(Key) - 1>(before, v);
  const __m512i blocks = _mm512_maskz_alignr_epi64(0xff, upper, lower, 6);  // a block before
  return reinterpret_cast<V>(_mm512_alignr_epi8(upper, blocks, 16 - sizeof(Key)));
#elif defined(__AVX2__)
  const __m256i lower = reinterpret_cast<__m256i>(before), upper = reinterpret_cast<__m256i>(v);
  const __m256i blocks = _mm256_permute2x128_si256(lower, upper, 0x21);
  return reinterpret_cast<V>(_mm256_alignr_epi8(upper, blocks, 16 - sizeof(Key)));
#else
  return slide_down_lanes<Key, sizeof(V) / sizeof(Key) - 1>(before, v);
#endif
}

// Halves of blocks: all lower ones, then all upper ones.
template <int words>
struct EveryOtherWord {
  static constexpr int of(int i) { return 2 * i % words + 2 * i / words; }
};
template <class V>
inline V concat_words(V v) {
  return shuffled<int64_t, EveryOtherWord<sizeof(V) / 8>>(v, v);
}

// concat_even of blocks. After as many rounds of it as there are doublings of blocks in a vector, as many vectors are
// transposed by blocks.
template <int odd>
struct EveryOtherBlock {
  static constexpr int of(int i) { return i / 2 * 4 + i % 2 + odd * 2; }
};
template <class V>
inline V concat_even_blocks(V a, V b) {
  return shuffled<int64_t, EveryOtherBlock<0>>(a, b);
}
template <class V>
inline V concat_odd_blocks(V a, V b) {
  return shuffled<int64_t, EveryOtherBlock<1>>(a, b);
}

// Blocks of the lower halves in turn, of vectors of four a0 b0 a1 b1, or of the upper ones.
template <int words, int upper>
struct InterleavedBlocks {
  static constexpr int of(int i) { return upper * words / 2 + i / 4 * 2 + i / 2 % 2 * words + i % 2; }
};
template <class V>
inline V interleave_lower_blocks(V a, V b) {
  return shuffled<int64_t, InterleavedBlocks<sizeof(V) / 8, 0>>(a, b);
}
template <class V>
inline V interleave_upper_blocks(V a, V b) {
  return shuffled<int64_t, InterleavedBlocks<sizeof(V) / 8, 1>>(a, b);
}

template <class Key, int from, class V, int... i>
inline Vector<Key, sizeof(V) / 2> lanes_from(V v, Sequence<i...>) {
  using Keys = Vector<Key, sizeof(V)>;
  return picked_lanes<Vector<Key, sizeof(V) / 2>>(reinterpret_cast<Keys>(v), reinterpret_cast<Keys>(v),
                                                  Sequence<(from + i)...>{});
}
template <class Key, class V>
inline Vector<Key, sizeof(V) / 2> lower_half(V v) {
  return lanes_from<Key, 0>(v, typename MakeSequence<sizeof(V) / sizeof(Key) / 2>::type{});
}
template <class Key, class V>
inline Vector<Key, sizeof(V) / 2> upper_half(V v) {
  constexpr int half = sizeof(V) / sizeof(Key) / 2;
  return lanes_from<Key, half>(v, typename MakeSequence<half>::type{});
}

// The greatest lane: of halves, and of a block's halves of halves.
template <int apart, int lanes>
struct Turned {
  static constexpr int of(int i) { return (i + apart) % lanes; }
};
template <class Key, int apart = 8 / sizeof(Key), class V>
inline Key greatest_lane(V v) {
  if constexpr (sizeof(V) > 16) {
    return greatest_lane<Key>(max(lower_half<Key>(v), upper_half<Key>(v)));
  } else {
    const V best = max(v, shuffled<Key, Turned<apart, sizeof(V) / sizeof(Key)>>(v, v));
    if constexpr (apart > 1) {
      return greatest_lane<Key, apart / 2>(best);
    } else {
      return best[0];
    }
  }
}

// One vector of two, and one of as many blocks as fit it. Highway has the upper half first.
template <class Key, class V, int... i>
inline Vector<Key, 2 * sizeof(V)> combine(V lower, V upper, Sequence<i...>) {
  using Keys = Vector<Key, sizeof(V)>;
  return picked_lanes<Vector<Key, 2 * sizeof(V)>>(reinterpret_cast<Keys>(lower), reinterpret_cast<Keys>(upper),
                                                  Sequence<i...>{});
}
template <class Key, class V>
inline Vector<Key, 2 * sizeof(V)> combine(V lower, V upper) {
  return combine<Key>(lower, upper, typename MakeSequence<2 * sizeof(V) / sizeof(Key)>::type{});
}
template <class V, class Key, class Block>
ONNX_MAXPOOL_INLINE V combine_blocks(const Block* blocks) {
  if constexpr (sizeof(V) == sizeof(Block)) {
    return blocks[0];
  } else {
    using Half = Vector<Key, sizeof(V) / 2>;
    constexpr int count = sizeof(V) / sizeof(Block);
    return combine<Key>(combine_blocks<Half, Key>(blocks), combine_blocks<Half, Key>(blocks + count / 2));
  }
}

// Block `number` of a vector.
template <class Key, int number, class V, int... i>
inline Vector<Key, 16> extract_block(V v, Sequence<i...>) {
  using Keys = Vector<Key, sizeof(V)>;
  return picked_lanes<Vector<Key, 16>>(reinterpret_cast<Keys>(v), reinterpret_cast<Keys>(v),
                                       Sequence<(number * 16 / static_cast<int>(sizeof(Key)) + i)...>{});
}
template <class Key, int number, class V>
inline Vector<Key, 16> extract_block(V v) {
  return extract_block<Key, number>(v, typename MakeSequence<16 / sizeof(Key)>::type{});
}

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
