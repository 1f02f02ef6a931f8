// DirectML's RoiPooling, since version 1: rules D1 and D2, and M3 to M11.
#include "operators/roi_op.h"

namespace onnx_maxpool {
namespace {

constexpr RoiOp kOp = {"RoiPooling", 4};

std::unique_ptr<Kernel> create(const Variant& variant, const Attributes& attributes) {
  return make_roi_pool(kOp, variant, attributes);
}

void infer(const Variant& variant, const Inference& node) { infer_roi_pool(kOp, variant, node); }

}  // namespace

extern const Operator kRoiPooling;
const Operator kRoiPooling = {kOp.name, roi_inputs, roi_outputs, create, infer};

}  // namespace onnx_maxpool
