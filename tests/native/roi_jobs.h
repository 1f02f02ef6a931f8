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

// A second thread, awake all the time, as a busy session's are.
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

  // Seconds of a run by this plan; with a helper on two threads.
  double seconds(const onnx_maxpool::RoiKernel& kernel, const onnx_maxpool::RoiPlan& plan, Helper* helper) const;
  // The median of several runs of each plan, in turns.
  std::vector<double> time_plans(const onnx_maxpool::RoiKernel& kernel, const std::vector<onnx_maxpool::RoiPlan>& plans,
                                 Helper* helper) const;

 private:
  onnx_maxpool::RoiJob job_{};
  char *const x_, *const y_;
};
