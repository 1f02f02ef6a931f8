#include "kernels/targets.h"

#include <cstdlib>
#include <string>

#if defined(ONNX_MAXPOOL_X86_TARGETS)
#include <cpuid.h>
#endif

#include "base/error.h"

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

#if defined(ONNX_MAXPOOL_X86_TARGETS)
struct Processor {
  bool avx2 = false, avx512 = false;
};

// What the processor has and the operating system saves when it switches threads, for the flags of CMakeLists.txt. Not
// by __builtin_cpu_supports, as that needs a part of the compiler's runtime that Clang does not bring everywhere.
Processor processor() {
  constexpr unsigned kOsxsave = 1u << 27, kAvx = 1u << 28;              // leaf 1, ecx
  constexpr unsigned kBmi = 1u << 3, kAvx2 = 1u << 5, kBmi2 = 1u << 8;  // leaf 7, ebx
  constexpr unsigned kAvx512f = 1u << 16, kAvx512dq = 1u << 17, kAvx512bw = 1u << 30, kAvx512vl = 1u << 31;  // the same
  constexpr unsigned kSavesYmm = 0x06, kSavesZmm = 0xe6;                                                     // XCR0
  const auto has = [](unsigned word, unsigned bits) { return (word & bits) == bits; };
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !has(ecx, kOsxsave | kAvx)) return {};
  unsigned saved = 0, upper = 0;
  __asm__ volatile("xgetbv" : "=a"(saved), "=d"(upper) : "c"(0));
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return {};
  Processor found;
  found.avx2 = has(saved, kSavesYmm) && has(ebx, kAvx2 | kBmi | kBmi2);
  found.avx512 = found.avx2 && has(saved, kSavesZmm) && has(ebx, kAvx512f | kAvx512dq | kAvx512bw | kAvx512vl);
  return found;
}
#endif

Kernels choose() {
#if defined(ONNX_MAXPOOL_X86_TARGETS)
  const Processor here = processor();
#endif
  // Worst to best.
  const Target targets[] = {
      {ONNX_MAXPOOL_KERNELS(baseline), true},
#if defined(ONNX_MAXPOOL_X86_TARGETS)
      {ONNX_MAXPOOL_KERNELS(avx2), here.avx2},
      {ONNX_MAXPOOL_KERNELS(avx512), here.avx512},
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
    throw Error("onnx_maxpool: environment variable ONNX_MAXPOOL_TARGET is '" + escaped(wanted) +
                "', expected one of " + known);
  }
  return chosen->kernels;
}

}  // namespace

const Kernels& kernels() {
  static const Kernels chosen = choose();
  return chosen;
}

}  // namespace onnx_maxpool
