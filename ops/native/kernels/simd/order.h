// Elements as integer keys whose order is the elements' (base/element_type.h), and as the numbers that they are.
#pragma once

#include "base/element_type.h"
#include "kernels/simd/vector.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {

// The map of base/element_type.h and its inverse, for elements of Key's width. Sums may overflow: kernels are
// compiled with -fwrapv, so that they wrap.
template <class Key>
struct KeyOrder {
  Key mask, offset;
  explicit KeyOrder(Order order) : mask(static_cast<Key>(order.mask)), offset(static_cast<Key>(order.offset)) {}

  template <class V>
  ONNX_MAXPOOL_INLINE V to_key(V bits) const {
    if constexpr (sizeof(Key) == 1) return bits - offset;  // no float is so narrow
    return (bits ^ ((bits >> (8 * sizeof(Key) - 1)) & mask)) - offset;
  }
  template <class V>
  ONNX_MAXPOOL_INLINE V from_key(V key) const {
    const V masked = key + offset;
    if constexpr (sizeof(Key) == 1) return masked;
    return masked ^ ((masked >> (8 * sizeof(Key) - 1)) & mask);
  }
  template <class V>
  ONNX_MAXPOOL_INLINE V key_of_zero() const {
    return V{} - offset;
  }
};

// What floating-point numbers are pooled by where no index is wanted: keys; or, of float and double, themselves where
// none of them is NaN. The maximum of numbers is one instruction of all x86 processors, that of keys so wide only of
// some, and numbers have no way in and out. Which of two zeros is the maximum of numbers differs, so that of these
// types each is +0.
template <class Key>
struct ValueOrder : KeyOrder<Key> {
  using KeyOrder<Key>::KeyOrder;
  ONNX_MAXPOOL_INLINE Key from_key(Key key) const {
    return KeyOrder<Key>::from_key(static_cast<Key>(key + (kMerges && key == minus_zero())));
  }
  template <class V>
  ONNX_MAXPOOL_INLINE V from_key(V key) const {
    if constexpr (kMerges) key -= key == minus_zero();  // of a vector, true is -1
    return KeyOrder<Key>::from_key(key);
  }

 private:
  static constexpr bool kMerges = sizeof(Key) >= 4;
  Key minus_zero() const { return static_cast<Key>(-1 - this->offset); }
};

template <class Number>
struct NumberOrder {
  explicit NumberOrder(Order) {}
  template <class V>
  ONNX_MAXPOOL_INLINE V to_key(V number) const {
    return number;
  }
  template <class V>
  ONNX_MAXPOOL_INLINE V from_key(V number) const {
    return number + Number{};
  }
  template <class V>
  ONNX_MAXPOOL_INLINE V key_of_zero() const {
    return V{};
  }
};
template <>
struct ValueOrder<float> : NumberOrder<float> {
  using NumberOrder::NumberOrder;
};
template <>
struct ValueOrder<double> : NumberOrder<double> {
  using NumberOrder::NumberOrder;
};

#if defined(__SSE2__)
// What is not 0 where one of two numbers is NaN.
inline __m128i unordered(__m128 a, __m128 b) { return _mm_castps_si128(_mm_cmpunord_ps(a, b)); }
inline __m128i unordered(__m128d a, __m128d b) { return _mm_castpd_si128(_mm_cmpunord_pd(a, b)); }
#if defined(__AVX__)
inline __m256i unordered(__m256 a, __m256 b) { return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_UNORD_Q)); }
inline __m256i unordered(__m256d a, __m256d b) { return _mm256_castpd_si256(_mm256_cmp_pd(a, b, _CMP_UNORD_Q)); }
#endif
#if defined(__AVX512F__)
// One instruction that also keeps what is known: of these lanes, those where neither number is NaN.
inline __mmask16 still_ordered(__mmask16 lanes, __m512 a, __m512 b) {
  return _mm512_mask_cmp_ps_mask(lanes, a, b, _CMP_ORD_Q);
}
inline __mmask8 still_ordered(__mmask8 lanes, __m512d a, __m512d b) {
  return _mm512_mask_cmp_pd_mask(lanes, a, b, _CMP_ORD_Q);
}
#endif
#endif

// Whether there was a NaN among the numbers that were seen. Of keys that is not asked, as they have an order with NaNs.
template <class V, class Lane = __typeof__(V{}[0] + V{}[0])>
class NanWatch {
 public:
  void see(V, V) {}
  void see(V) {}
  void see(NanWatch) {}
  static constexpr bool any() { return false; }
};
#if defined(__SSE2__)
template <class V, int bytes = sizeof(V)>
class NumberNanWatch {
 public:
  ONNX_MAXPOOL_INLINE void see(V a, V b) { found_ |= unordered(a, b); }
  ONNX_MAXPOOL_INLINE void see(V v) { see(v, v); }
  ONNX_MAXPOOL_INLINE void see(const NumberNanWatch& other) { found_ |= other.found_; }
  ONNX_MAXPOOL_INLINE bool any() const { return !all_false(found_); }

 private:
  decltype(unordered(V{}, V{})) found_{};
};
#if defined(__AVX512F__)
template <class V>
class NumberNanWatch<V, 64> {
 public:
  ONNX_MAXPOOL_INLINE void see(V a, V b) { ordered_ = still_ordered(ordered_, a, b); }
  ONNX_MAXPOOL_INLINE void see(V v) { see(v, v); }
  ONNX_MAXPOOL_INLINE void see(const NumberNanWatch& other) { ordered_ &= other.ordered_; }
  ONNX_MAXPOOL_INLINE bool any() const { return ordered_ != kAll; }

 private:
  using Mask = decltype(still_ordered({}, V{}, V{}));
  static constexpr Mask kAll = static_cast<Mask>(-1);
  Mask ordered_ = kAll;
};
#endif
template <class V>
class NanWatch<V, float> : public NumberNanWatch<V> {};
template <class V>
class NanWatch<V, double> : public NumberNanWatch<V> {};
#endif

// Keys, with one for +0 and -0, and one for all NaNs: where the first of equal cells is wanted (G4, G5).
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
  ONNX_MAXPOOL_INLINE V to_key(V bits) const {
    return merged(KeyOrder<Key>::to_key(bits));
  }
  template <class V>
  ONNX_MAXPOOL_INLINE V merged(V key) const {
    if constexpr (sizeof(Key) == 1) return key;
    const V number = key > infinity ? V{} + nan : key;
    return number == minus_zero ? V{} + zero : number;
  }
};

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
