#include "plans/roi_plan.h"

#include <algorithm>
#include <limits>

#include "plans/roi_cost.h"
#include "plans/roi_layout.h"
#include "plans/roi_schedule.h"

namespace onnx_maxpool {
namespace {

// Tables that are no larger stay in the second-level cache. Of larger ones a sweep keeps a few rows there.
constexpr int64_t kCache = int64_t{1} << 20;
// A worker's memory for the bins of a sweep, and for tables: no more than all images have, within these bounds.
constexpr int64_t kLargestBins = int64_t{8} << 20;
constexpr int64_t kTablesOfAny = int64_t{4} << 20, kLargestTables = int64_t{32} << 20;
// Of a narrow map that is no taller, a unit's channels are 32 KiB, and mostly in the first-level cache.
constexpr int64_t kTallestNarrowMap = 32;

bool sweeps(const RoiShape& shape, int levels) {
  return (levels + 1) * shape.height * shape.width * shape.vector_bytes > kCache;
}

// Whether the tables of so many levels fit a worker's memory.
bool fit(const RoiShape& shape, int64_t tallest, int levels) {
  int64_t rows = 0;
  for (int k = 0; k <= levels; ++k) {
    rows += kept_rows(shape.height, tallest, levels, sweeps(shape, levels), k).count;
  }
  return rows * shape.width * shape.vector_bytes <= std::clamp(shape.input_bytes, kTablesOfAny, kLargestTables);
}

// The levels that cost the least, of those that fit; -1 where none does.
int best_levels(const RoiShape& shape, const RoiCost& cost, size_t groups, int64_t tallest) {
  const auto cycles = [&](int levels) {
    return cost.fill(levels) * static_cast<double>(groups) + cost.table_lines(levels);
  };
  int best = fit(shape, tallest, 0) ? 0 : -1;
  for (int levels = 1; levels <= kMostLevels && (int64_t{1} << levels) <= tallest; ++levels) {
    if (fit(shape, tallest, levels) && (best < 0 || cycles(levels) < cycles(best))) best = levels;
  }
  return best;
}

// Into units of single ROIs, which need no list.
RoiDivision separate_division(const RoiShape& shape, const RoiCost& cost) {
  RoiDivision division{};
  division.cycles = cost.separate() * static_cast<double>(shape.blocks);
  division.time = division.cycles / static_cast<double>(std::min(shape.rois * shape.blocks, shape.threads));
  return division;
}

RoiDivision shared_division(const RoiShape& shape, const RoiCost& cost, int levels) {
  const bool sweep = sweeps(shape, levels);
  const int64_t slots = std::max<int64_t>(kLargestBins / (shape.bins_y * shape.bins_x * shape.vector_bytes), 1);
  return {shape.blocks, cost.fill(levels), (cost.table_lines(levels) + cost.bins()) / static_cast<double>(shape.rois),
          sweep ? slots : shape.rois, sweep};
}

RoiDivision narrow_map_division(const RoiShape& shape, const RoiCost& cost) {
  const int64_t blocks = (shape.channels + kNarrowMapChannels - 1) / kNarrowMapChannels;
  const double channels = static_cast<double>(shape.channels) / static_cast<double>(blocks);
  return {blocks, cost.fill_narrow_map(channels), cost.narrow_map(channels) / static_cast<double>(shape.rois),
          shape.rois, false};
}

}  // namespace

RoiPlan plan_rois(const RoiShape& shape, const RoiWindows& windows) {
  RoiPlan plan{};
  const std::vector<RoiGroup> groups = group_by_image(shape, windows, plan.rois_by_image);
  const RoiCost cost(shape, windows);
  for (const RoiWindow& rows : windows.rows) plan.tallest = std::max<int64_t>(plan.tallest, rows.end - rows.start);
  const int levels = best_levels(shape, cost, groups.size(), plan.tallest);

  RoiDivision chosen{};
  chosen.time = std::numeric_limits<double>::infinity();
  const auto consider = [&](RoiKernel::Mode RoiKernel::* mode, const RoiDivision& division) {
    if (division.time >= chosen.time) return;
    chosen = division;
    plan.mode = mode;
  };
  consider(&RoiKernel::separate, separate_division(shape, cost));
  if (levels >= 0) {
    consider(&RoiKernel::shared, best_division(groups, shape.threads, shared_division(shape, cost, levels)));
  }
  if (std::max(shape.width, shape.bins_x) <= shape.narrow_map_width && shape.height <= kTallestNarrowMap) {
    consider(&RoiKernel::narrow_map, best_division(groups, shape.threads, narrow_map_division(shape, cost)));
  }

  plan.cycles = chosen.cycles;
  const bool shares_tables = plan.mode == &RoiKernel::shared;
  plan.levels = shares_tables ? levels : 0;
  plan.sweep = shares_tables && chosen.sweep;
  plan.slots = 1;
  if (plan.mode != &RoiKernel::separate) lay_out(shape, windows, groups, chosen, plan);
  return plan;
}

}  // namespace onnx_maxpool
