// What an operator sees of ONNX Runtime: tensors, attributes, threads, shape inference. RAII over base/ort_abi.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/element_type.h"
#include "base/error.h"
#include "base/ort_abi.h"
#include "base/window_plan.h"
#include "runtime/threads.h"

namespace onnx_maxpool {

// Throws Error where the runtime answered with a status.
void check(const OrtApi* api, OrtStatus* status);

// Runs `body` and turns whatever it throws into a status: no C++ exception crosses the ABI.
template <class Body>
OrtStatus* guarded(const OrtApi* api, const Body& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (const Error& error) {
    return ort::CreateStatus::of(api)(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return ort::CreateStatus::of(api)(ort::kFail, "onnx_maxpool: out of memory");
  } catch (const std::exception& error) {
    return ort::CreateStatus::of(api)(ort::kFail, error.what());
  } catch (...) {
    return ort::CreateStatus::of(api)(ort::kFail, "onnx_maxpool: unknown error");
  }
}

struct Tensor {
  const void* data;
  Shape shape;
};

// A node's attributes while its kernel is made. A missing attribute gives the default; one of another type throws
// Error, as the runtime does not hold a custom operator's attributes to any schema. So does an empty list, which the
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

// One run of a node.
class Run {
 public:
  Run(const OrtApi* api, OrtKernelContext* context, Threads& threads)
      : api_(api), context_(context), threads_(threads) {}
  Tensor input(size_t index) const;
  // Where to write an output of this type and shape; null where the node leaves an optional output out. Throws Error
  // where the graph has the output as another type: a saved graph is loaded without inference.
  void* output(size_t index, ElementType type, const Shape& shape) const;

  // How many threads the session seems to have.
  int64_t threads() const { return threads_.count(); }

  // Calls work(unit, scratch) once for each unit in [0, units), on ONNX Runtime's threads, and waits. Each thread has
  // `scratch_bytes` of its own, aligned to 64 bytes, from the runtime's arena. `work` must not throw. `cycles`, an
  // estimate for all units together, keeps work off threads that would cost more to wake than they save.
  template <class Work>
  void parallel(int64_t units, size_t scratch_bytes, double cycles, const Work& work) const {
    parallel(units, scratch_bytes, cycles, true, &work,
             [](const void* w, int64_t unit, void* scratch) { (*static_cast<const Work*>(w))(unit, scratch); });
  }
  // The same for work(unit), of what comes before: too short to show how many threads the session has.
  template <class Work>
  void parallel_before(int64_t units, double cycles, const Work& work) const {
    parallel(units, 0, cycles, false, &work,
             [](const void* w, int64_t unit, void*) { (*static_cast<const Work*>(w))(unit); });
  }

 private:
  using UnitFunction = void (*)(const void* work, int64_t unit, void* scratch);
  void parallel(int64_t units, size_t scratch_bytes, double cycles, bool shows_threads, const void* work,
                UnitFunction run) const;
  const OrtApi* api_;
  OrtKernelContext* context_;
  Threads& threads_;
};

// Throws Error for an output of this shape, which is too large.
[[noreturn]] void refuse_bytes(const char* op, const char* output, const std::string& shape);

// The bytes of an output of `op`. Throws Error where they leave 63 bits, those of an empty one as if it had a cell in
// every direction: no array can have such sides.
int64_t output_bytes(const char* op, const char* output, const Shape& shape, ElementType type);

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
  std::vector<char> attribute(const char* name, int type) const;
  const OrtApi* api_;
  OrtShapeInferContext* context_;
};

// An operator's node, ready to run.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void compute(const Run& run) const = 0;
};

// One row of the native table: an operator for one combination of element types, in one compatibility setting.
struct Variant {
  const char* domain;
  int since_version;
  std::vector<ElementType> types;  // of the type variables, in the registry's order
  BinEdges bin_edges;
  // Whether shape inference may set an optional output's type: in ONNX Runtime before 1.28 that ends the process
  // where a node leaves the output out, and inference cannot tell.
  bool infers_optional_outputs;
};

// A formal input or output.
struct Parameter {
  ElementType type;  // undefined: set by shape inference
  ort::Characteristic characteristic = ort::kRequired;
};

// An operator, as its file defines it.
struct Operator {
  const char* name;
  std::vector<Parameter> (*inputs)(const Variant&);
  std::vector<Parameter> (*outputs)(const Variant&);
  std::unique_ptr<Kernel> (*create)(const Variant&, const Attributes&);
  void (*infer)(const Variant&, const Inference&);
};

// The runtime's view of an operator's variant. It lives as long as the process: sessions keep pointers to it.
class CustomOp : public OrtCustomOp {
 public:
  CustomOp(const OrtApi* api, const Operator& op, Variant variant);

 private:
  static const CustomOp& self(const OrtCustomOp* op) { return *static_cast<const CustomOp*>(op); }
  const OrtApi* api_;
  const Operator& operator_;
  const Variant variant_;
  const std::vector<Parameter> inputs_, outputs_;
};

}  // namespace onnx_maxpool
