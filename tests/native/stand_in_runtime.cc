#include "stand_in_runtime.h"

#include <memory>
#include <utility>

#include "stand_in_slots.h"

namespace stand_in {

std::atomic<size_t> library_bytes{0};
std::atomic<int64_t> failing_call{-1};
int64_t failing_allocation = -1;
thread_local int64_t failing_allocation_here = -1;

namespace {

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
const OrtApi kOldestApi = make_api(), kOlderApi = make_api(), kNewestApi = make_api();

const OrtApi& api_of(Version version) {
  return version == Version::newest ? kNewestApi : version == Version::before_1_28 ? kOlderApi : kOldestApi;
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

}  // namespace

const OrtApiBase& base(Version version) {
  // The oldest answers with a table up to API 16 alone.
  static const OrtApiBase oldest = {
      [](uint32_t wanted) -> const OrtApi* { return wanted <= 16 ? &kOldestApi : nullptr; },
      []() -> const char* { return "1.16.3"; }};
  static const OrtApiBase older = {[](uint32_t) -> const OrtApi* { return &kOlderApi; },
                                   []() -> const char* { return "1.27.0"; }};
  static const OrtApiBase newest = {[](uint32_t) -> const OrtApi* { return &kNewestApi; },
                                    []() -> const char* { return "1.31.1"; }};
  return version == Version::newest ? newest : version == Version::before_1_28 ? older : oldest;
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

Run run(const OrtCustomOp& op, const Node& node, const std::vector<const OrtValue*>& inputs, Version version) {
  Run run;
  run.outputs.resize(node.outputs.size());
  run.inferred = infer(op, node, inputs);
  const OrtKernelInfo info{&node};
  void* kernel = nullptr;
  run.created = taken(in_library([&] { return op.CreateKernelV2(&op, &api_of(version), &info, &kernel); }));
  if (run.created.code) return run;
  OrtKernelContext context{&node, &inputs, &run, {}};
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    int type = op.GetOutputType(&op, i) ? op.GetOutputType(&op, i) : run.inferred[i].type;
    if (i < node.saved_types.size()) type = static_cast<int>(node.saved_types[i]);
    if (!type && !node.outputs[i].empty()) run.computed = {kFail, "stand-in: an output has no type"};
    context.output_types.push_back(static_cast<ElementType>(type));
  }
  if (run.computed.code) {
    in_library([&] { op.KernelDestroy(kernel); });
    return run;
  }
  run.computed = taken(in_library([&] { return op.KernelComputeV2(kernel, &context); }));
  in_library([&] { op.KernelDestroy(kernel); });
  return run;
}

}  // namespace stand_in
