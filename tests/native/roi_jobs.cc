#include "roi_jobs.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#include "base/machine.h"
#include "base/window_edges.h"
#include "runtime/shares.h"

namespace {

using namespace onnx_maxpool;

using Clock = std::chrono::steady_clock;

char* new_bytes(size_t count) {
  constexpr size_t kPage = 4096;
  char* const bytes = static_cast<char*>(std::aligned_alloc(kPage, (count + kPage - 1) / kPage * kPage));
  std::memset(bytes, 1, count);
  return bytes;
}

ElementType type_of(size_t element_size) {
  return element_size == 2 ? ElementType::float16_ : element_size == 4 ? ElementType::float_ : ElementType::double_;
}

}  // namespace

void Helper::serve() {
  for (int64_t done = 0;;) {
    const int64_t asked = asked_.load(std::memory_order_acquire);
    if (asked < 0) return;
    if (asked == done) continue;
    run_(work_);
    answered_.store(done = asked, std::memory_order_release);
  }
}

RoiShape DrawnRois::shape(const RoiKernel& kernel, int64_t threads) const {
  const int64_t lanes = kernel.vector_bytes / static_cast<int64_t>(element_size);
  return {dims,
          (dims.channels + lanes - 1) / lanes,
          kernel.vector_bytes,
          kernel.lookup_lanes,
          threads,
          static_cast<int64_t>(input_bytes()),
          kernel.line_bytes,
          machine().cycles_worth_a_thread,
          machine().second_cache};
}
size_t DrawnRois::input_bytes() const {
  return static_cast<size_t>(dims.images * dims.channels * dims.height * dims.width) * element_size;
}
size_t DrawnRois::output_bytes() const {
  return static_cast<size_t>(dims.rois * dims.channels * dims.bins_y * dims.bins_x) * element_size;
}

DrawnRois draw_rois(std::mt19937_64& random, size_t element_size) {
  const auto uniform = [&](double from, double to) { return std::uniform_real_distribution<double>(from, to)(random); };
  const auto some = [&](double from, double to) {
    return static_cast<int64_t>(std::lround(std::exp(uniform(std::log(from), std::log(to)))));
  };
  for (;;) {
    DrawnRois drawn;
    drawn.element_size = element_size;
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
    if (drawn.input_bytes() > 150'000'000 || drawn.output_bytes() > 100'000'000 || cells > 1e9) continue;
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
      RoiWindow* const rows = drawn.windows.rows.data() + roi * d.bins_y;
      RoiWindow* const columns = drawn.windows.columns.data() + roi * d.bins_x;
      roi_windows(top, top + height - 1, d.bins_y, d.height, EdgeArithmetic::exact, rows);
      roi_windows(left, left + width - 1, d.bins_x, d.width, EdgeArithmetic::exact, columns);
      drawn.windows.image[static_cast<size_t>(roi)] = roi * d.images / d.rois;
      drawn.windows.widths[static_cast<size_t>(roi)] = widths_of(columns, d.bins_x);
    }
    const auto times = [](int64_t a, int64_t b) { return std::to_string(a) + "x" + std::to_string(b); };
    drawn.text = std::to_string(d.images) + "x" + times(d.channels, d.height) + "x" + std::to_string(d.width) + ", " +
                 std::to_string(d.rois) + " ROIs of " + (alike ? times(tall, wide) : "any size") + " to " +
                 times(d.bins_y, d.bins_x) + ", " + std::to_string(element_size) + " bytes";
    return drawn;
  }
}

RoiTensors::RoiTensors(const DrawnRois& drawn)
    : x_(new_bytes(drawn.input_bytes())), y_(new_bytes(drawn.output_bytes())) {
  job_.x = x_;
  job_.y = y_;
  job_.dims = drawn.dims;
  job_.order = order_of(type_of(drawn.element_size));
  job_.stream = streams(drawn.dims, drawn.element_size, machine().streaming_threshold);
  job_.rows = drawn.windows.rows.data();
  job_.columns = drawn.windows.columns.data();
  job_.widths = drawn.windows.widths.data();
}
RoiTensors::~RoiTensors() {
  std::free(x_);
  std::free(y_);
}

double RoiTensors::seconds(const RoiKernel& kernel, const RoiPlan& plan, Helper* helper, int runs) const {
  const RoiKernel::Mode& mode = kernel.*plan.mode;
  RoiJob job = job_;
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
  const bool has_help = helper && plan.threads > 1;
  const size_t threads = has_help ? 2 : 1;
  alignas(64) char memory_of_shares[Shares::bytes(2)];
  const auto begin = Clock::now();
  for (int run = 0; run < runs; ++run) {
    Shares shares(job.unit_count, threads, Sharing::in_turns, memory_of_shares);
    const auto work = [&](size_t thread) {
      char* const own = scratch + thread * stride;
      shares.work(thread, [&](int64_t unit) {
        unit < plan.left_begin ? mode.run(job, unit, own) : kernel.few_channels.run(left, unit, own);
      });
    };
    if (has_help) {
      helper->together(work);
    } else {
      work(0);
    }
  }
  const double found = std::chrono::duration<double>(Clock::now() - begin).count() / runs;
  return has_help ? found + kHandOver : found;
}

std::vector<double> RoiTensors::time_plans(const RoiKernel& kernel, const std::vector<RoiPlan>& plans,
                                           Helper* helper) const {
  constexpr double kSample = 3e-6;  // many steps of a clock
  constexpr double kLong = 1e-3;    // runs that leave the caches as they will stay
  double best = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> times(plans.size());
  std::vector<int> runs(plans.size(), 1);
  const auto begin = Clock::now();
  for (int turn = 0; turn < 4 || (turn < 30 && Clock::now() - begin < std::chrono::milliseconds(60)); ++turn) {
    for (size_t i = 0; i < plans.size(); ++i) {
      if (turn > 0 && *std::min_element(times[i].begin(), times[i].end()) > 4 * best) continue;
      const int in_a_row = best < kLong ? Trials::kLongInARow : Trials::kInARow;
      for (int run = 1; run <= in_a_row; ++run) {
        const double found = seconds(kernel, plans[i], helper, runs[i]);
        if (run > in_a_row - Trials::kCounted) times[i].push_back(found);  // as of a node's trials
        best = std::min(best, found);
        if (turn == 0) runs[i] = static_cast<int>(std::ceil(kSample / std::max(found, 1e-8)));
      }
    }
  }
  std::vector<double> typical;
  for (std::vector<double>& of_plan : times) {
    const auto middle = of_plan.begin() + static_cast<std::ptrdiff_t>((of_plan.size() - 1) / 2);
    std::nth_element(of_plan.begin(), middle, of_plan.end());
    typical.push_back(*middle);
  }
  return typical;
}
