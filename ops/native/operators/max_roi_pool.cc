// ai.onnx MaxRoiPool, since versions 1 and 22: rules M1 to M11.
#include "operators/roi_op.h"

namespace onnx_maxpool {
namespace {

constexpr RoiOp kOp = {"MaxRoiPool", 2};

std::unique_ptr<Kernel> create(const Variant& variant, const Attributes& attributes) {
  return make_roi_pool(kOp, variant, attributes);
}

void infer(const Variant& variant, const Inference& node) { infer_roi_pool(kOp, variant, node); }

}  // namespace

extern const Operator kMaxRoiPool;
const Operator kMaxRoiPool = {kOp.name, roi_inputs, roi_outputs, create, infer};

}  // namespace onnx_maxpool
