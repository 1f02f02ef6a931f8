// Which input cells each output cell covers: half-open ranges in exact integer arithmetic (G1). Rounded ROI edges lie
// within ±kSaturation (M11), and a count of windows is at most kLargestSide, so that no sum or product leaves 64 bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/window.h"
#include "facts.h"

namespace onnx_maxpool {

inline Window clip(Window window, int64_t size) {
  return {std::clamp<int64_t>(window.start, 0, size), std::clamp<int64_t>(window.end, 0, size)};
}

// Calls emit(i, window) for the `count` windows [floor(i*L/n), ceil((i+1)*L/n)) that share out `extent` cells (M7, A2).
// One division: the quotients of i*L/n are followed by their remainders, since dividing for each window would take
// longer than pooling a small one. No jump depends on a remainder either, as the processor could not foresee it.
template <class Emit>
void even_windows(int64_t extent, int64_t count, Emit&& emit) {
  // Of numbers of 32 bits a division takes half as long.
  const bool narrow = extent <= std::numeric_limits<int32_t>::max();
  const int64_t whole = narrow ? static_cast<int32_t>(extent) / static_cast<int32_t>(count) : extent / count;
  const int64_t part = extent - whole * count;
  int64_t floor = 0, remainder = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t start = floor;
    remainder += part;
    const int64_t carry = remainder >= count;
    remainder -= -carry & count;
    floor += whole + carry;
    emit(i, Window{start, floor + (remainder != 0)});
  }
}

// The same with the quotient and the product each rounded to `Float` (M7). `Int` has to hold the extent and what
// rounding adds to it. The products are not negative: a conversion to `Int` rounds them down, where std::floor would
// take a call.
template <class Float, class Int, class Emit>
void rounded_windows(int64_t extent, int64_t count, Emit&& emit) {
  const Float bin_size = static_cast<Float>(extent) / static_cast<Float>(count);
  Int floor = 0;
  for (Int i = 0; i < static_cast<Int>(count); ++i) {
    const Int start = floor;
    const Float edge = static_cast<Float>(i + 1) * bin_size;
    floor = static_cast<Int>(edge);
    emit(i, Window{start, floor + (static_cast<Float>(floor) < edge)});
  }
}

inline EdgeArithmetic edge_arithmetic(BinEdges edges, bool is_double) {
  if (edges == BinEdges::exact_) return EdgeArithmetic::exact;
  return edges == BinEdges::double_ || is_double ? EdgeArithmetic::in_double : EdgeArithmetic::in_float;
}

// An ROI coordinate in cells of the feature map (M5, M11); it is not NaN. Halves are rounded away from zero, as by
// std::round, which takes a call.
template <class Float>
int64_t roi_edge(Float coordinate, float spatial_scale) {
  const Float limit = static_cast<Float>(kSaturation);
  const Float product = coordinate * static_cast<Float>(spatial_scale);
  // NaN, as of infinity and a scale that counts as 0 where subnormal numbers do, is no greater than anything.
  const Float cells = product > -limit ? std::min(product, limit) : -limit;
  const auto whole = static_cast<int64_t>(cells);  // towards zero
  const Float rest = cells - static_cast<Float>(whole);
  return whole + (rest >= Float{0.5}) - (rest <= Float{-0.5});
}

// The bins of one ROI along one axis (M6 to M8), written to `windows`; both edges belong to the ROI. `size` fits in 32
// bits.
inline void roi_windows(int64_t first, int64_t last, int64_t count, int64_t size, EdgeArithmetic edges,
                        RoiWindow* windows) {
  constexpr int64_t kFitsInt32 = int64_t{1} << 30;
  const int64_t extent = std::max<int64_t>(last - first + 1, 1);
  const auto emit = [=](int64_t i, Window bin) {
    windows[i] = {static_cast<int32_t>(first + bin.start), static_cast<int32_t>(first + bin.end)};
  };
  const auto emit_clipped = [=](int64_t i, Window bin) {
    const Window inside = clip({first + bin.start, first + bin.end}, size);
    windows[i] = {static_cast<int32_t>(inside.start), static_cast<int32_t>(inside.end)};
  };
  if (edges == EdgeArithmetic::in_float && extent <= kFitsInt32) {
    rounded_windows<float, int32_t>(extent, count, emit_clipped);
  } else if (edges == EdgeArithmetic::in_float) {
    rounded_windows<float, int64_t>(extent, count, emit_clipped);
  } else if (edges == EdgeArithmetic::in_double) {
    rounded_windows<double, int64_t>(extent, count, emit_clipped);
  } else if (0 <= first && first + extent <= size) {
    even_windows(extent, count, emit);
  } else {
    even_windows(extent, count, emit_clipped);
  }
}

// Of the windows of one ROI.
inline BinWidths widths_of(const RoiWindow* windows, int64_t count) {
  BinWidths widths = {windows[0].end - windows[0].start, windows[0].end - windows[0].start};
  for (int64_t i = 1; i < count; ++i) {
    widths.least = std::min(widths.least, windows[i].end - windows[i].start);
    widths.most = std::max(widths.most, windows[i].end - windows[i].start);
  }
  return widths;
}

}  // namespace onnx_maxpool
