#include "runtime/custom_op.h"

#include <limits>
#include <utility>

#include "base/machine.h"
#include "runtime/handles.h"

namespace onnx_maxpool {
namespace {

// What the runtime holds as a kernel.
struct KernelHandle {
  Host host;
  std::unique_ptr<Kernel> kernel;
  Shown shown{{machine().processors, machine().cycles_worth_a_thread}};
};

}  // namespace

CustomOp::CustomOp(const Host& host, const Operator& op, Variant variant)
    : OrtCustomOp{},
      host_(host),
      operator_(op),
      variant_(std::move(variant)),
      inputs_(op.inputs(variant_)),
      outputs_(op.outputs(variant_)) {
  version = ort::kApiVersion;
  GetName = [](const OrtCustomOp* op) { return self(op).operator_.name; };
  GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };  // the CPU's
  GetInputTypeCount = [](const OrtCustomOp* op) { return self(op).inputs_.size(); };
  GetInputType = [](const OrtCustomOp* op, size_t i) { return static_cast<int>(self(op).inputs_[i].type); };
  GetInputCharacteristic = [](const OrtCustomOp* op, size_t i) -> int { return self(op).inputs_[i].characteristic; };
  GetInputMemoryType = [](const OrtCustomOp*, size_t) -> int { return ort::kMemoryDefault; };
  GetOutputTypeCount = [](const OrtCustomOp* op) { return self(op).outputs_.size(); };
  GetOutputType = [](const OrtCustomOp* op, size_t i) { return static_cast<int>(self(op).outputs_[i].type); };
  GetOutputCharacteristic = [](const OrtCustomOp* op, size_t i) -> int { return self(op).outputs_[i].characteristic; };
  GetStartVersion = [](const OrtCustomOp* op) {
    // Constant folding looks for a kernel among the built-in ones first. It would take ONNX Runtime's own MaxRoiPool,
    // in whose place ours stands, and then fail on our schema; no built-in kernel is of version 0.
    const Variant& variant = self(op).variant_;
    return variant.domain[0] ? variant.since_version : 0;
  };
  // One name has one schema in the runtime, so one range of opsets has to hold all of an operator's versions.
  GetEndVersion = [](const OrtCustomOp*) { return std::numeric_limits<int>::max(); };
  CreateKernelV2 = [](const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info, void** kernel) {
    return guarded(api, [&] {
      const CustomOp& o = self(op);
      const Attributes attributes(api, info, o.operator_.name);
      *kernel = new KernelHandle{{api, o.host_.lends_shapes}, o.operator_.create(o.variant_, attributes)};
    });
  };
  KernelComputeV2 = [](void* kernel, OrtKernelContext* context) {
    auto* handle = static_cast<KernelHandle*>(kernel);
    return guarded(handle->host.api, [&] { handle->kernel->compute(Run(handle->host, context, handle->shown)); });
  };
  KernelDestroy = [](void* kernel) { delete static_cast<KernelHandle*>(kernel); };
  InferOutputShapeFn = [](const OrtCustomOp* op, OrtShapeInferContext* context) -> OrtStatus* {
    // What cannot be inferred is no error. The runtime would neither look at a status nor free it.
    const CustomOp& o = self(op);
    try {
      o.operator_.infer(o.variant_, Inference(o.host_.api, context));
    } catch (...) {
    }
    return nullptr;
  };
}

}  // namespace onnx_maxpool
