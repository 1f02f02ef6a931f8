/* Runs a MaxRoiPool model from C: loads ONNX Runtime's shared library, has it load ours, and prints the output.
 *
 *   max_roi_pool LIBONNXRUNTIME LIBONNX_MAXPOOL MODEL
 *
 * The model's inputs are X, float (1, 2, 5, 6), and rois, float (1, 5); its output is Y, float (1, 2, height, width).
 * For Linux and macOS. */
#include <dlfcn.h>
#include <onnxruntime_c_api.h>
#include <stdio.h>
#include <stdlib.h>

/* The interface of ONNX Runtime 1.23, the oldest that onnx-maxpool supports. Newer runtimes have it too. */
enum { API_VERSION = 23 };

static const OrtApi* api;

/* Ends the program where ONNX Runtime answers with an error. */
static void check(OrtStatus* status) {
  if (!status) return;
  fprintf(stderr, "error: %s\n", api->GetErrorMessage(status));
  api->ReleaseStatus(status);
  exit(EXIT_FAILURE);
}

static const OrtApi* load_onnxruntime(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "error: %s\n", dlerror());
    exit(EXIT_FAILURE);
  }
  const OrtApiBase* (*get_api_base)(void);
  *(void**)&get_api_base = dlsym(library, "OrtGetApiBase");
  if (!get_api_base) {
    fprintf(stderr, "error: %s\n", dlerror());
    exit(EXIT_FAILURE);
  }
  const OrtApiBase* base = get_api_base();
  const OrtApi* found = base->GetApi(API_VERSION);
  if (!found) {
    fprintf(stderr, "error: ONNX Runtime is %s, expected 1.%d or newer\n", base->GetVersionString(), API_VERSION);
    exit(EXIT_FAILURE);
  }
  return found;
}

static OrtValue* tensor(const OrtMemoryInfo* memory, float* data, const int64_t* shape, size_t rank) {
  size_t count = 1;
  for (size_t i = 0; i < rank; ++i) count *= (size_t)shape[i];
  OrtValue* value = NULL;
  check(api->CreateTensorWithDataAsOrtValue(memory, data, count * sizeof(float), shape, rank,
                                            ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  return value;
}

/* The shape on a line, then each row of the last axis on a line of its own. */
static void print(OrtValue* value) {
  OrtTensorTypeAndShapeInfo* info = NULL;
  check(api->GetTensorTypeAndShape(value, &info));
  size_t rank = 0, count = 0;
  check(api->GetDimensionsCount(info, &rank));
  if (rank != 4) {
    fprintf(stderr, "error: Y has rank %zu, expected 4\n", rank);
    exit(EXIT_FAILURE);
  }
  int64_t shape[4];
  check(api->GetDimensions(info, shape, rank));
  check(api->GetTensorShapeElementCount(info, &count));
  api->ReleaseTensorTypeAndShapeInfo(info);

  void* data = NULL;
  check(api->GetTensorMutableData(value, &data));
  printf("%lld x %lld x %lld x %lld\n", (long long)shape[0], (long long)shape[1], (long long)shape[2],
         (long long)shape[3]);
  for (size_t i = 0; i < count; ++i) printf("%.9g%s", ((float*)data)[i], (i + 1) % (size_t)shape[3] ? " " : "\n");
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s LIBONNXRUNTIME LIBONNX_MAXPOOL MODEL\n", argv[0]);
    return EXIT_FAILURE;
  }
  api = load_onnxruntime(argv[1]);

  OrtEnv* env = NULL;
  check(api->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "max_roi_pool", &env));
  OrtSessionOptions* options = NULL;
  check(api->CreateSessionOptions(&options));
  check(api->RegisterCustomOpsLibrary_V2(options, argv[2])); /* the one line that makes the model run */
  OrtSession* session = NULL;
  check(api->CreateSession(env, argv[3], options, &session));

  float x[2 * 5 * 6]; /* cells that count up in the first channel, and down in the second */
  for (int i = 0; i < 30; ++i) {
    x[i] = (float)(i + 1);
    x[30 + i] = (float)(30 - i);
  }
  float rois[] = {0, 32, 16, 64, 48}; /* image 0, x from 32 to 64, y from 16 to 48 */

  OrtMemoryInfo* memory = NULL;
  check(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory));
  const char* input_names[] = {"X", "rois"};
  const char* output_names[] = {"Y"};
  const OrtValue* inputs[] = {
      tensor(memory, x, (const int64_t[]){1, 2, 5, 6}, 4),
      tensor(memory, rois, (const int64_t[]){1, 5}, 2),
  };
  OrtValue* y = NULL;
  check(api->Run(session, NULL, input_names, inputs, 2, output_names, 1, &y));
  print(y);

  api->ReleaseValue(y);
  for (int i = 0; i < 2; ++i) api->ReleaseValue((OrtValue*)inputs[i]);
  api->ReleaseMemoryInfo(memory);
  api->ReleaseSession(session);
  api->ReleaseSessionOptions(options);
  api->ReleaseEnv(env);
  return EXIT_SUCCESS;
}
