// Vectors of integer keys, for the kernels alone. Included once per target: everything is in the target's namespace,
// and nothing of the standard library is used, so no code compiled for one target can be linked into another.
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

#include "element_type.h"

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

template <class V>
inline V max(V a, V b) {
  return a > b ? a : b;
}

// The map of element_type.h and its inverse, for elements of Key's width. Unsigned arithmetic, as it wraps.
template <class Key>
struct KeyOrder {
  Key mask, offset;
  explicit KeyOrder(Order order) : mask(static_cast<Key>(order.mask)), offset(static_cast<Key>(order.offset)) {}

  template <class V>
  V to_key(V bits) const {
    return (bits ^ ((bits >> (8 * sizeof(Key) - 1)) & mask)) - offset;
  }
  template <class V>
  V from_key(V key) const {
    const V masked = key + offset;
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
    const V key = KeyOrder<Key>::to_key(bits);
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

// Transposes a square of vectors in place: lane j of vector i changes places with lane i of vector j. Each of the
// log2(lanes) rounds interleaves the vectors of the upper half with those of the lower.
template <class Key, int lanes>
inline void transpose(Vector<Key, lanes * sizeof(Key)>* v) {
  using V = Vector<Key, lanes * sizeof(Key)>;
  V other[lanes];
  V *from = v, *to = other;
#pragma GCC unroll 8
  for (int n = 1; n < lanes; n *= 2) {
    for (int i = 0; i < lanes / 2; ++i) {
      to[2 * i] = Shuffle<Key, lanes>::low(from[i], from[i + lanes / 2]);
      to[2 * i + 1] = Shuffle<Key, lanes>::high(from[i], from[i + lanes / 2]);
    }
    V* swap = from;
    from = to;
    to = swap;
  }
  if (from != v)
    for (int i = 0; i < lanes; ++i) v[i] = from[i];
}

// Copies `bytes` from a 64-byte aligned buffer past the caches. Call `stream_fence` before another thread reads.
inline void stream_copy(void* to, const void* from, size_t bytes) {
#if defined(__SSE2__)
  constexpr size_t kLine = kVectorBytes;
  char* out = static_cast<char*>(to);
  const char* in = static_cast<const char*>(from);
  size_t head = -reinterpret_cast<uintptr_t>(out) % kLine;
  if (head > bytes) head = bytes;
  __builtin_memcpy(out, in, head);
  size_t i = head;
  for (; i + kLine <= bytes; i += kLine) {
#if defined(__AVX512BW__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(out + i), _mm512_loadu_si512(in + i));
#elif defined(__AVX2__)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(out + i),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i)));
#else
    _mm_stream_si128(reinterpret_cast<__m128i*>(out + i), _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i)));
#endif
  }
  __builtin_memcpy(out + i, in + i, bytes - i);
#else
  __builtin_memcpy(to, from, bytes);
#endif
}

inline void stream_fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
