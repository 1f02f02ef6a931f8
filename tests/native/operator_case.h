// A node with its inputs, made of a fuzzer's bytes or of shapes and attributes, and what must hold when it runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "byte_source.h"
#include "oracle.h"
#include "stand_in_runtime.h"

struct OperatorCase {
  stand_in::Node node;
  std::vector<std::unique_ptr<OrtValue>> inputs;
  naive::BinEdges bin_edges = naive::BinEdges::unset;
  stand_in::Version version = stand_in::Version::newest;
  // Of later runs of the same node, and which inputs each run has: 0 are those above. Without turns, the node says how
  // often it runs.
  std::vector<std::vector<std::unique_ptr<OrtValue>>> later;
  std::vector<size_t> turns;
  bool is_large = false;  // some of the inputs

  std::vector<const OrtValue*> input_values() const;
  std::vector<std::vector<const OrtValue*>> all_inputs() const;
};

// A type as operators' names and messages spell it.
const char* name_of(onnx_maxpool::ElementType type);

OperatorCase decode_operator_case(ByteSource source);

// Cases of each operator, by their shapes and attributes, with cells of their own.
OperatorCase max_roi_pool(onnx_maxpool::ElementType type, const onnx_maxpool::Shape& x,
                          const std::vector<long double>& rois, const onnx_maxpool::Shape& pooled);
OperatorCase max_pooling1(onnx_maxpool::ElementType type, const onnx_maxpool::Shape& x,
                          const onnx_maxpool::Shape& window, const onnx_maxpool::Shape& strides,
                          const onnx_maxpool::Shape& start, const onnx_maxpool::Shape& end);
OperatorCase adaptive_max_pool(onnx_maxpool::ElementType type, const onnx_maxpool::Shape& x,
                               const std::vector<long double>& size);
OperatorCase python_result(const std::vector<long double>& message);

// ROIs all over a map, some beyond it.
std::vector<long double> some_rois(int64_t count, int64_t images, int64_t height, int64_t width);

// One of each operator, small.
std::vector<OperatorCase> one_of_each();

// The case as a reader wants it: operator, attributes, shapes, and the cells of small inputs.
std::string described(const OperatorCase& operator_case);

// As the session config entry names a setting; empty where it is not set.
const char* name_of(naive::BinEdges bin_edges);

// Session options with the library's operators, one for each setting; made once.
const OrtSessionOptions& session_options(naive::BinEdges bin_edges, stand_in::Version version);

// Ends the program with kSkipped, and says so, where this processor does not run the target that was asked for.
constexpr int kSkipped = 77;
void require_target();

// Runs the case and compares status and outputs with oracle.h's. Returns what is wrong; empty if nothing is.
std::string difference(const OperatorCase& operator_case);

// Ends the program where the case's outputs or status are not oracle.h's.
void check(const OperatorCase& operator_case);
