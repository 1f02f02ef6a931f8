// How many threads a node takes a session to have (runtime/threads.h).
#include <cstdio>

#include "require.h"
#include "runtime/threads.h"

namespace {

using onnx_maxpool::Threads;

// Of a machine with 64 processors.
void learns_how_many_threads_there_are() {
  constexpr double kWorth = 1000, kLong = 1e9;
  Threads threads(64, kWorth);
  require(threads.count() == 64 && threads.workers(kLong) == 64, "threads that have yet to be seen");
  require(threads.workers(0) == 1 && threads.workers(2.5 * kWorth) == 3, "workers are worth their waking");
  threads.saw(8, 8, kLong);
  require(threads.count() == 64, "as many threads as workers may be fewer than there are");
  threads.saw(64, 2, 20 * kWorth - 1);
  require(threads.count() == 64, "in a short run not all threads take part");
  threads.saw(64, 3, kLong);
  require(threads.count() == 3 && threads.workers(kLong) == 6, "threads are as many as have worked");
  threads.saw(6, 1, kLong);
  require(threads.count() == 3, "threads may be busy elsewhere");
  threads.saw(6, 6, kWorth);
  require(threads.count() == 6 && threads.workers(kLong) == 12, "more threads have been seen");
  threads.saw(12, 64, kLong);
  require(threads.workers(kLong) == 64, "no more workers than processors");
}

}  // namespace

int main() {
  learns_how_many_threads_there_are();
  std::puts("all is well");
  return 0;
}
