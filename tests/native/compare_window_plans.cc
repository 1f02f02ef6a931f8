// Runs random jobs of windows by every plan, and tells how often the one that the model of cost chooses
// (kernels/window_cost.h) is the fastest, and how far off it is otherwise:
//
//   cmake -S . -B build/costs -G Ninja -DONNX_MAXPOOL_TESTS=ON
//   cmake --build build/costs --target compare_window_plans && build/costs/tests/native/compare_window_plans SEED ROWS
//
// For each target that this processor runs, or for the one that ONNX_MAXPOOL_TARGET names, on one thread, with indices
// and without. With a third argument it prints each job and all times.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/element_type.h"
#include "base/window_plan.h"
#include "kernels/targets.h"

namespace {

using namespace onnx_maxpool;

using Clock = std::chrono::steady_clock;
constexpr double kShortest = 300e-6;  // seconds of a sample
constexpr int kSamples = 5;
constexpr int64_t kMostCells = int64_t{1} << 21;

struct alignas(64) Line {
  char bytes[64];
};

class Random {
 public:
  explicit Random(unsigned seed) : bits_(seed) {}
  double share() { return std::uniform_real_distribution<double>(0, 1)(bits_); }
  bool chance(double share_of_all) { return share() < share_of_all; }
  // With a uniform logarithm.
  int64_t log_integer(double least, double most) {
    return std::min(static_cast<int64_t>(most), static_cast<int64_t>(least * std::pow((most + 1) / least, share())));
  }
  int64_t integer(int64_t least, int64_t most) {
    return std::min(most, least + static_cast<int64_t>(share() * static_cast<double>(most - least + 1)));
  }

 private:
  std::mt19937_64 bits_;
};

// The windows of an axis, with their list.
struct Axis {
  PoolAxis axis;
  std::vector<Window> windows;
};

Axis sliding(int64_t size, int64_t length, int64_t step, int64_t padding) {
  Axis out = {{size, (size + 2 * padding - length) / step + 1, false, -padding, step, length}, {}};
  for (int64_t i = 0; i < out.axis.count; ++i) {
    out.windows.push_back(clip({i * step - padding, i * step - padding + length}, size));
  }
  return out;
}

Axis even(int64_t size, int64_t count) {
  if (size % count == 0) return sliding(size, size / count, size / count, 0);
  Axis out = {{size, count, true, 0, 0, 0}, {}};
  even_windows(size, count, [&](int64_t, Window window) { out.windows.push_back(window); });
  return out;
}

struct Shape3 {
  Axis depth, rows, columns;
  int64_t planes;
  ElementType type;
  bool indexed;
  std::string text;
};

// As rows of the benchmark's grid are drawn.
Shape3 some_shape(Random& random) {
  constexpr ElementType kTypes[] = {ElementType::float_,   ElementType::float_, ElementType::float_,
                                    ElementType::float16_, ElementType::int64_, ElementType::uint8_,
                                    ElementType::int32_};
  for (;;) {
    Shape3 shape;
    shape.type = kTypes[random.integer(0, 6)];
    shape.indexed = random.chance(0.5);
    shape.planes = (random.chance(0.5) ? 1 : random.log_integer(2, 64)) * random.log_integer(1, 2048);
    const bool volume = random.chance(0.25), adaptive = random.chance(0.3);
    const int64_t height = random.log_integer(7, volume ? 112 : 512);
    const int64_t width = random.chance(0.5) ? height : std::max<int64_t>(7, random.log_integer(7, volume ? 112 : 512));
    const int64_t depth = volume ? random.log_integer(4, 64) : 1;
    const int64_t kind = random.integer(0, 2), padded = random.integer(0, 1);
    const auto axis = [&](int64_t size) {
      if (size == 1) return sliding(1, 1, 1, 0);
      if (adaptive) return even(size, random.log_integer(1, 100));
      const int64_t length = random.chance(0.6) ? random.integer(2, 3) : random.integer(1, volume ? 8 : 16);
      const int64_t step = kind == 0 ? length : kind == 1 ? 1 : random.integer(1, 3), padding = padded * (length / 2);
      if (size + 2 * padding < length) return sliding(size, size, 1, 0);
      return sliding(size, length, step, padding);
    };
    shape.depth = axis(depth);
    shape.rows = axis(height);
    shape.columns = axis(width);
    const int64_t windows = shape.depth.axis.count * shape.rows.axis.count * shape.columns.axis.count;
    if (shape.planes * std::max(depth * height * width, windows) > kMostCells) continue;
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

constexpr int kPlans = 3;
constexpr PoolPlan kEachPlan[kPlans] = {PoolPlan::rows, PoolPlan::maps, PoolPlan::planes};
constexpr double kNever = std::numeric_limits<double>::infinity();

// The least of several samples of each plan, in turns; `kNever` of those that are null.
void time_plans(const PoolJob& job, const PoolKernel* const plans[kPlans], double best[kPlans]) {
  std::vector<Line> scratch[kPlans];
  int64_t runs[kPlans];
  for (int i = 0; i < kPlans; ++i) {
    best[i] = kNever;
    if (!plans[i]) continue;
    scratch[i].resize(plans[i]->scratch_bytes(job) / sizeof(Line) + 1);
    best[i] = seconds(job, *plans[i], scratch[i].data(), 1);
    best[i] = std::min(best[i], seconds(job, *plans[i], scratch[i].data(), 1));
    runs[i] = static_cast<int64_t>(kShortest / best[i]) + 1;
  }
  for (int sample = 0; sample < kSamples; ++sample) {
    for (int i = 0; i < kPlans; ++i) {
      if (plans[i]) best[i] = std::min(best[i], seconds(job, *plans[i], scratch[i].data(), runs[i]));
    }
  }
}

// Jobs with indices, or jobs without.
void compare(const Kernels& kernels, unsigned seed, int64_t count, bool indexed, bool print) {
  Random random(seed);
  int64_t compared = 0, close = 0, fastest = 0, chosen_plans[kPlans] = {};
  double worst = 1, sum = 0;
  std::string worst_job;
  std::vector<char> x(static_cast<size_t>(kMostCells) * 8), y(x.size()), indices(x.size());
  for (char& byte : x) byte = static_cast<char>(random.integer(-128, 127));
  while (compared < count) {
    Shape3 shape = some_shape(random);
    if (shape.indexed != indexed) continue;
    for (Axis* axis : {&shape.depth, &shape.rows, &shape.columns}) axis->axis.windows = axis->windows.data();
    const int64_t cells = shape.depth.axis.size * shape.rows.axis.size * shape.columns.axis.size;
    PoolJob job = {x.data(),
                   y.data(),
                   indexed ? indices.data() : nullptr,
                   false,
                   cells,
                   shape.planes,
                   shape.depth.axis,
                   shape.rows.axis,
                   shape.columns.axis,
                   order_of(shape.type)};
    const size_t size = element_size(shape.type);
    const PoolKernel* plans[kPlans];
    int chosen = 0;
    for (int i = 0; i < kPlans; ++i) {
      plans[i] = kernels.pool(job, size, kEachPlan[i]);
      if (plans[i] == kernels.pool(job, size, PoolPlan::cheapest)) chosen = i;
    }
    double best[kPlans];
    time_plans(job, plans, best);
    const double off = best[chosen] / *std::min_element(best, best + kPlans);
    ++compared;
    ++chosen_plans[chosen];
    close += off <= 1.1;
    fastest += off <= 1;
    sum += off;
    if (off > worst) {
      worst = off;
      worst_job = shape.text;
    }
    if (print) {
      std::printf("%s off %.2f rows %.2f maps %.2f planes %.2f us: %s\n", kernels.target, off, 1e6 * best[0],
                  1e6 * best[1], 1e6 * best[2], shape.text.c_str());
    }
  }
  const double all = static_cast<double>(count) / 100;
  std::printf(
      "%-9s %d jobs %s indices, %.0f %% by rows, %.0f %% by maps, %.0f %% by planes: the plan is the fastest in "
      "%.1f %%, within 10 %% in %.1f %%, %.1f %% off on average, at worst %.2f times (%s)\n",
      kernels.target, static_cast<int>(count), indexed ? "with" : "without", static_cast<double>(chosen_plans[0]) / all,
      static_cast<double>(chosen_plans[1]) / all, static_cast<double>(chosen_plans[2]) / all,
      static_cast<double>(fastest) / all, static_cast<double>(close) / all, 100 * (sum / (100 * all) - 1), worst,
      worst_job.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned seed = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 0;
  const int64_t count = argc > 2 ? std::max(1, std::atoi(argv[2])) : 200;
  const char* wanted = std::getenv("ONNX_MAXPOOL_TARGET");
  for (const Target& target : targets()) {
    if (!target.runs_here || (wanted && std::strcmp(wanted, target.kernels.target) != 0)) continue;
    for (const bool indexed : {false, true}) compare(target.kernels, seed, count, indexed, argc > 3);
  }
}
