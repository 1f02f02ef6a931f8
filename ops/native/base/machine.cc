#include "base/machine.h"

#include <algorithm>
#include <thread>

#if defined(__linux__)
#include <unistd.h>
#endif

namespace onnx_maxpool {
namespace {

size_t last_level_cache() {
#if defined(__linux__) && defined(_SC_LEVEL3_CACHE_SIZE)
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (bytes > 0) return static_cast<size_t>(bytes);
#endif
  return size_t{32} << 20;
}

// Within what processors have: a virtual machine may say anything.
int64_t second_cache() {
#if defined(__linux__) && defined(_SC_LEVEL2_CACHE_SIZE)
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (bytes > 0) return std::clamp<int64_t>(bytes, 256 << 10, 2 << 20);
#endif
  return 1 << 20;
}

}  // namespace

const Machine& machine() {
  static const size_t streaming_threshold = std::min(last_level_cache() / 8, size_t{4} << 20);
  static const Machine here = {std::max<int64_t>(std::thread::hardware_concurrency(), 1),
                               30'000,
                               streaming_threshold,
                               4 * streaming_threshold,
                               kStackScratch,
                               second_cache()};
  return here;
}

}  // namespace onnx_maxpool
