#include "runtime/custom_op.h"

#if defined(_WIN32)
#define NOMINMAX
#include <windows.h>
#elif !defined(__linux__)
#include <dlfcn.h>
#endif

#include "base/error.h"

namespace onnx_maxpool {

void keep_loaded() {
#if defined(_WIN32)
  HMODULE self = nullptr;
  constexpr DWORD kHow = GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS;
  if (!GetModuleHandleExW(kHow, reinterpret_cast<LPCWSTR>(&keep_loaded), &self)) {
    throw Error("onnx_maxpool: GetModuleHandleExW fails with " + std::to_string(GetLastError()) +
                    ", expected the library to stay loaded",
                ort::kFail);
  }
#elif !defined(__linux__)
  // The handle is never closed, which is enough where RTLD_NODELETE does nothing.
  Dl_info self = {};
  if (!dladdr(reinterpret_cast<const void*>(&keep_loaded), &self) ||
      !dlopen(self.dli_fname, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE)) {
    throw Error("onnx_maxpool: dlopen of the library itself fails, expected it to stay loaded", ort::kFail);
  }
#endif
  // On Linux the linker says it: -z nodelete in CMakeLists.txt.
}

}  // namespace onnx_maxpool
