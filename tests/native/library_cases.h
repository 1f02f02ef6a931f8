// Cases of each operator, by their shapes and attributes, with cells of their own.
#pragma once

#include <string>
#include <vector>

#include "operator_case.h"

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

// Ends the program where the case's outputs or status are not oracle.h's.
void check(const OperatorCase& operator_case);
