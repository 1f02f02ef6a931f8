// One run of a node: its tensors, memory and threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/element_type.h"
#include "base/error.h"
#include "base/machine.h"
#include "base/ort_abi.h"
#include "base/run_count.h"
#include "base/shape.h"
#include "runtime/shares.h"

namespace onnx_maxpool {

// How many threads a session has for its nodes. The runtime does not tell, so a node's runs show it: work is offered to
// some number of workers, and as many take part in it as there are threads that come in time. Until some runs have
// shown it, there are taken to be as many as processors: in a single one, threads may have been asleep, or busy
// elsewhere.
class Threads {
 public:
  Threads(int64_t processors, double cycles_worth_a_thread)
      : processors_(processors), cycles_worth_a_thread_(cycles_worth_a_thread) {}

  // As many as there seem to be.
  int64_t count() const { return is_known() ? seen_.load(std::memory_order_relaxed) : processors_; }

  // As many as a run should be planned for. Now and then as many as processors, more and more seldom: work that is
  // planned for one thread may be one piece, and could never show that there are more.
  int64_t planned() {
    if (!is_known()) return processors_;
    return runs_.is_time() ? processors_ : count();
  }

  // Whether a run that is planned for so many threads may leave all work to one, and so show nothing of others: where
  // these have been seen, or are known not to be there, and this is not the run that asks again.
  bool may_leave_to_one(int64_t threads) const {
    return is_known() ? threads == count() : seen_.load(std::memory_order_relaxed) > 1;
  }

  // How many of so many threads are worth waking for that many cycles of work.
  int64_t workers(double cycles, int64_t threads) const {
    return threads_worth_waking(cycles, cycles_worth_a_thread_, threads);
  }

  // A run was over: of the workers that this many cycles were offered to, so many have worked.
  void saw(int64_t offered, int64_t worked, double cycles) {
    int64_t seen = seen_.load(std::memory_order_relaxed);
    while (seen < worked && !seen_.compare_exchange_weak(seen, worked, std::memory_order_relaxed)) {
    }
    if (worked == offered || is_known()) return;  // of all of them: there may be more threads
    const bool is_short = is_brief(cycles, cycles_worth_a_thread_ * static_cast<double>(worked));
    shown_.fetch_add(is_short ? 1 : kLongRun, std::memory_order_relaxed);
  }

 private:
  // So many brief runs, in which threads may wake too late, show as much as one that is longer; and so many are enough.
  static constexpr int kLongRun = 8, kEnough = 4 * kLongRun;
  bool is_known() const { return shown_.load(std::memory_order_relaxed) >= kEnough; }

  const int64_t processors_;
  const double cycles_worth_a_thread_;
  std::atomic<int64_t> seen_{1};  // the most that took part in a run
  std::atomic<int> shown_{0};     // by runs in which not all took part, in brief ones
  RunCount runs_;
};

// The runtime that a node runs in.
struct Host {
  const OrtApi* api;
  bool lends_shapes;  // of tensors, without a copy
};

struct Tensor {
  const void* data;
  Dims shape;
};

// What a node's runs have shown.
struct Shown {
  Threads threads;
  std::atomic<uint32_t> good_outputs{0};  // a bit for each that the graph has as the type that is written
};

// One run of a node.
class Run {
 public:
  Run(const Host& host, OrtKernelContext* context, Shown& shown)
      : api_(host.api), lends_shapes_(host.lends_shapes), context_(context), shown_(shown) {}
  Tensor input(size_t index) const;
  // Where to write an output of this type and shape; null where the node leaves an optional output out. Throws Error
  // where the graph has the output as another type: a saved graph is loaded without inference.
  void* output(size_t index, ElementType type, const Dims& shape) const;

  // For how many threads to plan.
  int64_t threads() const { return shown_.threads.planned(); }
  // Whether a run that is planned for so many may leave all work to one.
  bool may_use_one_thread(int64_t threads) const { return shown_.threads.may_leave_to_one(threads); }
  // How many of these are worth waking for that many cycles of work.
  int64_t workers(double cycles, int64_t threads) const { return shown_.threads.workers(cycles, threads); }

  // Calls work(unit, scratch) once for each unit in [0, units), on so many of ONNX Runtime's threads, and waits. Each
  // has `scratch_bytes` of its own, aligned to 64 bytes, from the runtime's arena or, if few, from the stack; throws
  // NoScratch, before any work, where the arena has not so many. `work` must not throw. `cycles` is an estimate for all
  // units together. Whether all threads took part that were to, as far as there are so many.
  template <class Work>
  bool parallel(int64_t units, Sharing sharing, size_t scratch_bytes, int64_t workers, double cycles,
                const Work& work) const {
    const auto run = [](const void* w, int64_t unit, void* scratch) { (*static_cast<const Work*>(w))(unit, scratch); };
    return parallel({units, sharing, scratch_bytes, workers, cycles, true, &work, run});
  }
  // The same for work(unit), of what comes before: too short to show how many threads the session has.
  template <class Work>
  void parallel_before(int64_t units, double cycles, const Work& work) const {
    if (units == 1) return work(0);  // a small run would notice the calls by pointer
    const auto run = [](const void* w, int64_t unit, void*) { (*static_cast<const Work*>(w))(unit); };
    parallel({units, Sharing::in_parts, 0, workers(cycles, shown_.threads.count()), cycles, false, &work, run});
  }

 private:
  struct Units {
    int64_t count;
    Sharing sharing;
    size_t scratch_bytes;
    int64_t workers;
    double cycles;
    bool show_threads;
    const void* work;
    void (*run)(const void* work, int64_t unit, void* scratch);
  };
  Dims shape_of(const OrtValue* value) const;
  void check_type(const OrtValue* output, size_t index, ElementType type) const;
  bool parallel(const Units& units) const;
  // Who works, and how many bytes of scratch each has.
  struct Team {
    size_t workers, scratch_bytes;
    size_t bytes() const { return workers == 1 ? scratch_bytes : Shares::bytes(workers) + workers * scratch_bytes; }
  };
  template <size_t bytes>
  bool on_stack(const Units& units, const Team& team) const;
  bool work(const Units& units, const Team& team, char* memory) const;
  static bool on_this_thread(const Units& units, void* scratch);
  bool on_threads(const Units& units, const Team& team, char* memory) const;
  const OrtApi* api_;
  const bool lends_shapes_;
  OrtKernelContext* context_;
  Shown& shown_;
};

// Throws Error for an output of this shape, which is too large.
[[noreturn]] void refuse_bytes(const char* op, const char* output, const std::string& shape);

// The bytes of an output; none where they leave 63 bits, those of an empty one as if it had a cell in every direction:
// no array can have such sides.
std::optional<int64_t> bytes_of(const Dims& shape, ElementType type);
// The same of an output of `op`. Throws Error where there are none.
int64_t output_bytes(const char* op, const char* output, const Dims& shape, ElementType type);

}  // namespace onnx_maxpool
