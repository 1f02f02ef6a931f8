// The maximum over the bins of ROIs: what the kernel needs to know, and its entry points.
#pragma once

#include <cstddef>
#include <cstdint>

#include "element_type.h"
#include "window.h"

namespace onnx_maxpool {

// Functions are internal to each file that includes them, as kernels are compiled for processors of their own.

constexpr int kMostLevels = 8;
constexpr int64_t kNarrowMapChannels = 16;  // in a unit of that mode

// ROIs of one image: those that RoiJob::rois_by_image has from `begin` to `end`.
struct RoiGroup {
  int64_t image, begin, end;
};

// One of a group's parts, which are as large as each other but for one ROI.
static inline RoiGroup part_of(const RoiGroup& group, int64_t part, int64_t parts) {
  const int64_t rois = group.end - group.begin;
  return {group.image, group.begin + rois * part / parts, group.begin + rois * (part + 1) / parts};
}

// A row of bins of an ROI, which is the slot-th of its unit.
struct RoiTask {
  int32_t slot, row;
};

// Table k has the maxima over 2^k rows: in row y, over rows y to y + 2^k of the map. Any number of rows is then two
// lines, which may overlap, and more only where `levels` ends early. A sweep keeps of each table the rows that may
// still be asked for, row y in place `y & mask`.
struct KeptRows {
  int64_t count, mask;
};
static inline KeptRows kept_rows(int64_t height, int64_t tallest, int levels, bool sweep, int k) {
  if (!sweep) return {height, -1};
  // Below the last table a window is less than two table rows high; the next table is made of rows 2^k apart.
  const int64_t wanted = k < levels ? (int64_t{1} << k) + 1 : tallest - (int64_t{1} << k) + 1;
  int64_t rows = 1;
  while (rows < wanted) rows *= 2;
  return {rows < height ? rows : height, rows - 1};
}

// A planned run over one tensor. Pointers are borrowed; every window is clipped to the map, every image number is in
// range, and no group is empty, so that the kernel has nothing to check.
struct RoiJob {
  const void* x;  // (images, channels, height, width)
  void* y;        // (rois, channels, bins_y, bins_x)
  int64_t images, channels, height, width;
  int64_t rois, bins_y, bins_x;
  const int64_t* image;          // of each ROI
  const RoiWindow* rows;         // (rois, bins_y)
  const RoiWindow* columns;      // (rois, bins_x)
  const int64_t* rois_by_image;  // ROI numbers
  const RoiGroup* groups;
  int64_t group_count;
  // Of the units of blocks and groups, the first so many have all of the group's ROIs. Each that follows is divided
  // into so many units, which have a part of the ROIs each.
  int64_t undivided, parts;
  // For the shared mode: tables of maxima over 1, 2, ... 2^levels rows of the map. A sweep keeps only some of their
  // rows, from the map's bottom to its top, and so pools the rows of bins of a unit's ROIs in the order of `tasks`,
  // which is that of their windows' starts, last first; for each unit's ROIs as they stand in rois_by_image.
  int levels;
  bool sweep;
  int64_t tallest;  // window along y
  int64_t slots;    // for the bins of so many ROIs at once: 1 without a sweep
  const RoiTask* tasks;
  Order order;
  bool stream;  // store past the caches
};

// What a unit of the modes that share a map is of.
struct RoiShare {
  RoiGroup rois;
  int64_t block;
};
static inline RoiShare roi_share(const RoiJob& job, int64_t blocks, int64_t unit) {
  int64_t whole = unit, part = 0, parts = 1;
  if (unit >= job.undivided) {
    whole = job.undivided + (unit - job.undivided) / job.parts;
    part = (unit - job.undivided) % job.parts;
    parts = job.parts;
  }
  return {part_of(job.groups[whole / blocks], part, parts), whole % blocks};
}
static inline int64_t roi_units(const RoiJob& job, int64_t blocks) {
  const int64_t wholes = job.group_count * blocks;
  return job.undivided < wholes ? job.undivided + (wholes - job.undivided) * job.parts : wholes;
}

// One kernel for elements of one width. Work comes in units that may run in any order and on any thread, each with
// `scratch_bytes(job)` of its own memory, aligned to 64 bytes.
//   shared:   a unit packs a block of channels of one image, then pools the image's ROIs, or a part of them, from it;
//   separate: a unit pools a block of channels of one ROI straight from the map;
//   narrow_map: as shared, for a few channels of a map of which a row fits a vector, as does a row of bins.
struct RoiKernel {
  struct Mode {
    int64_t (*units)(const RoiJob&);
    size_t (*scratch_bytes)(const RoiJob&);
    void (*run)(const RoiJob&, int64_t unit, void* scratch);
  };
  int64_t vector_bytes;
  Mode shared, separate, narrow_map;
  int64_t narrow_map_width;  // of map and bins at most; 0 where there is no such mode
};

}  // namespace onnx_maxpool
