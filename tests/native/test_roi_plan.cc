// How a run of ROIs is planned (plans/roi_plan.h): where the cost model changes its mind.
#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "planned_rois.h"
#include "plans/roi_cost.h"
#include "plans/roi_plan.h"
#include "require.h"

namespace {

using namespace onnx_maxpool;

// The least number of ROIs from which on tables are worth their filling.
int64_t first_shared(RoiShape shape, int64_t height, int64_t width) {
  int64_t first = 0;
  for (shape.rois = 1; shape.rois <= 400; ++shape.rois) {
    const bool shared = shares(plan_of(shape, height, width));
    require(shared || first == 0, "tables are given up for more ROIs");
    if (shared && first == 0) first = shape.rois;
  }
  require(first > 0, "400 ROIs share no tables");
  return first;
}

// Tables cost as much as the map; without them each ROI costs as much as its own cells.
void shares_tables_where_rois_are_many_or_large() {
  require(!shares(plan_of(vgg16(1), 38, 50)), "one ROI fills tables");
  const int64_t large = first_shared(vgg16(0), 38, 50), middle = first_shared(vgg16(0), 19, 25),
                small = first_shared(vgg16(0), 7, 7);
  require(1 < large && large < middle && middle < small, "smaller ROIs share tables sooner");
  require(large <= 4, "four ROIs of the whole map fill no tables");
}

// A block's tables are one thread's: where blocks are few, ROIs by themselves keep more threads busy.
void counts_idle_threads() {
  RoiShape shape = vgg16(0);
  shape.blocks = 1;
  const int64_t alone = first_shared(shape, 38, 50);
  shape.threads = 2;
  require(first_shared(shape, 38, 50) > 2 * alone, "threads that stand idle cost little");
  shape.blocks = 2;
  require(first_shared(shape, 38, 50) <= alone + 1, "threads that are all busy cost much");
}

void takes_as_many_levels_as_windows_are_high() {
  int levels = 0;
  for (int64_t height : {7, 14, 28, 56, 112, 224, 448}) {
    RoiShape shape = vgg16(2000);
    shape.height = 500;
    const RoiPlan plan = plan_of(shape, height, 50);
    require(plan.tallest == height / 7, "the tallest window");
    require((int64_t{1} << plan.levels) <= plan.tallest, "a table's rows are higher than any window");
    require(plan.levels >= levels && plan.levels <= kMostLevels, "levels grow with the windows");
    levels = plan.levels;
  }
  require(levels >= 3, "tall windows take few levels");
  RoiShape shape = vgg16(1);
  require(plan_of(shape, 7, 7).levels == 0, "windows one row high need but the map");
  // More levels cost a pass over the map each, which few ROIs do not repay.
  shape.height = 500;
  require(plan_of(shape, 448, 50).levels < levels, "one ROI takes as many levels as 2000");
}

void sweeps_where_tables_leave_the_cache() {
  for (int64_t cache : {int64_t{1} << 18, int64_t{1} << 20}) {
    RoiShape shape = vgg16(1000);
    shape.second_cache = cache;
    shape.width = 64;
    shape.bins_y = 64;  // of windows one row high: no table but the map itself
    shape.height = cache / (shape.width * shape.vector_bytes);
    const RoiPlan held = plan_of(shape, 64, 60);
    require(shares(held) && held.levels == 0 && !held.sweep && held.tasks.empty(), "tables that fit leave the cache");
    ++shape.height;
    const RoiPlan swept = plan_of(shape, 64, 60);
    require(shares(swept) && swept.levels == 0 && swept.sweep, "tables that do not fit stay in the cache");
  }
}

int64_t table_bytes(const RoiShape& shape, const RoiPlan& plan) {
  int64_t rows = 0;
  for (int k = 0; k <= plan.levels; ++k) {
    rows += kept_rows(shape.height, plan.tallest, plan.levels, plan.sweep, k).count;
  }
  return rows * shape.width * shape.vector_bytes;
}

// No more than the input, or 4 MiB where that is more, and never more than 32 MiB: else ROIs are pooled one by one.
void bounds_tables() {
  for (int64_t side : {50, 400, 1500, 3000}) {
    for (int64_t height : {int64_t{7}, side / 5, side / 2, side}) {
      for (int64_t channels : {1, 16, 512}) {
        RoiShape shape = {
            1, channels, side, side, 2000, 1, 1, (channels + 15) / 16, 64, 16, 1, channels * side * side * 4};
        const RoiPlan plan = plan_of(shape, height, side / 3);
        const int64_t most = std::clamp(shape.input_bytes, int64_t{4} << 20, int64_t{32} << 20);
        require(!shares(plan) || table_bytes(shape, plan) <= most, "tables larger than they may be");
      }
    }
  }
  RoiShape shape = {1, 16, 3000, 3000, 2000, 1, 1, 1, 64, 16, 1, int64_t{512} << 20};
  require(!shares(plan_of(shape, 3000, 1000)), "tables of a whole large map");
  require(shares(plan_of(shape, 60, 3000)), "tables of a few rows of a large map");
}

// Of a map and bins that fit vectors of 16 floats, and that the first-level cache holds.
void permutes_rows_of_narrow_maps() {
  const RoiShape narrow = {1, 1024, 14, 14, 128, 14, 14, 64, 64, 16, 1, 1024 * 14 * 14 * 4};
  const auto permutes = [](const RoiShape& shape, int64_t extent) {
    return plan_of(shape, extent, extent).mode == &RoiKernel::narrow_map;
  };
  require(permutes(narrow, 10), "a narrow map's rows are not permuted");
  RoiShape shape = narrow;
  shape.height = 32;
  shape.width = shape.bins_x = 16;
  require(permutes(shape, 10), "rows that fill a vector are not permuted");
  shape.width = 17;
  require(!permutes(shape, 10), "rows wider than a vector are permuted");
  shape.width = 16;
  shape.bins_x = 17;
  require(!permutes(shape, 10), "rows of bins wider than a vector are permuted");
  shape.bins_x = 16;
  shape.height = 33;
  require(!permutes(shape, 10), "maps beyond the first-level cache are permuted");
  shape = narrow;
  shape.lookup_lanes = 0;
  require(!permutes(shape, 10), "rows are permuted by a kernel that cannot");
  // A unit's channels are one thread's: few units are divided where there are more threads.
  shape = narrow;
  shape.channels = 17;
  shape.blocks = 2;
  require(permutes(shape, 10) && plan_of(shape, 10, 10).units.size() == 2, "one thread has parts of two units");
  shape.threads = 16;
  require(permutes(shape, 10) && plan_of(shape, 10, 10).units.size() >= 16, "threads stand idle");
  // Few bins of many columns leave most of a vector's lanes idle.
  shape = narrow;
  shape.bins_y = shape.bins_x = 2;
  require(!permutes(shape, 10), "rows of two bins are permuted");
  // Images without ROIs cost nothing, and empty bins have to be written.
  shape = narrow;
  shape.images = 3;
  RoiWindows windows = rois_of(shape, 10, 10);
  const double all = plan_rois(shape, windows).cycles;
  std::fill(windows.image.begin(), windows.image.end(), 1);
  const double of_one = plan_rois(shape, windows).cycles;
  require(of_one < all, "images without ROIs are read");
  for (RoiWindow& rows : windows.rows) rows.end = rows.start;
  const RoiPlan empty = plan_rois(shape, windows);
  require(empty.mode == &RoiKernel::narrow_map && empty.cycles > 0.3 * of_one, "empty bins cost nothing");
  require(empty.levels == 0 && !empty.sweep && empty.slots == 1 && empty.tasks.empty(), "tables that there are not");
}

// Where all windows have some hundred cells, vectors are not worth their filling.
void reads_few_cells_one_by_one() {
  const auto by_cells = [](int64_t channels, int64_t rois, int64_t bins, int64_t height, int64_t width) {
    const RoiShape shape = {
        1, channels, 500, 500, rois, bins, 1, (channels + 15) / 16, 64, 16, 2, channels * 500 * 500 * 4};
    return plan_of(shape, height, width).mode == &RoiKernel::cells;
  };
  require(by_cells(16, 1, 1, 4, 4), "256 cells are read as vectors");
  require(!by_cells(1, 1, 1, 257, 1), "257 cells are read one by one");
  require(by_cells(1, 16, 1, 1, 1), "cells of 16 ROIs are read as vectors");
  require(!by_cells(1, 17, 1, 1, 1), "cells of 17 ROIs are read one by one");
  require(by_cells(2, 2, 4, 1, 1), "cells of 16 bins are read as vectors");
  require(!by_cells(3, 2, 3, 1, 1), "cells of 18 bins are read one by one");
  // Bins of one cell each cost less than others, as their jumps are foreseen.
  const auto cycles_by_cells = [](int64_t bins, int64_t side) {
    const RoiShape shape = {1, 2, 60, 60, 500, bins, bins, 1, 32, 8, 1, 2 * 60 * 60 * 4, 32};
    for (const RoiPlan& plan : possible_plans(shape, rois_of(shape, side, side))) {
      if (plan.mode == &RoiKernel::cells) return plan.cycles;
    }
    throw std::logic_error("there is no plan cell by cell");
  };
  require(cycles_by_cells(4, 4) < 0.5 * cycles_by_cells(4, 5), "bins of one cell cost as much as others");
  require(cycles_by_cells(4, 3) > 2 * cycles_by_cells(4, 4), "bins of few cells cost as much as those of one");
  RoiShape shape = {3, 5, 12, 12, 3, 1, 1, 1, 32, 16, 2, 3 * 5 * 12 * 12 * 4};
  RoiWindows windows = rois_of(shape, 1, 1);
  for (RoiWindow& rows : windows.rows) rows.end = rows.start;
  const RoiPlan empty = plan_rois(shape, windows);
  require(empty.mode == &RoiKernel::cells, "empty bins are read as vectors");
  require(rois_of_units(empty, 0) == std::vector<std::vector<int64_t>>({{0}, {1}, {2}}), "each image has one ROI");
}

// Of small runs no plan is made; they are pooled straight from the map, or from one table of it.
void leaves_small_runs_as_they_are() {
  RoiShape shape = {1, 8, 500, 500, 8, 2, 2, 1, 32, 16, 2, 8 * 500 * 500 * 4};
  const RoiPlan small = plan_of(shape, 12, 12);
  require(small.mode == &RoiKernel::separate && small.units.size() == 1 && small.levels == 0, "a small run has a plan");
  require(plan_of(shape, 200, 200).units.size() > 1, "large ROIs are one thread's");
  RoiShape blocks = {1, 40, 12, 12, 2, 1, 1, 3, 64, 16, 2, 40 * 12 * 12 * 4};
  require(plan_of(blocks, 1, 2).mode == &RoiKernel::separate, "few cells of several blocks have a plan");
  for (int64_t block = 0; block < 3; ++block) {
    require(rois_of_units(plan_of(blocks, 1, 2), block) == std::vector<std::vector<int64_t>>({{0, 1}}),
            "a block's ROIs");
  }
  require(plan_of(blocks, 12, 12).cycles > 2 * plan_of(blocks, 1, 2).cycles, "all of a narrow map is a small run");
  const auto is_small = [](int64_t channels, int64_t side, int64_t height, int64_t width) {
    const RoiShape shape = {
        1, channels, side, side, 1, 1, 1, (channels + 15) / 16, 64, 16, 1, channels * side * side * 4};
    return plan_of(shape, height, width).cycles == roi_costs::kUnit;
  };
  require(is_small(64, 40, 8, 8), "4096 cells of several blocks have a plan");
  require(!is_small(64, 40, 5, 13), "4160 cells of several blocks have none");
  require(!is_small(18, 20, 10, 20), "half of the cells of several blocks have no plan");
  require(is_small(18, 20, 19, 10), "fewer than half of the cells of several blocks have a plan");
  // More ROIs and blocks than a list has room for in place, and fewer units.
  const RoiShape many = {1, 16, 12, 12, 16, 1, 1, 4, 16, 0, 2, 16 * 12 * 12 * 4};
  const RoiPlan plan = plan_of(many, 1, 1);
  require(plan.mode == &RoiKernel::separate && plan.units.size() == 4, "few cells of 16 ROIs have a plan");
  for (int64_t block = 0; block < 4; ++block) {
    require(rois_of_units(plan, block).size() == 1 && rois_of_units(plan, block)[0].size() == 16, "16 ROIs of a block");
  }
  shape.bins_y = shape.bins_x = 7;
  require(plan_of(shape, 12, 12).cycles > 2 * small.cycles, "many bins are a small run");
  // Bins of few channels are looked up, on narrow maps too, where lanes can be.
  RoiShape few = {8, 3, 13, 13, 150, 1, 1, 1, 16, 16, 2, 8 * 3 * 13 * 13 * 4, 64};
  const double looked_up = plan_of(few, 6, 6).cycles;
  require(plan_of(few, 6, 6).mode == &RoiKernel::few_channels, "150 ROIs of few channels have a plan");
  require(plan_of(few, 12, 12).cycles > 2 * looked_up, "many cells of few channels are a small run");
  few.lookup_lanes = 0;
  require(plan_of(few, 6, 6).cycles > 2 * looked_up, "150 ROIs are a small run without lookups");
  // Of vectors of 32 bytes, lookups take less only for fewer channels.
  few.lookup_lanes = 8;
  few.line_bytes = 32;
  require(plan_of(few, 6, 6).cycles == looked_up, "150 ROIs of few channels have a plan with narrower vectors");
  few.channels = 5;
  require(plan_of(few, 6, 6).cycles > 2 * looked_up, "5 channels are few for narrower vectors");
  // Of one image of the fewest channels, a table may take less. Of some more channels, few ROIs are a small run.
  RoiShape one = {1, 4, 8, 8, 150, 1, 1, 1, 16, 16, 2, 4 * 8 * 8 * 4, 64};
  require(plan_of(one, 2, 2).mode == &RoiKernel::shared && plan_of(one, 2, 2).units.size() == 1, "150 ROIs of a table");
  one.rois = 20;
  require(plan_of(one, 2, 2).mode == &RoiKernel::few_channels, "20 ROIs have a table");
  one.channels = 8;
  const double few_of_eight = plan_of(one, 2, 2).cycles;
  require(few_of_eight == looked_up, "20 ROIs of 8 channels have a plan");
  one.rois = 150;
  require(plan_of(one, 2, 2).cycles > 2 * few_of_eight, "150 ROIs of 8 channels are a small run");
}

// Few channels that are pooled straight from the map are read with the widest vectors, from two rows on.
void reads_few_channels_in_wide_rows() {
  RoiShape shape = {1, 3, 400, 400, 200, 2, 2, 1, 16, 0, 1, 3 * 400 * 400 * 4};
  const auto separate = [](const RoiShape& shape, int64_t height) {
    for (const RoiPlan& plan : possible_plans(shape, rois_of(shape, height, 200))) {
      if (plan.mode == &RoiKernel::separate) return plan.cycles;
    }
    throw std::logic_error("no plan is separate");
  };
  const double narrow = separate(shape, 100), narrow_row = separate(shape, 2);
  shape.line_bytes = 64;
  require(separate(shape, 100) < 0.6 * narrow, "few channels are read with narrow vectors");
  require(separate(shape, 2) > 0.9 * narrow_row, "a row of bins of one row costs less than its squares");
}

// The one that takes the least time is among all.
void chooses_from_possible_plans() {
  for (int64_t rois : {1, 30, 400, 1000}) {
    for (int64_t side : {14, 50, 115, 400}) {  // of 115, tables are swept but for one without levels
      const int64_t bins = rois == 400 ? 13 : 7;
      const RoiShape shape = {1, 100, side, side, rois, bins, bins, 7, 64, 16, 2, 100 * side * side * 4};
      const RoiWindows windows = rois_of(shape, 10, 10);
      const RoiPlan chosen = plan_rois(shape, windows);
      bool is_there = false;
      for (const RoiPlan& plan : possible_plans(shape, windows)) {
        require(plan.time >= chosen.time, "a plan that takes longer is chosen");
        is_there = is_there || (plan.mode == chosen.mode && plan.levels == chosen.levels && plan.time == chosen.time);
      }
      require(is_there, "the plan that is chosen is not possible");
    }
  }
}

void estimates_work() {
  double last = 0;
  for (int64_t rois : {1, 2, 10, 100, 1000}) {
    const double cycles = plan_of(vgg16(rois), 19, 25).cycles;
    require(cycles > last, "more ROIs are no more work");
    last = cycles;
  }
  require(plan_of(vgg16(1000), 19, 50).cycles > 1.2 * plan_of(vgg16(1000), 19, 20).cycles,
          "wider ROIs are no more work");
  RoiShape empty = vgg16(3);
  RoiWindows windows = rois_of(empty, 7, 7);
  for (RoiWindow& rows : windows.rows) rows.end = rows.start;
  const RoiPlan plan = plan_rois(empty, windows);
  require(plan.cycles > 0 && plan.tallest == 0 && plan.levels == 0, "ROIs beyond the map");
}

// A unit may have several blocks of channels, where a thread has as many: of the widest vectors only of few bins.
void pools_several_blocks() {
  for (int64_t bytes : {32, 64}) {
    for (int64_t bins : {1, 4, 5}) {
      for (int64_t threads : {1, 2, 16, 100}) {
        for (int64_t images : {1, 3}) {
          const int64_t lanes = bytes / 4, all = 292 / lanes + 1;
          const RoiShape shape = {
              images, 292, 14, 20, 200, bins, bins, all, bytes, lanes, threads, images * 292 * 14 * 20 * 4, bytes};
          const RoiWindows windows = rois_of(shape, 5, 5);
          int64_t most = 1;
          for (const RoiPlan& plan : possible_plans(shape, windows)) {
            require(plan.at_once == 1 || shares(plan), "only tables are of several blocks");
            if (!shares(plan)) continue;
            most = std::max(most, plan.at_once);
            const int64_t blocks = all - (plan.left > 0), units = (blocks + plan.at_once - 1) / plan.at_once;
            require_each_roi_once(plan, windows, plan.left_begin, units);
            const bool has_few_blocks = plan.by_rois || plan.at_once <= std::max<int64_t>(all * images / threads, 1);
            require(has_few_blocks && plan.left_begin >= std::min(blocks, threads), "a thread has nothing to do");
          }
          const bool may_be = bytes == 32 || bins < 5;
          require(may_be || most == 1, "a unit has several blocks of many bins");
          require(threads > 2 || (most > 1) == may_be, "no unit has several blocks");
        }
      }
    }
  }
}

// Where each thread has ROIs of its own, it has them of all blocks, one after the other.
void gives_threads_their_own_rois() {
  const RoiShape shape = {1, 153, 8, 9, 1600, 1, 1, 10, 64, 16, 2, 153 * 8 * 9 * 4, 64};
  const RoiWindows windows = rois_of(shape, 3, 3);
  int found = 0;
  for (const RoiPlan& plan : possible_plans(shape, windows)) {
    if (!plan.by_rois || !shares(plan)) continue;
    ++found;
    require(plan.at_once == 5 && plan.units.size() == 4, "not two units of five blocks for each");
    for (size_t i = 0; i < 4; ++i) {
      const RoiUnit& unit = plan.units[i];
      require(unit.block == static_cast<int64_t>(i / 2), "the other blocks do not follow");
      require(unit.begin == (i % 2 ? 800 : 0) && unit.end - unit.begin == 800, "a thread has not half of the ROIs");
    }
  }
  require(found > 0, "no threads have ROIs of their own");
}

// As many blocks as half of the cache holds, or two that fit it; threads have about as many units each.
void holds_blocks_in_the_cache() {
  const auto at_once = [](int64_t cache, int64_t threads) {
    RoiShape shape = {1, 256, 32, 32, 400, 4, 4, 32, 32, 8, threads, 256 * 32 * 32 * 4, 32};
    shape.second_cache = cache;
    for (const RoiPlan& plan : possible_plans(shape, rois_of(shape, 4, 4))) {
      if (shares(plan) && plan.levels == 0 && !plan.by_rois) return plan.at_once;
    }
    return int64_t{0};
  };
  require(at_once(64 << 10, 1) == 1, "two blocks of 33.5 KiB do not fit 64 KiB");
  require(at_once(128 << 10, 1) == 2, "two blocks fit 128 KiB");
  require(at_once(256 << 10, 1) == 3, "half of 256 KiB holds three blocks");
  require(at_once(2 << 20, 1) == 8, "no more than eight");
  require(at_once(256 << 10, 2) == 3 && at_once(2 << 20, 3) == 6, "threads have not about as many units each");
}

}  // namespace

int main() {
  pools_several_blocks();
  gives_threads_their_own_rois();
  holds_blocks_in_the_cache();
  shares_tables_where_rois_are_many_or_large();
  counts_idle_threads();
  takes_as_many_levels_as_windows_are_high();
  sweeps_where_tables_leave_the_cache();
  bounds_tables();
  permutes_rows_of_narrow_maps();
  reads_few_cells_one_by_one();
  leaves_small_runs_as_they_are();
  reads_few_channels_in_wide_rows();
  chooses_from_possible_plans();
  estimates_work();
  std::puts("all is well");
  return 0;
}
