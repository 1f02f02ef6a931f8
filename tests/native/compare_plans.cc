// Runs every plan that there is for random ROIs, and tells how often the one that the model of cost chooses
// (plans/roi_cost.h) is the fastest, and how far off it is otherwise; and the same of the one that a node takes after
// its trials (plans/trials.h):
//
//   cmake -S . -B build/costs -G Ninja -DONNX_MAXPOOL_TESTS=ON
//   cmake --build build/costs --target compare_plans && build/costs/tests/native/compare_plans SEED ROWS THREADS
//
// For each target that this processor runs, or for the one that ONNX_MAXPOOL_TARGET names. With a fourth argument it
// prints each row and each plan's time.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/machine.h"
#include "base/window_plan.h"
#include "kernels/targets.h"
#include "plans/roi_plan.h"

namespace {

using namespace onnx_maxpool;

using Clock = std::chrono::steady_clock;
constexpr size_t kElement = sizeof(float);

// A second thread, awake all the time, as a busy session's are.
class Helper {
 public:
  Helper() : thread_([this] { serve(); }) {}
  ~Helper() {
    asked_.store(-1);
    thread_.join();
  }
  template <class Work>
  void together(const Work& work) {
    run_ = [](const void* w) { (*static_cast<const Work*>(w))(1); };
    work_ = &work;
    asked_.fetch_add(1, std::memory_order_release);
    work(0);
    while (answered_.load(std::memory_order_acquire) != asked_.load(std::memory_order_relaxed)) {
    }
  }

 private:
  void serve() {
    for (int64_t done = 0;;) {
      const int64_t asked = asked_.load(std::memory_order_acquire);
      if (asked < 0) return;
      if (asked == done) continue;
      run_(work_);
      answered_.store(done = asked, std::memory_order_release);
    }
  }
  void (*run_)(const void*) = nullptr;
  const void* work_ = nullptr;
  std::atomic<int64_t> asked_{0}, answered_{0};
  std::thread thread_;
};

struct Drawn {
  RoiDims dims;
  RoiWindows windows;
  std::string text;
};

// Shapes as users have them, within what a machine does in a moment.
Drawn draw(std::mt19937_64& random) {
  const auto uniform = [&](double from, double to) { return std::uniform_real_distribution<double>(from, to)(random); };
  const auto some = [&](double from, double to) {
    return static_cast<int64_t>(std::lround(std::exp(uniform(std::log(from), std::log(to)))));
  };
  for (;;) {
    Drawn drawn;
    RoiDims& d = drawn.dims;
    d.images = uniform(0, 1) < 0.8 ? 1 : some(2, 8);
    d.channels = some(1, 2048);
    d.height = some(7, 512);
    d.width = std::clamp<int64_t>(std::lround(static_cast<double>(d.height) * std::exp(uniform(-0.5, 0.5))), 7, 512);
    d.rois = some(1, 10000);
    d.bins_y = some(1, 28);
    d.bins_x = uniform(0, 1) < 0.8 ? d.bins_y : some(1, 28);
    const bool alike = uniform(0, 1) < 0.67;
    const int64_t tall = some(1, static_cast<double>(d.height)),
                  wide = std::clamp<int64_t>(std::lround(static_cast<double>(tall) * std::exp(uniform(-0.7, 0.7))), 1,
                                             d.width);
    const double cells = static_cast<double>(d.rois * d.channels) *
                         (static_cast<double>(d.bins_y * d.bins_x) +
                          (alike ? static_cast<double>(tall * wide) : static_cast<double>(d.height * d.width) / 8));
    if (static_cast<double>(d.images * d.channels * d.height * d.width) * kElement > 150e6) continue;
    if (static_cast<double>(d.rois * d.channels * d.bins_y * d.bins_x) * kElement > 100e6 || cells > 1e9) continue;
    const auto rois = static_cast<size_t>(d.rois);
    drawn.windows.image.resize(rois);
    drawn.windows.rows.resize(rois * static_cast<size_t>(d.bins_y));
    drawn.windows.columns.resize(rois * static_cast<size_t>(d.bins_x));
    drawn.windows.widths.resize(rois);
    for (int64_t roi = 0; roi < d.rois; ++roi) {
      int64_t height = tall, width = wide;
      if (!alike) {
        const double side = std::exp(uniform(0, std::log(static_cast<double>(std::min(d.height, d.width)))));
        const double stretch = std::exp(uniform(-0.5, 0.5));
        height = std::clamp<int64_t>(std::lround(side * stretch), 1, d.height);
        width = std::clamp<int64_t>(std::lround(side / stretch), 1, d.width);
      }
      const auto top = static_cast<int64_t>(uniform(0, static_cast<double>(d.height - height) + 0.999));
      const auto left = static_cast<int64_t>(uniform(0, static_cast<double>(d.width - width) + 0.999));
      RoiWindow *const rows = drawn.windows.rows.data() + roi * d.bins_y, *const columns =
                                                                              drawn.windows.columns.data() +
                                                                              roi * d.bins_x;
      roi_windows(top, top + height - 1, d.bins_y, d.height, EdgeArithmetic::exact, rows);
      roi_windows(left, left + width - 1, d.bins_x, d.width, EdgeArithmetic::exact, columns);
      drawn.windows.image[static_cast<size_t>(roi)] = roi * d.images / d.rois;
      drawn.windows.widths[static_cast<size_t>(roi)] = widths_of(columns, d.bins_x);
    }
    const auto times = [](int64_t a, int64_t b) { return std::to_string(a) + "x" + std::to_string(b); };
    drawn.text = std::to_string(d.images) + "x" + times(d.channels, d.height) + "x" + std::to_string(d.width) + ", " +
                 std::to_string(d.rois) + " ROIs of " + (alike ? times(tall, wide) : "any size") + " to " +
                 times(d.bins_y, d.bins_x);
    return drawn;
  }
}

std::string name_of(const RoiPlan& plan) {
  const std::string left = plan.left > 0 ? ", but for channels that are left" : "";
  if (plan.mode == &RoiKernel::separate) return "separate" + left;
  if (plan.mode == &RoiKernel::narrow_map) return "narrow map";
  if (plan.mode == &RoiKernel::few_channels) return "few channels";
  if (plan.mode == &RoiKernel::cells) return "cells";
  const std::string blocks = plan.at_once > 1 ? ", " + std::to_string(plan.at_once) + " blocks" : "";
  return "shared, " + std::to_string(plan.levels) + " levels" + (plan.sweep ? ", sweep" : "") + blocks + left;
}

// Memory that is there before anything is timed.
struct Tensor {
  explicit Tensor(size_t bytes)
      : size(bytes), data(static_cast<char*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096))) {
    std::memset(data, 1, size);
  }
  ~Tensor() { std::free(data); }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  const size_t size;
  char* const data;
};

struct Timed {
  RoiPlan plan;
  double seconds = std::numeric_limits<double>::infinity();
};

double seconds(const RoiKernel& kernel, const RoiPlan& plan, RoiJob job, Helper* helper) {
  const RoiKernel::Mode& mode = kernel.*plan.mode;
  job.rois_by_image = plan.rois_by_image.data();
  job.units = plan.units.data();
  job.unit_count = static_cast<int64_t>(plan.units.size());
  job.tables = plan;
  job.tasks = plan.tasks.data();
  job.channels = {0, job.dims.channels - plan.left};
  RoiJob left = job;
  left.channels = {job.channels.count, plan.left};
  const size_t stride = (std::max(mode.scratch_bytes(job), kernel.few_channels.scratch_bytes(left)) + 63) / 64 * 64;
  static std::vector<char> memory;
  memory.resize(2 * stride + 64);
  char* const scratch = memory.data() + (-reinterpret_cast<uintptr_t>(memory.data()) % 64);
  std::atomic<int64_t> next{0};
  const auto work = [&](int64_t thread) {
    for (int64_t unit; (unit = next.fetch_add(1, std::memory_order_relaxed)) < job.unit_count;) {
      char* const own = scratch + static_cast<size_t>(thread) * stride;
      unit < plan.left_begin ? mode.run(job, unit, own) : kernel.few_channels.run(left, unit, own);
    }
  };
  const auto begin = Clock::now();
  if (helper) {
    helper->together(work);
  } else {
    work(0);
  }
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The plan of a node whose trials are over.
RoiPlan tried_plan(const RoiShape& shape, const RoiWindows& windows, const RoiKernel& kernel, const RoiJob& job,
                   Helper* helper) {
  TrialsByShape trials;
  for (;;) {
    RoiPlan plan = plan_rois(shape, windows, &trials);
    if (!plan.trials) return plan;
    plan.trials->took(plan.turn, 1e9 * seconds(kernel, plan, job, helper));
  }
}

// How far plans are from the fastest one: their time over its.
class Off {
 public:
  void add(double off) { off_.push_back(off); }
  void print(const char* target, int threads, const char* which) {
    std::sort(off_.begin(), off_.end());
    const auto rows = static_cast<double>(off_.size());
    const auto share = [&](double most) {
      return 100.0 * static_cast<double>(std::upper_bound(off_.begin(), off_.end(), most) - off_.begin()) / rows;
    };
    std::printf(
        "%-9s %d threads, %s: fastest on %.0f %%, within 10 %% on %.0f %%, within 30 %% on %.0f %% of %zu rows; off by "
        "%.1f %% on average, 95th percentile %.2f, worst %.2f\n",
        target, threads, which, share(1), share(1.1), share(1.3), off_.size(),
        100 * (std::accumulate(off_.begin(), off_.end(), 0.0) / rows - 1), off_[off_.size() * 95 / 100], off_.back());
    std::fflush(stdout);
  }

 private:
  std::vector<double> off_;
};

void compare(const Kernels& kernels, uint64_t seed, int rows, int threads, bool prints) {
  std::mt19937_64 random(seed);
  std::optional<Helper> helper_thread;
  if (threads > 1) helper_thread.emplace();
  Helper* const helper = threads > 1 ? &*helper_thread : nullptr;
  Off of_model, of_trials;
  for (int row = 0; row < rows; ++row) {
    const Drawn drawn = draw(random);
    const RoiDims& dims = drawn.dims;
    const RoiKernel& kernel = kernels.roi(kElement, dims.channels);
    const int64_t lanes = kernel.vector_bytes / static_cast<int64_t>(kElement);
    const Tensor x(static_cast<size_t>(dims.images * dims.channels * dims.height * dims.width) * kElement);
    const Tensor y(static_cast<size_t>(dims.rois * dims.channels * dims.bins_y * dims.bins_x) * kElement);
    const RoiShape shape = {dims,
                            (dims.channels + lanes - 1) / lanes,
                            kernel.vector_bytes,
                            kernel.lookup_lanes,
                            threads,
                            static_cast<int64_t>(x.size),
                            kernel.line_bytes,
                            0,
                            machine().second_cache};
    RoiJob job{};
    job.x = x.data;
    job.y = y.data;
    job.dims = dims;
    job.order = order_of(ElementType::float_);
    job.stream = streams(dims, kElement, machine().streaming_threshold);
    job.image = drawn.windows.image.data();
    job.rows = drawn.windows.rows.data();
    job.columns = drawn.windows.columns.data();
    job.widths = drawn.windows.widths.data();
    std::vector<Timed> plans;
    for (RoiPlan& plan : possible_plans(shape, drawn.windows)) plans.push_back({std::move(plan)});
    const RoiPlan chosen = plan_rois(shape, drawn.windows);
    const RoiPlan tried = tried_plan(shape, drawn.windows, kernel, job, helper);
    double best = std::numeric_limits<double>::infinity();
    const auto begin = Clock::now();
    for (int turn = 0; turn < 4 || (turn < 30 && Clock::now() - begin < std::chrono::milliseconds(60)); ++turn) {
      for (Timed& timed : plans) {
        if (timed.seconds > 4 * best && turn > 1) continue;
        timed.seconds = std::min(timed.seconds, seconds(kernel, timed.plan, job, helper));
        best = std::min(best, timed.seconds);
      }
    }
    const auto time_of = [&](const RoiPlan& plan) {
      const auto same = [&](const Timed& timed) { return name_of(timed.plan) == name_of(plan); };
      return std::find_if(plans.begin(), plans.end(), same)->seconds;
    };
    const double ours = time_of(chosen);
    of_model.add(ours / best);
    of_trials.add(time_of(tried) / best);
    if (!prints) continue;
    std::printf("%3d %s\n", row, drawn.text.c_str());
    for (const Timed& timed : plans) {
      const std::string name = name_of(timed.plan);
      std::printf("      %-54s %10.2f us, estimated %10.4f Mcycles %s%s%s\n", name.c_str(), timed.seconds * 1e6,
                  timed.plan.time / 1e6, timed.seconds <= best ? " fastest" : "",
                  name == name_of(chosen) ? " chosen" : "", name == name_of(tried) ? " tried" : "");
    }
    std::fflush(stdout);
  }
  of_model.print(kernels.target, threads, "the model's choice");
  of_trials.print(kernels.target, threads, "after trials");
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
  const char* wanted = std::getenv("ONNX_MAXPOOL_TARGET");
  for (const Target& target : targets()) {
    if (!target.runs_here || (wanted && std::string(wanted) != target.kernels.target)) continue;
    compare(target.kernels, static_cast<uint64_t>(argument(1, 1)), std::max(argument(2, 100), 1), argument(3, 1),
            argc > 4);
  }
  return 0;
}
