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

// Transposes a square of vectors in place: lane j of vector i changes places with lane i of vector j. Each of the
// log2(lanes) rounds interleaves the vectors of the upper half with those of the lower.
template <class Key, int lanes>
struct Transpose;

#define ONNX_MAXPOOL_TRANSPOSE(LANES, LOW, HIGH)                   \
  template <class Key>                                             \
  struct Transpose<Key, LANES> {                                   \
    using V = Vector<Key, LANES * sizeof(Key)>;                    \
    static inline void round(const V* from, V* to) {               \
      for (int i = 0; i < LANES / 2; ++i) {                        \
        const V a = from[i], b = from[i + LANES / 2];              \
        to[2 * i] = __builtin_shufflevector(a, b, LOW);            \
        to[2 * i + 1] = __builtin_shufflevector(a, b, HIGH);       \
      }                                                            \
    }                                                              \
    static inline void apply(V* v) {                               \
      V other[LANES];                                              \
      V *from = v, *to = other;                                    \
      _Pragma("GCC unroll 8") for (int n = 1; n < LANES; n *= 2) { \
        round(from, to);                                           \
        V* swap = from;                                            \
        from = to;                                                 \
        to = swap;                                                 \
      }                                                            \
      if (from != v)                                               \
        for (int i = 0; i < LANES; ++i) v[i] = from[i];            \
    }                                                              \
  };

#define ONNX_MAXPOOL_LIST(...) __VA_ARGS__
ONNX_MAXPOOL_TRANSPOSE(2, ONNX_MAXPOOL_LIST(0, 2), ONNX_MAXPOOL_LIST(1, 3))
ONNX_MAXPOOL_TRANSPOSE(4, ONNX_MAXPOOL_LIST(0, 4, 1, 5), ONNX_MAXPOOL_LIST(2, 6, 3, 7))
ONNX_MAXPOOL_TRANSPOSE(8, ONNX_MAXPOOL_LIST(0, 8, 1, 9, 2, 10, 3, 11), ONNX_MAXPOOL_LIST(4, 12, 5, 13, 6, 14, 7, 15))
ONNX_MAXPOOL_TRANSPOSE(16, ONNX_MAXPOOL_LIST(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
                       ONNX_MAXPOOL_LIST(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31))
ONNX_MAXPOOL_TRANSPOSE(32,
                       ONNX_MAXPOOL_LIST(0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 8, 40, 9, 41, 10, 42,
                                         11, 43, 12, 44, 13, 45, 14, 46, 15, 47),
                       ONNX_MAXPOOL_LIST(16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55, 24, 56, 25, 57,
                                         26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63))
#undef ONNX_MAXPOOL_LIST
#undef ONNX_MAXPOOL_TRANSPOSE

// A copy past the caches that goes on while something else is computed: such a store waits for memory, and a processor
// has room for few that wait. One line goes at each `step`.
class StreamedCopy {
 public:
  // Finishes the copy before, and takes the next one on. `from` must stay as it is until that is finished, too.
  void begin(void* to, const void* from, size_t bytes) {
    finish();
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
    if (lines_ == 0) return;
    while (lines_) step();
#if defined(__SSE2__)
    _mm_sfence();
#endif
  }

 private:
  char* to_ = nullptr;
  const char* from_ = nullptr;
  size_t lines_ = 0;
};

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
