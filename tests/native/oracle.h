// The operators cell by cell, from the rules alone: what the library's outputs and refusals are held to. Shares types
// with the kernels and their plans, and no code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/window.h"
#include "stand_in_runtime.h"

namespace naive {

using onnx_maxpool::BinEdges;
using onnx_maxpool::EdgeArithmetic;
using onnx_maxpool::ElementType;
using onnx_maxpool::Shape;
using onnx_maxpool::Window;

// Cell `i` as a number, exactly: 64 bits of mantissa hold every element type. Integers of a type, or a float.
long double number(ElementType type, const void* cells, int64_t i);

// Writes `value` as a cell of the type; a float's digits beyond the type's are cut off.
void set_number(ElementType type, void* cells, int64_t i, long double value);

// Equal by G4 and G6: NaN is NaN, +0 is -0.
bool same(long double a, long double b);

// Where in the plane the first maximum of a product of windows lies (G2 to G5); -1 if they hold no cell.
int64_t winner(ElementType type, const void* cells, int64_t plane, const Shape& sizes,
               const std::vector<Window>& windows);

// M5 to M8: an ROI's edge, and its bins along an axis.
int64_t edge(ElementType type, long double coordinate, float spatial_scale);
Window bin(int64_t p, int64_t count, int64_t first, int64_t last, int64_t size, EdgeArithmetic edges);
// P4 and A2.
Window sliding_window(int64_t i, int64_t stride, int64_t padding, int64_t length, int64_t size);
Window even_window(int64_t i, int64_t count, int64_t size);

struct Expected {
  std::string refusal = {};  // a part of the message; empty where the node runs
  std::vector<Shape> shapes = {};
  // Of each output, its cells; empty where `too_much`.
  std::vector<std::vector<long double>> outputs = {};
  bool too_much = false;  // more than `most_work`
};

// As many cells may be looked at, each as often as it is in a window, and as many outputs be given.
extern int64_t most_work;

// `infers`: whether the runtime lets an operator infer an optional output's type.
Expected expected(const stand_in::Node& node, const std::vector<const OrtValue*>& inputs, BinEdges edges, bool infers);

}  // namespace naive
