// The ways to pool the ROIs of a run, what each should take, and the plan that makes one of them happen.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "plans/roi_cost.h"
#include "plans/roi_plan.h"
#include "plans/roi_schedule.h"

namespace onnx_maxpool {

// Without a sweep, a unit pools as many blocks as have tables and bins that fill half of the second cache, or two that
// fit it, and no more than this: more spare no more. Each bin is in three places: pooled, and in the buffers from which
// it streams.
constexpr int64_t kMostAtOnce = 8;

// Whether tables do not stay in the second cache, so that a sweep keeps a few of their rows there.
bool sweeps(const RoiShape& shape, int levels);
// Rows of the tallest window.
int64_t tallest_of(const RoiWindows& windows);
// Whether the tables of so many levels fit a worker's memory.
bool fit(const RoiShape& shape, int64_t tallest, int levels);

// Which ways there are for a shape.
bool may_leave_channels(const RoiShape& shape);
bool may_permute(const RoiShape& shape);
// Channels in the lanes may leave most of them idle.
bool has_few_channels(const RoiShape& shape);
// Or of any number of channels: all cells of an only bin become one.
bool may_pool_by_rows(const RoiShape& shape);

// Of all channels, or of those that are left.
int64_t few_channels_blocks(const RoiShape& shape, int64_t channels);
inline int64_t units_of(int64_t blocks, int64_t at_once) {
  return at_once == 1 ? blocks : (blocks + at_once - 1) / at_once;  // a small run would notice the division
}
// By how many units a mode shares out the channels; of a mode of blocks, whose units are these, by so many.
int64_t units_for(RoiKernel::Mode RoiKernel::* mode, const RoiShape& shape, int64_t of_blocks);

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
// Which ways there are. kOneBlock is as kTables, but of one block of channels at a time; kOtherLevels is as that of
// kTables, kOneBlock and kSweep which should take the least time, but with the next best levels. Which levels these are
// may differ from run to run, as ROIs do: what a way took is kept all the same, in proportion to its cost. kOtherRest
// is the best of those of blocks, with its last block left to few channels if it is not, and the other way round, as
// this takes from half to twice as long as estimated. kPartsOfRois is kTables where each thread has ROIs of its own,
// and all blocks; kOneThread should be the best of one thread, where others take longer to wake, or to hand each other
// lines of memory, than they save.
enum WayNumber : size_t {
  kSeparate,
  kTables,
  kSweep,
  kNarrowMap,
  kFewChannelsAlone,
  kCells,
  kOneBlock,
  kOtherLevels,
  kOtherRest,
  kPartsOfRois,
  kOneThread,
  kWays
};
static_assert(kWays == Trials::kMostWays);
using Ways = std::array<Way, kWays>;

// Of a plan that has its rois_by_image.
void set_plan(const RoiShape& shape, const RoiWindows& windows, const RoiGroups& groups, const Way& way, RoiPlan& plan);

// What the ways of a run have in common. Ways are set in place: a processor waits where a struct is copied that has
// only just been written in parts, and a small run would notice.
class Planner {
 public:
  // Sets `rois_by_image`, which a plan has to have.
  Planner(const RoiShape& shape, const RoiWindows& windows, List<int64_t, kFewRois>& rois_by_image);

  // The best way of each number on so many threads.
  void find_ways(int64_t threads, Ways& ways) const;
  // All that there are, with any levels: for tests, and to fit costs.
  std::vector<Way> possible_ways(int64_t threads) const;

  // Of a plan that has its rois_by_image, and is empty else.
  void plan(const Way& way, RoiPlan& plan) const;

 private:
  double rois() const { return static_cast<double>(shape_.rois); }

  // Of all blocks of channels, or of those that are full.
  void separate(int64_t threads, int64_t blocks, Way& way) const;

  // Of so many blocks of channels, of which a unit has at most so many at once.
  void shared(int levels, int64_t threads, int64_t blocks, Way& way, int64_t most = kMostAtOnce) const;
  // As shared() without a sweep, where each thread has ROIs of its own.
  void parts_of_rois(int levels, int64_t threads, Way& way) const;
  // No unit has several blocks where a thread has few, or of many bins of the widest vectors; and threads have about as
  // many units each.
  int64_t at_once_of(int levels, int64_t threads, int64_t blocks) const;
  // A way of blocks of channels leaves the last one, if that should take clearly less time than this block.
  void leave_channels_if_faster(Way& way) const;
  void leave_channels(const Way& all, Way& way) const;

  // The levels that cost the least, of those that fit and that need a sweep or none, and other than `but`; -1 where
  // there are none. A sweep costs more than its cells, which only a division knows, so that the two are not compared
  // here.
  int best_levels(bool sweep, int64_t threads, int64_t most = kMostAtOnce, int but = -1) const;

  void narrow_map(int64_t threads, Way& way) const;
  void few_channels(int64_t threads, Way& way) const;
  void cells(int64_t threads, Way& way) const;

  // Blocks, or units of several; and cycles to fill a unit and to pool an ROI.
  struct Work {
    int64_t blocks;
    double fill, roi;
  };
  Work shared_work(int levels, int64_t blocks, int64_t at_once) const;
  Work few_channels_work(int64_t channels) const;
  bool may_share(int levels) const { return fit(shape_, tallest_, levels); }
  // The one which should take the least, the first of equals.
  static const Way& likeliest_of(const Ways& ways, std::initializer_list<WayNumber> numbers);
  void other_levels(int64_t threads, Ways& ways) const;
  void other_rest(int64_t threads, Ways& ways) const;
  static void set(Way& way, RoiKernel::Mode RoiKernel::* mode, int levels = 0, int64_t at_once = 1) {
    way.mode = mode;
    way.levels = levels;
    way.at_once = at_once;
    way.left = 0;
    way.division.by_rois = false;
  }
  void divide_whole(RoiDivision& division, const Work& work, int64_t threads) const;
  // By blocks, or so that each thread has ROIs of its own.
  void divide_either(RoiDivision& division, const Work& work, int64_t threads) const;
  void divide_sweep(RoiDivision& division, const Work& work, int64_t most_rois, int64_t threads) const;
  // RoiDivision::handed.
  double handed(int64_t blocks, int64_t threads) const;
  void divide_work(RoiDivision& division, const Work& work, int64_t most_rois, bool sweep, int64_t threads) const;

  const RoiShape& shape_;
  const RoiWindows& windows_;
  const RoiGroups groups_;
  const RoiCost cost_;
  const int64_t tallest_;
  int most_levels_ = 0;  // tables of more rows than a window has are of no use
};

}  // namespace onnx_maxpool
