// Elements as integer keys whose order is the elements' (base/element_type.h).
#pragma once

#include "base/element_type.h"
#include "kernels/simd/vector.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {

// The map of base/element_type.h and its inverse, for elements of Key's width. Unsigned arithmetic, as it wraps.
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
  // The key of 0.
  template <class V>
  ONNX_MAXPOOL_INLINE V zero() const {
    return V{} - offset;
  }
};

// What ROIs are pooled by: keys; or numbers as they are, where none of them is NaN, as processors have a maximum of
// doubles, but mostly none of integers so wide. Which of two zeros that is differs, so that of doubles each is +0.
template <class Key>
struct RoiOrder : KeyOrder<Key> {
  using KeyOrder<Key>::KeyOrder;
};
template <>
struct RoiOrder<int64_t> : KeyOrder<int64_t> {
  using KeyOrder::KeyOrder;
  int64_t from_key(int64_t key) const { return KeyOrder::from_key(key + (key == -1 - offset)); }
  template <class V>
  ONNX_MAXPOOL_INLINE V from_key(V key) const {
    return KeyOrder::from_key(key - (key == -1 - offset));  // of a vector, true is -1
  }
};
template <>
struct RoiOrder<double> {
  explicit RoiOrder(Order) {}
  template <class V>
  ONNX_MAXPOOL_INLINE V to_key(V number) const {
    return number;
  }
  template <class V>
  ONNX_MAXPOOL_INLINE V from_key(V number) const {
    return number + 0.0;
  }
  template <class V>
  ONNX_MAXPOOL_INLINE V zero() const {
    return V{};
  }
};

// Whether there was a NaN among the numbers that were seen. Of keys that is not asked, as they have an order with NaNs.
template <class Key, int bytes>
class NanWatch {
  using V = Vector<Key, bytes>;

 public:
  void see(V, V) {}
  static constexpr bool any() { return false; }
};

#if defined(__SSE2__)
template <int bytes>
class NanWatch<double, bytes> {
  using V = Vector<double, bytes>;

 public:
  ONNX_MAXPOOL_INLINE void see(V a, V b) {
#if defined(__AVX512F__)
    if constexpr (bytes == 64) {
      mask_ |= _mm512_cmp_pd_mask(reinterpret_cast<__m512d>(a), reinterpret_cast<__m512d>(b), _CMP_UNORD_Q);
      return;
    }
#endif
#if defined(__AVX__)
    if constexpr (bytes == 32) {
      lanes_ |= reinterpret_cast<Bits>(
          _mm256_cmp_pd(reinterpret_cast<__m256d>(a), reinterpret_cast<__m256d>(b), _CMP_UNORD_Q));
      return;
    }
#endif
    if constexpr (bytes == 16) {
      lanes_ |= reinterpret_cast<Bits>(_mm_cmpunord_pd(reinterpret_cast<__m128d>(a), reinterpret_cast<__m128d>(b)));
    }
  }
  ONNX_MAXPOOL_INLINE bool any() const { return mask_ != 0 || !all_false(lanes_); }

 private:
  using Bits = Vector < int64_t, bytes<64 ? bytes : 16>;
  Bits lanes_{};
  unsigned mask_ = 0;
};
#endif

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
