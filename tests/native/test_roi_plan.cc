// How a run of ROIs is planned (plans/roi_plan.h): the grouping by image, and where the cost model changes its mind.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/window_plan.h"
#include "kernels/targets.h"
#include "plans/roi_cost.h"
#include "plans/roi_plan.h"
#include "require.h"

namespace {

using namespace onnx_maxpool;

// A map of VGG-16's, in float on AVX-512, on one thread.
RoiShape vgg16(int64_t rois) { return {1, 512, 38, 50, rois, 7, 7, 32, 64, 16, 1, 512 * 38 * 50 * 4}; }

// ROIs of one size, the first in the map's upper left corner and the others anywhere; of as many images as given.
RoiWindows rois_of(const RoiShape& shape, int64_t height, int64_t width) {
  RoiWindows windows;
  const auto cut = [](RoiWindow* windows, int64_t start, int64_t extent, int64_t bins, int64_t size) {
    for (int64_t i = 0; i < bins; ++i) {
      const int64_t end = (extent * (i + 1) + bins - 1) / bins;
      windows[i] = {static_cast<int32_t>(std::min(start + extent * i / bins, size)),
                    static_cast<int32_t>(std::min(start + end, size))};
    }
  };
  windows.image.resize(static_cast<size_t>(shape.rois));
  windows.rows.resize(static_cast<size_t>(shape.rois * shape.bins_y));
  windows.columns.resize(static_cast<size_t>(shape.rois * shape.bins_x));
  for (int64_t roi = 0; roi < shape.rois; ++roi) {
    windows.image[static_cast<size_t>(roi)] = roi % shape.images;
    cut(windows.rows.data() + roi * shape.bins_y, roi * 17 % (shape.height - height + 1), height, shape.bins_y,
        shape.height);
    cut(windows.columns.data() + roi * shape.bins_x, roi * 17 % (shape.width - width + 1), width, shape.bins_x,
        shape.width);
  }
  return windows;
}

RoiPlan plan_of(const RoiShape& shape, int64_t height, int64_t width) {
  return plan_rois(shape, rois_of(shape, height, width));
}

bool shares(const RoiPlan& plan) { return plan.mode == &RoiKernel::shared; }

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

// The ROIs of a plan's units, of one block.
std::vector<std::vector<int64_t>> rois_of_units(const RoiPlan& plan, int64_t block) {
  std::vector<std::vector<int64_t>> all;
  for (const RoiUnit& unit : plan.units) {
    if (unit.block != block) continue;
    all.emplace_back(plan.rois_by_image.begin() + unit.begin, plan.rois_by_image.begin() + unit.end);
  }
  return all;
}

void groups_by_image() {
  RoiShape shape = vgg16(60);
  shape.images = 4;
  RoiWindows windows = rois_of(shape, 38, 50);
  for (size_t roi = 0; roi < windows.image.size(); ++roi) windows.image[roi] = roi < 50 ? 2 : roi == 51 ? 0 : 3;
  const auto units = rois_of_units(plan_rois(shape, windows), 7);
  require(units.size() == 3 && units[0].size() == 50 && units[0][49] == 49, "the image with the most ROIs");
  require(units[1] == std::vector<int64_t>({50, 52, 53, 54, 55, 56, 57, 58, 59}), "the image with fewer ROIs");
  require(units[2] == std::vector<int64_t>({51}), "the image with the fewest ROIs");
}

// The first `others` ROIs are of all images but the first, which has the rest.
RoiWindows unequal_rois(const RoiShape& shape, int64_t others, int64_t side) {
  RoiWindows windows = rois_of(shape, side, side);
  for (int64_t roi = 0; roi < shape.rois; ++roi) {
    windows.image[static_cast<size_t>(roi)] = roi < others ? 1 + roi % (shape.images - 1) : 0;
  }
  return windows;
}

// Of the units from `first` on, before number `units`. They are of so many blocks or, where a unit has several, of so
// many of these.
void require_each_roi_once(const RoiPlan& plan, const RoiWindows& windows, int64_t units, int64_t blocks,
                           int64_t first = 0) {
  std::set<std::pair<int64_t, int64_t>> seen;
  for (int64_t number = first; number < units; ++number) {
    const RoiUnit& unit = plan.units[static_cast<size_t>(number)];
    require(unit.begin < unit.end, "a unit is empty");
    require(unit.block < blocks, "a unit has no channels");
    for (int64_t i = unit.begin; i < unit.end; ++i) {
      const int64_t roi = plan.rois_by_image[static_cast<size_t>(i)];
      require(unit.image == windows.image[static_cast<size_t>(roi)], "a unit's image is not its ROIs'");
      require(seen.insert({unit.block, roi}).second, "a block's ROI comes twice");
    }
  }
  require(seen.size() == static_cast<size_t>(blocks) * windows.image.size(), "a block's ROI is left out");
}

void covers_each_roi_once() {
  for (int64_t images : {1, 3}) {
    for (int64_t rois : {1, 7, 1000}) {
      for (int64_t threads : {1, 2, 3, 16, 100}) {
        for (int64_t side : {14, 50, 400}) {
          for (int64_t channels : {16, 512}) {
            const RoiShape shape = {images, channels,      side, side, rois,    7,
                                    7,      channels / 16, 64,   16,   threads, images * channels * side * side * 4};
            const RoiWindows windows = unequal_rois(shape, images == 1 ? 0 : 12, 10);
            const RoiPlan plan = plan_rois(shape, windows);
            const int64_t blocks = (shape.blocks + plan.at_once - 1) / plan.at_once;
            require_each_roi_once(plan, windows, static_cast<int64_t>(plan.units.size()), blocks);
          }
        }
      }
    }
  }
}

// The few_channels mode's units of only bins have kSingleBinsChannels each: of small runs, of trials, and of plans that
// are kept.
void covers_each_only_bin_once() {
  const auto up = [](int64_t count, int64_t of_each) { return (count + of_each - 1) / of_each; };
  int by_rows = 0, left = 0;
  for (int64_t images : {1, 3}) {
    for (int64_t threads : {1, 3}) {
      for (int64_t channels : {1, 16, 17, 40, 130, 461}) {
        for (int64_t rois : {1, 7, 40, 300}) {
          const RoiShape shape = {images, channels,         50, 50, rois,    1,
                                  1,      up(channels, 16), 64, 16, threads, images * channels * 50 * 50 * 4,
                                  64};
          const RoiWindows windows = unequal_rois(shape, images == 1 ? 0 : rois / 2, 6);
          TrialsByShape trials;
          for (int run = 0; run < 70; ++run) {
            const RoiPlan plan = plan_rois(shape, windows, &trials);
            const bool is_by_rows = plan.mode == &RoiKernel::few_channels;
            if (plan.trials) plan.trials->took(plan.turn, is_by_rows ? 1e3 : 1e6);
            const bool has_blocks = plan.mode == &RoiKernel::separate || plan.mode == &RoiKernel::shared;
            const int64_t blocks = is_by_rows   ? up(channels, kSingleBinsChannels)
                                   : has_blocks ? up(shape.blocks - (plan.left > 0), plan.at_once)
                                                : 1;
            require_each_roi_once(plan, windows, plan.left_begin, blocks);
            const auto units = static_cast<int64_t>(plan.units.size());
            if (plan.left > 0) {
              require_each_roi_once(plan, windows, units, up(plan.left, kSingleBinsChannels), plan.left_begin);
            }
            by_rows += is_by_rows && blocks > 1;
            left += plan.left > 0;
          }
        }
      }
    }
  }
  require(by_rows > 0 && left > 0, "no plan pools only bins by rows, or none leaves channels");
}

// A block is divided where it would keep one thread busy for longer than the others with all that is left.
void divides_the_last_blocks() {
  RoiShape shape = vgg16(2000);
  const auto parts = [&](int64_t block) { return rois_of_units(plan_of(shape, 19, 25), block).size(); };
  require(parts(0) == 1 && parts(31) == 1, "one thread has parts");
  const double whole = plan_of(shape, 19, 25).cycles;
  shape.threads = 2;
  require(parts(30) == 1 && parts(31) > 4, "the last block of two threads");
  require(plan_of(shape, 19, 25).cycles > whole, "parts cost nothing");
  shape.threads = 4;
  require(parts(28) == 1 && parts(29) > 4 && parts(31) > 4, "the last blocks of four threads");
  shape.threads = 32;
  require(parts(0) == 1 && parts(31) == 1, "blocks that keep all threads busy are divided");
  shape.threads = 64;
  require(parts(0) >= 2 && parts(31) >= 2, "blocks that leave threads idle are not divided");
  // Each part fills tables of its own, and is handed out by itself, which few ROIs do not repay.
  shape = vgg16(6);
  shape.threads = 8;
  const RoiPlan few = plan_of(shape, 38, 50);
  require(shares(few) && static_cast<int64_t>(few.units.size()) * few.at_once == 32, "the work of few ROIs is divided");
  const RoiShape narrow = {1, 48, 7, 7, 6, 7, 7, 3, 64, 16, 2, 48 * 7 * 7 * 4};
  require(plan_of(narrow, 7, 7).units.size() == 3, "parts are handed out for nothing");
}

// However many ROIs the other images have.
void divides_the_largest_image() {
  RoiShape shape = vgg16(2000);
  shape.images = 2;
  shape.blocks = 1;
  shape.threads = 2;
  const RoiPlan plan = plan_rois(shape, unequal_rois(shape, 20, 30));
  require(shares(plan) && plan.units.size() >= 4, "a thread stands idle beside the largest image");
  require(plan.units[0].end - plan.units[0].begin < 1000, "the largest image's parts are large");
  // What is left of all images counts.
  shape = vgg16(2000);
  shape.images = shape.threads = 2;
  const RoiPlan equal = plan_of(shape, 19, 25);
  require(equal.units.size() > 64 && equal.units[63].end - equal.units[63].begin < 1000, "the last image's last block");
  require(equal.units[62].end - equal.units[62].begin == 1000, "a block that leaves enough to do is divided");
  // Small images' units, which come last, do not keep the others busy beside the largest one's last blocks.
  shape = vgg16(3000);
  shape.images = 4;
  shape.threads = 31;
  const RoiPlan many = plan_rois(shape, unequal_rois(shape, 30, 30));
  const auto divided = [](const RoiUnit& unit) { return unit.image == 0 && unit.end - unit.begin < 2970; };
  require(std::any_of(many.units.begin(), many.units.end(), divided), "30 threads wait for the 32nd block");
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

std::vector<int64_t> all_of(int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  return numbers;
}

// A last block that is nearly empty takes as long as a full one: what is in it is pooled by itself.
void leaves_a_nearly_empty_block() {
  const auto plan_with = [](int64_t channels) {
    const RoiShape shape = {1, channels, 38, 50, 300, 7, 7, (channels + 15) / 16, 64, 16, 1, channels * 38 * 50 * 4,
                            64};
    return plan_of(shape, 12, 16);
  };
  for (int64_t channels : {17, 33, 65}) {
    const RoiPlan plan = plan_with(channels), full = plan_with(channels - 1);
    require(plan.left == 1 && plan.mode == full.mode, "one channel is a block");
    require(plan.units.size() > full.units.size() && plan.left_begin == full.left_begin, "blocks lose units");
    std::vector<int64_t> pooled;
    for (size_t i = full.units.size(); i < plan.units.size(); ++i) {
      for (int64_t roi = plan.units[i].begin; roi < plan.units[i].end; ++roi) pooled.push_back(plan.rois_by_image[roi]);
    }
    require(pooled == all_of(300), "what is left has not each ROI once");
    require(plan.time > full.time && plan.time < 1.35 * full.time, "one channel is taken to cost a block, or nothing");
  }
  for (int64_t channels : {16, 31, 32, 47}) {
    const RoiPlan plan = plan_with(channels);
    require(plan.left == 0 && plan.left_begin == static_cast<int64_t>(plan.units.size()), "a full block is left");
  }
}

// The same with a sweep, several images and threads: each ROI once, by blocks and by what is left.
void leaves_channels_of_many_images() {
  for (int64_t threads : {1, 2, 16}) {
    for (int64_t side : {38, 300}) {
      const RoiShape shape = {3, 17 * 16 + 1, side, side, 400, 7, 7, 18, 64, 16, threads, 3 * 273 * side * side * 4,
                              64};
      RoiWindows windows = rois_of(shape, 30, 30);
      for (size_t roi = 0; roi < windows.image.size(); ++roi) windows.image[roi] = static_cast<int64_t>(roi % 3);
      for (const RoiPlan& plan : possible_plans(shape, windows)) {
        if (plan.left == 0) continue;
        std::vector<int64_t> by_blocks(400), alone(400);
        for (size_t i = 0; i < plan.units.size(); ++i) {
          const bool is_left = static_cast<int64_t>(i) >= plan.left_begin;
          for (int64_t slot = plan.units[i].begin; slot < plan.units[i].end; ++slot) {
            const auto roi = static_cast<size_t>(plan.rois_by_image[static_cast<size_t>(slot)]);
            require(windows.image[roi] == plan.units[i].image, "an ROI of another image");
            ++(is_left ? alone : by_blocks)[roi];
          }
        }
        const int64_t units = (17 + plan.at_once - 1) / plan.at_once;
        require(by_blocks == std::vector<int64_t>(400, units), "blocks have not each ROI once");
        require(alone == std::vector<int64_t>(400, 1), "what is left has not each ROI once");
      }
    }
  }
}

// Windows of many ROIs at once are those of each, on every target, up to edges at the limits and many bins.
template <class Float>
void finds_windows_of_many_rois(std::mt19937& random, int64_t count, int32_t most, float scale, int32_t bins_y,
                                int32_t bins_x) {
  constexpr EdgeArithmetic arithmetic = sizeof(Float) == 8 ? EdgeArithmetic::in_double : EdgeArithmetic::in_float;
  const int32_t limit = std::min(static_cast<int32_t>(static_cast<float>(most) / scale), (1 << 24) - 1);
  std::uniform_int_distribution<int32_t> quarters(-4 * limit, 4 * limit), sides(1, most);
  const int64_t height = sides(random), width = sides(random);
  std::vector<Float> rows(static_cast<size_t>(5 * count));
  for (Float& value : rows) {
    // The nearest edge to a limit is near, too.
    do value = static_cast<Float>(quarters(random)) / 4;
    while (std::abs(value * static_cast<Float>(scale)) >= Float{1 << 22});
  }
  const auto cut = [&](Float from, Float to, int64_t bins, int64_t size, std::vector<RoiWindow>& all) {
    all.resize(all.size() + static_cast<size_t>(bins));
    roi_windows(roi_edge(from, scale), roi_edge(to, scale), bins, size, arithmetic, &*all.end() - bins);
  };
  std::vector<RoiWindow> y, x;
  std::vector<BinWidths> widths;
  for (size_t i = 0; i < rows.size(); i += 5) {
    cut(rows[i + 2], rows[i + 4], bins_y, height, y);
    cut(rows[i + 1], rows[i + 3], bins_x, width, x);
    widths.push_back(widths_of(&*x.end() - bins_x, bins_x));
  }
  for (const Target& target : targets()) {
    if (!target.runs_here) continue;
    std::vector<RoiWindow> found_y(y.size() + 1, {-7, -7}), found_x(x.size() + 1, {-7, -7});
    std::vector<BinWidths> found_widths(widths.size() + 1, {-7, -7});
    const RoiRows job = {rows.data(),
                         sizeof(Float) == 8,
                         count,
                         scale,
                         height,
                         width,
                         bins_y,
                         bins_x,
                         found_y.data(),
                         found_x.data(),
                         bins_x > 1 ? found_widths.data() : nullptr};
    require(target.kernels.roi_windows(job), "near ROIs are said to be far");
    const auto same = [](RoiWindow a, RoiWindow b) { return a.start == b.start && a.end == b.end; };
    const auto as_wide = [](BinWidths a, BinWidths b) { return a.least == b.least && a.most == b.most; };
    require(std::equal(y.begin(), y.end(), found_y.begin(), same), "windows of many ROIs differ along y");
    require(std::equal(x.begin(), x.end(), found_x.begin(), same), "windows of many ROIs differ along x");
    require(bins_x == 1 || std::equal(widths.begin(), widths.end(), found_widths.begin(), as_wide), "widths differ");
    require(same(found_y.back(), {-7, -7}) && same(found_x.back(), {-7, -7}), "windows of no ROI");
    require(as_wide(found_widths.back(), {-7, -7}), "widths of no ROI");
  }
}
template <class Float>
void finds_windows_of_many_rois() {
  constexpr int32_t kBins[][2] = {{1, 1}, {1, 7}, {7, 1}, {2, 2}, {3, 16}, {64, 1000}};
  std::mt19937 random(5);
  for (int64_t count = 1; count <= 33; ++count) {
    for (float scale : {1.0f, 0.25f, 0.3f, 0.7f, 1.0f / 3}) {
      for (const auto& bins : kBins) {
        for (int32_t most : {60, 5000, 1 << 22}) {
          if (bins[1] < 1000 || count % 11 == 0) {
            finds_windows_of_many_rois<Float>(random, count, most, scale, bins[0], bins[1]);
          }
        }
      }
    }
  }
  finds_windows_of_many_rois<Float>(random, 128, 5000, 0.0625f, 7, 7);
}

// In every lane and column. Where halves are rounded up to 2^22, an edge is near.
template <class Float>
void tells_far_rois() {
  constexpr Float kFar = 1 << 22;
  const Float far[] = {kFar, -kFar, Float{1e30f}, Float{INFINITY}, -Float{INFINITY}, Float{NAN}};
  const Float near[] = {std::nextafter(kFar, Float{0}), -std::nextafter(kFar, Float{0}), kFar - Float{0.5}};
  for (const Target& target : targets()) {
    if (!target.runs_here) continue;
    for (int64_t at = 0; at < 33; ++at) {
      for (int64_t column = 0; column < 5; ++column) {
        const auto is_near = [&](Float value) {
          std::vector<Float> rows(5 * 33, 3);
          rows[static_cast<size_t>(5 * at + column)] = value;
          std::vector<RoiWindow> y(33), x(33);
          return target.kernels.roi_windows(
              {rows.data(), sizeof(Float) == 8, 33, 1, 9, 9, 1, 1, y.data(), x.data(), nullptr});
        };
        for (Float value : far) {
          require(is_near(value) == (column == 0),
                  column ? "a far ROI is said to be near" : "a batch counts as an edge");
        }
        for (Float value : near) require(is_near(value), "a near ROI is said to be far");
      }
    }
  }
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
  RoiShape one = {1, 3, 13, 13, 150, 1, 1, 1, 16, 16, 2, 3 * 13 * 13 * 4, 64};
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

// A unit has no more ROIs than a worker has memory for the bins of; rows of bins go from the map's last row up.
void orders_a_sweep(int64_t others, int64_t threads) {
  RoiShape shape = vgg16(701);
  shape.threads = threads;
  shape.blocks = 5;
  shape.height = 400;
  shape.width = 400;
  shape.images = 3;
  shape.bins_y = shape.bins_x = 28;
  const RoiWindows windows = unequal_rois(shape, others, 100);
  const RoiPlan plan = plan_rois(shape, windows);
  const int64_t bytes = shape.bins_y * shape.bins_x * shape.vector_bytes, most = int64_t{8} << 20;
  require(plan.sweep && plan.slots * bytes <= most, "the memory of a unit's bins");
  require(plan.tasks.size() == static_cast<size_t>(shape.rois * shape.bins_y), "a task for each row of bins");
  size_t units = 0;
  int64_t largest = 0;
  for (const RoiUnit& unit : plan.units) {
    const int64_t count = unit.end - unit.begin;
    if (unit.block == 0) ++units;
    largest = std::max(largest, count);
    std::set<std::pair<int64_t, int64_t>> seen;
    std::map<std::pair<int64_t, int64_t>, int32_t> last_row;  // of a slot's, by where it starts
    int64_t last = shape.height;
    for (int64_t i = 0; i < count * shape.bins_y; ++i) {
      const RoiTask& now = plan.tasks[static_cast<size_t>(unit.begin * shape.bins_y + i)];
      require(now.slot >= 0 && now.slot < count && now.row >= 0 && now.row < shape.bins_y, "a task of another unit");
      seen.insert({now.slot, now.row});
      const int64_t roi = plan.rois_by_image[static_cast<size_t>(unit.begin + now.slot)];
      const int64_t top = windows.rows[static_cast<size_t>(roi * shape.bins_y + now.row)].start;
      require(top <= last, "a sweep turns back");
      last = top;
      const auto [before, is_first] = last_row.try_emplace({now.slot, top}, now.row);
      require(is_first || std::exchange(before->second, now.row) < now.row, "rows that start alike turn back");
    }
    require(seen.size() == static_cast<size_t>(count * shape.bins_y), "a row of bins comes twice");
  }
  require(largest == plan.slots, "slots are as many as the largest unit's ROIs");
  const int64_t slots = most / bytes, first = shape.rois - others, other = others / 2;
  require(threads > 1 || units == static_cast<size_t>((first + slots - 1) / slots + 2 * ((other + slots - 1) / slots)),
          "images are divided that need not be");
  shape.bins_y = shape.bins_x = 400;
  require(plan_of(shape, 400, 400).slots == 1, "bins beyond a unit's memory");
}

// A unit's tasks are those of its ROIs, whatever the block.
void divides_sweeps_alike() {
  for (int64_t threads : {2, 3, 4, 16}) {
    const RoiShape shape = {1, 80, 150, 150, 2600, 7, 7, 5, 64, 16, threads, 80 * 150 * 150 * 4};
    const RoiPlan plan = plan_of(shape, 100, 100);
    require(plan.sweep, "large tables stay in the cache");
    require(threads < 4 || plan.units.size() > 5, "all but one thread wait for the fifth block");
    for (int64_t block = 1; block < shape.blocks; ++block) {
      require(rois_of_units(plan, block) == rois_of_units(plan, 0), "blocks of a sweep are divided each in its way");
    }
  }
}

// Units that two threads take at the same time, one after the other in the plan.
void spreads_blocks() {
  RoiShape shape = vgg16(300);
  shape.threads = 2;
  const RoiPlan plan = plan_of(shape, 19, 25);
  for (size_t i = 0; i + 1 < 16; i += 2) {
    require(plan.units[i + 1].block - plan.units[i].block > 8, "threads take neighbouring blocks at the same time");
  }
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

// A unit may have several blocks of channels, where a thread has as many.
void pools_several_blocks() {
  for (int64_t bins : {1, 3}) {
    for (int64_t threads : {1, 2, 16, 100}) {
      for (int64_t images : {1, 3}) {
        const RoiShape shape = {images, 292, 14, 20, 200, bins, bins, 19, 64, 16, threads, images * 292 * 14 * 20 * 4,
                                64};
        const RoiWindows windows = rois_of(shape, 5, 5);
        int64_t most = 1;
        for (const RoiPlan& plan : possible_plans(shape, windows)) {
          require(plan.at_once == 1 || shares(plan), "only tables are of several blocks");
          if (!shares(plan)) continue;
          most = std::max(most, plan.at_once);
          const int64_t blocks = plan.left > 0 ? 18 : 19, units = (blocks + plan.at_once - 1) / plan.at_once;
          require_each_roi_once(plan, windows, plan.left_begin, units);
        }
        require(most <= std::max<int64_t>(19 * images / threads, 1), "a thread has nothing to do");
        require(threads > 2 || most > 1, "no unit has several blocks");
      }
    }
  }
}

// As many blocks as half of the cache holds, or two that fit it; threads have about as many units each.
void holds_blocks_in_the_cache() {
  const auto at_once = [](int64_t cache, int64_t threads) {
    RoiShape shape = {1, 256, 32, 32, 400, 4, 4, 32, 32, 8, threads, 256 * 32 * 32 * 4, 32};
    shape.second_cache = cache;
    for (const RoiPlan& plan : possible_plans(shape, rois_of(shape, 4, 4))) {
      if (shares(plan) && plan.levels == 0) return plan.at_once;
    }
    return int64_t{0};
  };
  require(at_once(64 << 10, 1) == 1, "two blocks of 33.5 KiB do not fit 64 KiB");
  require(at_once(128 << 10, 1) == 2, "two blocks fit 128 KiB");
  require(at_once(256 << 10, 1) == 3, "half of 256 KiB holds three blocks");
  require(at_once(2 << 20, 1) == 8, "no more than eight");
  require(at_once(256 << 10, 2) == 3 && at_once(2 << 20, 3) == 6, "threads have not about as many units each");
}

// Where vectors are narrow, by the model; where they are wide, it may be found out.
void chooses_several_blocks() {
  for (int64_t bytes : {32, 64}) {
    const int64_t lanes = bytes / 4;
    const RoiShape shape = {1, 256, 24, 24, 200, 7, 7, 256 / lanes, bytes, lanes, 1, 256 * 24 * 24 * 4, bytes};
    const RoiWindows windows = rois_of(shape, 10, 10);
    require((plan_rois(shape, windows).at_once > 1) == (bytes == 32), "the choice of several blocks");
    TrialsByShape trials;
    std::set<int64_t> tried;
    for (int run = 0; run < 64; ++run) {
      const RoiPlan plan = plan_rois(shape, windows, &trials);
      if (plan.trials) plan.trials->took(plan.turn, plan.time);
      if (plan.trials && shares(plan)) tried.insert(plan.at_once);
    }
    require(tried.size() > 1 && *tried.begin() == 1, "several blocks and one are not both tried");
  }
}

// The plan of a brief run is that of the next ones, as long as they are alike, but for one in sixteen.
void keeps_the_way_of_brief_runs() {
  for (int64_t threads : {1, 2}) {
    RoiShape shape = {2, 20, 12, 12, 40, 2, 2, 3, 32, 8, threads, 2 * 20 * 12 * 12 * 4, 32};
    shape.worth_a_thread = 30'000;
    RoiWindows small = rois_of(shape, 2, 3), large = rois_of(shape, 10, 9);
    for (RoiWindows* windows : {&small, &large}) {
      for (size_t i = 0; i < windows->image.size(); ++i) windows->image[i] = static_cast<int64_t>(i % 2);
    }
    TrialsByShape trials;
    const auto kept = [&](const RoiWindows& windows) {
      const RoiPlan plan = plan_rois(shape, windows, &trials), chosen = plan_rois(shape, windows);
      if (plan.trials) {  // each way takes as long as it should, so that the likeliest is the fastest
        plan.trials->took(plan.turn, plan.turn.cost);
        return false;
      }
      require(plan.mode == chosen.mode && plan.levels == chosen.levels && plan.at_once == chosen.at_once &&
                  plan.left == chosen.left && plan.left_begin == chosen.left_begin && plan.sweep == chosen.sweep,
              "another way");
      require(std::equal(plan.rois_by_image.begin(), plan.rois_by_image.end(), chosen.rois_by_image.begin()) &&
                  std::equal(plan.units.begin(), plan.units.end(), chosen.units.begin(), chosen.units.end(),
                             [](const RoiUnit& a, const RoiUnit& b) {
                               return a.image == b.image && a.block == b.block && a.begin == b.begin && a.end == b.end;
                             }),
              "other units");
      return plan.cycles == 0;
    };
    int count = 0;
    for (int run = 0; run < 1000; ++run) count += kept(small);
    require(count > 850 && count < 1000 * 15 / 16, "how many runs keep a way");
    require(!kept(large), "a way of other windows");
  }
}

}  // namespace

int main() {
  groups_by_image();
  pools_several_blocks();
  holds_blocks_in_the_cache();
  chooses_several_blocks();
  keeps_the_way_of_brief_runs();
  covers_each_roi_once();
  covers_each_only_bin_once();
  divides_the_last_blocks();
  divides_the_largest_image();
  spreads_blocks();
  shares_tables_where_rois_are_many_or_large();
  counts_idle_threads();
  takes_as_many_levels_as_windows_are_high();
  sweeps_where_tables_leave_the_cache();
  bounds_tables();
  permutes_rows_of_narrow_maps();
  leaves_a_nearly_empty_block();
  leaves_channels_of_many_images();
  finds_windows_of_many_rois<float>();
  finds_windows_of_many_rois<double>();
  tells_far_rois<float>();
  tells_far_rois<double>();
  reads_few_cells_one_by_one();
  leaves_small_runs_as_they_are();
  reads_few_channels_in_wide_rows();
  for (int64_t threads : {1, 7}) {
    orders_a_sweep(20, threads);
    orders_a_sweep(466, threads);
  }
  divides_sweeps_alike();
  chooses_from_possible_plans();
  estimates_work();
  std::puts("all is well");
  return 0;
}
