#include "plans/roi_plan.h"

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

// What a part of a group costs beside its share of the group's work: it is handed out, and waits for its last stores.
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

// The ROIs of one image: those from `begin` to `end` of RoiPlan::rois_by_image.
struct Group {
  int64_t image, begin, end;
  int64_t count() const { return end - begin; }
};

// Sorts ROIs by their images. Those with the most come first, so that what is left at a run's end is short.
std::vector<Group> group(const RoiShape& shape, const RoiWindows& windows, std::vector<int64_t>& rois_by_image) {
  std::vector<int64_t> next(static_cast<size_t>(shape.images) + 1);
  for (int64_t image : windows.image) ++next[static_cast<size_t>(image) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<Group> groups;
  for (int64_t image = 0; image < shape.images; ++image) {
    const Group group = {image, next[static_cast<size_t>(image)], next[static_cast<size_t>(image) + 1]};
    if (group.count() > 0) groups.push_back(group);
  }
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return a.count() != b.count() ? a.count() > b.count() : a.image < b.image;
  });
  rois_by_image.resize(windows.image.size());
  for (int64_t roi = 0; roi < shape.rois; ++roi) {
    int64_t& at = next[static_cast<size_t>(windows.image[static_cast<size_t>(roi)])];
    rois_by_image[static_cast<size_t>(at++)] = roi;
  }
  return groups;
}

// How the work of a mode that shares a map is divided. A unit is of a block of channels and of a group or, where too
// little is left to keep all threads busy, of a part of one.
struct Division {
  int64_t blocks;
  double fill;        // cycles of a unit before it pools anything
  double roi;         // cycles to pool an ROI
  int64_t most_rois;  // of a unit
  bool sweep;         // all blocks of a group are divided alike, as one order of tasks serves them all
  double grain = std::numeric_limits<double>::infinity();  // cycles of pooling in such a part
  double units = 0;
  double cycles = 0;  // of all threads together
  double time = 0;    // in cycles, until the last thread is done
};

// Calls each(group, first block, end of blocks, parts) for blocks that are divided alike, in the order of the units.
template <class Each>
void divide(const std::vector<Group>& groups, const Division& division, int64_t threads, Each&& each) {
  const auto blocks = static_cast<double>(division.blocks);
  const auto whole = [&](const Group& group) {
    return division.fill + division.roi * static_cast<double>(group.count());
  };
  double left = 0;
  for (const Group& group : groups) left += whole(group) * blocks;
  for (const Group& group : groups) {
    const int64_t least = (group.count() + division.most_rois - 1) / division.most_rois;
    // From this block on, a whole one would keep a thread busy for longer than the others with all that is left. That
    // the two are equal must not depend on how they are rounded.
    const double from = std::floor(left / whole(group) - static_cast<double>(threads) * (1 - 1e-9)) + 1;
    auto first_divided = static_cast<int64_t>(std::clamp(from, 0.0, blocks));
    if (division.sweep && first_divided < division.blocks) first_divided = 0;
    if (first_divided > 0) each(group, int64_t{0}, first_divided, least);
    if (first_divided < division.blocks) {
      const double parts = std::ceil(division.roi * static_cast<double>(group.count()) / division.grain);
      each(group, first_divided, division.blocks, std::clamp(static_cast<int64_t>(parts), least, group.count()));
    }
    left -= whole(group) * blocks;
  }
}

void estimate(const std::vector<Group>& groups, int64_t threads, Division& division) {
  const auto workers = static_cast<double>(threads);
  double longest = 0, in_turns = 0;
  division.units = division.cycles = 0;
  divide(groups, division, threads, [&](const Group& group, int64_t first, int64_t end, int64_t parts) {
    const auto count = static_cast<double>(parts), units = count * static_cast<double>(end - first);
    const double unit =
        division.fill + division.roi * static_cast<double>(group.count()) / count + (parts > 1 ? kPart : 0);
    longest = std::max(longest, unit);
    division.units += units;
    division.cycles += units * unit;
    // Threads take units as they come. When the last of these is over, they have all that comes before behind them, and
    // have waited for half of it, unless there is more to do.
    in_turns = std::max(in_turns, (division.cycles + unit / 2 * (workers - 1)) / workers);
  });
  // Units that are few and alike end together.
  const double slowest = longest * (threads > 1 ? 1 + kUnevenThreads : 1);
  division.time = std::min(std::max(slowest, in_turns), std::ceil(division.units / workers) * slowest);
}

// The division that takes the least time.
Division best_division(const std::vector<Group>& groups, int64_t threads, Division division) {
  estimate(groups, threads, division);
  if (threads == 1) return division;
  Division best = division;
  const auto most = static_cast<double>(groups[0].count());
  double before = std::numeric_limits<double>::infinity();
  for (double parts = 2; parts <= most; parts *= 2) {
    division.grain = division.roi * most / parts;
    estimate(groups, threads, division);
    if (division.time < best.time) best = division;
    if (division.time >= before) break;
    before = division.time;
  }
  return best;
}

// The tasks of a sweep for the ROIs of a unit: by the starts of their windows, last first.
void order_sweep(const RoiShape& shape, const RoiWindows& windows, const RoiUnit& unit, RoiPlan& plan) {
  const int64_t count = unit.end - unit.begin;
  RoiTask* const tasks = &plan.tasks[static_cast<size_t>(unit.begin * shape.bins_y)];
  const auto start = [&](int64_t slot, int64_t row) {
    const int64_t roi = plan.rois_by_image[static_cast<size_t>(unit.begin + slot)];
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

// The units of a division, and a sweep's tasks.
void lay_out(const RoiShape& shape, const RoiWindows& windows, const std::vector<Group>& groups,
             const Division& division, RoiPlan& plan) {
  if (plan.sweep) plan.tasks.resize(static_cast<size_t>(shape.rois * shape.bins_y));
  plan.units.reserve(static_cast<size_t>(division.units));
  divide(groups, division, shape.threads, [&](const Group& group, int64_t first, int64_t end, int64_t parts) {
    for (int64_t block = first; block < end; ++block) {
      for (int64_t part = 0; part < parts; ++part) {
        const RoiUnit unit = {group.image, block, group.begin + group.count() * part / parts,
                              group.begin + group.count() * (part + 1) / parts};
        plan.units.push_back(unit);
        if (!plan.sweep || block > 0) continue;
        plan.slots = std::max(plan.slots, unit.end - unit.begin);
        order_sweep(shape, windows, unit, plan);
      }
    }
  });
}

}  // namespace

RoiPlan plan_rois(const RoiShape& shape, const RoiWindows& windows) {
  RoiPlan plan{};
  const std::vector<Group> groups = group(shape, windows, plan.rois_by_image);

  const Work work = work_of(shape, windows);
  const int64_t map_bytes = shape.height * shape.width * shape.vector_bytes;
  const auto map = static_cast<double>(shape.height * shape.width);
  const auto fill_cost = [&](int levels) { return map * (kPack + kTable * levels); };
  const auto line_cost = [&](int levels) { return kTableLine * work.table_lines[static_cast<size_t>(levels)]; };
  const auto table_cost = [&](int levels) {
    return fill_cost(levels) * static_cast<double>(groups.size()) + line_cost(levels);
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
  const double bins = kBin * static_cast<double>(shape.rois * bins_per_roi), rois = static_cast<double>(shape.rois);
  Division chosen{};
  chosen.time = std::numeric_limits<double>::infinity();
  const auto consider = [&](RoiKernel::Mode RoiKernel::* mode, const Division& division) {
    if (division.time >= chosen.time) return;
    chosen = division;
    plan.mode = mode;
  };

  Division separate{};  // into units of single ROIs, which need no list
  separate.cycles = (kTranspose * work.lines + kMapLine * work.map_lines + bins) * static_cast<double>(shape.blocks);
  separate.time = separate.cycles / static_cast<double>(std::min(shape.rois * shape.blocks, shape.threads));
  consider(&RoiKernel::separate, separate);
  if (any_fit) {
    const bool swept = sweep(plan.levels);
    const int64_t slots = std::max<int64_t>(kLargestBins / (bins_per_roi * shape.vector_bytes), 1);
    consider(&RoiKernel::shared,
             best_division(groups, shape.threads,
                           {shape.blocks, fill_cost(plan.levels), (line_cost(plan.levels) + bins) / rois,
                            swept ? slots : shape.rois, swept}));
  }
  if (std::max(shape.width, shape.bins_x) <= shape.narrow_map_width && shape.height <= kTallestNarrowMap) {
    const int64_t blocks = (shape.channels + kNarrowMapChannels - 1) / kNarrowMapChannels;
    const double channels = static_cast<double>(shape.channels) / static_cast<double>(blocks);
    consider(&RoiKernel::narrow_map, best_division(groups, shape.threads,
                                                   {blocks, channels * kMapRow * static_cast<double>(shape.height),
                                                    channels * work.narrow_map / rois, shape.rois, false}));
  }
  plan.cycles = chosen.cycles;
  if (plan.mode != &RoiKernel::shared) plan.levels = 0;
  plan.sweep = plan.mode == &RoiKernel::shared && chosen.sweep;
  plan.slots = 1;
  if (plan.mode != &RoiKernel::separate) lay_out(shape, windows, groups, chosen, plan);
  return plan;
}

}  // namespace onnx_maxpool
