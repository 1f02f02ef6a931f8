#include "window_axis.h"

#include "oracle.h"

using namespace onnx_maxpool;

PoolAxis WindowAxis::listed() const {
  PoolAxis out = axis;
  out.windows = windows.data();
  return out;
}

WindowAxis window_axis::sliding(int64_t size, int64_t length, int64_t step, int64_t padding) {
  WindowAxis out = {{size, (size + 2 * padding - length) / step + 1, false, -padding, step, length}, {}};
  for (int64_t i = 0; i < out.axis.count; ++i) {
    out.windows.push_back(naive::sliding_window(i, step, padding, length, size));
  }
  return out;
}

WindowAxis window_axis::even(int64_t size, int64_t count) {
  WindowAxis out = {{size, count, true, 0, 0, 0}, {}};
  for (int64_t i = 0; i < count; ++i) out.windows.push_back(naive::even_window(i, count, size));
  return out;
}
