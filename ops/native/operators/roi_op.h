// Maximum over the bins of ROIs, as operators of several names have it.
#pragma once

#include <memory>
#include <vector>

#include "runtime/custom_op.h"

namespace onnx_maxpool {

// What tells one such operator from another.
struct RoiOp {
  const char* name;
  size_t rois_rank;  // of (R, 5) with as many dimensions of 1 before as are missing
};

std::vector<Parameter> roi_inputs(const Variant& variant);
std::vector<Parameter> roi_outputs(const Variant& variant);
std::unique_ptr<Kernel> make_roi_pool(const RoiOp& op, const Variant& variant, const Attributes& attributes);
void infer_roi_pool(const RoiOp& op, const Variant& variant, const Inference& node);

}  // namespace onnx_maxpool
