#include "targets.h"

#include <cstdlib>
#include <string>

#if defined(__linux__)
#include <unistd.h>
#endif

#include "error.h"

#define ONNX_MAXPOOL_DECLARE(target)                                  \
  namespace onnx_maxpool::target {                                    \
  const RoiKernel& roi_kernel(size_t element_size, int64_t channels); \
  const PoolKernel& pool_kernel(const PoolJob&, size_t element_size); \
  }
#define ONNX_MAXPOOL_KERNELS(target) {#target, onnx_maxpool::target::roi_kernel, onnx_maxpool::target::pool_kernel}

ONNX_MAXPOOL_DECLARE(baseline)
#if defined(ONNX_MAXPOOL_X86_TARGETS)
ONNX_MAXPOOL_DECLARE(avx2)
ONNX_MAXPOOL_DECLARE(avx512)
#endif

namespace onnx_maxpool {
namespace {

struct Target {
  Kernels kernels;
  bool runs_here;
};

Kernels choose() {
  // Worst to best.
  const Target targets[] = {
      {ONNX_MAXPOOL_KERNELS(baseline), true},
#if defined(ONNX_MAXPOOL_X86_TARGETS)
      {ONNX_MAXPOOL_KERNELS(avx2), __builtin_cpu_supports("avx2") != 0},
      {ONNX_MAXPOOL_KERNELS(avx512),
       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")},
#endif
  };
  const char* wanted = std::getenv("ONNX_MAXPOOL_TARGET");
  const Target* chosen = nullptr;
  std::string known;
  for (const Target& target : targets) {
    if (!target.runs_here) continue;
    known += (known.empty() ? "" : ", ") + std::string(target.kernels.target);
    if (!wanted || std::string(wanted) == target.kernels.target) chosen = &target;
  }
  if (!chosen) {
    throw Error("onnx_maxpool: environment variable ONNX_MAXPOOL_TARGET is '" + std::string(wanted) +
                "', expected one of " + known);
  }
  return chosen->kernels;
}

size_t last_level_cache() {
#if defined(__linux__) && defined(_SC_LEVEL3_CACHE_SIZE)
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (bytes > 0) return static_cast<size_t>(bytes);
#endif
  return size_t{32} << 20;
}

}  // namespace

const Kernels& kernels() {
  static const Kernels chosen = choose();
  return chosen;
}

size_t streaming_threshold() {
  static const size_t bytes = last_level_cache() / 8;
  return bytes;
}

}  // namespace onnx_maxpool
