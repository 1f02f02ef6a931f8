#include "stand_in_runtime.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <thread>
#include <utility>

#include "base/machine.h"
#include "stand_in_slots.h"

#if defined(__SANITIZE_ADDRESS__)
#define STAND_IN_POISONS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STAND_IN_POISONS
#endif
#endif
#ifdef STAND_IN_POISONS
#include <sanitizer/asan_interface.h>
#endif

// A machine on which any work is worth three threads, and outputs of a few ROIs go past the caches. Scratch has its
// exact size, for sanitizers.
namespace onnx_maxpool {

const Machine& machine() {
  static const Machine here = {3, 100, 4096, 16384, 0, 16 << 10};
  return here;
}

}  // namespace onnx_maxpool

namespace stand_in {

std::atomic<size_t> library_bytes{0};
std::atomic<int64_t> failing_call{-1};
int64_t failing_allocation = -1;
thread_local int64_t failing_allocation_here = -1;
size_t largest_allocation = size_t{1} << 26;
size_t largest_scratch = std::numeric_limits<size_t>::max();
std::atomic<size_t> most_scratch{0};

namespace {

constexpr char kGuardByte = 0x5a;

// Calls the library.
template <class Call>
auto in_library(const Call& call) {
  struct Counting {
    Counting() { failing_allocation_here = failing_allocation; }
    ~Counting() {
      if (failing_allocation >= 0) failing_allocation = failing_allocation_here;
      failing_allocation_here = -1;
    }
  } counting;
  return call();
}

Outcome taken(OrtStatus* status) {
  const std::unique_ptr<OrtStatus> owned(status);
  return owned ? Outcome{owned->code, owned->message} : Outcome{};
}

// A table for each version, since the library keeps operators by the table that they are for.
const OrtApi kTooOldApi = make_api(Version::too_old), kOldestApi = make_api(Version::oldest),
             kNewestApi = make_api(Version::newest);

const OrtApi& api_of(Version version) {
  return version == Version::newest ? kNewestApi : version == Version::oldest ? kOldestApi : kTooOldApi;
}

std::vector<KnownShape> infer(const OrtCustomOp& op, const Node& node, const std::vector<const OrtValue*>& inputs) {
  OrtShapeInferContext context;
  for (size_t i = 0; i < inputs.size(); ++i) {
    KnownShape known = i < node.before_the_run.size() ? node.before_the_run[i] : KnownShape{};
    known.type = static_cast<int>(inputs[i]->type);
    context.inputs.push_back({std::move(known)});
  }
  for (const auto& [name, value] : node.attributes) context.attributes[name] = {value};
  context.outputs.resize(node.outputs.size());
  // The runtime neither looks at a status nor frees it.
  if (in_library([&] { return op.InferOutputShapeFn(&op, &context); })) die("inference gave a status");
  return context.outputs;
}

// A run of the same input, whose outputs nobody needs.
template <class Compute>
void overtake(const OrtKernelContext& context, const Compute& compute) {
  Run run;
  run.outputs.resize(context.node->outputs.size());
  run.on_threads.push_back(0);
  OrtKernelContext other{context.node, context.inputs, &run, context.output_types};
  if (compute(other).code) die("a run that overtakes another one failed");
}

}  // namespace

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "stand-in runtime: %s\n", what.c_str());
  std::abort();
}

Block::Block(size_t bytes, size_t offset) : bytes_(bytes), offset_(offset) {
  const size_t whole = (2 * kGuard + offset + bytes + 63) / 64 * 64;
  memory_.reset(static_cast<char*>(std::aligned_alloc(64, whole)));
  if (!memory_) die("out of memory");
  char* data = memory_.get() + kGuard + offset;
  std::memset(memory_.get(), kGuardByte, kGuard + offset);
  std::memset(data + bytes, kGuardByte, whole - kGuard - offset - bytes);
  static std::atomic<uint32_t> junk{1};
  std::memset(data, static_cast<int>(junk.fetch_add(0x3b)), bytes);
#ifdef STAND_IN_POISONS
  ASAN_POISON_MEMORY_REGION(memory_.get(), kGuard + offset);
  ASAN_POISON_MEMORY_REGION(data + bytes, whole - kGuard - offset - bytes);
#endif
}

Block::~Block() {
  if (!memory_) return;
  const size_t whole = (2 * kGuard + offset_ + bytes_ + 63) / 64 * 64;
#ifdef STAND_IN_POISONS
  ASAN_UNPOISON_MEMORY_REGION(memory_.get(), whole);
#endif
  for (size_t i = 0; i < whole; ++i) {
    if (i == kGuard + offset_) i += bytes_;
    if (memory_.get()[i] == kGuardByte) continue;
    die("byte " + std::to_string(static_cast<int64_t>(i) - static_cast<int64_t>(kGuard + offset_)) + " of a block of " +
        std::to_string(bytes_) + " was written");
  }
}

void Block::Free::operator()(char* memory) const { std::free(memory); }

std::unique_ptr<OrtValue> tensor(ElementType type, const Shape& shape, size_t offset_cells) {
  const size_t size = element_size(type);
  const auto cells = static_cast<size_t>(onnx_maxpool::checked_cells(shape));
  return std::make_unique<OrtValue>(OrtValue{type, shape, Block(cells * size, offset_cells * size)});
}

const OrtApiBase& base(Version version) {
  // One that is too old answers with a table up to API 16 alone.
  static const OrtApiBase too_old = {
      [](uint32_t wanted) -> const OrtApi* { return wanted <= 16 ? &kTooOldApi : nullptr; },
      []() -> const char* { return "1.16.3"; }};
  static const OrtApiBase oldest = {[](uint32_t) -> const OrtApi* { return &kOldestApi; },
                                    []() -> const char* { return "1.23.2"; }};
  static const OrtApiBase newest = {[](uint32_t) -> const OrtApi* { return &kNewestApi; },
                                    []() -> const char* { return "1.32.0"; }};
  return version == Version::newest ? newest : version == Version::oldest ? oldest : too_old;
}

Outcome register_operators(OrtSessionOptions& options, Version version) {
  return taken(in_library([&] { return RegisterCustomOps(&options, &base(version)); }));
}

const OrtCustomOp* find(const OrtSessionOptions& options, const Node& node,
                        const std::vector<const OrtValue*>& inputs) {
  std::vector<const OrtCustomOp*> overloads;
  for (const OrtCustomOpDomain* domain : options.domains) {
    if (domain->name != node.domain) continue;
    for (const OrtCustomOp* op : domain->ops) {
      bool fits = node.op == op->GetName(op) && op->GetInputTypeCount(op) == inputs.size();
      for (size_t i = 0; fits && i < inputs.size(); ++i) {
        fits = op->GetInputType(op, i) == static_cast<int>(inputs[i]->type);
      }
      if (fits) overloads.push_back(op);
    }
  }
  if (overloads.size() < 2) return overloads.empty() ? nullptr : overloads[0];
  // They differ in their outputs. The first says what these are, where inference does not.
  const std::vector<KnownShape> inferred = infer(*overloads[0], node, inputs);
  for (const OrtCustomOp* op : overloads) {
    bool fits = true;
    for (size_t i = 0; i < inferred.size(); ++i) {
      const int expected = inferred[i].type ? inferred[i].type : overloads[0]->GetOutputType(overloads[0], i);
      fits = fits && (node.outputs[i].empty() || op->GetOutputType(op, i) == expected);
    }
    if (fits) return op;
  }
  return nullptr;
}

bool same(const std::vector<std::unique_ptr<OrtValue>>& outputs, const std::vector<std::unique_ptr<OrtValue>>& others) {
  bool equal = outputs.size() == others.size();
  for (size_t i = 0; equal && i < outputs.size(); ++i) {
    const OrtValue *y = outputs[i].get(), *other = others[i].get();
    equal = !y == !other && (!y || (y->type == other->type && y->shape == other->shape &&
                                    !std::memcmp(y->block.data(), other->block.data(), y->block.bytes())));
  }
  return equal;
}

Run run(const OrtCustomOp& op, const Node& node, const std::vector<const OrtValue*>& inputs, Version version) {
  const std::vector<size_t> turns(static_cast<size_t>(node.runs), 0);
  return std::move(run_in_turns(op, node, {inputs}, turns, version)[0]);
}

std::vector<Run> run_in_turns(const OrtCustomOp& op, const Node& node,
                              const std::vector<std::vector<const OrtValue*>>& inputs, const std::vector<size_t>& turns,
                              Version version) {
  std::vector<Run> runs(inputs.size());
  for (Run& run : runs) run.outputs.resize(node.outputs.size());
  runs[0].inferred = infer(op, node, inputs[0]);
  const OrtKernelInfo info{&node};
  void* kernel = nullptr;
  const Outcome created = taken(in_library([&] { return op.CreateKernelV2(&op, &api_of(version), &info, &kernel); }));
  if (created.code) {
    for (Run& run : runs) run.created = created;
    return runs;
  }
  std::vector<ElementType> types;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    int type = op.GetOutputType(&op, i) ? op.GetOutputType(&op, i) : runs[0].inferred[i].type;
    if (i < node.saved_types.size()) type = static_cast<int>(node.saved_types[i]);
    if (!type && !node.outputs[i].empty()) {
      for (Run& run : runs) run.computed = {kFail, "stand-in: an output has no type"};
    }
    types.push_back(static_cast<ElementType>(type));
  }
  std::vector<std::vector<std::unique_ptr<OrtValue>>> first(inputs.size());
  const auto compute = [&](OrtKernelContext& context) {
    return taken(in_library([&] { return op.KernelComputeV2(kernel, &context); }));
  };
  for (size_t turn = 0; turn < turns.size(); ++turn) {
    Run& run = runs[turns[turn]];
    if (run.computed.code) continue;
    const bool again = !run.on_threads.empty();
    if (run.on_threads.size() == 1) first[turns[turn]] = std::exchange(run.outputs, {});
    run.outputs.clear();
    run.outputs.resize(node.outputs.size());
    OrtKernelContext context{&node, &inputs[turns[turn]], &run, types};
    if (node.is_overtaken && turn == 0) {
      context.before_output = [&] { std::thread([&] { overtake(context, compute); }).join(); };
    }
    run.on_threads.push_back(0);
    const size_t bytes = library_bytes;
    run.computed = compute(context);
    run.bytes.push_back(library_bytes - bytes);
    if (again && !run.computed.code && !same(first[turns[turn]], run.outputs)) {
      die("a node's later run gave another output");
    }
  }
  in_library([&] { op.KernelDestroy(kernel); });
  return runs;
}

}  // namespace stand_in
