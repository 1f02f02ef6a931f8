// The maximum over the bins of ROIs: what the kernel needs to know, and its entry points.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/element_type.h"
#include "base/window.h"

namespace onnx_maxpool {

constexpr int kMostLevels = 8;
constexpr int64_t kSecondCache = int64_t{1} << 20;  // bytes, where it is not known what a core has
constexpr int64_t kNarrowMapChannels = 16;          // in a unit of that mode
constexpr int64_t kSingleBinsChannels = 16;         // the same of few_channels, of ROIs of one bin each
// In how many vectors of columns the few_channels mode looks up bins at once.
static constexpr int64_t most_lookup_vectors(int64_t vector_bytes) { return vector_bytes < 64 ? 2 : 1; }

// How that mode pools an ROI's bins: it looks them up in the best over rows of the map, it folds each by itself, or it
// folds them from the best over rows.
enum class BinsBy { lookups, rows, lines };
struct BinSizes {
  int64_t bins_y, bins_x;
  int64_t height;                   // of all bins together
  int64_t vectors, vectors_of_bin;  // of columns of all bins together, and of the widest
};
// Of a map of which a row has so many bytes. Where one way ends is where it took as long as the next one in times of
// some 40 shapes, by vectors of 16, 32 and 64 bytes: by rows each bin takes its vectors of each row of the map; by
// lines a row of the map takes fewer, and a row of bins has a line to fill and to read.
static constexpr BinsBy bins_by(bool looks_up, int64_t row_bytes, const BinSizes& roi) {
  // Of wider ROIs, neighbouring cells are better read together.
  constexpr int64_t kMostVectors = 8;
  // Lines of rows that are as short as a few lines of memory mostly take less, as a few columns at a time stay in
  // registers (LineFiller::are_near, which looks at the tensor too).
  constexpr int64_t kShort = 256;
  const int64_t of_all_bins = roi.bins_x * roi.vectors_of_bin;
  const bool reads_half_more_at_most = 2 * of_all_bins <= 3 * roi.vectors;
  if (looks_up && roi.vectors_of_bin <= 1 && roi.vectors <= kMostVectors) {
    const bool is_tall = roi.height >= 6 * roi.bins_y;
    return is_tall && reads_half_more_at_most ? BinsBy::rows : BinsBy::lookups;
  }
  const bool by_rows = row_bytes > kShort ? reads_half_more_at_most
                                          : (8 * of_all_bins - 9 * roi.vectors) * roi.height <= 80 * roi.bins_y;
  return by_rows ? BinsBy::rows : BinsBy::lines;
}

// Sizes of X (images, channels, height, width) and of Y (rois, channels, bins_y, bins_x).
struct RoiDims {
  int64_t images, channels, height, width, rois, bins_y, bins_x;
};

// Some of the tensors' channels.
struct RoiChannels {
  int64_t first, count;
};

// Some ROIs as an operator has them, and where their images and windows go. Pointers are borrowed; sides and bins fit
// in 32 bits.
struct RoiRows {
  const void* values;  // (count, 5): batch, x1, y1, x2, y2
  bool are_double;     // or float, as are bins' sizes and products (M7)
  int64_t count;
  float spatial_scale;
  int64_t images, height, width, bins_y, bins_x;
  int64_t* image;     // of each
  RoiWindow* y;       // (count, bins_y)
  RoiWindow* x;       // (count, bins_x)
  BinWidths* widths;  // of each ROI's columns; null where it has only one bin along x
};

// The sparse table of the shared mode: maxima over 1, 2, ... 2^levels rows of the map. A sweep keeps only some of their
// rows, in ring buffers, from the map's bottom to its top.
struct RoiTables {
  int levels;
  bool sweep;
  int64_t tallest;  // window along y
  int64_t slots;    // for the bins of so many ROIs at once: 1 without a sweep
  // Blocks of channels that a unit of the shared mode pools: 1 in a sweep, and in the other modes.
  int64_t at_once;
};

// Some ROIs of one image, those that RoiJob::rois_by_image has from `begin` to `end`, on a block of channels. Where a
// unit has several blocks, `block` counts these units.
struct RoiUnit {
  int64_t image, block, begin, end;
};

// A row of bins of an ROI, which is the slot-th of its unit.
struct RoiTask {
  int32_t slot, row;
};

// Functions here are internal to each file, as kernels are compiled for processors of their own.

// Whether a row of an ROI's bins has the same rows of the map as the one before it, as where these are fewer than bins.
static inline bool repeats(const RoiWindow* rows, int64_t row) {
  return row > 0 && rows[row].start == rows[row - 1].start && rows[row].end == rows[row - 1].end;
}

// Table k has the maxima over 2^k rows: in row y, over rows y to y + 2^k of the map. Any number of rows is then two
// lines, which may overlap, and more only where `levels` ends early. A sweep keeps of each table the rows that may
// still be asked for, row y in place `y & mask` of a ring buffer.
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

// A planned run over one tensor. Pointers are borrowed; every window is clipped to the map, none of an ROI begins or
// ends before an earlier one, every image number is in range, and no unit is empty, so that the kernel has nothing to
// check.
struct RoiJob {
  const void* x;
  void* y;
  RoiDims dims;
  RoiChannels channels;  // which to pool
  Order order;
  bool stream;                   // store past the caches
  const RoiWindow* rows;         // (rois, bins_y)
  const RoiWindow* columns;      // (rois, bins_x)
  const BinWidths* widths;       // of each ROI's columns, where it has more than one bin along x
  const int64_t* rois_by_image;  // ROI numbers
  const RoiUnit* units;
  int64_t unit_count;
  RoiTables tables;
  // Of a sweep, `bins_y` for each of rois_by_image: it pools the rows of bins of a unit's ROIs in this order, which is
  // that of their windows' starts, last first; an ROI's rows that start alike come from first to last.
  const RoiTask* tasks;
};

// What an ROI's bins reach along an axis: they overlap or touch, so that none between the first and the last is left
// out.
static inline RoiWindow span_of(const RoiWindow* bins, int64_t count) { return {bins[0].start, bins[count - 1].end}; }

// Where the tensor ends.
template <class Lane>
static inline const Lane* end_of_input(const RoiJob& job) {
  return static_cast<const Lane*>(job.x) + job.dims.images * job.dims.channels * job.dims.height * job.dims.width;
}

// At most so many of a job's channels from one of them on.
static inline int64_t channels_from(const RoiJob& job, int64_t first, int64_t most) {
  const int64_t left = job.channels.count - first;
  return left < most ? left : most;
}
// Those that a block of at most so many has.
static inline int64_t channels_of_block(const RoiJob& job, int64_t block, int64_t most) {
  return channels_from(job, block * most, most);
}

// A unit of kSingleBinsChannels that has more ROIs than this is taken to read all of its channels.
constexpr int64_t kSingleBinsRois = 64;
// How many channels all ROIs of such a unit read before any reads others: all, or, where these have more bytes than
// this, as many as have half of that, or one. Without a division where they have no more.
constexpr int64_t kSingleBinsBytes = int64_t{1} << 19;
static inline int64_t single_bins_channels_at_once(int64_t channels, int64_t channel_bytes) {
  if (channels * channel_bytes <= kSingleBinsBytes) return channels;
  return channel_bytes < kSingleBinsBytes / 2 ? kSingleBinsBytes / 2 / channel_bytes : 1;
}

// One kernel for elements of one width. Units may run in any order and on any thread, each with `scratch_bytes(job)` of
// its own memory, aligned to 64 bytes.
//   shared:   a unit packs a block of channels of one image, or several, then pools its ROIs from it;
//   separate: a unit pools its ROIs straight from the map;
//   narrow_map: as shared, for a few channels of a map of which a row fits a vector, as does a row of bins;
//   few_channels: as separate, for few channels, each by itself; where ROIs have one bin each, a unit has
//             kSingleBinsChannels of any number of channels;
//   cells: the same, cell by cell.
struct RoiKernel {
  struct Mode {
    size_t (*scratch_bytes)(const RoiJob&);
    void (*run)(const RoiJob&, int64_t unit, void* scratch);
  };
  int64_t vector_bytes;
  Mode shared, separate, narrow_map;
  // Of a vector whose lanes can be looked up, which limits that mode's maps and rows of bins; 0 where there are none.
  int64_t lookup_lanes;
  Mode few_channels;
  int64_t line_bytes;  // of the widest vectors, which that mode has, and separate for rows of few channels
  Mode cells;
};

}  // namespace onnx_maxpool
