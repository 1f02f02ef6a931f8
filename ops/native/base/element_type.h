// Element types, and the order in which their maximum is taken.
#pragma once

#include <cstddef>
#include <cstdint>

namespace onnx_maxpool {

// ONNX's numbers. The names are ONNX's too, as the registry spells them.
enum class ElementType : int {
  undefined_ = 0,
  float_ = 1,
  uint8_ = 2,
  int8_ = 3,
  uint16_ = 4,
  int16_ = 5,
  int32_ = 6,
  int64_ = 7,
  float16_ = 10,
  double_ = 11,
  uint32_ = 12,
  uint64_ = 13,
  bfloat16_ = 16,
};

// A monotone map from an element's bits, read as a signed integer, to a signed integer key of the same width:
//   key = (bits ^ ((bits >> width-1) & mask)) - offset        (wrapping)
// For floats `mask` turns sign-magnitude into two's complement, and `offset` is the key of -inf moved to the bottom of
// the range: then the NaNs of either sign lie above +inf, so a plain maximum of keys lets a NaN win (G3). +0 lies one
// above -0 (G4). Unsigned integers only move; signed ones are their own keys.
struct Order {
  int64_t mask;
  int64_t offset;
};

constexpr size_t element_size(ElementType type) {
  switch (type) {
    case ElementType::int8_:
    case ElementType::uint8_:
      return 1;
    case ElementType::float16_:
    case ElementType::bfloat16_:
    case ElementType::int16_:
    case ElementType::uint16_:
      return 2;
    case ElementType::float_:
    case ElementType::int32_:
    case ElementType::uint32_:
      return 4;
    default:
      return 8;
  }
}

constexpr Order float_order(int64_t infinity, int width) {
  const int64_t lowest = -(int64_t{1} << (width - 2)) * 2;
  const int64_t negative_infinity = -1 - infinity;  // its bits after the mask
  return {-(lowest + 1),
          static_cast<int64_t>(static_cast<uint64_t>(negative_infinity) - static_cast<uint64_t>(lowest))};
}

constexpr Order order_of(ElementType type) {
  switch (type) {
    case ElementType::float16_:
      return float_order(0x7c00, 16);
    case ElementType::bfloat16_:
      return float_order(0x7f80, 16);
    case ElementType::float_:
      return float_order(0x7f800000, 32);
    case ElementType::double_:
      return float_order(0x7ff0000000000000, 64);
    case ElementType::uint8_:
    case ElementType::uint16_:
    case ElementType::uint32_:
    case ElementType::uint64_:
      return {0, -(int64_t{1} << (8 * element_size(type) - 2)) * 2};
    default:
      return {0, 0};
  }
}

}  // namespace onnx_maxpool
