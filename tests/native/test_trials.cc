// What a node finds out from its runs: which way to pool is the fastest (plans/trials.h), and how many threads there
// are (runtime/run.h).
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "plans/trials.h"
#include "require.h"
#include "runtime/run.h"

namespace {

using onnx_maxpool::Threads;
using onnx_maxpool::Trials;
using onnx_maxpool::TrialsByShape;

// How many threads a node takes a session to have (runtime/run.h), of a machine with 64 processors.
void learns_how_many_threads_there_are() {
  constexpr double kWorth = 1000, kLong = 1e9;
  Threads threads(64, kWorth);
  require(threads.count() == 64 && threads.workers(kLong, 64) == 64, "threads that have yet to be seen");
  require(!threads.may_leave_to_one(64), "all is left to one thread, and others will never be seen");
  require(threads.workers(0, 64) == 1 && threads.workers(2.5 * kWorth, 64) == 3 && threads.workers(kLong, 2) == 2,
          "workers are worth their waking");
  for (int run = 0; run < 100; ++run) threads.saw(8, 8, kLong);
  require(threads.count() == 64, "as many threads as workers may be fewer than there are");
  require(threads.may_leave_to_one(64), "others have been seen");
  for (int run = 0; run < 3; ++run) threads.saw(64, 1, kLong);
  for (int run = 0; run < 7; ++run) threads.saw(64, 2, 20 * kWorth - 1);
  require(threads.count() == 64 && threads.planned() == 64, "threads may have slept in a few runs");
  threads.saw(64, 2, 20 * kWorth - 1);
  require(threads.count() == 8 && threads.planned() == 8, "threads are as many as have worked");
  require(threads.may_leave_to_one(8) && !threads.may_leave_to_one(64),
          "a run that asks for more threads is left to one");
  threads.saw(16, 1, kLong);
  require(threads.count() == 8, "threads may be busy elsewhere");
  threads.saw(12, 12, kWorth);
  require(threads.count() == 12, "more threads have been seen");
}

// One thread, as it seems: once in a while a run is planned for all processors, and shows whether there are more.
void asks_for_more_threads_again() {
  Threads threads(64, 1000);
  for (int run = 0; run < 4; ++run) threads.saw(2, 1, 1e9);
  std::vector<int> asked;
  for (int run = 1; run <= 1000; ++run) {
    if (threads.planned() != 1) asked.push_back(run);
  }
  require(asked == std::vector<int>{32, 64, 128, 256, 512}, "runs that are planned for all processors");
  threads.saw(2, 2, 1e9);
  require(threads.planned() == 2, "a run has shown more threads");
}

// Of the first ways; there are no others.
Trials::Costs costs_of(const std::vector<double>& known) {
  Trials::Costs costs;
  costs.fill(Trials::kNever);
  std::copy(known.begin(), known.end(), costs.begin());
  return costs;
}

// Each way is tried as often as it should be, whichever runs meet.
void tries_ways_on_threads() {
  constexpr int kThreads = 6;
  Trials shared;
  std::vector<std::atomic<int>> runs(3);
  std::vector<std::thread> threads;
  std::atomic<int> ready{0};
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (++ready; ready < kThreads;) std::this_thread::yield();
      for (int run = 0; run < 100; ++run) {
        const Trials::Turn turn = shared.next(costs_of({10, 20, 30}));
        for (const auto& count : runs) {
          require(!turn.is_last || count >= Trials::kInARow, "trials end before all ways were tried");
        }
        shared.run(turn, [&] { return ++runs[turn.way] % 4 > 0; });  // some tell nothing
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& count : runs) require(count >= Trials::kInARow, "a way was not tried often enough");
  require(runs[0] + runs[1] + runs[2] == 100 * kThreads, "a run got lost");
}

// Which of several ways is found to be the fastest (plans/trials.h).
void tries_ways() {
  // The way that is found in two rounds, of as many as there are lists of times, all of which should take as long but
  // the last. The first runs of each turn are slow, and do not count, if another way came before them.
  std::vector<size_t> tries;
  const auto found = [&](const std::vector<std::vector<double>>& microseconds, double last_cost = 10) {
    Trials trials;
    std::vector<double> known(microseconds.size(), 10);
    known.back() = last_cost;
    const Trials::Costs costs = costs_of(known);
    std::vector<size_t> times(microseconds.size());
    const bool is_only_one = known.size() == 1 || last_cost > 10 * Trials::kTried;
    size_t last = microseconds.size();
    int counted = Trials::kCounted;  // runs of this turn
    tries.assign(microseconds.size(), 0);
    for (int run = 1;; ++run) {
      trials.count_run();
      const Trials::Turn turn = trials.next(costs);
      require(turn.is_trial != turn.is_last, "a run is neither a trial nor after the last one");
      if (turn.is_last && run > 32) return turn.way;
      if (turn.is_last) continue;
      if (turn.way != last) {
        require(counted == Trials::kCounted && !turn.counts, "of a turn not the last two runs count");
        counted = 0;
      }
      last = turn.way;
      ++tries[turn.way];
      require(is_only_one || turn.counts || counted == 0, "of a turn a run does not count after one that does");
      counted += turn.counts;
      trials.took(turn, 1000 * (turn.counts ? microseconds[turn.way].at(times[turn.way]++) : 5000));
    }
  };
  require(found({{100, 100, 100, 100}, {90, 90, 90, 90}, {95, 95, 95, 95}}) == 1, "the fastest way is not taken");
  require(found({{100, 100, 100, 100}, {98, 98, 98, 98}}) == 0, "a way is taken that is hardly faster");
  require(found({{100, 100, 100, 100}, {500, 90, 90, 500}}) == 1, "a way is counted out that was disturbed twice");
  require(tries == std::vector<size_t>(2, Trials::kInARow + Trials::kLongInARow), "the second turn of good ways");
  require(found({{100, 100, 100, 100}, {160, 160, 160, 160}, {140, 140, 140, 140}}) == 0, "another way is the fastest");
  require(tries == std::vector<size_t>{9, 6, 9}, "the second turn of a way that is clearly slower");
  require(found({{100, 100, 100, 100}, {500, 20, 500, 500}}) == 0, "a way is taken that was lucky once");
  require(found({std::vector<double>(7, 100)}) == 0, "there is only one way");
  require(found({{.06, .06, .06, .06}, {.04, .04, .04, .04}}) == 0, "a way is taken for a step of the clock");
  require(found({{100, 100, 100, 100}, {50, 50, 50, 50}}, 29) == 1, "a way is not tried that may be the fastest");
  require(found({std::vector<double>(7, 100), {}}, 31) == 0, "a way is tried that should take too long");

  // Runs of other costs: a way that took twice as long as it should takes so again.
  Trials trials;
  const Trials::Costs small = costs_of({10, 11}), large = costs_of({300, 200});
  for (Trials::Turn turn = trials.next(small); turn.is_trial; turn = trials.next(small)) {
    trials.took(turn, 1000 * turn.cost * (turn.way == 0 ? 1 : 2));
  }
  require(trials.next(small).way == 0 && trials.next(large).way == 0, "costs are not corrected");
  require(trials.next(costs_of({300, 100})).way == 1, "costs are of no account");

  // A way may count for slower than it is.
  const auto with_handicap = [&](double nanoseconds) {
    Trials handicapped;
    for (;;) {
      const Trials::Turn turn = handicapped.next(costs_of({10, 10}), {0, 1.15});
      if (!turn.is_trial) return turn.way;
      handicapped.took(turn, turn.way == 0 ? nanoseconds : 10000);
    }
  };
  require(with_handicap(8200) == 0 && with_handicap(8900) == 1, "a way does not count as slower than it is");

  // All trials of the best way were disturbed: it is found once they are repeated, which is seldom.
  Trials disturbed;
  int trials_later = 0;
  size_t last_way = 1;
  for (int run = 0; run < 1000; ++run) {
    disturbed.count_run();
    const Trials::Turn turn = disturbed.next(costs_of({10, 10}));
    last_way = turn.way;
    if (run == 31) require(turn.is_trial, "a trial is not repeated");
    if (run < 2 * Trials::kInARow) require(turn.is_trial, "a trial is left out");
    if (run < 2 * Trials::kInARow)
      require(turn.way == static_cast<size_t>(run / Trials::kInARow % 2), "a way's turn is not over in one go");
    if (run >= 2 * Trials::kInARow) trials_later += turn.is_trial;
    if (run == 2 * Trials::kInARow) require(turn.way == 1, "the disturbed way is taken");
    if (turn.is_trial) disturbed.took(turn, turn.way == 1 ? 200 : run < 2 * Trials::kInARow ? 500 : 100);
  }
  require(last_way == 0, "the fastest way is not found later");
  require(trials_later == 5 * (Trials::kLongInARow + Trials::kInARow) - Trials::kInARow,
          "the turns after 32, ... runs");

  // Runs that tell nothing are made again, but not for ever.
  Trials vain;
  int told = 0, in_vain = 0;
  for (Trials::Turn turn = vain.next(costs_of({10, 10})); turn.is_trial; turn = vain.next(costs_of({10, 10}))) {
    const bool tells = in_vain >= 9;
    (tells ? told : in_vain) += 1;
    vain.run(turn, [&] { return tells; });
  }
  require(in_vain == 9 && told == 2 * Trials::kInARow - 1, "a trial that told nothing is not made again");
  Trials always;
  int made = 0;
  for (; always.next(costs_of({10, 10})).is_trial; ++made) always.took_in_vain({0, 10, true, true, false}, 1);
  require(made == 2 * Trials::kInARow + Trials::kInVain, "trials that tell nothing have no end");

  // So many again each time, also where the runs before went a way that was kept.
  always.count_runs(31);
  const auto made_later = [&] {
    int found = 0;
    for (; always.next(costs_of({10, 10})).is_trial; ++found) always.took_in_vain({0, 10, true, true, false}, 1);
    return found;
  };
  require(made_later() == 0, "trials are made before it is time to look");
  always.count_runs(63);
  require(made_later() >= Trials::kInVain, "trials of a look count as those of the look before");

  // There is no memory for the fastest way, until it is tried again.
  Trials without;
  const auto last_of = [&](int runs) {
    size_t way = 2;
    for (int run = 0; run < runs; ++run) {
      without.count_run();
      const Trials::Turn turn = without.next(costs_of({10, 10}));
      if (turn.is_trial) without.took(turn, turn.way == 0 ? 100 : 200);
      way = turn.way;
    }
    return way;
  };
  require(last_of(10) == 0, "the fastest way is not found");
  without.rule_out(0);
  require(last_of(10) == 1, "a way is taken for which there is no memory");
  require(last_of(100) == 0, "a way is ruled out for ever");

  // A way that seldom may be the fastest makes up for a few turns, and not for all that it has missed.
  Trials seldom;
  const auto trials_of = [&](double last_cost, int runs) {
    int found = 0;
    for (int run = 0; run < runs; ++run) {
      seldom.count_run();
      const Trials::Turn turn = seldom.next(costs_of({10, last_cost}));
      if (turn.is_trial) seldom.took(turn, turn.cost);
      found += turn.is_trial && turn.way == 1;
    }
    return found;
  };
  require(trials_of(31, 5000) == 0 && trials_of(29, 500) == Trials::kInARow, "a way makes up for all turns");

  for (int repeat = 0; repeat < 30; ++repeat) tries_ways_on_threads();

  TrialsByShape by_shape;
  require(by_shape.find(3) == by_shape.find(3) && by_shape.find(3) != by_shape.find(5), "shapes share their trials");
  for (uint64_t shape = 7; shape < 100; ++shape) by_shape.find(shape);
  require(by_shape.find(3) && !by_shape.find(99), "trials are not of the first shapes");
  TrialsByShape half;
  for (uint64_t shape = 7; shape < 100; ++shape) half.find(shape, TrialsByShape::kShapes / 2);
  require(half.find(7) && !half.find(99, 8) && half.find(99), "some shapes leave no trials to others");
}

}  // namespace

int main() {
  tries_ways();
  learns_how_many_threads_there_are();
  asks_for_more_threads_again();
  std::puts("all is well");
  return 0;
}
