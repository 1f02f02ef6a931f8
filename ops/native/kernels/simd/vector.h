// Vectors of integer keys or of numbers, for the kernels only. Operations have Highway's names (its quick reference
// tells more of each), as in all of simd/, where a block is 128 bits of a vector.
//
// Included once per target: all that kernels call is in the target's namespace, internal to its file or the compiler's
// own, and of the standard library they include only the names of types. So no code compiled for one target can be
// linked into another.
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

// Of small functions that loops cannot afford to call: their structs would go through memory, and processors wait where
// what was stored in parts is loaded at once.
#define ONNX_MAXPOOL_INLINED __attribute__((always_inline))  // of a lambda
#define ONNX_MAXPOOL_INLINE inline ONNX_MAXPOOL_INLINED
// Of those that need all of a processor's registers for themselves.
#define ONNX_MAXPOOL_NOINLINE __attribute__((noinline))
// Of those that loops call so seldom that no register should be kept free for it.
#define ONNX_MAXPOOL_RARE __attribute__((noinline, cold))

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

// The same, where several operations take the vector. GCC makes loads a part of each operation, so that what is read
// once is read as many times. Before version 12 it has no register for less than 16 bytes.
template <class V, class Key>
inline V load_once(const Key* from) {
  V v = load<V>(from);
#if defined(__SSE2__) && !defined(__clang__)
  if constexpr (__GNUC__ >= 12 || sizeof(V) >= 16) {
#if defined(__AVX512VL__)
    __asm__("" : "+v"(v));
#else
    __asm__("" : "+x"(v));
#endif
  }
#endif
  return v;
}

template <class V, class Key>
inline void store(Key* to, V v) {
  *reinterpret_cast<typename VectorOf<Key, sizeof(V)>::unaligned*>(to) = v;
}

enum class Cache { second = 2, first };  // by __builtin_prefetch's locality

// A tensor of no more bytes is mostly in a cache that is near: to have its lines fetched would save nothing.
constexpr int64_t kNearBytes = 4 << 20;

// Has the line that `apart` elements lie from here brought into the cache; it may be no element's. Processors foresee
// the next line of a stream, but neither the next row of one that was cut nor as many streams as are read here.
// Always inline: GCC takes a function that only prefetches for one without effects, and leaves calls of it out.
template <Cache cache = Cache::first, class Key>
ONNX_MAXPOOL_INLINE void prefetch(const Key* from, int64_t apart) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(from) + static_cast<uintptr_t>(apart) * sizeof(Key);
  __builtin_prefetch(reinterpret_cast<const void*>(at), 0, static_cast<int>(cache));
}

// The same of a line that will be stored to, and only in part, so that the processor has to read it first. On x86, GCC
// takes it for the same hint unless it may assume another instruction set.
template <Cache cache = Cache::first, class Key>
ONNX_MAXPOOL_INLINE void prefetch_to_store(Key* to, int64_t apart) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(to) + static_cast<uintptr_t>(apart) * sizeof(Key);
  __builtin_prefetch(reinterpret_cast<const void*>(at), 1, static_cast<int>(cache));
}

template <class Key>
constexpr int64_t kPage = 4096 / static_cast<int64_t>(sizeof(Key));

// Of memory that is read from end to end: where a page ends, processors look no further by themselves.
template <class Key>
ONNX_MAXPOOL_INLINE void prefetch_next_page(const Key* from) {
  prefetch(from, kPage<Key>);
}

template <class V>
inline V max(V a, V b) {
  return a > b ? a : b;
}
template <class V>
inline V min(V a, V b) {
  return a < b ? a : b;
}

// Whether no lane of a comparison's result is true.
template <class V>
inline bool all_false(V mask) {
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32) {
    const __m256i bits = reinterpret_cast<__m256i>(mask);
    return _mm256_testz_si256(bits, bits) != 0;
  }
#endif
#if defined(__SSE2__)
  if constexpr (sizeof(V) == 16) return _mm_movemask_epi8(reinterpret_cast<__m128i>(mask)) == 0;
#endif
  uint64_t words[sizeof(V) / 8], any = 0;
  __builtin_memcpy(words, &mask, sizeof(V));
  for (uint64_t word : words) any |= word;
  return any == 0;
}

template <int bytes>
struct IntegerOf;
template <>
struct IntegerOf<1> {
  using type = int8_t;
};
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

// As many keys of a width that is as large or larger: their values. Widths change by a factor of two at a time, here
// and below: the compiler has no vector code for more.
template <class To, class From, int lanes>
inline Vector<To, lanes * sizeof(To)> promote_to(Vector<From, lanes * sizeof(From)> keys) {
  if constexpr (sizeof(To) == sizeof(From)) {
    return keys;
  } else if constexpr (sizeof(To) > 2 * sizeof(From)) {
    using Middle = typename IntegerOf<2 * sizeof(From)>::type;
    return promote_to<To, Middle, lanes>(promote_to<Middle, From, lanes>(keys));
  } else {
    using Wide = Vector<To, lanes * sizeof(To)>;
    return __builtin_convertvector(keys, Wide);
  }
}

// As many keys of a width that is as large or smaller: their lower bits.
template <class To, class From, int lanes>
inline Vector<To, lanes * sizeof(To)> truncate_to(Vector<From, lanes * sizeof(From)> keys) {
  if constexpr (sizeof(To) == sizeof(From)) {
    return keys;
  } else if constexpr (2 * sizeof(To) < sizeof(From)) {
    using Middle = typename IntegerOf<sizeof(From) / 2>::type;
    return truncate_to<To, Middle, lanes>(truncate_to<Middle, From, lanes>(keys));
  } else {
    using Narrow = Vector<To, lanes * sizeof(To)>;
    return __builtin_convertvector(keys, Narrow);
  }
}

template <class Lane, int bytes = kVectorBytes>
inline Vector<Lane, bytes> lane_numbers() {
  Vector<Lane, bytes> numbers{};
  for (int i = 0; i < bytes / static_cast<int>(sizeof(Lane)); ++i) numbers[i] = static_cast<Lane>(i);
  return numbers;
}

// Elements from `begin` to `end`, which may lie beyond the lanes on either side, and zeros: nothing else is read. One
// instruction where the processor has one for elements and vectors of this size.
template <class V, class Key>
inline V load_within(const Key* from, int64_t begin, int64_t end) {
  constexpr int64_t kLanes = sizeof(V) / sizeof(Key);
  begin = min(max<int64_t>(begin, 0), kLanes);
  end = min(max(end, begin), kLanes);
#if defined(__AVX512BW__)
  if constexpr (sizeof(V) == 64) {
    const uint64_t mask = begin == end ? 0 : ~uint64_t{0} >> (64 - end + begin) << begin;
    if constexpr (sizeof(Key) == 1) return reinterpret_cast<V>(_mm512_maskz_loadu_epi8(mask, from));
    if constexpr (sizeof(Key) == 2)
      return reinterpret_cast<V>(_mm512_maskz_loadu_epi16(static_cast<__mmask32>(mask), from));
    if constexpr (sizeof(Key) == 4)
      return reinterpret_cast<V>(_mm512_maskz_loadu_epi32(static_cast<__mmask16>(mask), from));
    if constexpr (sizeof(Key) == 8)
      return reinterpret_cast<V>(_mm512_maskz_loadu_epi64(static_cast<__mmask8>(mask), from));
  }
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32 && sizeof(Key) >= 4) {
    using Lane = typename IntegerOf<sizeof(Key)>::type;
    const Vector<Lane, 32> number = lane_numbers<Lane, 32>();
    const auto mask = (number >= static_cast<Lane>(begin)) & (number < static_cast<Lane>(end));
    const __m256i wanted = reinterpret_cast<__m256i>(mask);
    if constexpr (sizeof(Key) == 4) {
      return reinterpret_cast<V>(_mm256_maskload_epi32(reinterpret_cast<const int*>(from), wanted));
    } else {
      return reinterpret_cast<V>(_mm256_maskload_epi64(reinterpret_cast<const long long*>(from), wanted));
    }
  }
#endif
  V v{};
  Key* const lanes = reinterpret_cast<Key*>(&v);
  if (begin < end) __builtin_memcpy(lanes + begin, from + begin, static_cast<size_t>(end - begin) * sizeof(Key));
  return v;
}

// The first `count` elements, 1 to as many as there are lanes, and zeros: nothing beyond them is read.
template <class V, class Key>
inline V load_n(const Key* from, int64_t count) {
  return load_within<V>(from, 0, count);
}

// The same where any elements up to `end` may be read, and there is one at least: lanes beyond `count` may be anything.
template <class V, class Key>
inline V load_n(const Key* from, int64_t count, const Key* end) {
#if defined(__AVX512BW__)
  if constexpr (sizeof(V) == 64) return load_n<V>(from, count);
#endif
  if (__builtin_expect(end - from < static_cast<int64_t>(sizeof(V) / sizeof(Key)), 0)) return load_n<V>(from, count);
  return load<V>(from);
}

// The first `count` lanes, 1 to all of them: nothing beyond them is written.
template <class V, class Key>
inline void store_n(Key* to, V v, int64_t count) {
#if defined(__AVX512BW__)
  if constexpr (sizeof(V) == 64) {
    const uint64_t mask = ~uint64_t{0} >> (64 - count);
    const __m512i bits = reinterpret_cast<__m512i>(v);
    if constexpr (sizeof(Key) == 1) _mm512_mask_storeu_epi8(to, mask, bits);
    if constexpr (sizeof(Key) == 2) _mm512_mask_storeu_epi16(to, static_cast<__mmask32>(mask), bits);
    if constexpr (sizeof(Key) == 4) _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(mask), bits);
    if constexpr (sizeof(Key) == 8) _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(mask), bits);
    return;
  }
#endif
  // Parts of 1, 2, 4, ... lanes, of which `count` is the sum: a call to copy them would take longer.
  if (count == sizeof(V) / sizeof(Key)) return store(to, v);
  Key lanes[sizeof(V) / sizeof(Key)];
  store(lanes, v);
  const Key* from = lanes;
#pragma GCC unroll 8
  for (int64_t part = sizeof(V) / sizeof(Key) / 2; part > 0; part /= 2) {
    if (!(count & part)) continue;
    __builtin_memcpy(to, from, static_cast<size_t>(part) * sizeof(Key));
    from += part;
    to += part;
  }
}

// The same where any elements up to `end` may be written: those beyond `count` may become anything.
template <class V, class Key>
inline void store_n(Key* to, V v, int64_t count, const Key* end) {
#if defined(__AVX512BW__)
  if constexpr (sizeof(V) == 64) return store_n(to, v, count);
#endif
  if (end - to < static_cast<int64_t>(sizeof(V) / sizeof(Key))) return store_n(to, v, count);
  store(to, v);
}

#if defined(__AVX2__)
// Lane i of the result is lane `lanes[i]` of `v`, of the widest vectors and keys of 16 bits or more. Of numbers only
// the lower bits count, which tell as many lanes apart as there are.
template <class V>
inline V table_lookup_lanes(V v, V lanes) {
  static_assert(sizeof(v) == kVectorBytes && sizeof(v[0]) > 1);
#if !defined(__AVX512BW__)
  const __m256i from = reinterpret_cast<__m256i>(v), which = reinterpret_cast<__m256i>(lanes);
  if constexpr (sizeof(v[0]) == 4) {
    return reinterpret_cast<V>(_mm256_permutevar8x32_epi32(from, which));
  } else if constexpr (sizeof(v[0]) == 8) {  // as halves of 32 bits
    const __m256i twice = _mm256_add_epi32(which, which);
    const __m256i halves = _mm256_or_si256(_mm256_shuffle_epi32(twice, 0xa0), _mm256_set1_epi64x(int64_t{1} << 32));
    return reinterpret_cast<V>(_mm256_permutevar8x32_epi32(from, halves));
  } else {  // as bytes of either block
    const __m256i bytes =
        _mm256_add_epi16(_mm256_mullo_epi16(_mm256_and_si256(which, _mm256_set1_epi16(15)), _mm256_set1_epi16(0x0202)),
                         _mm256_set1_epi16(0x0100));
    const __m256i lower = _mm256_shuffle_epi8(_mm256_permute2x128_si256(from, from, 0x00), bytes);
    const __m256i upper = _mm256_shuffle_epi8(_mm256_permute2x128_si256(from, from, 0x11), bytes);
    return reinterpret_cast<V>(_mm256_blendv_epi8(lower, upper, _mm256_slli_epi16(bytes, 3)));
  }
#elif defined(__clang__)
  const __m512i from = reinterpret_cast<__m512i>(v), which = reinterpret_cast<__m512i>(lanes);
  if constexpr (sizeof(v[0]) == 2) return reinterpret_cast<V>(_mm512_permutexvar_epi16(which, from));
  if constexpr (sizeof(v[0]) == 4) return reinterpret_cast<V>(_mm512_permutexvar_epi32(which, from));
  if constexpr (sizeof(v[0]) == 8) return reinterpret_cast<V>(_mm512_permutexvar_epi64(which, from));
#else  // whose header warns of the intrinsics
  return __builtin_shuffle(v, lanes);
#endif
}

// The same, of the lanes of `a` and then `b`. One instruction with AVX-512.
template <class V>
inline V two_tables_lookup_lanes(V a, V b, V lanes) {
  static_assert(sizeof(a) == kVectorBytes && sizeof(a[0]) > 1);
#if !defined(__AVX512BW__)
  constexpr int kLanes = sizeof(V) / sizeof(a[0]);
  return lanes >= kLanes ? table_lookup_lanes(b, lanes) : table_lookup_lanes(a, lanes);
#elif defined(__clang__)
  const __m512i lower = reinterpret_cast<__m512i>(a), upper = reinterpret_cast<__m512i>(b);
  const __m512i which = reinterpret_cast<__m512i>(lanes);
  if constexpr (sizeof(a[0]) == 2) return reinterpret_cast<V>(_mm512_permutex2var_epi16(lower, which, upper));
  if constexpr (sizeof(a[0]) == 4) return reinterpret_cast<V>(_mm512_permutex2var_epi32(lower, which, upper));
  if constexpr (sizeof(a[0]) == 8) return reinterpret_cast<V>(_mm512_permutex2var_epi64(lower, which, upper));
#else
  return __builtin_shuffle(a, b, lanes);
#endif
}
#endif

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
