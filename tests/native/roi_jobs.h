// Random ROIs, and what a plan takes to pool them: what the programs that judge the cost model (plans/roi_cost.h)
// share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "kernels/targets.h"
#include "plans/roi_plan.h"

// Seconds that a session takes to hand work to a second thread, which is awake, and to hear that it is done: runs of 5
// to 22 us were 5.0 to 5.3 longer on two threads than half of that (ONNX Runtime 1.32 with a library that leaves no
// work to one thread; Xeon).
constexpr double kHandOver = 5e-6;

// A second thread, awake all the time, as a busy session's are. It takes 0.2 us, not kHandOver, which is added.
class Helper {
 public:
  Helper() : thread_([this] { serve(); }) {}
  ~Helper() {
    asked_.store(-1);
    thread_.join();
  }
  // Calls work(0) here and work(1) there, and waits for both.
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
  void serve();

  void (*run_)(const void*) = nullptr;
  const void* work_ = nullptr;
  std::atomic<int64_t> asked_{0}, answered_{0};
  std::thread thread_;
};

// Of elements of so many bytes.
struct DrawnRois {
  size_t element_size;
  onnx_maxpool::RoiDims dims;
  onnx_maxpool::RoiWindows windows;
  std::string text;

  // For a plan on so many threads.
  onnx_maxpool::RoiShape shape(const onnx_maxpool::RoiKernel& kernel, int64_t threads) const;
  size_t input_bytes() const;
  size_t output_bytes() const;
};

// Shapes as users have them, within what a machine does in a moment.
DrawnRois draw_rois(std::mt19937_64& random, size_t element_size);

// The memory of a run, which is there before anything is timed.
class RoiTensors {
 public:
  explicit RoiTensors(const DrawnRois& drawn);
  ~RoiTensors();
  RoiTensors(const RoiTensors&) = delete;
  RoiTensors& operator=(const RoiTensors&) = delete;

  // Seconds of a run by this plan, of so many in a row; with a helper on two threads.
  double seconds(const onnx_maxpool::RoiKernel& kernel, const onnx_maxpool::RoiPlan& plan, Helper* helper,
                 int runs = 1) const;
  // The median of several runs of each plan, in turns. Brief ones are made in a row, as a clock has steps.
  std::vector<double> time_plans(const onnx_maxpool::RoiKernel& kernel, const std::vector<onnx_maxpool::RoiPlan>& plans,
                                 Helper* helper) const;

 private:
  onnx_maxpool::RoiJob job_{};
  char *const x_, *const y_;
};
