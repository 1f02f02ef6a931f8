// The units that a plan of ROIs has (plans/roi_plan.h): each ROI once for each block of channels, and about as much
// work for each thread.
#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "planned_rois.h"
#include "plans/roi_plan.h"
#include "require.h"

namespace {

using namespace onnx_maxpool;

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

// The best plan with tables in which threads have blocks of their own, and not ROIs.
RoiPlan plan_by_blocks(const RoiShape& shape, int64_t height, int64_t width) {
  RoiPlan best{};
  for (const RoiPlan& plan : possible_plans(shape, rois_of(shape, height, width))) {
    if (shares(plan) && !plan.by_rois && (!best.mode || plan.time < best.time)) best = plan;
  }
  return best;
}

// A block is divided where it would keep one thread busy for longer than the others with all that is left.
void divides_the_last_blocks() {
  RoiShape shape = vgg16(2000);
  const auto parts = [&](int64_t block) { return rois_of_units(plan_by_blocks(shape, 19, 25), block).size(); };
  require(parts(0) == 1 && parts(31) == 1, "one thread has parts");
  const double whole = plan_by_blocks(shape, 19, 25).cycles;
  shape.threads = 2;
  require(parts(30) == 1 && parts(31) > 4, "the last block of two threads");
  require(plan_by_blocks(shape, 19, 25).cycles > whole, "parts cost nothing");
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
  require(plan_by_blocks(narrow, 7, 7).units.size() == 3, "parts are handed out for nothing");
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

}  // namespace

int main() {
  groups_by_image();
  covers_each_roi_once();
  covers_each_only_bin_once();
  divides_the_last_blocks();
  divides_the_largest_image();
  leaves_a_nearly_empty_block();
  leaves_channels_of_many_images();
  for (int64_t threads : {1, 7}) {
    orders_a_sweep(20, threads);
    orders_a_sweep(466, threads);
  }
  divides_sweeps_alike();
  spreads_blocks();
  std::puts("all is well");
  return 0;
}
