// Poolings without ROIs: their memory beside inputs and outputs does not grow with their windows
// (settings-and-limits.md), and what they do with many is right.
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "operator_case.h"
#include "require.h"

namespace {

using onnx_maxpool::ElementType;
using onnx_maxpool::Shape;

// Bytes that the library asks for in the first run.
size_t bytes_of(const OperatorCase& c) {
  const auto inputs = c.input_values();
  const OrtCustomOp& op = *stand_in::find(session_options(c.bin_edges, c.version), c.node, inputs);
  stand_in::failing_allocation = std::numeric_limits<int64_t>::max();  // so that they are counted
  const stand_in::Run run = stand_in::run(op, c.node, inputs, c.version);
  stand_in::failing_allocation = -1;
  require(!run.created.code && !run.computed.code, run.created.message + run.computed.message);
  return run.bytes.at(0);
}

struct Many {
  std::string what;
  std::function<OperatorCase(int64_t)> of;  // so many windows, about
};

std::vector<Many> many_windows() {
  const auto of_type = [](ElementType type, int64_t length, int64_t step, int64_t padding, int64_t rows) {
    return [=](int64_t n) {
      return max_pooling1(type, {1, 1, 2, n * step}, {rows, length}, {1, step}, {0, padding}, {rows - 1, padding});
    };
  };
  const auto row = [=](int64_t length, int64_t step, int64_t padding, int64_t rows) {
    return of_type(ElementType::int8_, length, step, padding, rows);
  };
  return {
      {"windows that slide by 1", row(3, 1, 2, 2)},
      {"windows that slide by 2", row(4, 2, 1, 1)},
      {"long windows that slide", row(700, 1, 650, 2)},
      {"windows that slide by 3", of_type(ElementType::float16_, 3, 3, 2, 1)},
      {"windows that are gathered", row(3, 4, 2, 1)},
      {"windows that overlap, gathered", row(40, 5, 30, 2)},
      {"rows",
       [](int64_t n) { return max_pooling1(ElementType::int8_, {1, 1, n, 2}, {3, 2}, {1, 1}, {1, 0}, {1, 1}); }},
      {"rows of one window",
       [](int64_t n) { return max_pooling1(ElementType::int8_, {1, 1, n, 3}, {3, 3}, {1, 1}, {1, 0}, {1, 0}); }},
      {"planes",
       [](int64_t n) {
         return max_pooling1(ElementType::int8_, {1, 1, n, 2, 2}, {2, 1, 1}, {1, 1, 1}, {1, 0, 0}, {0, 0, 0});
       }},
      {"even windows",
       [](int64_t n) {
         return adaptive_max_pool(ElementType::float16_, {1, 1, 2 * n + 1}, {static_cast<long double>(n)});
       }},
      {"even windows of rows",
       [](int64_t n) {
         return adaptive_max_pool(ElementType::float16_, {1, 1, n + 7, 3}, {static_cast<long double>(n), 2});
       }},
      {"even windows of two rows",
       [](int64_t n) {
         return adaptive_max_pool(ElementType::float16_, {1, 1, 2, n + 7}, {1, static_cast<long double>(n)});
       }},
      {"more windows than cells",
       [](int64_t n) {
         return adaptive_max_pool(ElementType::float16_, {1, 1, n / 3}, {static_cast<long double>(n)});
       }},
  };
}

// The plans of a node's first four shapes are kept, though two threads begin with the same shape at once.
void keeps_a_plan_of_each_shape() {
  OperatorCase c = max_pooling1(ElementType::float_, {1, 1, 8, 9}, {3, 3}, {1, 1}, {0, 0}, {0, 0});
  c.node.is_overtaken = true;
  std::vector<std::unique_ptr<OrtValue>> tensors;
  std::vector<std::vector<const OrtValue*>> inputs;
  for (int64_t columns = 9; columns < 13; ++columns) {
    tensors.push_back(stand_in::tensor(ElementType::float_, {1, 1, 8, columns}));
    inputs.push_back({tensors.back().get()});
  }
  const OrtCustomOp& op = *stand_in::find(session_options(c.bin_edges, c.version), c.node, inputs[0]);
  stand_in::failing_allocation = std::numeric_limits<int64_t>::max();  // so that bytes are counted
  const auto runs = stand_in::run_in_turns(op, c.node, inputs, {0, 1, 2, 3, 0, 1, 2, 3}, c.version);
  stand_in::failing_allocation = -1;
  for (const stand_in::Run& run : runs) {
    require(!run.computed.code, run.computed.message);
    require(run.bytes.at(1) < run.bytes.at(0), "a plan is made again");
  }
}

}  // namespace

int main() {
  require_target();
  keeps_a_plan_of_each_shape();
  for (const Many& many : many_windows()) {
    // Around the ends of the pieces in which they are taken, and beyond.
    for (int64_t n : {4095, 4096, 4097, 8193, 13000}) check(many.of(n));
    const size_t bytes = bytes_of(many.of(1 << 18));
    // For three threads; a list of the windows would take 4 MiB.
    require(bytes <= 1 << 20, many.what + " take " + std::to_string(bytes) + " bytes");
  }
  std::puts("all is well");
  return 0;
}
