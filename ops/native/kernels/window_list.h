// The windows of an axis, whether it has a list of them or not.
#pragma once

#include "kernels/simd/vector.h"
#include "kernels/window.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

inline Window clipped_window(const PoolAxis& axis, int64_t start, int64_t grains) {
  const int64_t end = start + axis.length;
  return {(start < 0 ? 0 : start) * axis.grain, (end < grains ? end : grains) * axis.grain};
}

ONNX_MAXPOOL_NOINLINE inline Window unlisted_window(const PoolAxis& axis, int64_t i) {
  const int64_t n = axis.size / axis.grain;
  if (!axis.even) return clipped_window(axis, axis.first + i * axis.step, n);
  // i*n / count without a product that leaves 64 bits, as counts are below 2^31.
  const int64_t whole = n / axis.count, part = n % axis.count, next = (i + 1) * part;
  return {(i * whole + i * part / axis.count) * axis.grain,
          ((i + 1) * whole + (next + axis.count - 1) / axis.count) * axis.grain};
}

ONNX_MAXPOOL_INLINE Window window_at(const PoolAxis& axis, int64_t i) {
  return axis.windows ? axis.windows[i] : unlisted_window(axis, i);
}

// `count` windows from the `first`-th on, to `to`. Even ones by additions: the quotients of i*n / count are followed by
// their remainders, as to divide for each would take longer than pooling a small one.
inline void list_windows(const PoolAxis& axis, int64_t first, int64_t count, Window* to) {
  const int64_t n = axis.size / axis.grain, grain = axis.grain, all = axis.count;
  if (!axis.even) {
    int64_t start = axis.first + first * axis.step;
    for (int64_t i = 0; i < count; ++i, start += axis.step) to[i] = clipped_window(axis, start, n);
    return;
  }
  const int64_t whole = n / all, part = n % all;
  int64_t start = first * whole + first * part / all, remainder = first * part % all;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t sum = remainder + part, carry = sum >= all, rest = sum - (-carry & all), next = start + whole + carry;
    to[i] = {start * grain, (next + (rest > 0)) * grain};
    start = next;
    remainder = rest;
  }
}

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
