#include "kernels/targets.h"

#include <cstdlib>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/error.h"

#define TARGET(name, options)                                                   \
  namespace onnx_maxpool::name {                                                \
  bool find_roi_windows(const RoiRows&);                                        \
  const RoiKernel& roi_kernel(size_t element_size, int64_t channels);           \
  const PoolKernel* pool_kernel(const PoolJob&, size_t element_size, PoolPlan); \
  PoolCosts pool_costs(const PoolJob&, size_t element_size);                    \
  }
#include "compiled_targets.inc"
#undef TARGET

namespace onnx_maxpool {
namespace {

// Which targets it runs.
struct Processor {
  bool baseline = true, avx2 = false, avx512 = false;
};

#if defined(__x86_64__)
// What the processor has and the operating system saves when it switches threads, for the options of targets.inc.
// Not by __builtin_cpu_supports, as that needs a part of the compiler's runtime that Clang does not bring everywhere.
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
#else
Processor processor() { return {}; }
#endif

// The target for all work but little, and the one for that.
struct Chosen {
  Kernels best{}, for_little{};
};

Chosen choose() {
  constexpr int64_t kWidestForLittle = 32;
  const char* wanted = std::getenv("ONNX_MAXPOOL_TARGET");
  Chosen chosen;
  std::string known;
  for (const Target& target : targets()) {
    if (!target.runs_here) continue;
    const Kernels& kernels = target.kernels;
    known += (known.empty() ? "" : ", ") + std::string(kernels.target);
    if (wanted && std::string(wanted) != kernels.target) continue;
    chosen.best = kernels;
    if (wanted || kernels.roi(sizeof(float), 1).line_bytes <= kWidestForLittle) chosen.for_little = kernels;
  }
  if (!chosen.best.target) {
    throw Error("onnx_maxpool: environment variable ONNX_MAXPOOL_TARGET is '" + escaped(wanted) +
                "', expected one of " + known);
  }
  return chosen;
}

const Chosen& chosen() {
  static const Chosen found = choose();
  return found;
}

}  // namespace

std::vector<Target> targets() {
  const Processor here = processor();
  return {
#define TARGET(name, options) \
  {{#name, name::find_roi_windows, name::roi_kernel, name::pool_kernel, name::pool_costs}, here.name},
#include "compiled_targets.inc"
#undef TARGET
  };
}

const Kernels& kernels() { return chosen().best; }
const Kernels& kernels_for_little() { return chosen().for_little; }

}  // namespace onnx_maxpool
