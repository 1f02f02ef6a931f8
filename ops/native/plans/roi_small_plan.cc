#include "plans/roi_small_plan.h"

#include <algorithm>

#include "plans/roi_cost.h"
#include "plans/roi_ways.h"

namespace onnx_maxpool {
namespace {

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
// Of little work.
constexpr int64_t kLittleRois = 2, kLittleOutputs = 256;
constexpr double kLittleCells = 4 << 10;
constexpr int64_t few_looked_up(int64_t line_bytes) { return line_bytes < 64 ? kFewestChannels : 16; }

}  // namespace

double cells_of(const RoiDims& dims, const RoiWindows& windows, int64_t step) {
  const auto along = [](const RoiWindow* bins, int64_t count) {
    return static_cast<double>(count - 1 + std::max<int64_t>(bins[count - 1].end - bins[0].start, 1));
  };
  double cells = 0;
  for (int64_t roi = 0; roi < dims.rois; roi += step) {
    cells += along(&windows.rows[static_cast<size_t>(roi * dims.bins_y)], dims.bins_y) *
             along(&windows.columns[static_cast<size_t>(roi * dims.bins_x)], dims.bins_x);
  }
  return cells * static_cast<double>(step * dims.channels);
}

bool is_little(const RoiDims& dims, const RoiWindows& windows) {
  return dims.rois <= kLittleRois && dims.channels * dims.bins_y * dims.bins_x * dims.rois <= kLittleOutputs &&
         cells_of(dims, windows) <= kLittleCells;
}

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

void set_plan_in_order(const RoiShape& shape, const RoiWindows& windows, RoiKernel::Mode RoiKernel::* mode, int levels,
                       int64_t at_once, RoiPlan& plan) {
  const int64_t blocks = units_for(mode, shape, units_of(shape.blocks, at_once));
  plan.mode = mode;
  plan.levels = levels;
  plan.slots = 1;
  plan.at_once = at_once;
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
}

void set_small_plan(const RoiShape& shape, const RoiWindows& windows, RoiKernel::Mode RoiKernel::* mode,
                    RoiPlan& plan) {
  set_plan_in_order(shape, windows, mode, 0, 1, plan);
  plan.cycles = plan.time = roi_costs::kUnit;
  plan.threads = 1;
}

}  // namespace onnx_maxpool
