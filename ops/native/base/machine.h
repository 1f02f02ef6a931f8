// What the library asks of the machine that it runs on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace onnx_maxpool {

// The most that `stack_scratch` may be.
constexpr size_t kStackScratch = size_t{128} << 10;

// Whether work is so little that a thread may take longer to wake than it saves, if threads are mostly worth waking for
// so many cycles. For more work all threads are woken. If some take no part, other programs have the processors, or
// there are fewer threads: such a run tells nothing else.
constexpr bool is_brief(double cycles, double worth_a_thread) { return cycles < 10 * worth_a_thread; }
// How many of so many threads should do such work.
constexpr int64_t threads_worth_waking(double cycles, double worth_a_thread, int64_t threads) {
  return static_cast<int64_t>(std::min(static_cast<double>(threads), 1 + cycles / worth_a_thread));
}

struct Machine {
  // How many threads can run at once.
  int64_t processors;
  // How much work, in cycles, is worth waking a thread for.
  double cycles_worth_a_thread;
  // Outputs of ROIs of no more bytes than the first are stored by way of the caches, of more than the second past them:
  // a cache that cores share is slow to write to, and little of a large output would be left there to read, so that it
  // was faster even with a reader right after it (docs/benchmark/rois.md). Between the two it depends on what else is
  // in that cache, which a node's runs find out.
  size_t streaming_threshold, streaming_limit;
  // Scratch of no more bytes than this, of all threads together, lies on the stack of the one that runs the node, if
  // that stack has room.
  size_t stack_scratch;
  // Bytes of the second-level cache that a core has.
  int64_t second_cache;
};

// Asked once: libc may open a file for it, which takes longer than a small run. The native tests bring a machine of
// their own, on which little work goes to several threads and past the caches, and no scratch lies on the stack, so
// that sanitizers see its end.
const Machine& machine();

}  // namespace onnx_maxpool
