// A stand-in for ONNX Runtime: the slots of its table that base/ort_abi.h names, and no more. It takes the operators
// through RegisterCustomOps and runs single nodes, so that sanitizers see all that the library does with what it is
// given:
//   - tensors are blocks of exactly their size, at any address that their type may have, with guards on either side;
//   - memory that nobody has written holds junk;
//   - ParallelFor runs on threads of its own;
//   - any call may be made to fail, and so may any allocation of the library's own (failing_new.cc).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/element_type.h"
#include "base/error.h"
#include "base/ort_abi.h"

extern "C" OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base);

namespace stand_in {

using onnx_maxpool::ElementType;
using onnx_maxpool::Shape;

// Memory of exactly `bytes`, full of junk, that begins `offset` bytes behind a boundary of 64. What lies before and
// behind is poisoned under AddressSanitizer and looked at in the end: stores past the caches escape instrumentation.
class Block {
 public:
  explicit Block(size_t bytes, size_t offset = 0);
  Block(Block&&) = default;
  Block& operator=(Block&&) = default;
  ~Block();
  void* data() const { return memory_ ? memory_.get() + kGuard + offset_ : nullptr; }
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kGuard = 128;
  struct Free {
    void operator()(char* memory) const;
  };
  size_t bytes_, offset_;
  std::unique_ptr<char, Free> memory_;
};

// Of a type such as TENSOR or STRINGS: the runtime's slots tell that it is there, and no more.
struct OtherType {};
using Attribute = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>, OtherType>;
using Attributes = std::map<std::string, Attribute>;

// A dimension as the graph knows it: -1 and perhaps a symbol where the size is not known.
struct KnownDim {
  int64_t size;
  std::string symbol;
};
struct KnownShape {
  int type = 0;
  std::vector<KnownDim> dims;
};

// Which version the runtime says it is. The oldest that is supported neither lends shapes nor lets a custom operator
// infer an optional output's type.
enum class Version { too_old, oldest, newest };

// What a node has beside its inputs' cells.
struct Node {
  std::string domain, op;
  Attributes attributes;
  std::vector<std::string> outputs;  // names; an optional output that is left out has none, or is not in the list
  size_t threads = 1;
  std::chrono::microseconds wake{0};       // what all but one of them take to wake
  int runs = 2;                            // of one kernel, as it may keep what it learns
  bool is_overtaken = false;               // its first run: by one of the same input, on another thread
  size_t output_offset = 0;                // of outputs in their blocks, in cells
  std::vector<KnownShape> before_the_run;  // what the graph knows of the inputs; nothing unless given
  std::vector<ElementType> saved_types;    // of the outputs, in place of inferred ones, as in a graph in ORT's format
};

struct Outcome {
  int code = 0;  // of the status; 0 without one
  std::string message;
};

}  // namespace stand_in

// The runtime's types, of which the library sees pointers alone.
struct OrtStatus {
  int code;
  std::string message;
};
struct OrtTensorTypeAndShapeInfo {
  stand_in::KnownShape known;
};
struct OrtValue {
  stand_in::ElementType type;
  stand_in::Shape shape;
  stand_in::Block block;
};
struct OrtCustomOpDomain {
  std::string name;
  std::vector<const OrtCustomOp*> ops;
};
struct OrtSessionOptions {
  std::map<std::string, std::string> entries;
  std::vector<const OrtCustomOpDomain*> domains;
};

namespace stand_in {

struct Run {
  Outcome created, computed;
  bool output_refused = false;       // for its size
  std::vector<size_t> on_threads;    // by the runs: how often one went to several threads
  std::vector<size_t> bytes;         // by the runs: library_bytes of each
  std::vector<KnownShape> inferred;  // a type of 0 where inference set nothing
  std::vector<std::unique_ptr<OrtValue>> outputs;
};

const OrtApiBase& base(Version version);

// Registers the library's operators on options with these config entries.
Outcome register_operators(OrtSessionOptions& options, Version version);

// The operator of that name which takes these types, as the runtime chooses among overloads; null if there is none.
const OrtCustomOp* find(const OrtSessionOptions& options, const Node& node, const std::vector<const OrtValue*>& inputs);

// Whether they are of the same types, shapes and bytes.
bool same(const std::vector<std::unique_ptr<OrtValue>>& outputs, const std::vector<std::unique_ptr<OrtValue>>& others);

// Makes the node's kernel, infers its outputs, runs it as often as the node says, and destroys it. The program ends
// where a run's outputs differ from the first one's.
Run run(const OrtCustomOp& op, const Node& node, const std::vector<const OrtValue*>& inputs, Version version);

// The same of several inputs, in this order: what came of each. Outputs are inferred for the first. Those that a run
// refuses are not asked again.
std::vector<Run> run_in_turns(const OrtCustomOp& op, const Node& node,
                              const std::vector<std::vector<const OrtValue*>>& inputs, const std::vector<size_t>& turns,
                              Version version);

std::unique_ptr<OrtValue> tensor(ElementType type, const Shape& shape, size_t offset_cells = 0);

// Tensors and scratch of more bytes than this are refused, as by a machine that has no more memory.
extern size_t largest_allocation;
// Scratch of more bytes is refused, too: then an arena has less left than outputs may take.
extern size_t largest_scratch;
// The most bytes of scratch that were asked for at once.
extern std::atomic<size_t> most_scratch;

// Bytes that the library has asked for: of scratch, and of its own while failing_allocation is not negative, in
// programs that have failing_new.cc.
extern std::atomic<size_t> library_bytes;

// The call of the runtime, counted from 0, that answers with a status instead of doing its work; none if negative.
extern std::atomic<int64_t> failing_call;
// The library's own allocation that throws std::bad_alloc, counted likewise, in programs that have failing_new.cc.
extern int64_t failing_allocation;
// The same while the library runs on this thread, and not the stand-in; -1 otherwise.
extern thread_local int64_t failing_allocation_here;

}  // namespace stand_in
