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

// The axes behind (N, C).
using PoolAxes = ShortList<PoolAxis, 3>;

// Pools input 0 to outputs 0 and 1. Throws Error, with the operator's name, where an output is too large.
void pool_windows(const Run& run, const char* op, ElementType type, const Tensor& x, const PoolAxes& axes,
                  const IndexOutput& index);

// The index type that the node asks for. Throws Error where the operator has none such, and for another than the
// default where the node has the output and the runtime cannot infer its type.
ElementType index_type(const char* op, const Variant& variant, const Attributes& attributes);
// As the attribute spells it: i32.
std::string spelling_of(ElementType index_type);

// The index output in an operator's signature.
Parameter index_parameter(const Variant& variant);

// Sets both outputs of a node.
void infer_windows(const Variant& variant, const Inference& node, const std::vector<Dim>& dims);

// The same where not even the rank is known. Types that are not set are those of the first overload that fits, and
// shapes stay unknown. A type cannot be set without a shape: an index of another type than the default has the rank of
// images.
void infer_windows_of_any_rank(const Variant& variant, const Inference& node);

}  // namespace onnx_maxpool
