// Float and double are pooled as numbers by x86 processors that compare them as programs expect, and as keys by others.
#pragma once

#include "kernels/simd/vector.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// What is pooled instead of keys of a width, if the elements are floating-point numbers.
template <class Key>
struct PooledAs {
  using type = Key;
};
#if defined(__SSE2__)
template <>
struct PooledAs<int32_t> {
  using type = float;
};
template <>
struct PooledAs<int64_t> {
  using type = double;
};
// Whether the processor is set as programs find it: not to take small numbers for 0, to raise signals, or to round in
// another way, as -0 + 0 may then be -0.
inline bool compares_numbers() {
  constexpr unsigned kFlushes = 0x8000, kRounds = 0x6000, kMasks = 0x1f80, kZeros = 0x0040;
  return (_mm_getcsr() & (kFlushes | kRounds | kMasks | kZeros)) == kMasks;
}
#else
inline bool compares_numbers() { return true; }
#endif

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
