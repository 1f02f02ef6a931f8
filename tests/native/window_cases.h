// Windows for the tests that ask every plan of every target for all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "window_axis.h"

struct WindowCase {
  // Its sizes and windows, whose lists it borrows; no memory.
  onnx_maxpool::PoolJob job() const;

  const char* name;
  int64_t planes;
  WindowAxis depth, rows, columns;
};

const std::vector<WindowCase>& window_cases();
