#include "window_jobs.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "plans/trials.h"

namespace {

using namespace onnx_maxpool;
using window_axis::even;
using window_axis::sliding;

using Clock = std::chrono::steady_clock;
constexpr double kShortest = 300e-6;  // seconds of a sample
constexpr int kSamples = 5;
constexpr int64_t kPlaces = 4096 / sizeof(Line);  // of a line in a page
constexpr int64_t kManyCells = int64_t{1} << 21, kMostCells = int64_t{1} << 24;

// Windows that do not overlap where they can share out the axis so.
WindowAxis shared_out(int64_t size, int64_t count) {
  return size % count == 0 ? sliding(size, size / count, size / count) : even(size, count);
}

// As rows of the benchmark's grid are drawn, but that more planes are a multiple of 256 or 4096 bytes, as those of
// models are: 112x112, 56x56, 32x32 and so on.
WindowShape some_shape(Random& random) {
  constexpr ElementType kTypes[] = {ElementType::float_,   ElementType::float_, ElementType::float_,
                                    ElementType::float16_, ElementType::int64_, ElementType::uint8_,
                                    ElementType::int32_};
  for (;;) {
    WindowShape shape;
    shape.type = kTypes[random.integer(0, 6)];
    shape.indexed = random.chance(0.5);
    shape.planes = (random.chance(0.5) ? 1 : random.log_integer(2, 64)) * random.log_integer(1, 2048);
    const bool volume = random.chance(0.25), adaptive = random.chance(0.3);
    const int64_t aligned = random.chance(0.75) ? 1 : random.chance(0.6) ? 16 : 32;
    const bool large = random.chance(0.3);  // whose tensors leave the second cache
    const auto side = [&] {
      const int64_t cells = std::max<int64_t>(7, random.log_integer(7, volume ? 112 : 512));
      return (cells + aligned - 1) / aligned * aligned;
    };
    const int64_t height = side(), width = random.chance(0.5) ? height : side();
    const int64_t depth = volume ? random.log_integer(4, 64) : 1;
    const int64_t kind = random.integer(0, 2), padded = random.integer(0, 1);
    const auto axis = [&](int64_t size) {
      if (size == 1) return sliding(1);
      if (adaptive) return shared_out(size, random.log_integer(1, 100));
      const int64_t length = random.chance(0.6) ? random.integer(2, 3) : random.integer(1, volume ? 8 : 16);
      const int64_t step = kind == 0 ? length : kind == 1 ? 1 : random.integer(1, 3), padding = padded * (length / 2);
      if (size + 2 * padding < length) return sliding(size, size);
      return sliding(size, length, step, padding);
    };
    shape.depth = axis(depth);
    shape.rows = axis(height);
    shape.columns = axis(width);
    const int64_t windows = shape.depth.axis.count * shape.rows.axis.count * shape.columns.axis.count;
    const int64_t cells = shape.planes * std::max(depth * height * width, windows);
    if (large ? cells < kManyCells || cells > kMostCells : cells > kManyCells) continue;
    char text[256];
    const PoolAxis &z = shape.depth.axis, &y = shape.rows.axis, &x = shape.columns.axis;
    std::snprintf(text, sizeof text, "%d planes of %dx%dx%d to %dx%dx%d, windows %dx%dx%d, steps %dx%dx%d, type %d%s",
                  static_cast<int>(shape.planes), static_cast<int>(z.size), static_cast<int>(y.size),
                  static_cast<int>(x.size), static_cast<int>(z.count), static_cast<int>(y.count),
                  static_cast<int>(x.count), static_cast<int>(z.length), static_cast<int>(y.length),
                  static_cast<int>(x.length), static_cast<int>(z.step), static_cast<int>(y.step),
                  static_cast<int>(x.step), static_cast<int>(shape.type), shape.indexed ? ", indices" : "");
    shape.text = text;
    return shape;
  }
}

double seconds(const PoolJob& job, const PoolKernel& kernel, Line* scratch, int64_t runs) {
  const auto begin = Clock::now();
  for (int64_t run = 0; run < runs; ++run) {
    const int64_t units = kernel.units(job);
    for (int64_t unit = 0; unit < units; ++unit) kernel.run(job, unit, scratch);
  }
  const std::chrono::duration<double> taken = Clock::now() - begin;
  return taken.count() / static_cast<double>(runs);
}

std::vector<Line> scratch_for(const PoolJob& job, const PoolKernel& kernel) {
  return std::vector<Line>(kernel.scratch_bytes(job) / sizeof(Line) + 1);
}

}  // namespace

int64_t Random::log_integer(double least, double most) {
  return std::min(static_cast<int64_t>(most), static_cast<int64_t>(least * std::pow((most + 1) / least, share())));
}

int64_t Random::integer(int64_t least, int64_t most) {
  return std::min(most, least + static_cast<int64_t>(share() * static_cast<double>(most - least + 1)));
}

WindowJobs::WindowJobs(unsigned seed)
    : random_(seed),
      x_(static_cast<size_t>(kMostCells) * 8 / sizeof(Line) + kPlaces),
      y_(x_.size()),
      indices_(x_.size()) {
  constexpr size_t kDrawn = kManyCells / sizeof(Line);  // then they begin again
  for (size_t i = 0; i < kDrawn; ++i) {
    // Exponents stay below the greatest: a NaN would have its unit pooled twice.
    for (char& byte : x_[i].bytes) byte = static_cast<char>(random_.integer(-128, 127) & ~0x40);
  }
  for (size_t i = kDrawn; i < x_.size(); ++i) x_[i] = x_[i - kDrawn];
}

void WindowJobs::draw(bool indexed) {
  do {
    shape_ = some_shape(random_);
  } while (shape_.indexed != indexed);
  const int64_t cells = shape_.depth.axis.size * shape_.rows.axis.size * shape_.columns.axis.size;
  // Where tensors lie in their pages decides which loads wait for which stores.
  const auto place = [&](std::vector<Line>& lines) { return lines.data() + random_.integer(0, kPlaces - 1); };
  job_ = {place(x_),
          place(y_),
          indexed ? place(indices_) : nullptr,
          false,
          cells,
          shape_.planes,
          shape_.depth.listed(),
          shape_.rows.listed(),
          shape_.columns.listed(),
          order_of(shape_.type)};
}

PlanKernels plan_kernels(const Kernels& kernels, const PoolJob& job, size_t element_size) {
  PlanKernels plans = {};
  plans.costs = kernels.pool_costs(job, element_size);
  for (int i = 0; i < kPlans; ++i) {
    plans.of[i] = kernels.pool(job, element_size, kPoolPlans[i]);
    if (plans.costs.of[i] < plans.costs.of[plans.chosen]) plans.chosen = i;
  }
  return plans;
}

void time_plans(const PoolJob& job, const PlanKernels& plans, double best[kPlans]) {
  std::vector<Line> scratch[kPlans];
  int64_t runs[kPlans];
  for (int i = 0; i < kPlans; ++i) {
    best[i] = kNever;
    const PoolKernel* const kernel = plans.of[i];
    if (!kernel) continue;
    scratch[i] = scratch_for(job, *kernel);
    best[i] = seconds(job, *kernel, scratch[i].data(), 1);
    best[i] = std::min(best[i], seconds(job, *kernel, scratch[i].data(), 1));
    runs[i] = static_cast<int64_t>(kShortest / best[i]) + 1;
  }
  for (int sample = 0; sample < kSamples; ++sample) {
    for (int i = 0; i < kPlans; ++i) {
      if (plans.of[i]) best[i] = std::min(best[i], seconds(job, *plans.of[i], scratch[i].data(), runs[i]));
    }
  }
}

int tried_plan(const PoolJob& job, const PlanKernels& plans) {
  constexpr int kRuns = 96;
  Trials::Costs known;
  known.fill(Trials::kNever);
  std::vector<Line> scratch[kPlans];
  for (int i = 0; i < kPlans; ++i) {
    if (!plans.of[i]) continue;
    known[i] = plans.costs.of[i];
    scratch[i] = scratch_for(job, *plans.of[i]);
  }
  Trials trials;
  for (int run = 0;; ++run) {
    trials.count_run();
    const Trials::Turn turn = trials.next(known);
    if (turn.is_trial) {
      trials.took(turn, 1e9 * seconds(job, *plans.of[turn.way], scratch[turn.way].data(), 1));
    } else if (run >= kRuns) {
      return static_cast<int>(turn.way);
    }
  }
}

void Choices::add(double off, const std::string& job) {
  ++count_;
  fastest_ += off <= 1;
  close_ += off <= 1.1;
  sum_ += off;
  if (off <= worst_) return;
  worst_ = off;
  worst_job_ = job;
}
