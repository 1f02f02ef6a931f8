#include "roi_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace onnx_maxpool {
namespace {

// Costs in processor cycles for each vector of a block, measured on an AVX-512 machine. Only their proportions matter,
// and these are much the same elsewhere.
constexpr double kPack = 8;       // read, map, transpose and store a cell of the map
constexpr double kTable = 2;      // a cell of a table
constexpr double kTableLine = 2;  // a cell of a line of a table, in a bin
constexpr double kTranspose = 8;  // a cell of a line that comes from the map
constexpr double kBin = 20;       // a bin: reduced, transposed and stored
constexpr double kMapLine = 2;    // a cell of the map that goes into such a line

// The same for each channel of a narrow map.
constexpr double kMapRow = 3;              // a row of the map
constexpr double kBinRow = 5;              // a row of bins
constexpr double kBinColumn = 1;           // each column of its widest bin
constexpr double kBinLine = 1;             // each row of its bins
constexpr int64_t kTallestNarrowMap = 32;  // of which a unit's channels are 32 KiB, and mostly in the first-level cache

// What one more unit costs whatever it is of: it is handed out, and waits for its last stores.
constexpr double kPart = 2000;
// By how much threads differ in speed, as others use their processors and memory, too.
constexpr double kUnevenThreads = 0.04;

// Tables that are no larger stay in the second-level cache. Of larger ones a sweep keeps a few rows there.
constexpr int64_t kCache = int64_t{1} << 20;
// A worker's memory for the bins of a sweep, and for tables: no more than all images have, within these bounds.
constexpr int64_t kLargestBins = int64_t{8} << 20;
constexpr int64_t kTablesOfAny = int64_t{4} << 20, kLargestTables = int64_t{32} << 20;

// The cells that ROIs visit, by mode, summed over a run.
struct Work {
  double map_lines = 0;                               // rows of the map times columns
  double lines = 0;                                   // rows of bins times columns
  std::array<double, kMostLevels + 1> table_lines{};  // lines of tables times columns, with so many levels
  double narrow_map = 0;                              // cycles for each channel
};

// The bins of an ROI are much alike: the largest of three stands for all.
int64_t largest(const RoiWindow* windows, int64_t count) {
  const auto size = [&](int64_t i) { return std::max<int64_t>(windows[i].end - windows[i].start, 0); };
  return std::max({size(0), size(count / 2), size(count - 1)});
}

Work work_of(const RoiShape& shape, const RoiWindows& windows) {
  Work work;
  std::array<double, kMostLevels + 1> at_most{};  // lines of tables, of ROIs that have no use for more levels
  for (int64_t roi = 0; roi < shape.rois; ++roi) {
    const RoiWindow* rows = &windows.rows[static_cast<size_t>(roi * shape.bins_y)];
    const RoiWindow* columns = &windows.columns[static_cast<size_t>(roi * shape.bins_x)];
    const auto width = static_cast<double>(std::max<int64_t>(columns[shape.bins_x - 1].end - columns[0].start, 0));
    const int64_t tallest = largest(rows, shape.bins_y), widest = largest(columns, shape.bins_x);
    work.narrow_map += static_cast<double>(shape.bins_y) *
                       (kBinRow + kBinColumn * static_cast<double>(widest) + kBinLine * static_cast<double>(tallest));
    if (tallest == 0 || width == 0) continue;
    const double lines = width * static_cast<double>(shape.bins_y);
    work.lines += lines;
    work.map_lines += lines * static_cast<double>(tallest);
    const auto with = [&](size_t levels) { return lines * static_cast<double>(((tallest - 1) >> levels) + 1); };
    size_t levels = 0;
    for (; levels < kMostLevels && (int64_t{2} << levels) <= tallest; ++levels)
      work.table_lines[levels] += with(levels);
    at_most[levels] += with(levels);
  }
  double sum = 0;
  for (size_t levels = 0; levels <= kMostLevels; ++levels) {
    sum += at_most[levels];
    work.table_lines[levels] += sum;
  }
  return work;
}

// Sorts ROIs by their images: those with the most come first, so that what is left at the end is short.
void group(const RoiShape& shape, const RoiWindows& windows, RoiPlan& plan) {
  std::vector<int64_t> next(static_cast<size_t>(shape.images) + 1);
  for (int64_t image : windows.image) ++next[static_cast<size_t>(image) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (int64_t image = 0; image < shape.images; ++image) {
    const RoiGroup group = {image, next[static_cast<size_t>(image)], next[static_cast<size_t>(image) + 1]};
    if (group.begin < group.end) plan.groups.push_back(group);
  }
  std::stable_sort(plan.groups.begin(), plan.groups.end(),
                   [](const RoiGroup& a, const RoiGroup& b) { return a.end - a.begin > b.end - b.begin; });
  plan.rois_by_image.resize(windows.image.size());
  for (int64_t roi = 0; roi < shape.rois; ++roi) {
    int64_t& at = next[static_cast<size_t>(windows.image[static_cast<size_t>(roi)])];
    plan.rois_by_image[static_cast<size_t>(at++)] = roi;
  }
}

// Units before they are divided, each of a block and a group.
struct Units {
  int64_t count;
  double fill;  // cycles before anything is pooled, which each part takes again
  double pool;  // cycles
  double rois;  // to pool
  bool sweep;   // all units are divided alike
  int64_t least_parts;
};
struct Division {
  int64_t undivided, parts;
  double cycles;  // of all threads together
  double time;    // in cycles, until the last thread is done
};

Division divide(Units units, int64_t threads) {
  const auto count = static_cast<double>(units.count), workers = static_cast<double>(threads);
  const double whole = units.fill + units.pool;
  Division best = {units.count, 1, count * whole,
                   std::ceil(count / workers) * whole * (threads > 1 ? 1 + kUnevenThreads : 1)};
  if (units.least_parts > 1) best.time = std::numeric_limits<double>::infinity();
  // What is divided keeps the others busy while one thread has the last unit that is not.
  const int64_t undivided = units.sweep ? 0 : std::max<int64_t>(units.count - (threads - 1), 0);
  const int64_t first = std::max<int64_t>(units.least_parts, 2);
  for (int64_t parts = first; parts == first || static_cast<double>(parts) <= units.rois; parts *= 2) {
    const double part = kPart + units.fill + units.pool / static_cast<double>(parts);
    const double cycles =
        static_cast<double>(undivided) * whole + static_cast<double>((units.count - undivided) * parts) * part;
    const double waiting = part / 2 * (workers - 1);  // for the last part
    const double time = std::max(undivided ? whole : part, (cycles + waiting) / workers);
    if (time < best.time) best = {undivided, parts, cycles, time};
  }
  return best;
}

// The tasks of a sweep over a part of a group: by the starts of their windows, last first.
void order_sweep(const RoiShape& shape, const RoiWindows& windows, const RoiGroup& part, RoiPlan& plan) {
  const int64_t count = part.end - part.begin;
  RoiTask* const tasks = &plan.tasks[static_cast<size_t>(part.begin * shape.bins_y)];
  const auto start = [&](int64_t slot, int64_t row) {
    const int64_t roi = plan.rois_by_image[static_cast<size_t>(part.begin + slot)];
    return static_cast<size_t>(windows.rows[static_cast<size_t>(roi * shape.bins_y + row)].start);
  };
  std::vector<int64_t> next(static_cast<size_t>(shape.height) + 1);
  for (int64_t slot = 0; slot < count; ++slot) {
    for (int64_t row = 0; row < shape.bins_y; ++row) ++next[start(slot, row)];
  }
  int64_t before = 0;
  for (auto at = next.rbegin(); at != next.rend(); ++at) before += std::exchange(*at, before);
  for (int32_t slot = 0; slot < count; ++slot) {
    for (int32_t row = 0; row < shape.bins_y; ++row) tasks[next[start(slot, row)]++] = {slot, row};
  }
}

}  // namespace

RoiPlan plan_rois(const RoiShape& shape, const RoiWindows& windows) {
  RoiPlan plan{};
  group(shape, windows, plan);
  const auto groups = static_cast<int64_t>(plan.groups.size());
  const double rois = static_cast<double>(shape.rois) / static_cast<double>(groups);  // of a group

  const Work work = work_of(shape, windows);
  const int64_t map_bytes = shape.height * shape.width * shape.vector_bytes;
  const auto map = static_cast<double>(shape.height * shape.width);
  const auto fill_cost = [&](int levels) { return map * (kPack + kTable * levels); };
  const auto line_cost = [&](int levels) { return kTableLine * work.table_lines[static_cast<size_t>(levels)]; };
  const auto table_cost = [&](int levels) {
    return fill_cost(levels) * static_cast<double>(groups) + line_cost(levels);
  };
  for (const RoiWindow& rows : windows.rows) plan.tallest = std::max<int64_t>(plan.tallest, rows.end - rows.start);
  const auto sweep = [&](int levels) { return (levels + 1) * map_bytes > kCache; };
  const int64_t most = std::clamp(shape.input_bytes, kTablesOfAny, kLargestTables);
  const auto fit = [&](int levels) {
    int64_t rows = 0;
    for (int k = 0; k <= levels; ++k) {
      rows += kept_rows(shape.height, plan.tallest, levels, sweep(levels), k).count;
    }
    return rows * shape.width * shape.vector_bytes <= most;
  };
  bool any_fit = fit(0);
  for (int levels = 1; levels <= kMostLevels && (int64_t{1} << levels) <= plan.tallest; ++levels) {
    if (!fit(levels) || (any_fit && table_cost(levels) >= table_cost(plan.levels))) continue;
    plan.levels = levels;
    any_fit = true;
  }

  const int64_t bins_per_roi = shape.bins_y * shape.bins_x;
  const double bins = kBin * static_cast<double>(shape.rois * bins_per_roi);
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](RoiKernel::Mode RoiKernel::* mode, const Division& division) {
    if (division.time >= least) return;
    least = division.time;
    plan.mode = mode;
    plan.cycles = division.cycles;
    plan.undivided = division.undivided;
    plan.parts = division.parts;
  };
  const int64_t units = shape.rois * shape.blocks;
  const double cycles =
      (kTranspose * work.lines + kMapLine * work.map_lines + bins) * static_cast<double>(shape.blocks);
  consider(&RoiKernel::separate, {units, 1, cycles, cycles / static_cast<double>(std::min(units, shape.threads))});
  if (any_fit) {
    const int64_t most_slots = std::max<int64_t>(kLargestBins / (bins_per_roi * shape.vector_bytes), 1);
    const int64_t largest_group = plan.groups[0].end - plan.groups[0].begin;
    const bool swept = sweep(plan.levels);
    consider(&RoiKernel::shared, divide({groups * shape.blocks, fill_cost(plan.levels),
                                         (line_cost(plan.levels) + bins) / static_cast<double>(groups), rois, swept,
                                         swept ? (largest_group + most_slots - 1) / most_slots : 1},
                                        shape.threads));
  }
  if (std::max(shape.width, shape.bins_x) <= shape.narrow_map_width && shape.height <= kTallestNarrowMap) {
    const int64_t narrow_blocks = (shape.channels + kNarrowMapChannels - 1) / kNarrowMapChannels;
    const double channels = static_cast<double>(shape.channels) / static_cast<double>(narrow_blocks);
    consider(&RoiKernel::narrow_map,
             divide({groups * narrow_blocks, channels * kMapRow * static_cast<double>(shape.height),
                     channels * work.narrow_map / static_cast<double>(groups), rois, false, 1},
                    shape.threads));
  }
  if (plan.mode != &RoiKernel::shared) plan.levels = 0;
  plan.sweep = plan.mode == &RoiKernel::shared && sweep(plan.levels);
  plan.slots = 1;
  if (!plan.sweep) return plan;

  plan.tasks.resize(static_cast<size_t>(shape.rois * shape.bins_y));
  for (const RoiGroup& group : plan.groups) {
    for (int64_t i = 0; i < plan.parts; ++i) {
      const RoiGroup part = part_of(group, i, plan.parts);
      plan.slots = std::max(plan.slots, part.end - part.begin);
      order_sweep(shape, windows, part, plan);
    }
  }
  return plan;
}

}  // namespace onnx_maxpool
