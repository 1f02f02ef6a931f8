// A range of cells. Only types, for kernels and tests too: base/window_edges.h has the arithmetic.
#pragma once

#include <cstdint>

namespace onnx_maxpool {

// Half-open.
struct Window {
  int64_t start, end;
  int64_t length() const { return end - start; }
};

// The same of an ROI, clipped to the map. A run has a great many, and a map's sides fit in 32 bits.
struct RoiWindow {
  int32_t start, end;
};

// How many cells the bins of an ROI have along an axis: at least, and at most.
struct BinWidths {
  int32_t least, most;
};

// How an ROI is cut into bins (M7), by the names of facts.py. As a setting, unset is each operator's own default; an
// operator without bins has none other.
enum class BinEdges { unset, onnx_, exact_, double_ };

// How bins are computed, once it is known for which operator and element type.
enum class EdgeArithmetic { exact, in_float, in_double };

}  // namespace onnx_maxpool
