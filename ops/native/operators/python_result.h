// The nodes behind operators that run in Python: not operators of the registry.
#pragma once

#include <vector>

#include "runtime/custom_op.h"

namespace onnx_maxpool {

struct PythonResultOp {
  Operator op;
  ElementType type;
};

// One per type that onnxruntime-extensions hands to Python and takes back, in the domain `onnx_maxpool`. Not overloads
// of one name: the runtime would then want the type from shape inference, and with it a rank, which is not known.
const std::vector<PythonResultOp>& python_results();

}  // namespace onnx_maxpool
