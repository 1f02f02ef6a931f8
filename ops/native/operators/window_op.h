// Maximum over windows that all of a tensor's planes share, with the index of its first cell as an optional output:
// what is common to the operators whose inputs are (N, C, spatial...).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/window.h"
#include "runtime/custom_op.h"

namespace onnx_maxpool {

// The index output of an operator.
struct IndexOutput {
  bool present;
  ElementType type;
  int64_t step;  // from a plane's first index to the next one's
};

// Pools input 0 to outputs 0 and 1. Throws Error, with the operator's name, where an output is too large.
void pool_windows(const Run& run, const char* op, ElementType type, const Tensor& x, const std::vector<PoolAxis>& axes,
                  const IndexOutput& index);

// The index type that `name` spells, which is one of the two; the first is the default. Throws Error for other
// names, and for the second one where the node has the output and the runtime cannot infer its type.
ElementType index_type(const char* op, const Variant& variant, const Attributes& attributes, const char* first,
                       const char* second);

// The index output in an operator's signature.
Parameter index_parameter(const Variant& variant, ElementType first);

// Sets both outputs of a node.
void infer_windows(const Variant& variant, const Inference& node, const std::vector<Dim>& dims, const char* first);

}  // namespace onnx_maxpool
