// Vectors of integer keys, for the kernels alone. Included once per target: all that kernels call is in the target's
// namespace, internal to its file or the compiler's own, and of the standard library they include the names of types
// alone. So no code compiled for one target can be linked into another.
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

#include "base/element_type.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {

#if defined(__AVX512BW__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class Key, int bytes>
struct VectorOf {
  typedef Key type __attribute__((vector_size(bytes)));
  typedef Key unaligned __attribute__((vector_size(bytes), aligned(sizeof(Key)), may_alias));
};

// A vector of `bytes` / sizeof(Key) keys.
template <class Key, int bytes>
using Vector = typename VectorOf<Key, bytes>::type;

template <class V, class Key>
inline V load(const Key* from) {
  return *reinterpret_cast<const typename VectorOf<Key, sizeof(V)>::unaligned*>(from);
}

template <class V, class Key>
inline void store(Key* to, V v) {
  *reinterpret_cast<typename VectorOf<Key, sizeof(V)>::unaligned*>(to) = v;
}

// Has the line that `apart` elements lie from here brought into the cache; it may be no element's. Processors foresee
// the next line of a stream, but neither the next row of one that was cut nor as many streams as are read here.
template <class Key>
inline void prefetch(const Key* from, int64_t apart) {
  __builtin_prefetch(
      reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(from) + static_cast<uintptr_t>(apart) * sizeof(Key)));
}

// Of memory that is read from end to end: where a page ends, processors look no further by themselves.
template <class Key>
inline void prefetch_next_page(const Key* from) {
  prefetch(from, 4096 / static_cast<int64_t>(sizeof(Key)));
}

template <class V>
inline V max(V a, V b) {
  return a > b ? a : b;
}

// Whether any bit is set.
template <class V>
inline bool any(V v) {
  uint64_t words[sizeof(V) / 8], all = 0;
  __builtin_memcpy(words, &v, sizeof(V));
  for (uint64_t word : words) all |= word;
  return all != 0;
}

// Here one instruction permutes a whole vector, and others load and store some of its lanes.
#if defined(__AVX512BW__)
// Lane i of the result is lane `lanes[i]` of `v`.
template <class V>
inline V permute(V v, V lanes) {
#if defined(__clang__)
  const __m512i from = reinterpret_cast<__m512i>(v), which = reinterpret_cast<__m512i>(lanes);
  if constexpr (sizeof(v[0]) == 2) return reinterpret_cast<V>(_mm512_permutexvar_epi16(which, from));
  if constexpr (sizeof(v[0]) == 4) return reinterpret_cast<V>(_mm512_permutexvar_epi32(which, from));
  if constexpr (sizeof(v[0]) == 8) return reinterpret_cast<V>(_mm512_permutexvar_epi64(which, from));
#else  // whose header warns of the intrinsics
  return __builtin_shuffle(v, lanes);
#endif
}

// The first `count` lanes alone are read or written.
template <class V, class Key>
inline V load_some(const Key* from, int64_t count) {
  const uint64_t mask = ~uint64_t{0} >> (64 - count);
  if constexpr (sizeof(Key) == 2)
    return reinterpret_cast<V>(_mm512_maskz_loadu_epi16(static_cast<__mmask32>(mask), from));
  if constexpr (sizeof(Key) == 4)
    return reinterpret_cast<V>(_mm512_maskz_loadu_epi32(static_cast<__mmask16>(mask), from));
  if constexpr (sizeof(Key) == 8)
    return reinterpret_cast<V>(_mm512_maskz_loadu_epi64(static_cast<__mmask8>(mask), from));
}
template <class V, class Key>
inline void store_some(Key* to, V v, int64_t count) {
  const uint64_t mask = ~uint64_t{0} >> (64 - count);
  const __m512i bits = reinterpret_cast<__m512i>(v);
  if constexpr (sizeof(Key) == 2) _mm512_mask_storeu_epi16(to, static_cast<__mmask32>(mask), bits);
  if constexpr (sizeof(Key) == 4) _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(mask), bits);
  if constexpr (sizeof(Key) == 8) _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(mask), bits);
}
#endif

template <int bytes>
struct IntegerOf;
template <>
struct IntegerOf<2> {
  using type = int16_t;
};
template <>
struct IntegerOf<4> {
  using type = int32_t;
};
template <>
struct IntegerOf<8> {
  using type = int64_t;
};

// As many keys of another width. Widths change by a factor of two at a time: the compiler has no vector code for more.
template <class To, class From, int lanes>
inline Vector<To, lanes * sizeof(To)> convert_keys(Vector<From, lanes * sizeof(From)> keys) {
  if constexpr (sizeof(To) == sizeof(From)) {
    return keys;
  } else if constexpr (sizeof(To) > 2 * sizeof(From)) {
    using Middle = typename IntegerOf<2 * sizeof(From)>::type;
    return convert_keys<To, Middle, lanes>(convert_keys<Middle, From, lanes>(keys));
  } else if constexpr (2 * sizeof(To) < sizeof(From)) {
    using Middle = typename IntegerOf<sizeof(From) / 2>::type;
    return convert_keys<To, Middle, lanes>(convert_keys<Middle, From, lanes>(keys));
  } else {
    using Other = Vector<To, lanes * sizeof(To)>;
    return __builtin_convertvector(keys, Other);
  }
}

// The map of base/element_type.h and its inverse, for elements of Key's width. Unsigned arithmetic, as it wraps.
template <class Key>
struct KeyOrder {
  Key mask, offset;
  explicit KeyOrder(Order order) : mask(static_cast<Key>(order.mask)), offset(static_cast<Key>(order.offset)) {}

  template <class V>
  V to_key(V bits) const {
    if constexpr (sizeof(Key) == 1) return bits - offset;  // no float is so narrow
    return (bits ^ ((bits >> (8 * sizeof(Key) - 1)) & mask)) - offset;
  }
  template <class V>
  V from_key(V key) const {
    const V masked = key + offset;
    if constexpr (sizeof(Key) == 1) return masked;
    return masked ^ ((masked >> (8 * sizeof(Key) - 1)) & mask);
  }
};

// The same, with one key for +0 and -0, and one for all NaNs: where the first of equal cells is wanted (G4, G5).
template <class Key>
struct TieOrder : KeyOrder<Key> {
  Key infinity, nan, minus_zero, zero;
  explicit TieOrder(Order order) : KeyOrder<Key>(order) {
    constexpr Key kLowest = static_cast<Key>(Key{1} << (8 * sizeof(Key) - 1));
    const Key bits = static_cast<Key>(-1 - kLowest - this->offset);  // of +inf, as its key's negative is the lowest
    const bool floats = this->mask != 0;
    infinity = floats ? static_cast<Key>(bits - this->offset) : static_cast<Key>(~kLowest);
    nan = static_cast<Key>(infinity + (bits & -bits) / 2);  // quiet: the fraction's first bit is set
    minus_zero = static_cast<Key>(-1 - this->offset);
    zero = static_cast<Key>(minus_zero + floats);
  }

  template <class V>
  V to_key(V bits) const {
    return merged(KeyOrder<Key>::to_key(bits));
  }
  template <class V>
  V merged(V key) const {
    if constexpr (sizeof(Key) == 1) return key;
    const V number = key > infinity ? V{} + nan : key;
    return number == minus_zero ? V{} + zero : number;
  }
};

// Sequence<0, 1, ..., count - 1>, to write a shuffle's lane numbers as an expression.
template <int... numbers>
struct Sequence {};
template <int count, int... numbers>
struct MakeSequence : MakeSequence<count - 1, count - 1, numbers...> {};
template <int... numbers>
struct MakeSequence<0, numbers...> {
  using type = Sequence<numbers...>;
};

// Shuffles of two vectors of `lanes` keys, of which each gives one: a0 b0 a1 b1 ... from their lower or upper halves,
// and a0 a2 ... b0 b2 ... or a1 a3 ... b1 b3 ....
template <class Key, int lanes, class Numbers = typename MakeSequence<lanes>::type>
struct Shuffle;
template <class Key, int lanes, int... i>
struct Shuffle<Key, lanes, Sequence<i...>> {
  using V = Vector<Key, lanes * sizeof(Key)>;
  static inline V low(V a, V b) { return __builtin_shufflevector(a, b, (i / 2 + i % 2 * lanes)...); }
  static inline V high(V a, V b) { return __builtin_shufflevector(a, b, (lanes / 2 + i / 2 + i % 2 * lanes)...); }
  static inline V even(V a, V b) { return __builtin_shufflevector(a, b, (2 * i)...); }
  static inline V odd(V a, V b) { return __builtin_shufflevector(a, b, (2 * i + 1)...); }
};

// Interleaves keys of `bytes` each within 128-bit lanes, which takes one cheap instruction: of every pair of lanes the
// lower halves, a0 b0 a1 b1 ..., or the upper ones.
template <class V, int bytes>
struct LaneInterleave {
  using Key = typename IntegerOf<bytes>::type;
  static constexpr int kLanes = sizeof(V) / bytes, kPerLane = 16 / bytes;
  template <int half, int... i>
  static inline V of(V a, V b, Sequence<i...>) {
    using W = Vector<Key, sizeof(V)>;
    return reinterpret_cast<V>(__builtin_shufflevector(
        reinterpret_cast<W>(a), reinterpret_cast<W>(b),
        (i / kPerLane * kPerLane + half * kPerLane / 2 + i % kPerLane / 2 + i % 2 * kLanes)...));
  }
  static inline V low(V a, V b) { return of<0>(a, b, typename MakeSequence<kLanes>::type{}); }
  static inline V high(V a, V b) { return of<1>(a, b, typename MakeSequence<kLanes>::type{}); }
};

// Of two vectors of 128-bit lanes every other lane: a0 a2 ... b0 b2 ..., or a1 a3 ... b1 b3 .... After as many rounds
// of it as there are doublings of lanes in a vector, as many vectors are transposed by lanes.
template <class V>
struct LaneSplit {
  static constexpr int kWords = sizeof(V) / 8;
  template <int odd, int... i>
  static inline V of(V a, V b, Sequence<i...>) {
    using W = Vector<int64_t, sizeof(V)>;
    return reinterpret_cast<V>(
        __builtin_shufflevector(reinterpret_cast<W>(a), reinterpret_cast<W>(b), (i / 2 * 4 + i % 2 + odd * 2)...));
  }
  static inline V even(V a, V b) { return of<0>(a, b, typename MakeSequence<kWords>::type{}); }
  static inline V odd(V a, V b) { return of<1>(a, b, typename MakeSequence<kWords>::type{}); }
};

// The lanes of two vectors of four 128-bit lanes in turn: a0 b0 a1 b1, or a2 b2 a3 b3.
template <class V>
struct LaneJoin {
  template <int upper, int... i>
  static inline V of(V a, V b, Sequence<i...>) {
    using W = Vector<int64_t, sizeof(V)>;
    return reinterpret_cast<V>(__builtin_shufflevector(reinterpret_cast<W>(a), reinterpret_cast<W>(b),
                                                       (upper * 4 + i / 4 * 2 + i / 2 % 2 * 8 + i % 2)...));
  }
  static inline V low(V a, V b) { return of<0>(a, b, typename MakeSequence<8>::type{}); }
  static inline V high(V a, V b) { return of<1>(a, b, typename MakeSequence<8>::type{}); }
};

// The lower or upper half of a vector.
template <int upper, class Key, class V, int... i>
inline Vector<Key, sizeof(V) / 2> half_of(V v, Sequence<i...>) {
  return __builtin_shufflevector(v, v, (upper * static_cast<int>(sizeof(V) / sizeof(Key) / 2) + i)...);
}

// Of squares of keys as large as a 128-bit lane, one below the other in `count` vectors, every lane is transposed: in
// rounds, each of which interleaves a square's halves. Uses both places, and leaves the result in `from`.
template <class Key, int count, class V>
inline void transpose_in_lanes(V*& from, V*& to) {
  constexpr int kGroup = 16 / sizeof(Key);
#pragma GCC unroll 4
  for (int n = 1; n < kGroup; n *= 2) {
#pragma GCC unroll 32
    for (int i = 0; i < count / 2; ++i) {
      const int first = i / (kGroup / 2) * kGroup, at = i % (kGroup / 2);
      const V a = from[first + at], b = from[first + at + kGroup / 2];
      to[first + 2 * at] = LaneInterleave<V, sizeof(Key)>::low(a, b);
      to[first + 2 * at + 1] = LaneInterleave<V, sizeof(Key)>::high(a, b);
    }
    V* swap = from;
    from = to;
    to = swap;
  }
}

// Transposes a square of vectors in place: lane j of vector i changes places with lane i of vector j. First in 128-bit
// lanes, then the lanes.
template <class Key, int lanes>
inline void transpose(Vector<Key, lanes * sizeof(Key)>* v) {
  using V = Vector<Key, lanes * sizeof(Key)>;
  constexpr int kGroup = 16 / sizeof(Key), kGroups = lanes / kGroup;
  V other[lanes];
  V *from = v, *to = other;
  transpose_in_lanes<Key, lanes>(from, to);
  // Vector i of group g has in its lane l the keys for column l * kGroup + i: those of the groups belong together.
#pragma GCC unroll 4
  for (int n = 1; n < kGroups; n *= 2) {
#pragma GCC unroll 32
    for (int i = 0; i < lanes / 2; ++i) {
      const int g = i / kGroup, at = i % kGroup;
      const V a = from[2 * g * kGroup + at], b = from[(2 * g + 1) * kGroup + at];
      to[g * kGroup + at] = LaneSplit<V>::even(a, b);
      to[(g + kGroups / 2) * kGroup + at] = LaneSplit<V>::odd(a, b);
    }
    V* swap = from;
    from = to;
    to = swap;
  }
  if (from != v)
    for (int i = 0; i < lanes; ++i) v[i] = from[i];
}

// Transposes half a square of 16-bit keys: as many vectors as half of their lanes, in place. The halves of vector i are
// then lane `half_lane(i)` of all the vectors, and the lane that lies kHalfApart further on.
template <int lanes>
inline void transpose_half(Vector<int16_t, 2 * lanes>* v) {
  using V = Vector<int16_t, 2 * lanes>;
  constexpr int kVectors = lanes / 2, kGroup = 4;
  V other[kVectors];
  V *from = other, *to = v;
  // Pairs of keys as keys of twice the width.
#pragma GCC unroll 16
  for (int i = 0; i < kVectors / 2; ++i) {
    from[i] = LaneInterleave<V, 2>::low(v[2 * i], v[2 * i + 1]);
    from[kVectors / 2 + i] = LaneInterleave<V, 2>::high(v[2 * i], v[2 * i + 1]);
  }
  transpose_in_lanes<int32_t, kVectors>(from, to);
  if constexpr (kVectors > 2 * kGroup) {
#pragma GCC unroll 16
    for (int i = 0; i < kVectors / 2; ++i) {
      const int first = i / kGroup * 2 * kGroup + i % kGroup;
      const V a = from[first], b = from[first + kGroup];
      to[first] = LaneJoin<V>::low(a, b);
      to[first + kGroup] = LaneJoin<V>::high(a, b);
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

// A copy past the caches that goes on while something else is computed: such a store waits for memory, and a processor
// has room for few that wait. One line goes at each `step`.
class StreamedCopy {
 public:
  // Ends the copy before, and takes the next one on. `from` must stay as it is until that has ended, too.
  void begin(void* to, const void* from, size_t bytes) {
    while (lines_) step();
    to_ = static_cast<char*>(to);
    from_ = static_cast<const char*>(from);
    // Only whole lines stream; what lies before the first and after the last is copied at once.
    size_t head = -reinterpret_cast<uintptr_t>(to_) % kVectorBytes;
    if (head > bytes) head = bytes;
    lines_ = (bytes - head) / kVectorBytes;
    const size_t tail = head + lines_ * kVectorBytes;
    __builtin_memcpy(to_, from_, head);
    __builtin_memcpy(to_ + tail, from_ + tail, bytes - tail);
    to_ += head;
    from_ += head;
  }

  void step() {
    if (lines_ == 0) return;
    --lines_;
    streamed_ = true;
#if defined(__AVX512BW__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to_), _mm512_loadu_si512(from_));
#elif defined(__AVX2__)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to_), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from_)));
#elif defined(__SSE2__)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to_), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from_)));
#else
    __builtin_memcpy(to_, from_, kVectorBytes);
#endif
    to_ += kVectorBytes;
    from_ += kVectorBytes;
  }

  // Afterwards other threads may read what was copied.
  void finish() {
    while (lines_) step();
#if defined(__SSE2__)
    if (streamed_) _mm_sfence();
#endif
    streamed_ = false;
  }

 private:
  char* to_ = nullptr;
  const char* from_ = nullptr;
  size_t lines_ = 0;
  bool streamed_ = false;  // since the last fence
};

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
