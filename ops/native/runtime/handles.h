// What the runtime lends and gives to the library: statuses, and handles that are to be released.
#pragma once

#include <exception>
#include <new>

#include "base/error.h"
#include "base/ort_abi.h"
#include "base/shape.h"

namespace onnx_maxpool {

// Runs `body` and turns whatever it throws into a status: no C++ exception crosses the ABI.
template <class Body>
OrtStatus* guarded(const OrtApi* api, const Body& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (const Error& error) {
    return ort::CreateStatus::of(api)(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return ort::CreateStatus::of(api)(ort::kFail, "onnx_maxpool: out of memory");
  } catch (const std::exception& error) {
    return ort::CreateStatus::of(api)(ort::kFail, error.what());
  } catch (...) {
    return ort::CreateStatus::of(api)(ort::kFail, "onnx_maxpool: unknown error");
  }
}

// Releases what the runtime gave us to own.
template <class T, class Release>
class Owned {
 public:
  explicit Owned(const OrtApi* api) : api_(api) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (pointer_) Release::of(api_)(pointer_);
  }
  T** out() { return &pointer_; }
  T* get() const { return pointer_; }

 private:
  const OrtApi* api_;
  T* pointer_ = nullptr;
};

using OwnedShape = Owned<OrtTensorTypeAndShapeInfo, ort::ReleaseTensorTypeAndShapeInfo>;
using OwnedMemoryInfo = Owned<OrtMemoryInfo, ort::ReleaseMemoryInfo>;
using OwnedAllocator = Owned<OrtAllocator, ort::ReleaseAllocator>;

// Throws the status as an Error, and releases it.
template <class Thrown = Error>
[[noreturn]] void fail(const OrtApi* api, OrtStatus* status) {
  Owned<OrtStatus, ort::ReleaseStatus> owned(api);
  *owned.out() = status;
  throw Thrown(ort::GetErrorMessage::of(api)(status), ort::kFail);
}

// Throws Error where the runtime answered with a status.
inline void check(const OrtApi* api, OrtStatus* status) {
  if (status) fail(api, status);
}

// The dimensions of a tensor; -1 for one that is not known.
inline Dims dimensions(const OrtApi* api, const OrtTensorTypeAndShapeInfo* info) {
  size_t rank = 0;
  check(api, ort::GetDimensionsCount::of(api)(info, &rank));
  Dims dims(rank);
  if (rank) check(api, ort::GetDimensions::of(api)(info, dims.begin(), rank));
  return dims;
}

}  // namespace onnx_maxpool
