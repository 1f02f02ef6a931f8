// How many threads a session has for its nodes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace onnx_maxpool {

// The runtime does not tell, so a node's runs show it: work is offered to some number of workers, and as many take part
// in it as there are threads. Until a run has shown it, there are taken to be as many as processors.
class Threads {
 public:
  Threads(int64_t processors, double cycles_worth_a_thread)
      : processors_(processors), cycles_worth_a_thread_(cycles_worth_a_thread) {}

  // As many as a plan should reckon with.
  int64_t count() const {
    const int64_t seen = seen_.load(std::memory_order_relaxed);
    return seen ? seen : processors_;
  }

  // To how many workers that many cycles of work should go. To more than there seem to be threads, as these may have
  // been busy elsewhere when they were counted.
  int64_t workers(double cycles) const {
    const double most = static_cast<double>(std::min(2 * count(), processors_));
    return static_cast<int64_t>(std::max(std::min(1 + cycles / cycles_worth_a_thread_, most), 1.0));
  }

  // A run was over: of the workers that this many cycles were offered to, so many have worked.
  void saw(int64_t offered, int64_t worked, double cycles) {
    // All of them: there may be more threads. Too short: others may have woken too late for it.
    const bool all = worked == offered,
               brief = cycles < kTelling * cycles_worth_a_thread_ * static_cast<double>(worked);
    int64_t seen = seen_.load(std::memory_order_relaxed);
    if (seen == 0 && (all || brief)) return;
    while (seen < worked && !seen_.compare_exchange_weak(seen, worked, std::memory_order_relaxed)) {
    }
  }

 private:
  static constexpr double kTelling = 10;
  const int64_t processors_;
  const double cycles_worth_a_thread_;
  std::atomic<int64_t> seen_{0};  // the most that took part in a run
};

}  // namespace onnx_maxpool
