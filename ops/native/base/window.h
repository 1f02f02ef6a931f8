// A range of cells. Types alone, for kernels and tests too: how windows are planned is in base/window_plan.h.
#pragma once

#include <cstdint>

namespace onnx_maxpool {

// Half-open.
struct Window {
  int64_t start, end;
};

// The same of an ROI, whose edges M11 holds near zero. A run has a great many.
struct RoiWindow {
  int32_t start, end;
};

// How an ROI is cut into bins: exactly, or in float32 as ONNX Runtime's own kernel cuts it (M12).
enum class BinEdges { exact, float32 };

}  // namespace onnx_maxpool
