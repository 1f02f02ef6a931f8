#include "runtime/handles.h"

namespace onnx_maxpool {

void fail(const OrtApi* api, OrtStatus* status) {
  Owned<OrtStatus, ort::ReleaseStatus> owned(api);
  *owned.out() = status;
  throw Error(ort::GetErrorMessage::of(api)(status), ort::kFail);
}

Dims dimensions(const OrtApi* api, const OrtTensorTypeAndShapeInfo* info) {
  size_t rank = 0;
  check(api, ort::GetDimensionsCount::of(api)(info, &rank));
  Dims dims(rank);
  if (rank) check(api, ort::GetDimensions::of(api)(info, dims.begin(), rank));
  return dims;
}

}  // namespace onnx_maxpool
