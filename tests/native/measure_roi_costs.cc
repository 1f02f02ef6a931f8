// Fits the constants of the cost model of ROIs (plans/roi_cost.h) to times of random ROIs:
//
//   cmake -S . -B build/costs -G Ninja -DONNX_MAXPOOL_TESTS=ON
//   cmake --build build/costs --target measure_roi_costs && build/costs/tests/native/measure_roi_costs SEED ROWS ROUNDS
//
// For all targets that this processor runs together, or for the one that ONNX_MAXPOOL_TARGET names. A row is a map with
// its ROIs; each target gets so many. The search has up to six rounds, each by smaller steps than the one before.
// Constants are fitted to half of them. It prints how well those of roi_cost.h and the fitted ones choose for these
// rows and for the rows that were held back, and which constants should change. Take them only if they choose clearly
// better, and do with another seed too.
//
// Only the times of ways to pool the same ROIs are compared with one another. A search changes one constant at a time.
// To move one away from where it is has to be worth it, as other processors count, too. How a sweep divides its ROIs
// depends on kFarBin: times are of the division by the one in roi_cost.h.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "plans/roi_cost.h"
#include "plans/roi_ways.h"
#include "require.h"
#include "roi_jobs.h"

namespace {

using namespace onnx_maxpool;
using namespace roi_costs;

struct Constant {
  const char* name;
  double* value;
  double before = *value;
  double moved() const { return std::log(*value / before); }
};

std::vector<Constant> all_constants() {
#define C(name) {#name, &name}
#define OF_BLOCKS(of) C(of.pack), C(of.table), C(of.reduce), C(of.column), C(of.bin), C(of.map_row), C(of.transpose)
#define OF_LOOKUPS(of) C(of.roi), C(of.piece), C(of.piece_row), C(of.lookup), C(of.line), C(of.repeated_row)
#define OF_FOLDS(of) C(of.roi), C(of.only_bin), C(of.bin), C(of.row), C(of.vector)
  return {OF_BLOCKS(kBlocks[0]),
          OF_BLOCKS(kBlocks[1]),
          OF_BLOCKS(kBlocks[2]),
          C(kRoi),
          C(kBinsRow),
          C(kSquaresRow),
          C(kBlockAgain),
          C(kSingleBin),
          C(kSingleBinAgain),
          C(kFarBin),
          C(kUnit),
          C(kNearLine),
          C(kLine),
          C(kFarLine),
          C(kNarrowerFarLine),
          C(kRowLine),
          C(kFarRowLine),
          C(kNarrowerFarRowLine),
          C(kNarrowerLine),
          C(kNarrowRow),
          C(kBinRow),
          C(kBinColumn),
          C(kNarrowerBinRow),
          C(kNarrowerBinColumn),
          C(kBinLine),
          C(kNarrowMapRoi),
          C(kPermutation),
          C(kFewChannelsRoi),
          C(kLineOfBins),
          C(kLineRow),
          C(kLineVector),
          C(kLineBin),
          C(kWideBin),
          C(kNarrowerLineRow),
          C(kNarrowerLineVector),
          OF_LOOKUPS(kLookups),
          OF_LOOKUPS(kNarrowerLookups),
          OF_FOLDS(kFolds),
          OF_FOLDS(kNarrowerFolds),
          C(kCellsRoi),
          C(kCellsBin),
          C(kBinOfCell),
          C(kCell)};
#undef OF_FOLDS
#undef OF_LOOKUPS
#undef OF_BLOCKS
#undef C
}

// What each way takes to pool some ROIs.
struct TimedRow {
  DrawnRois drawn;
  RoiShape shape;
  std::vector<double> seconds;
};

TimedRow time_row(const Kernels& kernels, std::mt19937_64& random) {
  constexpr size_t kElements[] = {4, 4, 4, 4, 2, 8};
  const size_t element_size = kElements[random() % std::size(kElements)];
  TimedRow row = {draw_rois(random, element_size), {}, {}};
  const RoiKernel& kernel = kernels.roi(element_size, row.drawn.dims.channels);
  row.shape = row.drawn.shape(kernel, 1);
  const RoiTensors tensors(row.drawn);
  List<int64_t, kFewRois> rois_by_image;
  const Planner planner(row.shape, row.drawn.windows, rois_by_image);
  std::vector<RoiPlan> plans;
  for (const Way& way : planner.possible_ways(1)) {
    plans.emplace_back().rois_by_image = rois_by_image;
    planner.plan(way, plans.back());
  }
  row.seconds = tensors.time_plans(kernel, plans, nullptr);
  return row;
}

struct TimedRows {
  const char* target;
  std::vector<TimedRow> rows;
};

// How well the constants tell what ways take, and choose one.
struct Fit {
  double error = 0, off = 0;
  int rows = 0, fastest = 0, close = 0;

  void add(const TimedRow& row) {
    List<int64_t, kFewRois> rois_by_image;
    const std::vector<Way> ways = Planner(row.shape, row.drawn.windows, rois_by_image).possible_ways(1);
    require(ways.size() == row.seconds.size(), "the ways depend on costs");
    const double best = *std::min_element(row.seconds.begin(), row.seconds.end());
    size_t chosen = 0;
    std::vector<double> ratios, weights;  // logarithms of times over costs, and how much each counts
    double sum = 0, weight = 0;
    for (size_t i = 0; i < ways.size(); ++i) {
      if (ways[i].time() < ways[chosen].time()) chosen = i;
      ratios.push_back(std::log(row.seconds[i] / ways[i].time()));
      weights.push_back(row.seconds[i] < 2 * best ? 1 : row.seconds[i] < 5 * best ? 0.3 : 0);
      sum += weights[i] * ratios[i];
      weight += weights[i];
    }
    double of_row = 0;
    for (size_t i = 0; i < ways.size(); ++i) of_row += weights[i] * squared(ratios[i] - sum / weight);
    const double ratio = row.seconds[chosen] / best;
    error += of_row / weight + 0.3 * std::min(std::log(ratio), 1.0);
    off += std::min(ratio, 4.0) - 1;
    ++rows;
    fastest += ratio <= 1;
    close += ratio <= 1.1;
  }
  void print(const char* constants, const char* target, const char* which) const {
    const double percent = 100.0 / rows;
    std::printf("%-7s %-9s %4d rows %s: fastest in %.0f %%, within 10 %% in %.0f %%, %.1f %% off on average\n",
                constants, target, rows, which, fastest * percent, close * percent, off * percent);
  }

 private:
  // From where it is large, along a line: a row that was disturbed should not decide.
  static double squared(double x) {
    constexpr double kLarge = 0.4;
    return std::fabs(x) < kLarge ? x * x : kLarge * (2 * std::fabs(x) - kLarge);
  }
};

// Of every other row: of the first one on, or of the second.
Fit fit_of(const TimedRows& timed, size_t first) {
  Fit fit;
  for (size_t i = first; i < timed.rows.size(); i += 2) fit.add(timed.rows[i]);
  return fit;
}

void print(const char* constants, const std::vector<TimedRows>& all) {
  for (const TimedRows& timed : all) {
    fit_of(timed, 0).print(constants, timed.target, "that are fitted");
    fit_of(timed, 1).print(constants, timed.target, "held back");
  }
}

constexpr double kSteps[] = {1.25, 1.25, 1.1, 1.1, 1.05, 1.05};  // of each round
constexpr int kRounds = sizeof kSteps / sizeof *kSteps;

void search(std::vector<Constant>& constants, const std::vector<TimedRows>& all, int rounds) {
  constexpr double kMove = 0.002, kMost = 1.1;  // of a constant to three times or a third of it
  const auto error = [&] {
    double sum = 0;
    for (const TimedRows& timed : all) {
      const Fit fit = fit_of(timed, 0);
      sum += fit.error / fit.rows / static_cast<double>(all.size());
    }
    for (const Constant& constant : constants) sum += kMove * constant.moved() * constant.moved();
    return sum;
  };
  double least = error();
  for (int round = 0; round < rounds; ++round) {
    const double step = kSteps[round];
    for (Constant& constant : constants) {
      for (const double factor : {step, 1 / step}) {
        for (;;) {
          const double before = *constant.value;
          *constant.value *= factor;
          const double now = std::fabs(constant.moved()) < kMost ? error() : least;
          if (now < least - 1e-6) {
            least = now;
            continue;
          }
          *constant.value = before;
          break;
        }
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  const int rows = argc > 2 ? std::max(2, std::atoi(argv[2])) : 300;
  const int rounds = argc > 3 ? std::clamp(std::atoi(argv[3]), 1, kRounds) : kRounds;
  const char* wanted = std::getenv("ONNX_MAXPOOL_TARGET");
  std::vector<TimedRows> all;
  for (const Target& target : targets()) {
    if (!target.runs_here || (wanted && std::strcmp(wanted, target.kernels.target) != 0)) continue;
    std::mt19937_64 random(seed);
    all.push_back({target.kernels.target, {}});
    for (int row = 0; row < rows; ++row) all.back().rows.push_back(time_row(target.kernels, random));
  }
  std::vector<Constant> constants = all_constants();
  print("before", all);
  search(constants, all, rounds);
  print("fitted", all);
  for (const Constant& constant : constants) {
    if (std::fabs(constant.moved()) < 0.03) continue;
    std::printf("%-32s %6.3g -> %6.3g\n", constant.name, constant.before, *constant.value);
  }
}
