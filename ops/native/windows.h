// Which input cells each output cell covers: half-open ranges in exact integer arithmetic (G1).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "window.h"

namespace onnx_maxpool {

// Rounded ROI edges are held within ±2^30 (M11), and a count of windows is below 2^31, so that no sum or product of
// this file leaves 64 bits.
constexpr int64_t kSaturation = int64_t{1} << 30;
constexpr int64_t kLargestCount = (int64_t{1} << 31) - 1;

inline Window clip(Window window, int64_t size) {
  return {std::clamp<int64_t>(window.start, 0, size), std::clamp<int64_t>(window.end, 0, size)};
}

// Calls emit(i, window) for the `count` windows [floor(i*L/n), ceil((i+1)*L/n)) that share out `extent` cells (M7, A2).
// One division: the quotients of i*L/n are followed by their remainders, since dividing for each window would take
// longer than pooling a small one.
template <class Emit>
void even_windows(int64_t extent, int64_t count, Emit&& emit) {
  const int64_t whole = extent / count, part = extent % count;
  int64_t floor = 0, remainder = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t start = floor;
    floor += whole;
    remainder += part;
    if (remainder >= count) {
      remainder -= count;
      ++floor;
    }
    emit(i, Window{start, floor + (remainder != 0)});
  }
}

// The same with float32 edges, as ONNX Runtime's own kernel has them (M12).
template <class Emit>
void float32_windows(int64_t extent, int64_t count, Emit&& emit) {
  const float bin_size = static_cast<float>(extent) / static_cast<float>(count);
  for (int64_t i = 0; i < count; ++i) {
    emit(i, Window{static_cast<int64_t>(std::floor(static_cast<float>(i) * bin_size)),
                   static_cast<int64_t>(std::ceil(static_cast<float>(i + 1) * bin_size))});
  }
}

// An ROI coordinate in cells of the feature map (M5, M11); it is not NaN. `round` takes halves away from zero.
template <class Float>
int64_t roi_edge(Float coordinate, float spatial_scale) {
  const Float limit = static_cast<Float>(kSaturation);
  const Float rounded = std::round(coordinate * static_cast<Float>(spatial_scale));
  return static_cast<int64_t>(std::clamp(rounded, -limit, limit));
}

// The bins of one ROI along one axis (M6 to M8, M12), written to `windows`; both edges belong to the ROI.
inline void roi_windows(int64_t first, int64_t last, int64_t count, int64_t size, BinEdges edges, Window* windows) {
  const int64_t extent = std::max<int64_t>(last - first + 1, 1);
  const auto emit = [=](int64_t i, Window bin) { windows[i] = clip({first + bin.start, first + bin.end}, size); };
  if (edges == BinEdges::exact) {
    even_windows(extent, count, emit);
  } else {
    float32_windows(extent, count, emit);
  }
}

}  // namespace onnx_maxpool
