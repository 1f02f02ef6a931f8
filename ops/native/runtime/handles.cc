#include "runtime/handles.h"

namespace onnx_maxpool {

void check(const OrtApi* api, OrtStatus* status) {
  Owned<OrtStatus, ort::ReleaseStatus> owned(api);
  *owned.out() = status;
  if (status) throw Error(ort::GetErrorMessage::of(api)(status), ort::kFail);
}

Shape dimensions(const OrtApi* api, const OrtTensorTypeAndShapeInfo* info) {
  size_t rank = 0;
  check(api, ort::GetDimensionsCount::of(api)(info, &rank));
  Shape shape(rank);
  if (rank) check(api, ort::GetDimensions::of(api)(info, shape.data(), rank));
  return shape;
}

}  // namespace onnx_maxpool
