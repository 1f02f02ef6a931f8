// Times the ROI kernels and prints the constants of plans/roi_cost.h, which are the plan's only idea of what work
// costs:
//
//   cmake -S . -B build/costs -G Ninja -DONNX_MAXPOOL_TESTS=ON
//   cmake --build build/costs --target measure_costs && build/costs/tests/native/measure_costs
//
// A line for each constant: its value in roi_cost.h, then what was measured for elements of 2, 4 and 8 bytes, in cycles
// of an otherwise idle processor. Where the numbers of most processors move away from the value, change it there: one
// constant serves all targets and element types, as only proportions matter.
//
// Each constant is a slope: two jobs that differ in one count, the difference of their times over that of the counts.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <vector>

#include "base/window_plan.h"
#include "kernels/targets.h"
#include "plans/roi_cost.h"

namespace {

using namespace onnx_maxpool;
using namespace roi_costs;

// Additions that wait for one another, one a cycle: seconds for each.
double seconds_per_cycle() {
  constexpr int64_t kAdditions = 1 << 22;
  double best = std::numeric_limits<double>::infinity();
  for (int attempt = 0; attempt < 10; ++attempt) {
    const auto begin = std::chrono::steady_clock::now();
    int64_t sum = attempt;
    for (int64_t i = 0; i < kAdditions / 16; ++i) {
#pragma GCC unroll 16
      for (int j = 0; j < 16; ++j) {
        sum += i;
        __asm__ volatile("" : "+r"(sum));  // each by itself
      }
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    best = std::min(best, taken.count() / static_cast<double>(kAdditions));
  }
  return best;
}

// ROIs that are alike: bins of `tallest` rows and `widest` columns, each a step further than the last one.
struct Rois {
  int64_t count, bins_y, bins_x, tallest, step_y, widest, step_x;
};

struct Case {
  RoiKernel::Mode RoiKernel::* mode;
  int64_t height, width;
  int levels;
  Rois rois;
};

class Measurement {
 public:
  Measurement(const Kernels& kernels, size_t element_size, int attempts, double cycle)
      : kernels_(kernels), size_(element_size), attempts_(attempts), cycle_(cycle) {}

  // Cycles by which one of what `count` more of make `large` out of `small` costs, in each vector or channel.
  double slope(const Case& small, const Case& large, int64_t count) {
    // In turns, so that both have the processor's best moments.
    const Job a(*this, small), b(*this, large);
    double least_a = std::numeric_limits<double>::infinity(), least_b = least_a;
    for (int attempt = 0; attempt < attempts_; ++attempt) {
      least_a = std::min(least_a, a.seconds());
      least_b = std::min(least_b, b.seconds());
    }
    return (least_b - least_a) / cycle_ / static_cast<double>(count);
  }

 private:
  static constexpr int64_t kBlocks = 4;
  static constexpr size_t kCaches = size_t{16} << 20;

  // A planned run of `kBlocks` units. Its seconds are of a unit's vector or, on narrow maps, of a unit's channel.
  class Job {
   public:
    Job(const Measurement& from, const Case& c) : channels_per_unit_(kNarrowMapChannels) {
      const bool narrow = c.mode == &RoiKernel::narrow_map;
      const RoiKernel& kernel = from.kernels_.roi(from.size_, 1024);
      mode_ = kernel.*c.mode;
      const int64_t lanes = kernel.vector_bytes / static_cast<int64_t>(from.size_);
      if (!narrow) channels_per_unit_ = 1;
      const int64_t channels = kBlocks * (narrow ? kNarrowMapChannels : lanes);
      x_.resize(static_cast<size_t>(channels * c.height * c.width) * from.size_, 1);
      y_.resize(static_cast<size_t>(c.rois.count * channels * c.rois.bins_y * c.rois.bins_x) * from.size_);
      const auto cut = [](std::vector<RoiWindow>& windows, int64_t bins, int64_t size, int64_t step) {
        for (int64_t i = 0; i < bins; ++i) {
          windows.push_back({static_cast<int32_t>(i * step), static_cast<int32_t>(i * step + size)});
        }
      };
      for (int64_t roi = 0; roi < c.rois.count; ++roi) {
        cut(rows_, c.rois.bins_y, c.rois.tallest, c.rois.step_y);
        cut(columns_, c.rois.bins_x, c.rois.widest, c.rois.step_x);
      }
      image_.resize(static_cast<size_t>(c.rois.count));
      rois_by_image_.resize(image_.size());
      std::iota(rois_by_image_.begin(), rois_by_image_.end(), int64_t{0});
      for (int64_t block = 0; block < kBlocks; ++block) units_.push_back({0, block, 0, c.rois.count});
      job_.x = x_.data();
      job_.y = y_.data();
      job_.dims = {1, channels, c.height, c.width, c.rois.count, c.rois.bins_y, c.rois.bins_x};
      job_.channels = {0, channels};
      job_.image = image_.data();
      job_.rows = rows_.data();
      job_.columns = columns_.data();
      widths_.assign(image_.size(), widths_of(columns_.data(), c.rois.bins_x));
      job_.widths = widths_.data();
      job_.rois_by_image = rois_by_image_.data();
      job_.units = units_.data();
      job_.unit_count = kBlocks;
      job_.tables = {c.levels, false, c.rois.tallest, 1, 1};
      job_.order = order_of(from.size_ == 2   ? ElementType::float16_
                            : from.size_ == 4 ? ElementType::float_
                                              : ElementType::double_);
      job_.stream = y_.size() > kCaches;  // as an operator does
      scratch_.resize(mode_.scratch_bytes(job_) / sizeof(Line) + 1);
    }
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    double seconds() const {
      const auto begin = std::chrono::steady_clock::now();
      for (int64_t unit = 0; unit < kBlocks; ++unit) mode_.run(job_, unit, scratch_.data());
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
      return taken.count() / static_cast<double>(kBlocks * channels_per_unit_);
    }

   private:
    struct alignas(64) Line {
      char bytes[64];
    };
    RoiKernel::Mode mode_;
    RoiJob job_{};
    int64_t channels_per_unit_;
    std::vector<char> x_;
    mutable std::vector<char> y_;
    std::vector<RoiWindow> rows_, columns_;
    std::vector<BinWidths> widths_;
    std::vector<int64_t> image_, rois_by_image_;
    std::vector<RoiUnit> units_;
    mutable std::vector<Line> scratch_;
  };

  const Kernels& kernels_;
  const size_t size_;
  const int attempts_;
  const double cycle_;
};

struct Constant {
  const char* name;
  double value;  // in roi_cost.h
  Case small, large;
  int64_t count;  // of what the constant is the cost of, that `large` has more
};

std::vector<Constant> constants() {
  constexpr auto shared = &RoiKernel::shared, separate = &RoiKernel::separate, narrow = &RoiKernel::narrow_map;
  constexpr Rois few = {1, 1, 1, 1, 1, 1, 1};
  // An ROI of the first row and the last one: only rows between those of ROIs are packed.
  const auto ends = [](int64_t height) { return Rois{1, 2, 1, 1, height - 1, 1, 1}; };
  // ROIs of 7 x 7 bins, which touch.
  const auto grid = [](int64_t tallest, int64_t widest) { return Rois{64, 7, 7, tallest, tallest, widest, widest}; };
  return {
      {"kPack", kPack, {shared, 20, 50, 0, ends(20)}, {shared, 40, 50, 0, ends(40)}, 20 * 50},
      {"kTable", kTable, {shared, 40, 50, 1, ends(40)}, {shared, 40, 50, 3, ends(40)}, 40 * 50 * 2},
      {"kReduce", kReduce, {shared, 38, 50, 0, grid(3, 6)}, {shared, 38, 50, 0, grid(5, 6)}, 64 * 7 * 42 * 2},
      {"kColumn", kColumn, {shared, 38, 60, 0, grid(1, 4)}, {shared, 38, 60, 0, grid(1, 8)}, 64 * 49 * 4},
      {"kTranspose", kTranspose, {separate, 38, 200, 0, grid(1, 4)}, {separate, 38, 200, 0, grid(1, 24)}, 64 * 49 * 20},
      {"kBinsRow",
       kBinsRow,
       {shared, 38, 50, 0, {64, 4, 7, 1, 1, 1, 1}},
       {shared, 38, 50, 0, {64, 28, 1, 1, 1, 1, 1}},
       64 * 24},
      {"kRoi", kRoi, {shared, 38, 50, 0, {64, 4, 1, 1, 1, 1, 1}}, {shared, 38, 50, 0, {256, 1, 1, 1, 1, 1, 1}}, 192},
      // Of outputs that are stored past the caches, as large ones are.
      {"kBin",
       kBin,
       {shared, 38, 50, 0, {1000, 7, 7, 2, 2, 4, 3}},
       {shared, 38, 50, 0, {1000, 7, 19, 2, 2, 4, 1}},
       1000 * 7 * 12},
      {"kMapRow", kMapRow, {separate, 60, 200, 0, grid(2, 16)}, {separate, 60, 200, 0, grid(8, 16)}, 64 * 49 * 6 * 16},
      {"kNarrowRow", kNarrowRow, {narrow, 7, 8, 0, few}, {narrow, 27, 8, 0, few}, 20},
      {"kBinRow",
       kBinRow,
       {narrow, 32, 8, 0, {64, 4, 7, 1, 1, 1, 1}},
       {narrow, 32, 8, 0, {64, 28, 7, 1, 1, 1, 1}},
       64 * 24},
      {"kBinColumn",
       kBinColumn,
       {narrow, 32, 8, 0, {64, 7, 4, 1, 1, 1, 1}},
       {narrow, 32, 8, 0, {64, 7, 4, 1, 1, 5, 1}},
       64 * 7 * 4},
      {"kBinLine",
       kBinLine,
       {narrow, 32, 8, 0, {64, 7, 7, 1, 1, 1, 1}},
       {narrow, 32, 8, 0, {64, 7, 7, 17, 2, 1, 1}},
       64 * 7 * 16},
  };
}

void measure(const Kernels& kernels, int attempts) {
  constexpr size_t kSizes[] = {2, 4, 8};
  const double cycle = seconds_per_cycle();
  std::printf("%-10s %9s %9s %9s %9s\n", kernels.target, "roi_cost", "2 bytes", "4 bytes", "8 bytes");
  for (const Constant& constant : constants()) {
    std::printf("%-10s %9.1f", constant.name, constant.value);
    for (const size_t size : kSizes) {
      const RoiKernel& kernel = kernels.roi(size, 1024);
      const bool there = constant.small.mode != &RoiKernel::narrow_map || kernel.lookup_lanes >= 8;
      if (!there) {
        std::printf(" %9s", "-");  // this target has no such mode
        continue;
      }
      std::printf(" %9.1f",
                  Measurement(kernels, size, attempts, cycle).slope(constant.small, constant.large, constant.count));
      std::fflush(stdout);
    }
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int attempts = argc > 1 ? std::atoi(argv[1]) : 200;
  for (const Target& target : targets()) {
    if (target.runs_here) measure(target.kernels, std::max(attempts, 1));
  }
  return 0;
}
