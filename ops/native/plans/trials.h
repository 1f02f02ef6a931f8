// The fastest of some ways to do the same: models of cost err, and machines differ, so that a node's first runs try
// those ways that should be about the fastest. Where other programs have the processors meanwhile, all that these runs
// show is who was disturbed the least, so that the ways are tried again later, more and more seldom.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/run_count.h"

namespace onnx_maxpool {

class Trials {
 public:
  static constexpr size_t kMostWays = 11;
  // What a run should take in each way, in a unit of its own; infinity where there is no such way.
  using Costs = std::array<double, kMostWays>;
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  // Ways are tried that should take at most so many times as long as the fastest. Each has a turn of so many runs, of
  // which the last two count: the first ones find in the caches what the way before has left there.
  static constexpr double kTried = 3;
  static constexpr int kInARow = 3, kCounted = 2;
  // So many trials of all ways together are made again each time, where they tell nothing.
  static constexpr int kInVain = 40;
  // Each has one more turn whenever it is time to look again (RunCount). Those that were at most so many times as slow
  // as the fastest have longer turns then: on several threads it takes up to five runs until each thread has its lines
  // of memory in its own cache.
  static constexpr double kContends = 1.5;
  static constexpr int kLongInARow = 2 * kInARow;

  // A way that counts for slower than it is.
  struct Handicap {
    size_t way;
    double factor;
  };
  // Of the way of one thread, where others may help: while they are left asleep, trials of them show what it takes to
  // wake them, and not what they would save from then on.
  static constexpr double kOneThreadHandicap = 1.1;

  // A run that is to be made in this way.
  struct Turn {
    size_t way;
    double cost;
    bool is_trial;
    bool counts;   // of a trial
    bool is_last;  // trials are over for now: of runs with the same costs, this is the way
  };

  // Counts a run, before next() is asked about it. Whether all ways are to be tried once more from now on.
  bool count_run() { return look_again(runs_.is_time()); }
  // Counts runs that went a way that was kept, and did not ask next().
  void count_runs(uint64_t runs) { look_again(runs_.add(runs)); }

  // The way that should take the least.
  static size_t likeliest_of(Costs costs, const Handicap& handicap = {0, 1}) {
    costs[handicap.way] *= handicap.factor;
    return static_cast<size_t>(std::min_element(costs.begin(), costs.end()) - costs.begin());
  }

  // The next run, if it should take `costs[way]` in each way. Runs may be at the same time, and differ in their costs.
  Turn next(const Costs& costs, const Handicap& handicap = {0, 1}) {
    const size_t likeliest = likeliest_of(costs, handicap);
    const auto counted = [&](size_t way) { return way == handicap.way ? handicap.factor * costs[way] : costs[way]; };
    const auto begun = [&](size_t way) { return tried_[way].begun.load(std::memory_order_acquire); };
    const auto may_be_fastest = [&](size_t way) { return counted(way) <= kTried * counted(likeliest); };
    const auto found = [&](size_t way) { return counted(way) * tried_[way].typical(); };  // nanoseconds
    const int wanted = times(), in_a_row = wanted > kInARow ? kLongInARow : kInARow;
    // One that is in the middle of its turn comes first, but not where runs at the same time have tried it too often.
    const auto turns = [&](size_t way) {
      const int tries = begun(way);
      return tries < wanted && tries > wanted - in_a_row ? -1 : tries;
    };
    // What is compared decides: read once more, a way could have been tried by others meanwhile, and the rest not.
    size_t least_tried = likeliest;
    int fewest = turns(likeliest);
    for (size_t way = 0; way < kMostWays; ++way) {
      if (!may_be_fastest(way)) continue;
      if (const int tries = turns(way); tries < fewest) {
        fewest = tries;
        least_tried = way;
      }
    }
    if (fewest < wanted) {
      running_.fetch_add(1, std::memory_order_relaxed);  // before it has begun, as others ask in the opposite order
      double least = kNever;
      for (size_t way = 0; way < kMostWays; ++way) {
        if (may_be_fastest(way)) least = std::min(least, found(way));
      }
      const int length = found(least_tried) <= kContends * least ? in_a_row : kInARow;
      begin(tried_[least_tried].begun, wanted - in_a_row, in_a_row / length);
      const bool counts = runs_in_a_row(least_tried) > length - kCounted;
      return {least_tried, costs[least_tried], true, counts, false};
    }
    // Asked before times are read: no trial is under way, and none of those that were has to be made again.
    bool is_last = running_.load(std::memory_order_acquire) == 0;
    for (size_t way = 0; way < kMostWays; ++way) {
      is_last = is_last && (!may_be_fastest(way) || begun(way) >= wanted);
    }
    const auto time = [&](size_t way) {
      // Less is noise. Two readings of a clock with steps of some 20 nanoseconds differ by a step or two.
      constexpr double kClearly = 0.97, kClock = 30;
      return way == likeliest ? kClearly * found(way) - kClock : found(way);
    };
    size_t fastest = likeliest;
    for (size_t way = 0; way < kMostWays; ++way) {
      if (may_be_fastest(way) && time(way) < time(fastest)) fastest = way;
    }
    return {fastest, costs[fastest], false, false, is_last};
  }

  // A trial is over, after so many nanoseconds.
  void took(const Turn& turn, double nanoseconds) {
    if (turn.counts) tried_[turn.way].add(nanoseconds / turn.cost);
    give_up();
  }

  // The same, of a trial that tells nothing of the way. It is made again, but not for ever.
  void took_in_vain(const Turn& turn, double nanoseconds) {
    if (!turn.counts) return give_up();
    if (in_vain_.fetch_add(1, std::memory_order_relaxed) >= kInVain) return took(turn, nanoseconds);
    tried_[turn.way].begun.fetch_sub(1, std::memory_order_release);
    give_up();
  }

  // A trial is over without a time.
  void give_up() { running_.fetch_sub(1, std::memory_order_release); }

  // There is no memory for this way: until it is tried again, it takes for ever.
  void rule_out(size_t way) {
    for (auto& ratio : tried_[way].ratios) ratio.store(kNever, std::memory_order_relaxed);
  }

  // What their user keeps for the runs that come next: numbers of its own, at first 0. Runs may be at the same time, so
  // that what one finds may be of several that were kept. But whoever finds a number finds those that were kept before
  // it, or later ones.
  static constexpr size_t kKept = 5;
  uint64_t kept(size_t i) const { return kept_[i].load(std::memory_order_acquire); }
  void keep(size_t i, uint64_t number) { kept_[i].store(number, std::memory_order_release); }

  // Calls work(), and takes its time where it is a trial. work() tells whether its time shows anything. One that throws
  // does not count.
  template <class Work>
  void run(const Turn& turn, const Work& work) {
    using Clock = std::chrono::steady_clock;
    if (!turn.is_trial) {
      work();
      return;
    }
    const auto begin = Clock::now();
    bool tells = false;
    try {
      tells = work();
    } catch (...) {
      give_up();
      throw;
    }
    const double nanoseconds = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
    tells ? took(turn, nanoseconds) : took_in_vain(turn, nanoseconds);
  }

 private:
  bool look_again(bool is_time) {
    if (is_time) in_vain_.store(0, std::memory_order_relaxed);
    return is_time;
  }

  // Counts a trial, after so many before this turn; as two, where a turn is half as long. A way that was too slow until
  // now, as costs differ from run to run, has missed turns, for which it does not make up.
  static void begin(std::atomic<int>& begun, int before_turn, int trials) {
    int before = begun.load(std::memory_order_relaxed);
    while (!begun.compare_exchange_weak(before, std::max(before, before_turn) + trials, std::memory_order_release,
                                        std::memory_order_relaxed)) {
    }
  }

  // How many trials of this way there have been since the last one of another.
  int runs_in_a_row(size_t way) {
    size_t before = last_.load(std::memory_order_relaxed), now;
    do {
      now = before % kMostWays == way ? before + kMostWays : kMostWays + way;
    } while (!last_.compare_exchange_weak(before, now, std::memory_order_relaxed));
    return static_cast<int>(now / kMostWays);
  }

  // How often each way is to have been tried by now, in trials of long turns.
  int times() const { return kInARow + runs_.looks() * kLongInARow; }

  struct Tried {
    static constexpr size_t kLast = 4;
    std::atomic<int> begun{0};
    std::atomic<size_t> counted{0};
    // Nanoseconds for each unit of cost, of the last few that count.
    std::array<std::atomic<double>, kLast> ratios;

    Tried() {
      for (auto& ratio : ratios) ratio.store(kNever, std::memory_order_relaxed);
    }
    void add(double ratio) {
      ratios[counted.fetch_add(1, std::memory_order_relaxed) % kLast].store(ratio, std::memory_order_relaxed);
    }
    // The second of four, from the least on, or the lesser of the first two: other programs disturb some, and where
    // threads meet in lines of memory, a run may be lucky.
    double typical() const {
      std::array<double, kLast> known;
      for (size_t i = 0; i < kLast; ++i) known[i] = ratios[i].load(std::memory_order_relaxed);
      std::sort(known.begin(), known.end());
      return known[(std::clamp<size_t>(counted.load(std::memory_order_relaxed), 1, kLast) - 1) / 2];
    }
  };
  std::array<Tried, kMostWays> tried_;
  std::atomic<size_t> last_{0};  // the way that was tried last, and kMostWays for each run in a row
  std::atomic<int> running_{0}, in_vain_{0};
  RunCount runs_;
  std::array<std::atomic<uint64_t>, kKept> kept_{};
};

// Those of the shapes that a node meets first.
class TrialsByShape {
 public:
  static constexpr size_t kShapes = 16;
  // Null where there were too many shapes, or so many of those that are the first `most`. Two that have the same number
  // share their trials.
  Trials* find(uint64_t shape, size_t most = kShapes) {
    if (shape == 0) shape = 1;  // 0 is none
    for (size_t i = 0; i < most; ++i) {
      Known& known = known_[i];
      uint64_t found = known.shape.load(std::memory_order_relaxed);
      if (found == 0 && known.shape.compare_exchange_strong(found, shape, std::memory_order_relaxed)) found = shape;
      if (found == shape) return &known.trials;
    }
    return nullptr;
  }

 private:
  struct Known {
    std::atomic<uint64_t> shape{0};
    Trials trials;
  };
  std::array<Known, kShapes> known_;
};

}  // namespace onnx_maxpool
