// Random jobs of windows, and what each plan takes for them: what the programs that judge the cost model
// (kernels/window_cost.h) share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/element_type.h"
#include "kernels/targets.h"
#include "window_axis.h"

constexpr int kPlans = std::size(onnx_maxpool::kPoolPlans);
constexpr double kNever = std::numeric_limits<double>::infinity();

class Random {
 public:
  explicit Random(unsigned seed) : bits_(seed) {}
  double share() { return std::uniform_real_distribution<double>(0, 1)(bits_); }
  bool chance(double share_of_all) { return share() < share_of_all; }
  // With a uniform logarithm.
  int64_t log_integer(double least, double most);
  int64_t integer(int64_t least, int64_t most);

 private:
  std::mt19937_64 bits_;
};

struct WindowShape {
  WindowAxis depth, rows, columns;
  int64_t planes;
  onnx_maxpool::ElementType type;
  bool indexed;
  std::string text;
};

// Of memory, as sessions align their tensors.
struct alignas(64) Line {
  char bytes[64];
};

// Jobs one after the other, in the same memory.
class WindowJobs {
 public:
  explicit WindowJobs(unsigned seed);
  WindowJobs(const WindowJobs&) = delete;
  WindowJobs& operator=(const WindowJobs&) = delete;

  // Draws the next job, with indices or without.
  void draw(bool indexed);

  // Of the job that was drawn last.
  const onnx_maxpool::PoolJob& job() const { return job_; }
  size_t element_size() const { return onnx_maxpool::element_size(shape_.type); }
  const std::string& text() const { return shape_.text; }

 private:
  Random random_;
  std::vector<Line> x_, y_, indices_;
  WindowShape shape_;
  onnx_maxpool::PoolJob job_{};
};

// What each plan computes the job with; null where it cannot.
struct PlanKernels {
  const onnx_maxpool::PoolKernel* of[kPlans];
  onnx_maxpool::PoolCosts costs;
  int chosen;  // by the model
};
PlanKernels plan_kernels(const onnx_maxpool::Kernels& kernels, const onnx_maxpool::PoolJob& job, size_t element_size);

// Seconds on one thread, the least of several samples of each plan, in turns; `kNever` of those that cannot.
void time_plans(const onnx_maxpool::PoolJob& job, const PlanKernels& plans, double best[kPlans]);

// The plan of a node on one thread, after its first trials and those that follow after 32 and 64 runs (plans/trials.h).
int tried_plan(const onnx_maxpool::PoolJob& job, const PlanKernels& plans);

// How well plans were chosen. How far off one is: its time over the best plan's.
class Choices {
 public:
  void add(double off, const std::string& job);
  int64_t count() const { return count_; }
  // In percent.
  double fastest() const { return percent(fastest_); }
  double close() const { return percent(close_); }
  double mean_off() const { return 100 * (sum_ / static_cast<double>(count_) - 1); }
  double worst() const { return worst_; }
  const std::string& worst_job() const { return worst_job_; }

 private:
  double percent(int64_t part) const { return 100 * static_cast<double>(part) / static_cast<double>(count_); }

  int64_t count_ = 0, fastest_ = 0, close_ = 0;
  double sum_ = 0, worst_ = 1;
  std::string worst_job_;
};
