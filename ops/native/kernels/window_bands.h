// An axis in bands of windows, so that what is at hand stays in a cache, and windows in steps, where they overlap.
#pragma once

#include "kernels/window_list.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// All bands but the last have as many windows, 0 where not even one fits; `cells` is the most that a band has.
struct AxisBands {
  int64_t outputs, count, cells;
};

// With at most so many cells and windows each.
inline AxisBands bands_of_axis(const PoolAxis& axis, int64_t most) {
  int64_t longest = 0;
  for (int64_t i = 0; i < axis.count; ++i) {
    const int64_t length = axis.windows[i].end - axis.windows[i].start;
    longest = length > longest ? length : longest;
  }
  // A band has cells beyond those that it shares out with its neighbours: of its last window.
  int64_t outputs = (most - longest) * axis.count / axis.size;
  if (outputs > most) outputs = most;
  if (outputs > axis.count) outputs = axis.count;
  if (2 * longest > most || outputs < 1) return {0, 0, 0};
  int64_t widest = outputs;
  for (int64_t i = 0; i < axis.count; i += outputs) {
    const int64_t last = (i + outputs < axis.count ? i + outputs : axis.count) - 1;
    const int64_t cells = axis.windows[last].end - axis.windows[i].start;
    widest = cells > widest ? cells : widest;
  }
  return {outputs, (axis.count + outputs - 1) / outputs, widest};
}

// Where windows overlap, cells may become the best of 2, 4, ... cells of their axis first: of how many, so that it
// costs least. The power of two is no longer than any window.
inline int64_t cheapest_tap(const Window* windows, int64_t count, int64_t size) {
  int64_t best = 1, least = -1, doublings = 0;
  for (int64_t tap = 1;; tap *= 2, ++doublings) {
    int64_t taps = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t length = windows[i].end - windows[i].start;
      if (length < tap) return best;
      taps += (length + tap - 1) / tap - 1;
    }
    // A doubling also stores.
    const int64_t cost = taps + 2 * doublings * size;
    if (least < 0 || cost < least) {
      least = cost;
      best = tap;
    }
  }
}

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
