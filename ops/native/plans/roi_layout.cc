// The arrays behind a plan: a division's units, and the order of a sweep.
#include <algorithm>
#include <utility>
#include <vector>

#include "plans/roi_schedule.h"

namespace onnx_maxpool {
namespace {

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

// Blocks from `first` to `end` in an order in which those that threads take at the same time lie far apart: neighbours'
// outputs meet in the same lines of memory, which processors would hand to each other with each store.
template <class Each>
void spread(int64_t first, int64_t end, int64_t threads, Each&& each) {
  const auto begin_of = [&](int64_t thread) { return first + (end - first) * thread / threads; };
  for (int64_t step = 0; step * threads < end - first + threads; ++step) {
    for (int64_t thread = 0; thread < threads; ++thread) {
      if (const int64_t block = begin_of(thread) + step; block < begin_of(thread + 1)) each(block);
    }
  }
}

}  // namespace

void lay_out(const RoiShape& shape, const RoiWindows& windows, const RoiGroups& groups, const RoiDivision& division,
             RoiPlan& plan) {
  if (plan.sweep) plan.tasks.resize(static_cast<size_t>(shape.rois * shape.bins_y));
  plan.units.resize(static_cast<size_t>(division.units));
  RoiUnit* next = plan.units.begin();
  divide(groups, division, [&](const RoiGroup& group, int64_t first, int64_t end, int64_t parts) {
    spread(first, end, division.threads, [&](int64_t block) {
      for (int64_t part = 0; part < parts; ++part) {
        const RoiUnit unit = {group.image, block, group.begin + group.count() * part / parts,
                              group.begin + group.count() * (part + 1) / parts};
        *next++ = unit;
        if (!plan.sweep || block > 0) continue;
        plan.slots = std::max(plan.slots, unit.end - unit.begin);
        order_sweep(shape, windows, unit, plan);
      }
    });
  });
}

}  // namespace onnx_maxpool
