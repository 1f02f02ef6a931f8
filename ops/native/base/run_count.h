// When to look again at what a node's runs have shown.
#pragma once

#include <atomic>
#include <cstdint>

namespace onnx_maxpool {

// Counts runs. After so many, and whenever there were twice as many, it is time to look again.
class RunCount {
 public:
  // Counts a run: whether it is one to look again. Of runs at the same time some may not be counted, which does no
  // harm: a small run would notice an operation that none gets past.
  bool is_time() {
    const uint64_t run = 1 + runs_.load(std::memory_order_relaxed);
    runs_.store(run, std::memory_order_relaxed);
    return run >= kAgain && (run & (run - 1)) == 0;
  }
  // Counts runs that do not look: whether one of them was to.
  bool add(uint64_t runs) {
    const uint64_t before = runs_.fetch_add(runs, std::memory_order_relaxed);
    return looks_of(before + runs) != looks_of(before);
  }

  // How often it has been time to look.
  int looks() const { return looks_of(runs_.load(std::memory_order_relaxed)); }

 private:
  static int looks_of(uint64_t runs) {
    int times = 0;
    for (; runs >= kAgain; runs /= 2) ++times;
    return times;
  }

  static constexpr uint64_t kAgain = 32;
  std::atomic<uint64_t> runs_{0};
};

}  // namespace onnx_maxpool
