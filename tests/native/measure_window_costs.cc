// Fits the constants of the cost model of windows (kernels/window_cost.h) to times of random jobs:
//
//   cmake -S . -B build/costs -G Ninja -DONNX_MAXPOOL_TESTS=ON
//   cmake --build build/costs --target measure_window_costs && build/costs/tests/native/measure_window_costs SEED JOBS
//
// For each target that this processor runs, or for the one that ONNX_MAXPOOL_TARGET names, with indices and without,
// for lanes of 64 bits and others, on so many jobs each. It prints what can stand in window_plan_costs.h. Before that
// it says how well the constants that stand there and the fitted ones choose for jobs that were held back, a quarter
// of all. Take the fitted ones only if they choose clearly better, and do with another seed too.
//
// Costs are fitted to times first. But only the order of the plans counts, and the model's errors are not the same for
// all jobs. So a search follows: it changes one constant at a time, and keeps what makes the chosen plans faster.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/targets.h"
#include "require.h"
#include "window_cost_features.h"
#include "window_jobs.h"

#define TARGET(name, options)                                                           \
  namespace onnx_maxpool::name {                                                        \
  window_costs::Features window_cost_features(const PoolJob& job, size_t element_size); \
  void window_cost_constants(bool indexed, bool wide, double constants[]);              \
  }
#include "compiled_targets.inc"
#undef TARGET

namespace {

using namespace onnx_maxpool;
using namespace window_costs;

// The model of each target.
struct Model {
  const char* target;
  Features (*features)(const PoolJob& job, size_t element_size);
  void (*constants)(bool indexed, bool wide, double constants[]);
};
constexpr Model kModels[] = {
#define TARGET(name, options) {#name, name::window_cost_features, name::window_cost_constants},
#include "compiled_targets.inc"
#undef TARGET
};

using Constants = std::array<double, kConstants>;

struct TimedJob {
  Features features;
  double times[kPlans];  // in tenths of nanoseconds; `kNever` of plans that cannot
  double best;
  std::string text;
};

double cost(const TimedJob& job, const Constants& constants, int plan) {
  double sum = 0;
  for (int i = kFirst[plan]; i < kFirst[plan + 1]; ++i) sum += constants[i] * job.features.parts[i];
  return sum;
}

// By rows, where other plans cost the same, as the model does.
int chosen_plan(const TimedJob& job, const Constants& constants) {
  int chosen = 0;
  double least = kNever;
  for (int plan = 0; plan < kFitted; ++plan) {
    if (job.times[plan] == kNever) continue;
    const double other = cost(job, constants, plan);
    if (other >= least) continue;
    chosen = plan;
    least = other;
  }
  return chosen;
}

// How many times as long as the best plan the chosen one takes.
double off(const TimedJob& job, const Constants& constants) {
  return job.times[chosen_plan(job, constants)] / job.best;
}

// What the search makes small. No job counts for more than three times as long, and one that is a little off counts
// little, as times are not exact.
double score(const std::vector<TimedJob>& jobs, const Constants& constants) {
  constexpr double kMostOff = 3, kClose = 1.1, kFar = 0.15;
  double sum = 0;
  for (const TimedJob& job : jobs) {
    const double times = off(job, constants);
    sum += std::log(std::min(times, kMostOff)) + (times > kClose ? kFar : 0);
  }
  return sum / static_cast<double>(jobs.size());
}

// The non-negative constants of a plan with the least squares of relative errors, one constant after the other. Jobs
// count less that another plan does much faster: nothing depends on what this one's time is.
void fit_to_times(const std::vector<TimedJob>& jobs, int plan, Constants& constants) {
  constexpr int kRounds = 2000;
  const int first = kFirst[plan], end = kFirst[plan + 1];
  double products[kConstants][kConstants] = {}, wanted[kConstants] = {};
  for (const TimedJob& job : jobs) {
    const double time = job.times[plan];
    if (time == kNever) continue;
    const double near = std::clamp(1.5 * job.best / time, 0.2, 1.0), weight = near / time;
    for (int i = first; i < end; ++i) {
      const double part = weight * job.features.parts[i];
      wanted[i] += near * part;
      for (int k = first; k < end; ++k) products[i][k] += part * weight * job.features.parts[k];
    }
  }
  for (int round = 0; round < kRounds; ++round) {
    for (int i = first; i < end; ++i) {
      if (products[i][i] == 0) continue;  // no job has this part
      double rest = wanted[i];
      for (int k = first; k < end; ++k) rest -= products[i][k] * constants[k];
      constants[i] = std::max(0.0, constants[i] + rest / products[i][i]);
    }
  }
}

// What a constant may be in place of `value`.
std::vector<double> other_values(double value) {
  constexpr double kSteps[] = {0.5, 0.7, 0.85, 0.93, 1.07, 1.15, 1.4, 2};
  constexpr double kSmall[] = {1, 5};
  if (value == 0) return {std::begin(kSmall), std::end(kSmall)};
  std::vector<double> values;
  for (const double step : kSteps) values.push_back(value * step);
  if (value <= kSmall[1]) values.push_back(0);
  return values;
}

// Changes constants, one at a time or all of a plan together, as long as that makes the score smaller.
Constants search(const std::vector<TimedJob>& jobs, Constants constants) {
  constexpr int kRounds = 8;
  constexpr double kLeast = 1e-6, kScales[] = {0.9, 0.95, 1.05, 1.1};
  double best = score(jobs, constants);
  const auto attempt = [&](const Constants& others) {
    const double found = score(jobs, others);
    if (found >= best - kLeast) return;
    best = found;
    constants = others;
  };
  for (int round = 0; round < kRounds; ++round) {
    const double before = best;
    for (int i = 0; i < kConstants; ++i) {
      const auto is_needed = [i](const TimedJob& job) { return job.features.parts[i] > 0; };
      if (std::none_of(jobs.begin(), jobs.end(), is_needed)) continue;
      for (const double value : other_values(constants[i])) {
        Constants others = constants;
        others[i] = value;
        attempt(others);
      }
    }
    for (int plan = 0; plan < kFitted; ++plan) {
      for (const double scale : kScales) {
        Constants others = constants;
        for (int i = kFirst[plan]; i < kFirst[plan + 1]; ++i) others[i] *= scale;
        attempt(others);
      }
    }
    if (best == before) break;
  }
  return constants;
}

// The search looks at proportions only. This brings costs back to tenths of nanoseconds, as far as they were.
void scale_to_times(const std::vector<TimedJob>& jobs, Constants& constants) {
  std::vector<double> ratios;
  for (const TimedJob& job : jobs) {
    const int plan = chosen_plan(job, constants);
    const double costs = cost(job, constants, plan);
    if (costs > 0) ratios.push_back(job.times[plan] / costs);
  }
  if (ratios.empty()) return;
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  for (double& constant : constants) constant *= *middle;
}

// From the constants that there are, and from those that fit the times best: the search ends where no single step
// helps.
Constants fit(const std::vector<TimedJob>& jobs, const Constants& present) {
  Constants fitted = present;
  for (int plan = 0; plan < kFitted; ++plan) fit_to_times(jobs, plan, fitted);
  const Constants a = search(jobs, present), b = search(jobs, fitted);
  Constants better = score(jobs, a) < score(jobs, b) ? a : b;
  scale_to_times(jobs, better);
  return better;
}

void print_choices(const char* name, const std::vector<TimedJob>& jobs, const Constants& constants) {
  Choices choices;
  for (const TimedJob& job : jobs) choices.add(off(job, constants), job.text);
  std::printf(
      "// %-7s the fastest in %.1f %%, within 10 %% in %.1f %%, %.1f %% off on average, at worst %.2f times (%s)\n",
      name, choices.fastest(), choices.close(), choices.mean_off(), choices.worst(), choices.worst_job().c_str());
}

// With three digits.
std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 999.5 ? "%.3g" : "%.0f", value);
  return text;
}

std::string list(const Constants& constants, int first, int end) {
  std::string text;
  for (int i = first; i < end; ++i) text += (i > first ? ", " : "") + number(constants[i]);
  return text;
}

void print_initializer(const Constants& constants, bool indexed, bool wide) {
  constexpr int kTransposed = 4;  // the first of the plan by planes: an array
  // The last two of each plan are a FarCost.
  const auto part = [&](int first, int end) {
    return list(constants, first, end - 2) + ", {" + list(constants, end - 2, end) + "}";
  };
  std::printf(
      "template <>\nconstexpr PlanCosts kPlanCosts<%s, %s> = {\n    {%s},\n    {%s},\n    {{%s}, %s},\n    {%s},\n"
      "    {%s}};\n",
      indexed ? "true" : "false", wide ? "true" : "false", part(kFirst[0], kFirst[1]).c_str(),
      part(kFirst[1], kFirst[2]).c_str(), list(constants, kFirst[2], kFirst[2] + kTransposed).c_str(),
      part(kFirst[2] + kTransposed, kFirst[3]).c_str(), part(kFirst[3], kFirst[4]).c_str(),
      part(kFirst[4], kFirst[5]).c_str());
}

// Whether the model has more than one plan to choose from.
bool chooses(const PoolCosts& costs) { return kFitted - std::count(costs.of, costs.of + kFitted, kNever) > 1; }

// The next job of such lanes for which the model chooses.
TimedJob timed_job(WindowJobs& jobs, const Kernels& kernels, const Model& model, const Constants& present, bool indexed,
                   bool wide) {
  TimedJob timed;
  do {
    jobs.draw(indexed);
    timed.features = model.features(jobs.job(), jobs.element_size());
  } while (timed.features.lanes_are_wide != wide || !chooses(kernels.pool_costs(jobs.job(), jobs.element_size())));
  timed.text = jobs.text();
  const PlanKernels plans = plan_kernels(kernels, jobs.job(), jobs.element_size());
  time_plans(jobs.job(), plans, timed.times);
  for (double& time : timed.times) time *= 1e10;
  timed.best = *std::min_element(timed.times, timed.times + kFitted);
  // The same sum in another order may choose otherwise between plans that cost the same.
  const auto* const costs = plans.costs.of;
  const auto chosen = static_cast<int>(std::min_element(costs, costs + kFitted) - costs);
  const double expected = cost(timed, present, chosen), found = cost(timed, present, chosen_plan(timed, present));
  require(expected <= found * (1 + 1e-9),
          "the model is no sum over its constants: it chose otherwise for " + timed.text);
  return timed;
}

void measure(const Kernels& kernels, const Model& model, unsigned seed, int64_t count, bool indexed, bool wide) {
  Constants present;
  model.constants(indexed, wide, present.data());
  WindowJobs drawn(seed);
  std::vector<TimedJob> jobs, held_back;
  for (int64_t i = 0; i < count; ++i) {
    (i % 4 == 3 ? held_back : jobs).push_back(timed_job(drawn, kernels, model, present, indexed, wide));
  }
  const Constants fitted = fit(jobs, present);
  std::printf("// %s, %s indices, %s: %d jobs held back\n", kernels.target, indexed ? "with" : "without",
              wide ? "lanes of 64 bits" : "other lanes", static_cast<int>(held_back.size()));
  print_choices("present", held_back, present);
  print_choices("fitted", held_back, fitted);
  print_initializer(fitted, indexed, wide);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned seed = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 0;
  const int64_t count = argc > 2 ? std::max(4, std::atoi(argv[2])) : 1500;
  const char* wanted = std::getenv("ONNX_MAXPOOL_TARGET");
  for (const Target& target : targets()) {
    if (!target.runs_here || (wanted && std::strcmp(wanted, target.kernels.target) != 0)) continue;
    const auto is_same = [&](const Model& model) { return std::strcmp(model.target, target.kernels.target) == 0; };
    const Model& model = *std::find_if(std::begin(kModels), std::end(kModels), is_same);
    for (const bool indexed : {false, true}) {
      for (const bool wide : {false, true}) measure(target.kernels, model, seed, count, indexed, wide);
    }
  }
}
