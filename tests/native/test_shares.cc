// Which worker runs which units (runtime/shares.h).
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "require.h"
#include "runtime/shares.h"

namespace {

using onnx_maxpool::Shares;
using onnx_maxpool::Sharing;
using Units = std::vector<int64_t>;

// For up to eight workers.
class Memory {
 public:
  void* get() { return bytes_; }

 private:
  alignas(64) char bytes_[Shares::bytes(8)];
};

// Workers of which each begins as the one before it has run one unit, and ends before that one goes on.
std::vector<Units> units_of(int64_t units, size_t workers, Sharing sharing) {
  Memory memory;
  Shares shares(units, workers, sharing, memory.get());
  std::vector<Units> of(workers);
  const auto work = [&](size_t worker, const auto& next) -> void {
    bool has_begun = false;
    shares.work(worker, [&](int64_t unit) {
      of[worker].push_back(unit);
      if (!has_begun && worker + 1 < workers) next(worker + 1, next);
      has_begun = true;
    });
  };
  work(0, work);
  return of;
}

void shares_units_out() {
  // The second has its own, and then the first one's from the last on.
  require(units_of(7, 2, Sharing::in_parts) == std::vector<Units>{{0}, {4, 5, 6, 3, 2, 1}}, "two workers' parts");
  require(units_of(7, 2, Sharing::in_turns) == std::vector<Units>{{0}, {1, 3, 5, 6, 4, 2}}, "two workers' turns");
  require(units_of(8, 3, Sharing::in_parts) == std::vector<Units>{{0}, {3}, {6, 7, 2, 1, 5, 4}},
          "three workers' parts");
  require(units_of(8, 3, Sharing::in_turns) == std::vector<Units>{{0}, {1}, {2, 5, 6, 3, 7, 4}},
          "three workers' turns");
  require(units_of(5, 1, Sharing::in_parts) == std::vector<Units>{{0, 1, 2, 3, 4}}, "one worker");
  require(units_of(2, 3, Sharing::in_parts) == std::vector<Units>{{0}, {1}, {}}, "fewer units than workers");
}

// A worker that never begins leaves its units to the others.
void leaves_no_unit() {
  Memory memory;
  Shares shares(5, 3, Sharing::in_turns, memory.get());
  Units units;
  shares.work(1, [&](int64_t unit) { units.push_back(unit); });
  require(units == Units{1, 4, 2, 3, 0}, "one worker of three does not do all");
}

void runs_each_unit_once() {
  constexpr size_t kThreads = 6;
  for (int64_t units = 0; units < 300; units += 7) {
    for (const Sharing sharing : {Sharing::in_turns, Sharing::in_parts}) {
      Memory memory;
      Shares shares(units, kThreads, sharing, memory.get());
      std::vector<std::atomic<int>> runs(static_cast<size_t>(units));
      std::vector<std::thread> threads;
      for (size_t worker = 0; worker < kThreads; ++worker) {
        threads.emplace_back([&, worker] { shares.work(worker, [&](int64_t unit) { ++runs[unit]; }); });
      }
      for (std::thread& thread : threads) thread.join();
      for (const auto& count : runs) require(count == 1, "a unit is left out, or comes twice");
    }
  }
}

}  // namespace

int main() {
  shares_units_out();
  leaves_no_unit();
  runs_each_unit_once();
  std::puts("all is well");
  return 0;
}
