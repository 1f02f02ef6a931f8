#include "plans/roi_ways.h"

#include <algorithm>

namespace onnx_maxpool {
namespace {

// A worker's memory for the bins of a sweep, and for tables: no more than all images have, within these bounds.
constexpr int64_t kLargestBins = int64_t{8} << 20;
constexpr int64_t kTablesOfAny = int64_t{4} << 20, kLargestTables = int64_t{32} << 20;
// Of a narrow map that is no taller, a unit's channels are 32 KiB, and mostly in the first-level cache.
constexpr int64_t kTallestNarrowMap = 32;
// Of fewer cycles, one block at a time is not worth a trial of its own, nor are other levels.
constexpr double kWorthATrial = 30'000;
// More would leave few units to share out among threads, and are seldom pooled faster by themselves, but for only bins.
constexpr int64_t kFewChannels = 128;
constexpr double kLineBytes = 64;

int64_t narrow_map_blocks(const RoiShape& shape) {
  return (shape.channels + kNarrowMapChannels - 1) / kNarrowMapChannels;
}

}  // namespace

bool sweeps(const RoiShape& shape, int levels) {
  return (levels + 1) * shape.height * shape.width * shape.vector_bytes > shape.second_cache;
}

int64_t tallest_of(const RoiWindows& windows) {
  int32_t tallest = 0;
  for (const RoiWindow& rows : windows.rows) tallest = std::max(tallest, rows.end - rows.start);
  return tallest;
}

bool fit(const RoiShape& shape, int64_t tallest, int levels) {
  int64_t rows = 0;
  for (int k = 0; k <= levels; ++k) {
    rows += kept_rows(shape.height, tallest, levels, sweeps(shape, levels), k).count;
  }
  return rows * shape.width * shape.vector_bytes <= std::clamp(shape.input_bytes, kTablesOfAny, kLargestTables);
}

bool may_leave_channels(const RoiShape& shape) { return channels_left(shape) > 0 && shape.line_bytes > 0; }
bool may_permute(const RoiShape& shape) {
  return std::max(shape.width, shape.bins_x) <= shape.lookup_lanes && shape.height <= kTallestNarrowMap;
}
bool has_few_channels(const RoiShape& shape) { return shape.channels <= kFewChannels && shape.line_bytes > 0; }
bool may_pool_by_rows(const RoiShape& shape) {
  return (shape.channels <= kFewChannels || shape.has_single_bins()) && shape.line_bytes > 0;
}

int64_t few_channels_blocks(const RoiShape& shape, int64_t channels) {
  return shape.has_single_bins() ? (channels + kSingleBinsChannels - 1) / kSingleBinsChannels : 1;
}
int64_t units_for(RoiKernel::Mode RoiKernel::* mode, const RoiShape& shape, int64_t of_blocks) {
  if (mode == &RoiKernel::narrow_map) return narrow_map_blocks(shape);
  if (mode == &RoiKernel::few_channels) return few_channels_blocks(shape, shape.channels);
  return mode == &RoiKernel::cells ? 1 : of_blocks;
}

void set_plan(const RoiShape& shape, const RoiWindows& windows, const RoiGroups& groups, const Way& way,
              RoiPlan& plan) {
  plan.mode = way.mode;
  plan.threads = way.division.threads;
  plan.cycles = way.cycles();
  plan.time = way.time();
  plan.levels = way.levels;
  plan.sweep = way.division.sweep;
  plan.by_rois = way.division.by_rois;
  plan.slots = 1;
  plan.at_once = way.at_once;
  lay_out(shape, windows, groups, way.division, plan);
  plan.left = way.left;
  plan.left_begin = static_cast<int64_t>(plan.units.size());
  if (way.left > 0) lay_out(shape, windows, groups, way.of_left, plan);
}

Planner::Planner(const RoiShape& shape, const RoiWindows& windows, List<int64_t, kFewRois>& rois_by_image)
    : shape_(shape),
      windows_(windows),
      groups_(group_by_image(shape, windows, rois_by_image)),
      cost_(shape, windows, groups_.size()),
      tallest_(tallest_of(windows)) {
  while (most_levels_ < kMostLevels && (int64_t{2} << most_levels_) <= tallest_) ++most_levels_;
}

void Planner::find_ways(int64_t threads, Ways& ways) const {
  for (Way& way : ways) way.mode = nullptr;
  separate(threads, shape_.blocks, ways[kSeparate]);
  leave_channels_if_faster(ways[kSeparate]);
  if (const int levels = best_levels(false, threads); levels >= 0) {
    Way& tables = ways[kTables];
    shared(levels, threads, shape_.blocks, tables);
    leave_channels_if_faster(tables);
    if (tables.at_once > 1 && tables.cycles() > kWorthATrial) {
      shared(best_levels(false, threads, 1), threads, shape_.blocks, ways[kOneBlock], 1);
      leave_channels_if_faster(ways[kOneBlock]);
    }
  }
  if (const int levels = best_levels(true, threads); levels >= 0) {
    shared(levels, threads, shape_.blocks, ways[kSweep]);
    leave_channels_if_faster(ways[kSweep]);
  }
  other_levels(threads, ways);
  if (may_leave_channels(shape_)) other_rest(threads, ways);
  if (threads > 1 && ways[kTables].mode) parts_of_rois(ways[kTables].levels, threads, ways[kPartsOfRois]);
  if (may_permute(shape_)) narrow_map(threads, ways[kNarrowMap]);
  if (may_pool_by_rows(shape_)) few_channels(threads, ways[kFewChannelsAlone]);
  if (has_few_channels(shape_)) cells(threads, ways[kCells]);
}

std::vector<Way> Planner::possible_ways(int64_t threads) const {
  std::vector<Way> ways;
  const auto add_blocks = [&](const Way& way) {
    ways.push_back(way);
    if (may_leave_channels(shape_)) leave_channels(way, ways.emplace_back());
  };
  Way way{};
  separate(threads, shape_.blocks, way);
  add_blocks(way);
  for (int levels = 0; levels <= most_levels_; ++levels) {
    if (!may_share(levels)) continue;
    if (threads > 1 && !sweeps(shape_, levels)) parts_of_rois(levels, threads, ways.emplace_back());
    shared(levels, threads, shape_.blocks, way);
    add_blocks(way);
    if (way.at_once == 1) continue;
    shared(levels, threads, shape_.blocks, way, 1);
    add_blocks(way);
  }
  if (may_permute(shape_)) narrow_map(threads, ways.emplace_back());
  if (may_pool_by_rows(shape_)) few_channels(threads, ways.emplace_back());
  if (has_few_channels(shape_)) cells(threads, ways.emplace_back());
  return ways;
}

const Way& Planner::likeliest_of(const Ways& ways, std::initializer_list<WayNumber> numbers) {
  const auto time = [&](WayNumber number) { return ways[number].mode ? ways[number].time() : Trials::kNever; };
  return ways[std::min(numbers, [&](WayNumber a, WayNumber b) { return time(a) < time(b); })];
}

void Planner::other_levels(int64_t threads, Ways& ways) const {
  const Way& best = likeliest_of(ways, {kTables, kOneBlock, kSweep});
  if (!best.mode || best.cycles() <= kWorthATrial) return;
  const int64_t most = &best == &ways[kOneBlock] ? 1 : kMostAtOnce;
  const int levels = best_levels(best.division.sweep, threads, most, best.levels);
  if (levels < 0) return;
  Way& other = ways[kOtherLevels];
  shared(levels, threads, shape_.blocks, other, most);
  const Way& one_block = ways[kOneBlock];
  if (one_block.mode && one_block.levels == levels && other.at_once == 1) {
    other.mode = nullptr;  // which is the same
    return;
  }
  leave_channels_if_faster(other);
}

void Planner::other_rest(int64_t threads, Ways& ways) const {
  const Way& best = likeliest_of(ways, {kSeparate, kTables, kSweep, kOneBlock});
  Way& other = ways[kOtherRest];
  if (best.left == 0) return leave_channels(best, other);
  if (best.mode == &RoiKernel::separate) return separate(threads, shape_.blocks, other);
  shared(best.levels, threads, shape_.blocks, other, &best == &ways[kOneBlock] ? 1 : kMostAtOnce);
}

void Planner::parts_of_rois(int levels, int64_t threads, Way& way) const {
  set(way, &RoiKernel::shared, levels, at_once_of(levels, 1, shape_.blocks));
  way.division.by_rois = true;
  divide_whole(way.division, shared_work(levels, shape_.blocks, way.at_once), threads);
}

void Planner::separate(int64_t threads, int64_t blocks, Way& way) const {
  const double block = blocks < shape_.blocks ? cost_.full_block() : cost_.separate();
  set(way, &RoiKernel::separate);
  divide_either(way.division, {blocks, roi_costs::kUnit, block / rois()}, threads);
}

void Planner::shared(int levels, int64_t threads, int64_t blocks, Way& way, int64_t most) const {
  const bool sweep = sweeps(shape_, levels);
  set(way, &RoiKernel::shared, levels, sweep ? 1 : std::min(at_once_of(levels, threads, blocks), most));
  const Work work = shared_work(levels, blocks, way.at_once);
  if (!sweep) return divide_whole(way.division, work, threads);
  // Few ROIs at a time, whose bins stay in the cache, or as many as may be, so that tables are filled less often.
  const double bins = static_cast<double>(shape_.bins_y * shape_.bins_x);
  const auto within = [&](int64_t bytes) {
    const double most_rois = static_cast<double>(bytes) / static_cast<double>(shape_.vector_bytes) / bins;
    return std::max<int64_t>(static_cast<int64_t>(most_rois), 1);
  };
  RoiDivision many;
  divide_sweep(way.division, work, within(shape_.second_cache / 2), threads);
  divide_sweep(many, {work.blocks, work.fill, work.roi + roi_costs::kFarBin * bins}, within(kLargestBins), threads);
  if (many.time < way.division.time) way.division = many;
}

int64_t Planner::at_once_of(int levels, int64_t threads, int64_t blocks) const {
  if (blocks == 1) return 1;  // a small run would notice the divisions
  // Many bins of 64 bytes, and the lines where they go, leave the first cache: one block is faster.
  constexpr int64_t kFewBins = 16;
  if (shape_.vector_bytes >= 64 && shape_.bins_y * shape_.bins_x > kFewBins) return 1;
  const int64_t vectors = (levels + 1) * shape_.height * shape_.width + 3 * shape_.bins_y * shape_.bins_x;
  const int64_t block = vectors * shape_.vector_bytes, all = blocks * static_cast<int64_t>(groups_.size());
  const int64_t held = 2 * block <= shape_.second_cache ? std::max<int64_t>(shape_.second_cache / 2 / block, 2) : 1;
  const int64_t most = std::min({held, kMostAtOnce, all / threads, blocks});
  if (most <= 1) return 1;
  const int64_t turns = (all + most * threads - 1) / (most * threads), units = turns * threads;
  return (all + units - 1) / units;
}

void Planner::leave_channels_if_faster(Way& way) const {
  constexpr double kClearly = 0.75;
  if (!may_leave_channels(shape_)) return;
  Way leaving;
  leave_channels(way, leaving);
  if (leaving.of_left.time < kClearly * (way.time() - leaving.division.time)) way = leaving;
}

void Planner::leave_channels(const Way& all, Way& way) const {
  const int64_t threads = all.division.threads, full = shape_.blocks - 1;
  if (all.mode == &RoiKernel::separate) {
    separate(threads, full, way);
  } else {
    shared(all.levels, threads, full, way, all.at_once);
  }
  way.left = channels_left(shape_);
  divide_whole(way.of_left, few_channels_work(way.left), threads);
}

int Planner::best_levels(bool sweep, int64_t threads, int64_t most, int but) const {
  int best = -1;
  double least = 0;
  for (int levels = 0; levels <= most_levels_; ++levels) {
    if (levels == but || sweeps(shape_, levels) != sweep || !may_share(levels)) continue;
    const auto blocks = static_cast<double>(sweep ? 1 : std::min(at_once_of(levels, threads, shape_.blocks), most));
    const double cycles =  // of a block
        (cost_.fill(levels, blocks) * static_cast<double>(groups_.size()) + cost_.shared(levels, blocks)) / blocks;
    if (best >= 0 && cycles >= least) continue;
    best = levels;
    least = cycles;
  }
  return best;
}

void Planner::narrow_map(int64_t threads, Way& way) const {
  const int64_t blocks = narrow_map_blocks(shape_);
  const double channels = static_cast<double>(shape_.channels) / static_cast<double>(blocks);
  set(way, &RoiKernel::narrow_map);
  divide_either(way.division, {blocks, cost_.fill_narrow_map(channels), cost_.narrow_map(channels) / rois()}, threads);
}

void Planner::few_channels(int64_t threads, Way& way) const {
  set(way, &RoiKernel::few_channels);
  divide_either(way.division, few_channels_work(shape_.channels), threads);
}

void Planner::cells(int64_t threads, Way& way) const {
  set(way, &RoiKernel::cells);
  divide_whole(way.division, {1, roi_costs::kUnit, cost_.cells() / rois()}, threads);
}

void Planner::plan(const Way& way, RoiPlan& plan) const {
  set_plan(shape_, windows_, groups_, way, plan);
  plan.tallest = tallest_;
}

Planner::Work Planner::shared_work(int levels, int64_t blocks, int64_t at_once) const {
  const int64_t units = units_of(blocks, at_once);
  const double of_unit = static_cast<double>(blocks) / static_cast<double>(units);
  return {units, cost_.fill(levels, of_unit), cost_.shared(levels, of_unit) / rois()};
}

Planner::Work Planner::few_channels_work(int64_t channels) const {
  const int64_t blocks = few_channels_blocks(shape_, channels);
  const double of_block = static_cast<double>(channels) / static_cast<double>(blocks);
  return {blocks, roi_costs::kUnit, cost_.few_channels(of_block) / rois()};
}

void Planner::divide_whole(RoiDivision& division, const Work& work, int64_t threads) const {
  divide_work(division, work, shape_.rois, false, threads);
}

void Planner::divide_either(RoiDivision& division, const Work& work, int64_t threads) const {
  division.by_rois = false;
  divide_whole(division, work, threads);
  if (threads == 1 || work.blocks == 1) return;
  RoiDivision by_rois = division;
  by_rois.by_rois = true;
  divide_best(groups_, by_rois);
  if (by_rois.time < division.time) division = by_rois;
}

void Planner::divide_sweep(RoiDivision& division, const Work& work, int64_t most_rois, int64_t threads) const {
  divide_work(division, work, most_rois, true, threads);
}

double Planner::handed(int64_t blocks, int64_t threads) const {
  const int64_t of_bin = shape_.input_bytes / (shape_.images * shape_.height * shape_.width);
  const double all = static_cast<double>(of_bin * shape_.bins_y * shape_.bins_x) / kLineBytes;
  const double of_thread = all / static_cast<double>(threads);  // of whose blocks each pays for a part
  const double lines = std::min(of_thread, roi_costs::kHandedLines) * std::min(roi_costs::kNearLines / of_thread, 1.0);
  return roi_costs::kHandedLine * lines * std::min(static_cast<double>(threads) / static_cast<double>(blocks), 1.0);
}

void Planner::divide_work(RoiDivision& division, const Work& work, int64_t most_rois, bool sweep,
                          int64_t threads) const {
  division.blocks = work.blocks;
  division.fill = work.fill;
  division.roi = work.roi;
  division.handed = threads > 1 ? handed(work.blocks, threads) : 0;
  division.most_rois = most_rois;
  division.sweep = sweep;
  division.threads = threads;
  divide_best(groups_, division);
}

}  // namespace onnx_maxpool
