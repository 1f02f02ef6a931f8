// Which worker runs which units. What a worker had in one run it has in the next one too, as long as none is held up:
// lines of memory that it wrote may still be in its cache. Where whoever is free takes the next unit of all, processors
// take the lines of an output from each other in each run.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace onnx_maxpool {

// Whose a unit is at first: in turns the first unit is the first worker's, the second the next one's; in parts each
// worker has units that follow one another.
enum class Sharing { in_turns, in_parts };

class Shares {
 public:
  static constexpr size_t bytes(size_t workers) { return workers * sizeof(Share); }

  // In memory of bytes(workers), aligned to 64 bytes.
  Shares(int64_t units, size_t workers, Sharing sharing, void* memory)
      : units_(units), workers_(workers), sharing_(sharing), shares_(static_cast<Share*>(memory)) {
    for (size_t worker = 0; worker < workers; ++worker) {
      new (&shares_[worker]) Share(begin(worker + 1) - begin(worker));
    }
  }

  // Calls run(unit) for the units of a worker, from the first one on, and then for those that others have left, from
  // their last ones on: a slow unit, or a thread that is busy elsewhere, holds up nobody. Once for each worker, on any
  // threads; each unit is run once.
  template <class Run>
  void work(size_t worker, const Run& run) {
    Share& own = shares_[worker];
    while (own.take()) run(unit(worker, own.first++));
    for (size_t other = (worker + 1) % workers_; other != worker; other = (other + 1) % workers_) {
      Share& share = shares_[other];
      // Of an empty one, workers would take the line of memory from each other.
      while (share.may_have() && share.take()) run(unit(other, share.end.fetch_sub(1, std::memory_order_relaxed) - 1));
    }
  }

 private:
  // By their places among a worker's units.
  struct alignas(64) Share {
    explicit Share(int64_t count) : left(count), end(count) {}
    // Takes one from either end, of which no more are taken together than there are.
    bool take() { return left.fetch_sub(1, std::memory_order_relaxed) > 0; }
    bool may_have() const { return left.load(std::memory_order_relaxed) > 0; }
    std::atomic<int64_t> left, end;
    int64_t first = 0;  // only the worker's own
  };

  // In parts. The first workers have one more, where some have.
  int64_t begin(size_t worker) const {
    const auto before = static_cast<int64_t>(worker), all = static_cast<int64_t>(workers_);
    return units_ / all * before + std::min(units_ % all, before);
  }
  int64_t unit(size_t worker, int64_t place) const {
    const bool in_turns = sharing_ == Sharing::in_turns;
    return in_turns ? static_cast<int64_t>(worker) + place * static_cast<int64_t>(workers_) : begin(worker) + place;
  }

  const int64_t units_;
  const size_t workers_;
  const Sharing sharing_;
  Share* const shares_;
};

}  // namespace onnx_maxpool
