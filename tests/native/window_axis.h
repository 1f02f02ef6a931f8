// The windows along an axis, with their list: for tests, and for programs that judge the cost model.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/window.h"

struct WindowAxis {
  onnx_maxpool::PoolAxis listed() const;  // borrows the list

  onnx_maxpool::PoolAxis axis;
  std::vector<onnx_maxpool::Window> windows;
};

namespace window_axis {

WindowAxis sliding(int64_t size, int64_t length = 1, int64_t step = 1, int64_t padding = 0);
WindowAxis even(int64_t size, int64_t count);

}  // namespace window_axis
