// Type and shape inference of a node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/element_type.h"
#include "base/ort_abi.h"

namespace onnx_maxpool {

// A dimension in shape inference: a size, or a symbol where the size is not known.
struct Dim {
  int64_t size = -1;
  std::string symbol;
};

// Type and shape inference of one node. The runtime asks the first of an operator's variants for all of them, so that
// types are the inputs', not the variant's.
class Inference {
 public:
  Inference(const OrtApi* api, OrtShapeInferContext* context) : api_(api), context_(context) {}
  ElementType input_type(size_t index) const;
  // 0 where it is not known.
  size_t input_rank(size_t index) const;
  // An input's dimensions, or `rank` unknown ones where its rank is not `rank` (which stands for unknown, too).
  std::vector<Dim> input(size_t index, size_t rank) const;
  // `missing` where the node does not have the attribute as INTS, or as STRING.
  std::vector<int64_t> ints(const char* name, const std::vector<int64_t>& missing) const;
  std::string string(const char* name, const std::string& missing) const;
  void set_output(size_t index, ElementType type, const std::vector<Dim>& dims) const;
  // A dimension that equals no other.
  static Dim unknown();

 private:
  OrtTensorTypeAndShapeInfo* info_of(size_t index) const;
  std::vector<char> attribute(const char* name, int type) const;
  const OrtApi* api_;
  OrtShapeInferContext* context_;
};

}  // namespace onnx_maxpool
