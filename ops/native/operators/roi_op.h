// Maximum over the bins of ROIs, as operators of several names have it.
#pragma once

#include <memory>
#include <vector>

#include "runtime/custom_op.h"

namespace onnx_maxpool {

// What tells one such operator from another.
struct RoiOp {
  const char* name;
  const char* size;  // the attribute of the output's height and width
  size_t rois_rank;  // of (R, 5) with as many dimensions of 1 before as are missing
  BinEdges edges;    // where the setting names none
};

std::vector<Parameter> roi_inputs(const Variant& variant);
std::vector<Parameter> roi_outputs(const Variant& variant);
std::unique_ptr<Kernel> make_roi_pool(const RoiOp& op, const Variant& variant, const Attributes& attributes);
void infer_roi_pool(const RoiOp& op, const Inference& node);

}  // namespace onnx_maxpool
