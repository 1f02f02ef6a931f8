// One run of a node: its tensors, memory and threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/element_type.h"
#include "base/error.h"
#include "base/ort_abi.h"
#include "base/shape.h"
#include "runtime/threads.h"

namespace onnx_maxpool {

struct Tensor {
  const void* data;
  Dims shape;
};

// What a node's runs have shown.
struct Shown {
  Threads threads;
  std::atomic<uint32_t> good_outputs{0};  // a bit for each that the graph has as the type that is written
};

// One run of a node.
class Run {
 public:
  Run(const OrtApi* api, OrtKernelContext* context, Shown& shown) : api_(api), context_(context), shown_(shown) {}
  Tensor input(size_t index) const;
  // Where to write an output of this type and shape; null where the node leaves an optional output out. Throws Error
  // where the graph has the output as another type: a saved graph is loaded without inference.
  void* output(size_t index, ElementType type, const Dims& shape) const;

  // How many threads the session seems to have.
  int64_t threads() const { return shown_.threads.count(); }

  // Calls work(unit, scratch) once for each unit in [0, units), on ONNX Runtime's threads, and waits. Each thread has
  // `scratch_bytes` of its own, aligned to 64 bytes, from the runtime's arena or, if few, from the stack. `work` must
  // not throw. `cycles`, an estimate for all units together, keeps work off threads that would cost more to wake than
  // they save.
  template <class Work>
  void parallel(int64_t units, size_t scratch_bytes, double cycles, const Work& work) const {
    const auto run = [](const void* w, int64_t unit, void* scratch) { (*static_cast<const Work*>(w))(unit, scratch); };
    parallel({units, scratch_bytes, cycles, true, &work, run});
  }
  // The same for work(unit), of what comes before: too short to show how many threads the session has.
  template <class Work>
  void parallel_before(int64_t units, double cycles, const Work& work) const {
    const auto run = [](const void* w, int64_t unit, void*) { (*static_cast<const Work*>(w))(unit); };
    parallel({units, 0, cycles, false, &work, run});
  }

 private:
  struct Units {
    int64_t count;
    size_t scratch_bytes;
    double cycles;
    bool show_threads;
    const void* work;
    void (*run)(const void* work, int64_t unit, void* scratch);
  };
  void check_type(const OrtValue* output, size_t index, ElementType type) const;
  void parallel(const Units& units) const;
  static void on_this_thread(const Units& units, void* scratch);
  void on_threads(const Units& units, size_t workers) const;
  const OrtApi* api_;
  OrtKernelContext* context_;
  Shown& shown_;
};

// Throws Error for an output of this shape, which is too large.
[[noreturn]] void refuse_bytes(const char* op, const char* output, const std::string& shape);

// The bytes of an output of `op`. Throws Error where they leave 63 bits, those of an empty one as if it had a cell in
// every direction: no array can have such sides.
int64_t output_bytes(const char* op, const char* output, const Dims& shape, ElementType type);

}  // namespace onnx_maxpool
