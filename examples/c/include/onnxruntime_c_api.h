/* The part of ONNX Runtime's C interface that main.c uses, in our own words, for those who have ONNX Runtime from its
 * Python wheel, which brings no header. Where you have ONNX Runtime's own onnxruntime_c_api.h, compile with that one:
 * names and types are the same. OrtApi is a table of functions whose order never changes, so places are enough. */
#ifndef ONNX_MAXPOOL_EXAMPLE_ONNXRUNTIME_C_API_H
#define ONNX_MAXPOOL_EXAMPLE_ONNXRUNTIME_C_API_H

#include <stddef.h>
#include <stdint.h>

typedef struct OrtAllocator OrtAllocator;
typedef struct OrtEnv OrtEnv;
typedef struct OrtMemoryInfo OrtMemoryInfo;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtSession OrtSession;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtStatus OrtStatus;
typedef struct OrtTensorTypeAndShapeInfo OrtTensorTypeAndShapeInfo;
typedef struct OrtValue OrtValue;

typedef enum { ORT_LOGGING_LEVEL_WARNING = 2 } OrtLoggingLevel;
typedef enum { ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT = 1 } ONNXTensorElementDataType;
typedef enum { OrtDeviceAllocator = 0 } OrtAllocatorType;
typedef enum { OrtMemTypeDefault = 0 } OrtMemType;

/* The functions that main.c does not call: from one place of the table to another, both included. */
#define OTHERS(first, last) void (*others_##first[(last) - (first) + 1])(void)

typedef struct OrtApi {
  OTHERS(0, 1);
  const char* (*GetErrorMessage)(const OrtStatus*);
  OrtStatus* (*CreateEnv)(OrtLoggingLevel, const char* name, OrtEnv**);
  OTHERS(4, 6);
  OrtStatus* (*CreateSession)(const OrtEnv*, const char* model_path, const OrtSessionOptions*, OrtSession**);
  OTHERS(8, 8);
  OrtStatus* (*Run)(OrtSession*, const OrtRunOptions*, const char* const* input_names, const OrtValue* const* inputs,
                    size_t input_count, const char* const* output_names, size_t output_count, OrtValue** outputs);
  OrtStatus* (*CreateSessionOptions)(OrtSessionOptions**);
  OTHERS(11, 48);
  OrtStatus* (*CreateTensorWithDataAsOrtValue)(const OrtMemoryInfo*, void* data, size_t bytes, const int64_t* shape,
                                               size_t rank, ONNXTensorElementDataType, OrtValue**);
  OTHERS(50, 50);
  OrtStatus* (*GetTensorMutableData)(OrtValue*, void**);
  OTHERS(52, 60);
  OrtStatus* (*GetDimensionsCount)(const OrtTensorTypeAndShapeInfo*, size_t*);
  OrtStatus* (*GetDimensions)(const OrtTensorTypeAndShapeInfo*, int64_t*, size_t);
  OTHERS(63, 63);
  OrtStatus* (*GetTensorShapeElementCount)(const OrtTensorTypeAndShapeInfo*, size_t*);
  OrtStatus* (*GetTensorTypeAndShape)(const OrtValue*, OrtTensorTypeAndShapeInfo**);
  OTHERS(66, 68);
  OrtStatus* (*CreateCpuMemoryInfo)(OrtAllocatorType, OrtMemType, OrtMemoryInfo**);
  OTHERS(70, 91);
  void (*ReleaseEnv)(OrtEnv*);
  void (*ReleaseStatus)(OrtStatus*);
  void (*ReleaseMemoryInfo)(OrtMemoryInfo*);
  void (*ReleaseSession)(OrtSession*);
  void (*ReleaseValue)(OrtValue*);
  OTHERS(97, 98);
  void (*ReleaseTensorTypeAndShapeInfo)(OrtTensorTypeAndShapeInfo*);
  void (*ReleaseSessionOptions)(OrtSessionOptions*);
  OTHERS(101, 227);
  OrtStatus* (*RegisterCustomOpsLibrary_V2)(OrtSessionOptions*, const char* library_path);
} OrtApi;

_Static_assert(offsetof(OrtApi, RegisterCustomOpsLibrary_V2) == 228 * sizeof(void (*)(void)), "a place is miscounted");

typedef struct OrtApiBase {
  const OrtApi* (*GetApi)(uint32_t version);
  const char* (*GetVersionString)(void);
} OrtApiBase;

#endif
