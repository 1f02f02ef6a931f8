// Maximum over windows that all of a tensor's planes share, with the index of its first cell as an optional output:
// what is common to the operators whose inputs are (N, C, spatial...).
#pragma once

#include <array>
#include <atomic>
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

// What is to be pooled: input 0, of this type and shape, to outputs 0 and 1.
struct WindowTask {
  const char* op;
  ElementType type;
  const Dims& x;
  PoolAxes axes;
  IndexOutput index;
};

// How inputs of one shape are pooled.
class WindowPlan;

// The plans of a node by all that they depend on: a small run would notice what it takes to make one. Runs may use them
// on several threads.
class WindowPlans {
 public:
  using Key = ShortList<int64_t, 8>;

  WindowPlans() = default;
  WindowPlans(const WindowPlans&) = delete;
  WindowPlans& operator=(const WindowPlans&) = delete;
  ~WindowPlans();

  // Pools x. Where there is no plan for this key yet, one is made for task(). Throws Error, with the operator's name,
  // where an output is too large.
  template <class Task>
  void pool(const Run& run, const Key& key, const void* x, const Task& task) {
    if (const WindowPlan* known = find(key)) return pool_by(*known, run, x);
    make_and_pool(run, key, x, task());
  }

 private:
  const WindowPlan* find(const Key& key) const;
  void make_and_pool(const Run& run, const Key& key, const void* x, const WindowTask& task);
  static void pool_by(const WindowPlan& plan, const Run& run, const void* x);
  std::array<std::atomic<const WindowPlan*>, 4> known_{};  // the first ones, each of another key, which are kept
};

// The index type that the node asks for. Throws Error where the operator has none such, and for another than the
// default where the node has the output and the runtime cannot infer its type.
ElementType index_type(const char* op, const Variant& variant, const Attributes& attributes);
// As the attribute spells it: i32.
const char* spelling_of(ElementType index_type);

// The index output in an operator's signature.
Parameter index_parameter(const Variant& variant);

// Sets both outputs of a node.
void infer_windows(const Variant& variant, const Inference& node, const std::vector<Dim>& dims);

// The same where not even the rank is known. Types that are not set are those of the first overload that fits, and
// shapes stay unknown. A type cannot be set without a shape: an index of another type than the default has the rank of
// images.
void infer_windows_of_any_rank(const Variant& variant, const Inference& node);

}  // namespace onnx_maxpool
