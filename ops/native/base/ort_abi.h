// The slice of ONNX Runtime's C ABI that this library calls, in our own words.
//
// The ABI is append-only: a slot of OrtApi never moves and OrtCustomOp only grows. So a slot's number and its
// function's signature are all that is needed, and tests prove each against the supported runtimes.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
struct OrtApi;
struct OrtAllocator;
struct OrtCustomOpDomain;
struct OrtKernelContext;
struct OrtKernelInfo;
struct OrtMemoryInfo;
struct OrtOpAttr;
struct OrtSessionOptions;
struct OrtShapeInferContext;
struct OrtStatus;
struct OrtTensorTypeAndShapeInfo;
struct OrtValue;

struct OrtApiBase {
  const OrtApi* (*GetApi)(uint32_t version);
  const char* (*GetVersionString)();
};

// Callers hand ONNX Runtime a table of these; it reads no field beyond those that `version` promises.
struct OrtCustomOp {
  uint32_t version;
  void* (*CreateKernel)(const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*);
  const char* (*GetName)(const OrtCustomOp*);
  const char* (*GetExecutionProviderType)(const OrtCustomOp*);
  int (*GetInputType)(const OrtCustomOp*, size_t);
  size_t (*GetInputTypeCount)(const OrtCustomOp*);
  int (*GetOutputType)(const OrtCustomOp*, size_t);
  size_t (*GetOutputTypeCount)(const OrtCustomOp*);
  void (*KernelCompute)(void* kernel, OrtKernelContext*);
  void (*KernelDestroy)(void* kernel);
  int (*GetInputCharacteristic)(const OrtCustomOp*, size_t);
  int (*GetOutputCharacteristic)(const OrtCustomOp*, size_t);
  int (*GetInputMemoryType)(const OrtCustomOp*, size_t);
  int (*GetVariadicInputMinArity)(const OrtCustomOp*);
  int (*GetVariadicInputHomogeneity)(const OrtCustomOp*);
  int (*GetVariadicOutputMinArity)(const OrtCustomOp*);
  int (*GetVariadicOutputHomogeneity)(const OrtCustomOp*);
  OrtStatus* (*CreateKernelV2)(const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*, void** kernel);
  OrtStatus* (*KernelComputeV2)(void* kernel, OrtKernelContext*);
  OrtStatus* (*InferOutputShapeFn)(const OrtCustomOp*, OrtShapeInferContext*);
  int (*GetStartVersion)(const OrtCustomOp*);
  int (*GetEndVersion)(const OrtCustomOp*);
};
}

namespace onnx_maxpool::ort {

constexpr uint32_t kApiVersion = 17;  // the first with opset ranges, shape inference and ParallelFor

enum ErrorCode : int { kFail = 1, kInvalidArgument = 2 };
enum Characteristic : int { kRequired = 0, kOptional = 1 };
enum AttributeType : int { kAttributeInts = 2, kAttributeString = 5 };
enum AllocatorType : int { kArenaAllocator = 1 };
enum MemoryType : int { kMemoryDefault = 0 };

template <size_t index, class Function>
struct Slot;

// A function of the runtime: `CreateStatus::of(api)(code, message)`.
template <size_t index, class Result, class... Arguments>
struct Slot<index, Result(Arguments...)> {
  using Pointer = Result (*)(Arguments...);
  static Pointer of(const OrtApi* api) { return reinterpret_cast<const Pointer*>(api)[index]; }
};

using CreateStatus = Slot<0, OrtStatus*(int code, const char* message)>;
using GetErrorMessage = Slot<2, const char*(const OrtStatus*)>;
using ReleaseStatus = Slot<93, void(OrtStatus*)>;

using CreateCustomOpDomain = Slot<26, OrtStatus*(const char* name, OrtCustomOpDomain**)>;
using CustomOpDomainAdd = Slot<27, OrtStatus*(OrtCustomOpDomain*, const OrtCustomOp*)>;
using AddCustomOpDomain = Slot<28, OrtStatus*(OrtSessionOptions*, OrtCustomOpDomain*)>;
using AddSessionConfigEntry = Slot<130, OrtStatus*(OrtSessionOptions*, const char* key, const char* value)>;
using HasSessionConfigEntry = Slot<237, OrtStatus*(const OrtSessionOptions*, const char* key, int* found)>;
using GetSessionConfigEntry =
    Slot<238, OrtStatus*(const OrtSessionOptions*, const char* key, char* value, size_t* size)>;

using GetTensorMutableData = Slot<51, OrtStatus*(OrtValue*, void**)>;
using GetTensorTypeAndShape = Slot<65, OrtStatus*(const OrtValue*, OrtTensorTypeAndShapeInfo**)>;
using CreateTensorTypeAndShapeInfo = Slot<57, OrtStatus*(OrtTensorTypeAndShapeInfo**)>;
using SetTensorElementType = Slot<58, OrtStatus*(OrtTensorTypeAndShapeInfo*, int type)>;
using SetDimensions = Slot<59, OrtStatus*(OrtTensorTypeAndShapeInfo*, const int64_t*, size_t)>;
using GetTensorElementType = Slot<60, OrtStatus*(const OrtTensorTypeAndShapeInfo*, int*)>;
using GetDimensionsCount = Slot<61, OrtStatus*(const OrtTensorTypeAndShapeInfo*, size_t*)>;
using GetDimensions = Slot<62, OrtStatus*(const OrtTensorTypeAndShapeInfo*, int64_t*, size_t)>;
using GetSymbolicDimensions = Slot<63, OrtStatus*(const OrtTensorTypeAndShapeInfo*, const char**, size_t)>;
using SetSymbolicDimensions = Slot<271, OrtStatus*(OrtTensorTypeAndShapeInfo*, const char**, size_t)>;
using ReleaseTensorTypeAndShapeInfo = Slot<99, void(OrtTensorTypeAndShapeInfo*)>;
// A tensor's own dimensions, to be read and not to be released. In runtimes from kLendsShapes on.
using GetTensorElementTypeAndShapeDataReference =
    Slot<414, OrtStatus*(const OrtValue*, int* type, const int64_t** dims, size_t* rank)>;

using KernelInfoGetOutputCount = Slot<231, OrtStatus*(const OrtKernelInfo*, size_t*)>;
using KernelInfoGetOutputName = Slot<233, OrtStatus*(const OrtKernelInfo*, size_t, char*, size_t*)>;
using KernelInfoGetFloat = Slot<85, OrtStatus*(const OrtKernelInfo*, const char* name, float*)>;
using KernelInfoGetInt64 = Slot<86, OrtStatus*(const OrtKernelInfo*, const char* name, int64_t*)>;
using KernelInfoGetString = Slot<87, OrtStatus*(const OrtKernelInfo*, const char* name, char*, size_t*)>;
using KernelInfoGetFloats = Slot<162, OrtStatus*(const OrtKernelInfo*, const char* name, float*, size_t*)>;
using KernelInfoGetInt64s = Slot<163, OrtStatus*(const OrtKernelInfo*, const char* name, int64_t*, size_t*)>;

using KernelContextGetInput = Slot<90, OrtStatus*(const OrtKernelContext*, size_t, const OrtValue**)>;
using KernelContextGetOutput =
    Slot<91, OrtStatus*(OrtKernelContext*, size_t, const int64_t* dims, size_t rank, OrtValue**)>;
using KernelContextGetAllocator = Slot<253, OrtStatus*(const OrtKernelContext*, const OrtMemoryInfo*, OrtAllocator**)>;
using KernelContextParallelFor = Slot<274, OrtStatus*(const OrtKernelContext*, void (*)(void* user, size_t i),
                                                      size_t total, size_t batches, void* user)>;
using CreateCpuMemoryInfo = Slot<69, OrtStatus*(int allocator_type, int memory_type, OrtMemoryInfo**)>;
using ReleaseMemoryInfo = Slot<94, void(OrtMemoryInfo*)>;
using AllocatorAlloc = Slot<75, OrtStatus*(OrtAllocator*, size_t, void**)>;
using AllocatorFree = Slot<76, OrtStatus*(OrtAllocator*, void*)>;
using ReleaseAllocator = Slot<132, void(OrtAllocator*)>;

using ShapeInferGetInput = Slot<268, OrtStatus*(const OrtShapeInferContext*, size_t, OrtTensorTypeAndShapeInfo**)>;
using ShapeInferGetAttribute = Slot<269, OrtStatus*(const OrtShapeInferContext*, const char* name, const OrtOpAttr**)>;
using ShapeInferSetOutput =
    Slot<270, OrtStatus*(const OrtShapeInferContext*, size_t, const OrtTensorTypeAndShapeInfo*)>;
using ReadOpAttr = Slot<272, OrtStatus*(const OrtOpAttr*, int type, void* data, size_t bytes, size_t* needed)>;

}  // namespace onnx_maxpool::ort
