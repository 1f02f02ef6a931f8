// What the library asks of the machine that it runs on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace onnx_maxpool {

struct Machine {
  // How many threads can run at once.
  int64_t processors;
  // How much work, in cycles, is worth waking a thread for.
  double cycles_worth_a_thread;
  // Outputs of ROIs of more bytes than this are stored past the caches. A cache that cores share is slow to write to,
  // and little of a large output would be left there to read: it was faster even with a reader right after it, from
  // 8 to 16 MB on where that cache has 300 MB, and earlier where it is small.
  size_t streaming_threshold;
};

// Asked once: libc may open a file for it, which takes longer than a small run. The native tests bring a machine of
// their own, on which little work goes to several threads and past the caches.
const Machine& machine();

}  // namespace onnx_maxpool
