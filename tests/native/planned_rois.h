// For the tests of plans: ROIs of a given size, as many as a shape says, and which of them a plan's units have.
#pragma once

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "plans/roi_plan.h"
#include "require.h"

namespace onnx_maxpool {

// A map of VGG-16's, in float on AVX-512, on one thread.
inline RoiShape vgg16(int64_t rois) { return {1, 512, 38, 50, rois, 7, 7, 32, 64, 16, 1, 512 * 38 * 50 * 4}; }

// ROIs of one size, the first in the map's upper left corner and the others anywhere; of as many images as given.
inline RoiWindows rois_of(const RoiShape& shape, int64_t height, int64_t width) {
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

inline RoiPlan plan_of(const RoiShape& shape, int64_t height, int64_t width) {
  return plan_rois(shape, rois_of(shape, height, width));
}

inline bool shares(const RoiPlan& plan) { return plan.mode == &RoiKernel::shared; }

// The first `others` ROIs are of all images but the first, which has the rest.
inline RoiWindows unequal_rois(const RoiShape& shape, int64_t others, int64_t side) {
  RoiWindows windows = rois_of(shape, side, side);
  for (int64_t roi = 0; roi < shape.rois; ++roi) {
    windows.image[static_cast<size_t>(roi)] = roi < others ? 1 + roi % (shape.images - 1) : 0;
  }
  return windows;
}

// The ROIs of a plan's units, of one block.
inline std::vector<std::vector<int64_t>> rois_of_units(const RoiPlan& plan, int64_t block) {
  std::vector<std::vector<int64_t>> all;
  for (const RoiUnit& unit : plan.units) {
    if (unit.block != block) continue;
    all.emplace_back(plan.rois_by_image.begin() + unit.begin, plan.rois_by_image.begin() + unit.end);
  }
  return all;
}

// Of the units from `first` on, before number `units`. They are of so many blocks or, where a unit has several, of so
// many of these.
inline void require_each_roi_once(const RoiPlan& plan, const RoiWindows& windows, int64_t units, int64_t blocks,
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

}  // namespace onnx_maxpool
