#include "library_cases.h"

#include <random>

#include "cells.h"
#include "oracle.h"
#include "require.h"

using onnx_maxpool::ElementType;
using onnx_maxpool::Shape;

namespace {

std::unique_ptr<OrtValue> filled(ElementType type, const Shape& shape, uint8_t kind = 0) {
  auto tensor = stand_in::tensor(type, shape, 1);
  const uint8_t choice[] = {kind, 7, 1};
  ByteSource source(choice, sizeof choice);
  fill_cells(source, *tensor);
  return tensor;
}

std::unique_ptr<OrtValue> numbers(ElementType type, const Shape& shape, const std::vector<long double>& values) {
  auto tensor = stand_in::tensor(type, shape);
  for (size_t i = 0; i < values.size(); ++i) {
    naive::set_number(type, tensor->block.data(), static_cast<int64_t>(i), values[i]);
  }
  return tensor;
}

}  // namespace

OperatorCase max_roi_pool(ElementType type, const Shape& x, const std::vector<long double>& rois, const Shape& pooled) {
  OperatorCase c;
  c.node.op = "MaxRoiPool";
  c.node.attributes["pooled_shape"] = pooled;
  c.node.outputs = {"Y"};
  c.inputs.push_back(filled(type, x, 1));
  c.inputs.push_back(numbers(type, {static_cast<int64_t>(rois.size()) / 5, 5}, rois));
  return c;
}

OperatorCase max_pooling1(ElementType type, const Shape& x, const Shape& window, const Shape& strides,
                          const Shape& start, const Shape& end) {
  OperatorCase c;
  c.node.domain = "directml";
  c.node.op = "MaxPooling1";
  c.node.attributes = {{"window_size", window}, {"strides", strides}, {"start_padding", start}, {"end_padding", end}};
  c.node.outputs = {"Y", "Indices"};
  c.inputs.push_back(filled(type, x, 1));
  return c;
}

OperatorCase adaptive_max_pool(ElementType type, const Shape& x, const std::vector<long double>& size) {
  OperatorCase c;
  c.node.domain = "org.openvinotoolkit";
  c.node.op = "AdaptiveMaxPool";
  c.node.outputs = {"Y", "Indices"};
  c.inputs.push_back(filled(type, x, 1));
  c.inputs.push_back(numbers(ElementType::int64_, {static_cast<int64_t>(size.size())}, size));
  return c;
}

OperatorCase python_result(const std::vector<long double>& message) {
  OperatorCase c;
  c.node.domain = "onnx_maxpool";
  c.node.op = "PythonResult_float";
  c.node.attributes["dims"] = Shape{2, -1};
  c.node.outputs = {"Y", "message"};
  c.inputs.push_back(filled(ElementType::float_, {2, 3}));
  c.inputs.push_back(numbers(ElementType::uint8_, {static_cast<int64_t>(message.size())}, message));
  return c;
}

void check(const OperatorCase& c) {
  const std::string wrong = difference(c);
  require(wrong.empty(), wrong + "\n" + described(c));
}

std::vector<long double> some_rois(int64_t count, int64_t images, int64_t height, int64_t width) {
  std::mt19937 random(5);
  std::vector<long double> rois;
  for (int64_t i = 0; i < count; ++i) {
    const auto at = [&](int64_t size) { return static_cast<long double>(random() % (size + 6)) - 3; };
    for (long double value : {static_cast<long double>(i % images), at(width), at(height), at(width), at(height)}) {
      rois.push_back(value);
    }
  }
  return rois;
}

std::vector<OperatorCase> one_of_each() {
  std::vector<OperatorCase> cases;
  cases.push_back(max_roi_pool(ElementType::float_, {2, 20, 9, 11}, some_rois(7, 2, 9, 11), {2, 3}));
  cases.push_back(max_roi_pool(ElementType::double_, {1, 3, 9, 11}, {0, 0, 0, 3, 3}, {2, 3}));
  cases.push_back(max_roi_pool(ElementType::float_, {1, 3, 9, 11}, {7, 0, 0, 3, 3}, {2, 3}));  // is refused
  cases.push_back(max_pooling1(ElementType::int8_, {2, 3, 9, 11}, {3, 2}, {2, 1}, {1, 0}, {0, 1}));
  cases.back().node.attributes["index_element_type"] = std::string("u64");
  cases.push_back(adaptive_max_pool(ElementType::bfloat16_, {2, 3, 4, 9, 11}, {2, 3, 5}));
  cases.push_back(python_result({}));
  cases.push_back(python_result({'n', 'o'}));
  for (OperatorCase& c : cases) c.node.threads = 2;
  return cases;
}
