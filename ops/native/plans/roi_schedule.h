// Into how many units a run of ROIs is divided, so that no thread stands idle for long.
//
// The ROIs of an image are a group, as they share its map. Groups are taken longest first (the rule of R. L. Graham
// for jobs on equal machines), each with all blocks of channels; units near the end, which would keep one thread busy
// alone, are divided into parts:
//
//   group    0                      1            2
//   block    0     1     2     3    0    1  ..   0  ..
//   unit  [-----][-----][--][--]  [---][---]    [-][-]
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "plans/roi_plan.h"

namespace onnx_maxpool {

// The ROIs of one image: those from `begin` to `end` of RoiPlan::rois_by_image.
struct RoiGroup {
  int64_t image, begin, end;
  int64_t count() const { return end - begin; }
};

using RoiGroups = List<RoiGroup, 4>;

// Whether no ROI is of an image before that of the ROI before it.
bool are_in_order(const RoiWindows& windows);

// Sorts ROIs by their images. The groups with the most come first. Takes memory for each ROI, and none for images
// without ROIs.
RoiGroups group_by_image(const RoiShape& shape, const RoiWindows& windows, List<int64_t, kFewRois>& rois_by_image);

// How the work of a mode that shares a map is divided. A unit is of a block of channels, or of several, and of a group
// or, where too little is left to keep all threads busy, of a part of one.
struct RoiDivision {
  int64_t blocks;        // of channels, or as many units as these make
  double fill;           // cycles of a unit before it pools anything
  double roi;            // cycles to pool an ROI
  double handed;         // and more of them, where threads pool different blocks of the same ROIs at the same time
  int64_t most_rois;     // of a unit
  bool sweep;            // all blocks of a group are divided alike, as one order of tasks serves them all
  bool by_rois = false;  // each block of a group is divided into a part for each thread, or each ROI
  int64_t threads;
  int64_t parts;  // such parts of the largest group, and of others in proportion
  double units;
  double cycles;  // of all threads together
  double time;    // in cycles, until the last thread is done
};

// Sets units, cycles and time of a division that has all else.
void estimate(const RoiGroups& groups, RoiDivision& division);
// Sets these and the parts to the division that takes the least time on its threads.
void divide_best(const RoiGroups& groups, RoiDivision& division);

// Calls each(group, first block, end of blocks, parts) for blocks that are divided alike, in the order of the units.
template <class Each>
void divide(const RoiGroups& groups, const RoiDivision& division, Each&& each) {
  const auto blocks = static_cast<double>(division.blocks);
  const auto whole = [&](const RoiGroup& group) {
    return division.fill + division.roi * static_cast<double>(group.count());
  };
  if (division.by_rois) {
    for (const RoiGroup& group : groups) {
      each(group, int64_t{0}, division.blocks, std::min(division.threads, group.count()));
    }
    return;
  }
  double left = 0;
  for (const RoiGroup& group : groups) left += whole(group) * blocks;
  for (const RoiGroup& group : groups) {
    const int64_t least =  // without a division where a unit may have all
        group.count() <= division.most_rois ? 1 : (group.count() + division.most_rois - 1) / division.most_rois;
    // From the first block on where `spare` is less than what comes before it, a whole one would keep a thread busy for
    // longer than the others with all that is left. That the two are equal must not depend on how they are rounded.
    const double block = whole(group), spare = left - static_cast<double>(division.threads) * (1 - 1e-9) * block;
    int64_t first_divided = division.blocks;
    if (spare < (blocks - 1) * block) first_divided = spare < 0 ? 0 : static_cast<int64_t>(spare / block) + 1;
    if (division.sweep && first_divided < division.blocks) first_divided = 0;
    if (first_divided > 0) each(group, int64_t{0}, first_divided, least);
    if (first_divided < division.blocks) {
      const int64_t most = groups[0].count(), parts = (group.count() * division.parts + most - 1) / most;
      each(group, first_divided, division.blocks, std::clamp(parts, least, group.count()));
    }
    left -= block * blocks;
  }
}

// Adds to the units of a plan whose rois_by_image is set and, for a sweep, its tasks and slots.
void lay_out(const RoiShape& shape, const RoiWindows& windows, const RoiGroups& groups, const RoiDivision& division,
             RoiPlan& plan);

}  // namespace onnx_maxpool
