// The fastest of some ways to do the same, found in the first runs: models of cost err, and machines differ.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

namespace onnx_maxpool {

class Trials {
 public:
  static constexpr int kMostWays = 3;
  // Each way is tried so often, in turns, and counts with its least time: a first run touches memory that is new, and
  // other programs disturb some.
  static constexpr int kTimes = 4;

  // Among so many ways. The first is to be the one that should be the fastest.
  explicit Trials(int ways) : ways_(ways), chosen_(ways > 1 ? kNone : 0) {
    for (auto& least : least_) least.store(std::numeric_limits<int64_t>::max(), std::memory_order_relaxed);
  }

  // Calls work(way). Runs may be at the same time.
  template <class Work>
  void run(const Work& work) {
    const int chosen = chosen_.load(std::memory_order_relaxed);
    if (chosen != kNone) return work(chosen);
    const int64_t turn = begun_.fetch_add(1, std::memory_order_relaxed);
    if (turn >= kTimes * ways_) return work(0);  // while others are at the last ones
    const int way = static_cast<int>(turn % ways_);
    const auto begin = std::chrono::steady_clock::now();
    work(way);
    took(way, std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count());
  }

  // A trial of the way was over, after so many nanoseconds.
  void took(int way, int64_t nanoseconds) {
    std::atomic<int64_t>& least = least_[static_cast<size_t>(way)];
    int64_t before = least.load(std::memory_order_relaxed);
    while (nanoseconds < before && !least.compare_exchange_weak(before, nanoseconds, std::memory_order_relaxed)) {
    }
    if (ended_.fetch_add(1, std::memory_order_acq_rel) + 1 == kTimes * ways_) {
      chosen_.store(fastest(), std::memory_order_relaxed);
    }
  }

 private:
  static constexpr int kNone = -1;

  int fastest() const {
    constexpr double kClearly = 0.97;  // less is noise
    int best = 0;
    for (int way = 1; way < ways_; ++way) {
      if (least(way) < least(best) * (best ? 1 : kClearly)) best = way;
    }
    return best;
  }
  double least(int way) const {
    return static_cast<double>(least_[static_cast<size_t>(way)].load(std::memory_order_relaxed));
  }

  const int ways_;
  std::atomic<int> chosen_;
  std::atomic<int64_t> begun_{0}, ended_{0};
  std::array<std::atomic<int64_t>, kMostWays> least_;
};

}  // namespace onnx_maxpool
