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
