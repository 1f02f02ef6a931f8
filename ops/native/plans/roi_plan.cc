#include "plans/roi_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "plans/roi_cost.h"
#include "plans/roi_schedule.h"

namespace onnx_maxpool {
namespace {

// A worker's memory for the bins of a sweep, and for tables: no more than all images have, within these bounds.
constexpr int64_t kLargestBins = int64_t{8} << 20;
constexpr int64_t kTablesOfAny = int64_t{4} << 20, kLargestTables = int64_t{32} << 20;
// Of a narrow map that is no taller, a unit's channels are 32 KiB, and mostly in the first-level cache.
constexpr int64_t kTallestNarrowMap = 32;
// Without a sweep, a unit pools as many blocks as have tables and bins that fill half of the second cache, or two that
// fit it, and no more than this: more spare no more. Each bin is in three places: pooled, and in the buffers from which
// it streams.
constexpr int64_t kMostAtOnce = 8;
// Of fewer cycles, one block at a time is not worth a trial of its own.
constexpr double kWorthATrial = 30'000;
// Of fewer cycles, runs would notice what it takes to choose a plan.
constexpr double kBrief = 60'000;
// More would leave few units to share out among threads, and are seldom pooled faster by themselves, but for only bins.
constexpr int64_t kFewChannels = 128;

// Whether tables do not stay in the second cache, so that a sweep keeps a few of their rows there.
bool sweeps(const RoiShape& shape, int levels) {
  return (levels + 1) * shape.height * shape.width * shape.vector_bytes > shape.second_cache;
}

// Whether the tables of so many levels fit a worker's memory.
bool fit(const RoiShape& shape, int64_t tallest, int levels) {
  int64_t rows = 0;
  for (int k = 0; k <= levels; ++k) {
    rows += kept_rows(shape.height, tallest, levels, sweeps(shape, levels), k).count;
  }
  return rows * shape.width * shape.vector_bytes <= std::clamp(shape.input_bytes, kTablesOfAny, kLargestTables);
}

// Which ways there are for a shape.
bool may_leave_channels(const RoiShape& shape) { return channels_left(shape) > 0 && shape.line_bytes > 0; }
bool may_permute(const RoiShape& shape) {
  return std::max(shape.width, shape.bins_x) <= shape.lookup_lanes && shape.height <= kTallestNarrowMap;
}
// Channels in the lanes may leave most of them idle.
bool has_few_channels(const RoiShape& shape) { return shape.channels <= kFewChannels && shape.line_bytes > 0; }
// Or of any number of channels: all cells of an only bin become one.
bool may_pool_by_rows(const RoiShape& shape) {
  return (shape.channels <= kFewChannels || shape.has_single_bins()) && shape.line_bytes > 0;
}

int64_t narrow_map_blocks(const RoiShape& shape) {
  return (shape.channels + kNarrowMapChannels - 1) / kNarrowMapChannels;
}
// Of all channels, or of those that are left.
int64_t few_channels_blocks(const RoiShape& shape, int64_t channels) {
  return shape.has_single_bins() ? (channels + kSingleBinsChannels - 1) / kSingleBinsChannels : 1;
}
int64_t units_of(int64_t blocks, int64_t at_once) {
  return at_once == 1 ? blocks : (blocks + at_once - 1) / at_once;  // a small run would notice the division
}
// By how many units a mode shares out the channels; of a mode of blocks, whose units are these, by so many.
int64_t units_for(RoiKernel::Mode RoiKernel::* mode, const RoiShape& shape, int64_t of_blocks) {
  if (mode == &RoiKernel::narrow_map) return narrow_map_blocks(shape);
  if (mode == &RoiKernel::few_channels) return few_channels_blocks(shape, shape.channels);
  return mode == &RoiKernel::cells ? 1 : of_blocks;
}

// Of so few ROIs, bins and cells, the best plan could save little more than its choice takes. With several blocks of
// channels a run is small with fewer cells, and only if they are less than half of the map's, as tables of all blocks
// may save more. With the fewest cells it is small whatever they are of: on a narrow map, too, for which there is a
// mode that is much faster.
constexpr int64_t kSmallRois = 16, kSmallBins = 256;
constexpr double kSmallCells = 16 << 10, kSmallCellsOfBlocks = 4 << 10, kFewCells = 256;
// Where all channels have so few bins, the cells mode takes less time than to fill vectors.
constexpr int64_t kBinsByCells = 16;
// Of only bins with more cells, rows are folded as they come.
constexpr double kCellsByRows = 24;
// Where lanes can be looked up, bins of so few channels take less (the few_channels mode), on narrow maps as in
// the mode for these. To choose another takes about as many cycles. Of the fewest channels, only a table may take less.
constexpr int64_t kFewestChannels = 4, kLookedUpRois = 256, kLookedUpBins = 4096;
constexpr double kChoice = 4000;
constexpr int64_t few_looked_up(int64_t line_bytes) { return line_bytes < 64 ? kFewestChannels : 16; }

// No fewer than the bins of all channels have: neighbours share at most one row and one column. An empty bin has one.
double cells_of(const RoiShape& shape, const RoiWindows& windows) {
  const auto along = [](const RoiWindow* bins, int64_t count) {
    return static_cast<double>(count - 1 + std::max<int64_t>(bins[count - 1].end - bins[0].start, 1));
  };
  double cells = 0;
  for (int64_t roi = 0; roi < shape.rois; ++roi) {
    cells += along(&windows.rows[static_cast<size_t>(roi * shape.bins_y)], shape.bins_y) *
             along(&windows.columns[static_cast<size_t>(roi * shape.bins_x)], shape.bins_x);
  }
  return cells * static_cast<double>(shape.channels);
}

// The mode of a run that is too small to choose a plan; null of others.
RoiKernel::Mode RoiKernel::* small_mode(const RoiShape& shape, const RoiWindows& windows) {
  const int64_t bins = shape.rois * shape.bins_y * shape.bins_x;
  if (shape.lookup_lanes > 0 && shape.line_bytes > 0 && shape.channels <= few_looked_up(shape.line_bytes)) {
    if (shape.rois > kLookedUpRois || bins * shape.channels > kLookedUpBins) return nullptr;
    const double cells = cells_of(shape, windows), looked_up = rough_looked_up(shape);
    if (cells > kSmallCells) return nullptr;
    // ROIs of several images, in their order, would fill tables again and again.
    if (shape.channels <= kFewestChannels && shape.images == 1 && rough_table(shape, cells) < looked_up) {
      return &RoiKernel::shared;
    }
    const bool is_small = shape.rois <= kSmallRois || shape.channels <= kFewestChannels || looked_up < kChoice;
    return is_small ? &RoiKernel::few_channels : nullptr;
  }
  if (shape.rois > kSmallRois || bins > kSmallBins) return nullptr;
  const double cells = cells_of(shape, windows);
  if (bins * shape.channels <= kBinsByCells && cells <= kFewCells) return &RoiKernel::cells;
  const bool is_narrow = shape.width <= shape.lookup_lanes;
  const bool is_sparse = 2 * cells < static_cast<double>(shape.channels * shape.height * shape.width);
  const double most = is_narrow           ? kFewCells
                      : shape.blocks == 1 ? kSmallCells
                      : is_sparse         ? kSmallCellsOfBlocks
                                          : kFewCells;
  if (cells > most) return nullptr;
  const bool by_rows = shape.has_single_bins() && shape.line_bytes > 0 &&
                       cells > kCellsByRows * static_cast<double>(bins * shape.channels);
  return by_rows ? &RoiKernel::few_channels : &RoiKernel::separate;
}

// All ROIs in their order, straight from the map or from a table of its rows.
RoiPlan small_plan(const RoiShape& shape, const RoiWindows& windows, RoiKernel::Mode RoiKernel::* mode) {
  RoiPlan plan{};
  plan.mode = mode;
  plan.slots = plan.at_once = 1;
  plan.cycles = plan.time = roi_costs::kUnit;
  const int64_t blocks = units_for(mode, shape, shape.blocks);
  plan.rois_by_image.resize(static_cast<size_t>(shape.rois));
  plan.units.resize(static_cast<size_t>(shape.rois * blocks));
  RoiUnit* end = plan.units.begin();
  for (int64_t roi = 0; roi < shape.rois; ++roi) {
    plan.rois_by_image[static_cast<size_t>(roi)] = roi;
    const int64_t image = windows.image[static_cast<size_t>(roi)];
    if (roi == 0 || image != windows.image[static_cast<size_t>(roi - 1)]) {
      for (int64_t block = 0; block < blocks; ++block) *end++ = {image, block, roi, roi};
    }
    for (int64_t block = 1; block <= blocks; ++block) ++end[-block].end;
  }
  plan.units.resize(static_cast<size_t>(end - plan.units.begin()));
  plan.left_begin = static_cast<int64_t>(plan.units.size());
  return plan;
}

// A way to pool: one of the kernel's modes, with so many levels of tables. It may leave the last block of channels,
// which is at most half full, to the few_channels mode.
struct Way {
  RoiKernel::Mode RoiKernel::* mode = nullptr;  // null where there is no such way
  int levels;
  int64_t at_once;  // blocks of channels in a unit
  int64_t left;     // channels
  RoiDivision division, of_left;
  double cycles() const { return division.cycles + (left > 0 ? of_left.cycles : 0); }
  double time() const { return division.time + (left > 0 ? of_left.time : 0); }
};
// Which ways there are; kOneBlock is as kTables, but of one block of channels at a time.
enum WayNumber : size_t { kSeparate, kTables, kSweep, kNarrowMap, kFewChannelsAlone, kCells, kOneBlock, kWays };
static_assert(kWays == Trials::kMostWays);
using Ways = std::array<Way, kWays>;

// Of a plan that has its rois_by_image.
void set_plan(const RoiShape& shape, const RoiWindows& windows, const RoiGroups& groups, const Way& way,
              RoiPlan& plan) {
  plan.mode = way.mode;
  plan.cycles = way.cycles();
  plan.time = way.time();
  plan.levels = way.levels;
  plan.sweep = way.division.sweep;
  plan.slots = 1;
  plan.at_once = way.at_once;
  lay_out(shape, windows, groups, way.division, plan);
  plan.left = way.left;
  plan.left_begin = static_cast<int64_t>(plan.units.size());
  if (way.left > 0) lay_out(shape, windows, groups, way.of_left, plan);
}

// What the ways of a run have in common. Ways are set in place: a processor waits where a struct is copied that has
// only just been written in parts, and a small run would notice.
class Planner {
 public:
  Planner(const RoiShape& shape, const RoiWindows& windows)
      : shape_(shape),
        windows_(windows),
        groups_(group_by_image(shape, windows, rois_by_image_)),
        cost_(shape, windows, groups_.size()) {
    for (const RoiWindow& rows : windows.rows) tallest_ = std::max<int64_t>(tallest_, rows.end - rows.start);
    while (most_levels_ < kMostLevels && (int64_t{2} << most_levels_) <= tallest_) ++most_levels_;
  }

  // The best way of each kind on so many threads.
  void find_ways(int64_t threads, Ways& ways) const {
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
    if (may_permute(shape_)) narrow_map(threads, ways[kNarrowMap]);
    if (may_pool_by_rows(shape_)) few_channels(threads, ways[kFewChannelsAlone]);
    if (has_few_channels(shape_)) cells(threads, ways[kCells]);
  }

  // Of all blocks of channels, or of those that are full.
  void separate(int64_t threads, int64_t blocks, Way& way) const {
    const double block = blocks < shape_.blocks ? cost_.full_block() : cost_.separate();
    set(way, &RoiKernel::separate);
    divide_whole(way.division, {blocks, roi_costs::kUnit, block / rois()}, threads);
  }

  // Tables of more rows than a window has are of no use.
  int most_levels() const { return most_levels_; }
  bool may_share(int levels) const { return fit(shape_, tallest_, levels); }
  // Of so many blocks of channels, of which a unit has at most so many at once.
  void shared(int levels, int64_t threads, int64_t blocks, Way& way, int64_t most = kMostAtOnce) const {
    const bool sweep = sweeps(shape_, levels);
    set(way, &RoiKernel::shared, levels, sweep ? 1 : std::min(at_once_of(levels, threads, blocks), most));
    const int64_t units = units_of(blocks, way.at_once);
    const double of_unit = static_cast<double>(blocks) / static_cast<double>(units);
    const Work work = {units, cost_.fill(levels, of_unit), cost_.shared(levels, of_unit) / rois()};
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
  // No unit has several blocks where a thread has few, and threads have about as many units each.
  int64_t at_once_of(int levels, int64_t threads, int64_t blocks) const {
    if (blocks == 1) return 1;  // a small run would notice the divisions
    const int64_t vectors = (levels + 1) * shape_.height * shape_.width + 3 * shape_.bins_y * shape_.bins_x;
    const int64_t block = vectors * shape_.vector_bytes, all = blocks * static_cast<int64_t>(groups_.size());
    const int64_t held = 2 * block <= shape_.second_cache ? std::max<int64_t>(shape_.second_cache / 2 / block, 2) : 1;
    const int64_t most = std::min({held, kMostAtOnce, all / threads, blocks});
    if (most <= 1) return 1;
    const int64_t turns = (all + most * threads - 1) / (most * threads), units = turns * threads;
    return (all + units - 1) / units;
  }
  // A way of blocks of channels leaves the last one, if that should take clearly less time than this block.
  void leave_channels_if_faster(Way& way) const {
    constexpr double kClearly = 0.75;
    if (!may_leave_channels(shape_)) return;
    Way leaving;
    leave_channels(way, leaving);
    if (leaving.of_left.time < kClearly * (way.time() - leaving.division.time)) way = leaving;
  }
  void leave_channels(const Way& all, Way& way) const {
    const int64_t threads = all.division.threads, full = shape_.blocks - 1;
    if (all.mode == &RoiKernel::separate) {
      separate(threads, full, way);
    } else {
      shared(all.levels, threads, full, way, all.at_once);
    }
    way.left = channels_left(shape_);
    divide_whole(way.of_left, few_channels_work(way.left), threads);
  }

  // The levels that cost the least, of those that fit and that need a sweep or none; -1 where there are none. A sweep
  // costs more than its cells, which only a division knows, so that the two are not compared here.
  int best_levels(bool sweep, int64_t threads, int64_t most = kMostAtOnce) const {
    int best = -1;
    double least = 0;
    for (int levels = 0; levels <= most_levels_; ++levels) {
      if (sweeps(shape_, levels) != sweep || !may_share(levels)) continue;
      const auto blocks = static_cast<double>(sweep ? 1 : std::min(at_once_of(levels, threads, shape_.blocks), most));
      const double cycles =  // of a block
          (cost_.fill(levels, blocks) * static_cast<double>(groups_.size()) + cost_.shared(levels, blocks)) / blocks;
      if (best >= 0 && cycles >= least) continue;
      best = levels;
      least = cycles;
    }
    return best;
  }

  void narrow_map(int64_t threads, Way& way) const {
    const int64_t blocks = narrow_map_blocks(shape_);
    const double channels = static_cast<double>(shape_.channels) / static_cast<double>(blocks);
    set(way, &RoiKernel::narrow_map);
    divide_whole(way.division, {blocks, cost_.fill_narrow_map(channels), cost_.narrow_map(channels) / rois()}, threads);
  }

  void few_channels(int64_t threads, Way& way) const {
    set(way, &RoiKernel::few_channels);
    divide_whole(way.division, few_channels_work(shape_.channels), threads);
  }

  void cells(int64_t threads, Way& way) const {
    set(way, &RoiKernel::cells);
    divide_whole(way.division, {1, roi_costs::kUnit, cost_.cells() / rois()}, threads);
  }

  RoiPlan plan(const Way& way) const {
    RoiPlan plan{};
    plan.rois_by_image = rois_by_image_;
    set_plan(shape_, windows_, groups_, way, plan);
    plan.tallest = tallest_;
    return plan;
  }

 private:
  double rois() const { return static_cast<double>(shape_.rois); }

  // Blocks, or units of several; and cycles to fill a unit and to pool an ROI.
  struct Work {
    int64_t blocks;
    double fill, roi;
  };
  Work few_channels_work(int64_t channels) const {
    const int64_t blocks = few_channels_blocks(shape_, channels);
    const double of_block = static_cast<double>(channels) / static_cast<double>(blocks);
    return {blocks, roi_costs::kUnit, cost_.few_channels(of_block) / rois()};
  }
  static void set(Way& way, RoiKernel::Mode RoiKernel::* mode, int levels = 0, int64_t at_once = 1) {
    way.mode = mode;
    way.levels = levels;
    way.at_once = at_once;
    way.left = 0;
  }
  void divide_whole(RoiDivision& division, const Work& work, int64_t threads) const {
    divide_work(division, work, shape_.rois, false, threads);
  }
  void divide_sweep(RoiDivision& division, const Work& work, int64_t most_rois, int64_t threads) const {
    divide_work(division, work, most_rois, true, threads);
  }
  void divide_work(RoiDivision& division, const Work& work, int64_t most_rois, bool sweep, int64_t threads) const {
    division.blocks = work.blocks;
    division.fill = work.fill;
    division.roi = work.roi;
    division.most_rois = most_rois;
    division.sweep = sweep;
    division.threads = threads;
    divide_best(groups_, division);
  }

  const RoiShape& shape_;
  const RoiWindows& windows_;
  List<int64_t, kFewRois> rois_by_image_;
  const RoiGroups groups_;
  const RoiCost cost_;
  int64_t tallest_ = 0;
  int most_levels_ = 0;
};

// The way of a brief run, for the next ones that are like it: to choose one takes as long as to pool dozens of ROIs.
// Another look every few runs finds what has changed in the windows. Shapes may share their number (number_of), so that
// all that a kernel relies on is told by the shape.
class KeptWay {
 public:
  static void keep(const Way& way, const RoiShape& shape, const RoiWindows& windows, Trials& trials) {
    const int64_t mode = std::find(std::begin(kModes), std::end(kModes), way.mode) - std::begin(kModes);
    put({byte(mode), byte(way.levels), byte(way.at_once), byte(way.left > 0 ? kRuns + kLeaves : kRuns),
         doublings(cells_of(shape, windows)), static_cast<uint16_t>(way.cycles())},
        trials);
  }
  // Sets a plan for one thread, if there is a way for it.
  static bool set(const RoiShape& shape, const RoiWindows& windows, Trials& trials, RoiPlan& plan) {
    const uint64_t number = trials.kept();
    if (number == 0) return false;
    Fields kept;
    std::memcpy(&kept, &number, sizeof(kept));
    const bool leaves = kept.runs >= kLeaves;
    if (kept.runs % kLeaves == 0 || !may_be(kept, leaves, shape)) return false;
    if (std::abs(doublings(cells_of(shape, windows)) - kept.cells) > kAlike) return false;
    --kept.runs;
    put(kept, trials);
    const RoiGroups groups = group_by_image(shape, windows, plan.rois_by_image);
    Way way;
    way.mode = kModes[kept.mode];
    way.levels = kept.levels;
    way.at_once = kept.at_once;
    way.left = leaves ? channels_left(shape) : 0;
    const int64_t blocks = units_for(way.mode, shape, units_of(shape.blocks - leaves, way.at_once));
    divide_whole(groups, shape.rois, blocks, way.division);
    divide_whole(groups, shape.rois, few_channels_blocks(shape, way.left), way.of_left);
    set_plan(shape, windows, groups, way, plan);
    plan.time = kept.cycles;
    plan.cycles = 0;  // too few for a second thread
    return true;
  }

 private:
  using Mode = RoiKernel::Mode RoiKernel::*;
  static constexpr Mode kModes[] = {&RoiKernel::separate, &RoiKernel::shared, &RoiKernel::narrow_map,
                                    &RoiKernel::few_channels, &RoiKernel::cells};
  static constexpr int kRuns = 15, kLeaves = 16;
  // How often cells double, in so many parts of a doubling; and by how many of these runs may differ that are alike.
  static constexpr int kParts = 8, kAlike = 3;
  static int16_t doublings(double cells) { return static_cast<int16_t>(std::lround(kParts * std::log2(cells))); }

  struct Fields {
    uint8_t mode, levels, at_once;
    uint8_t runs;  // that may still go this way; and kLeaves, where it leaves channels
    int16_t cells;
    uint16_t cycles;
  };
  static_assert(kBrief <= 0xffff);
  static uint8_t byte(int64_t number) { return static_cast<uint8_t>(number); }
  static void put(const Fields& fields, Trials& trials) {
    uint64_t number;
    static_assert(sizeof(fields) == sizeof(number));
    std::memcpy(&number, &fields, sizeof(number));
    trials.keep(number);
  }

  static bool has_blocks(Mode mode) { return mode == &RoiKernel::separate || mode == &RoiKernel::shared; }
  static bool may_be(const Fields& kept, bool leaves, const RoiShape& shape) {
    const Mode mode = kModes[kept.mode];
    if (leaves && !may_leave_channels(shape)) return false;
    if (mode == &RoiKernel::shared) return !sweeps(shape, kept.levels) && fit(shape, shape.height, kept.levels);
    if (mode == &RoiKernel::narrow_map) return may_permute(shape);
    if (mode == &RoiKernel::few_channels) return may_pool_by_rows(shape);
    return has_blocks(mode) || has_few_channels(shape);
  }
  static void divide_whole(const RoiGroups& groups, int64_t rois, int64_t blocks, RoiDivision& division) {
    division = {blocks, roi_costs::kUnit, 0, rois, false, 1, 0, 0, 0, 0};
    divide_best(groups, division);
  }
};

Trials::Costs times(const Ways& ways) {
  Trials::Costs costs;
  for (size_t i = 0; i < costs.size(); ++i) costs[i] = ways[i].mode ? ways[i].time() : Trials::kNever;
  return costs;
}
size_t least(const Trials::Costs& costs) {
  return static_cast<size_t>(std::min_element(costs.begin(), costs.end()) - costs.begin());
}

}  // namespace

uint64_t number_of(const RoiShape& shape) {
  uint64_t number = shape.threads > 1;
  for (int64_t size : {shape.images, shape.channels, shape.height, shape.width,
                       int64_t{63 - __builtin_clzll(static_cast<uint64_t>(shape.rois))}}) {
    constexpr uint64_t kPrime = 0x100000001b3;  // FNV's
    number = (number ^ static_cast<uint64_t>(size)) * kPrime;
    number ^= number >> 32;
  }
  return number;
}

bool streams(const RoiDims& dims, size_t element_size, size_t threshold) {
  constexpr int64_t kBlockBytes = 16;
  const int64_t of_channel = dims.bins_y * dims.bins_x * static_cast<int64_t>(element_size);
  return of_channel > kBlockBytes && static_cast<size_t>(dims.rois * dims.channels * of_channel) > threshold;
}

RoiPlan plan_rois(const RoiShape& shape, const RoiWindows& windows, TrialsByShape* trials) {
  if (const auto mode = small_mode(shape, windows)) return small_plan(shape, windows, mode);
  Trials* const known = trials ? trials->find(number_of(shape)) : nullptr;
  if (known) {
    known->count_run();
    RoiPlan plan{};
    if (KeptWay::set(shape, windows, *known, plan)) return plan;
  }
  const Planner planner(shape, windows);
  Ways ways;
  planner.find_ways(1, ways);
  Trials::Costs costs = times(ways);
  const size_t likeliest = least(costs);
  const bool is_for_one = shape.threads == 1 || ways[likeliest].cycles() < shape.worth_a_thread;
  if (!is_for_one) {
    planner.find_ways(shape.threads, ways);
    costs = times(ways);
  }
  const Trials::Turn turn = known ? known->next(costs) : Trials::Turn{least(costs), 0, false, false};
  const Way& way = ways[turn.way];
  if (is_for_one && turn.is_last && !way.division.sweep && way.cycles() < kBrief) {
    KeptWay::keep(way, shape, windows, *known);
  }
  RoiPlan plan = planner.plan(way);
  plan.trials = turn.is_trial ? known : nullptr;
  plan.turn = turn;
  return plan;
}

std::vector<RoiPlan> possible_plans(const RoiShape& shape, const RoiWindows& windows) {
  const Planner planner(shape, windows);
  std::vector<RoiPlan> plans;
  const auto mode = small_mode(shape, windows);
  if (mode) plans.push_back(small_plan(shape, windows, mode));
  Way way, other;
  const auto add_blocks = [&](bool is_there) {
    if (!is_there) plans.push_back(planner.plan(way));
    if (!may_leave_channels(shape)) return;
    planner.leave_channels(way, other);
    plans.push_back(planner.plan(other));
  };
  planner.separate(shape.threads, shape.blocks, way);
  add_blocks(mode == &RoiKernel::separate);
  for (int levels = 0; levels <= planner.most_levels(); ++levels) {
    if (!planner.may_share(levels)) continue;
    planner.shared(levels, shape.threads, shape.blocks, way);
    add_blocks(mode == &RoiKernel::shared && levels == 0);
    if (way.at_once == 1) continue;
    planner.shared(levels, shape.threads, shape.blocks, way, 1);
    add_blocks(false);
  }
  if (may_permute(shape)) {
    planner.narrow_map(shape.threads, way);
    plans.push_back(planner.plan(way));
  }
  if (may_pool_by_rows(shape) && mode != &RoiKernel::few_channels) {
    planner.few_channels(shape.threads, way);
    plans.push_back(planner.plan(way));
  }
  if (has_few_channels(shape) && mode != &RoiKernel::cells) {
    planner.cells(shape.threads, way);
    plans.push_back(planner.plan(way));
  }
  return plans;
}

}  // namespace onnx_maxpool
