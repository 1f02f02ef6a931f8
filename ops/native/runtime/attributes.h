// The attributes of a node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ort_abi.h"

namespace onnx_maxpool {

// A node's attributes while its kernel is made. A missing attribute gives the default; one of another type throws
// Error, as the runtime checks a custom operator's attributes against no schema. So does an empty list, which the
// runtime does not tell from other types: no operator here wants one.
class Attributes {
 public:
  Attributes(const OrtApi* api, const OrtKernelInfo* info, const char* op) : api_(api), info_(info), op_(op) {}
  float get(const char* name, float missing) const;
  std::vector<int64_t> get(const char* name, const std::vector<int64_t>& missing) const;
  std::string get(const char* name, const std::string& missing) const;
  // Throws Error where the node does not have it.
  std::vector<int64_t> required(const char* name) const;
  // Whether the node has that output: optional ones may be left out.
  bool has_output(size_t index) const;

 private:
  bool succeeded(OrtStatus* status) const;
  // The number of integers that the attribute has: 0 where it is of another type, -1 where there is none.
  int64_t count(const char* name) const;
  // What an accessor failed to read must be missing: throws Error where another accessor finds it.
  void refuse_other_types(const char* name, const char* expected) const;
  const OrtApi* api_;
  const OrtKernelInfo* info_;
  const char* op_;
};

}  // namespace onnx_maxpool
