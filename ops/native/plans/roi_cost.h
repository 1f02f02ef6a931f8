// What it costs to pool ROIs in each of the kernel's modes: processor cycles of all threads together.
//
// tests/native/measure_roi_costs.cc fits most of these constants to times of random shapes, on all targets together;
// tests/native/compare_plans.cc tells how well they choose. Only their proportions matter, and these are much the same
// on all processors that were tried.
#pragma once

#include <array>
#include <cstdint>

#include "plans/roi_plan.h"

namespace onnx_maxpool {

namespace roi_costs {

// Those that are fitted are variables there.
#if defined(ONNX_MAXPOOL_FITS_COSTS)
#define ONNX_MAXPOOL_COST inline
#else
#define ONNX_MAXPOOL_COST constexpr
#endif

// For each vector of a block of channels.
struct BlockCosts {
  double pack;       // read, map, transpose and store a cell of the map
  double table;      // a cell of a table
  double reduce;     // a cell of a line that goes into another
  double column;     // a cell of a line, in a bin
  double bin;        // a bin: transposed and stored
  double map_row;    // the separate mode: as many cells of a row of a channel as a vector has
  double transpose;  // the same over rows, as one of a square
};
// Of vectors of 16, 32 and 64 bytes.
ONNX_MAXPOOL_COST BlockCosts kBlocks[] = {
    {4.5, 1.8, 1.8, 1.4, 6.4, 2.7, 4.1}, {7, 3.1, 2, 2, 8, 3, 5}, {8.8, 5, 2.4, 2.1, 7.8, 1.5, 9.5}};
// For each block of channels: an ROI; a row of its bins, whose lines are found; and how much more this costs in the
// separate mode.
ONNX_MAXPOOL_COST double kRoi = 15, kBinsRow = 37, kSquaresRow = 20;
// kRoi and kBinsRow, of each further block of the same unit, in proportion.
ONNX_MAXPOOL_COST double kBlockAgain = 0.14;
// An ROI of one bin, with all of these; and each further block of the same unit.
ONNX_MAXPOOL_COST double kSingleBin = 27, kSingleBinAgain = 9;
ONNX_MAXPOOL_COST double kFarBin = 12;  // a bin that a sweep keeps beyond the second-level cache
ONNX_MAXPOOL_COST double kUnit = 250;

// What a line of memory costs more than one in the core's first cache: in its other caches; in the cache that cores
// share; and beyond that, in memory. Processors without vectors of 64 bytes have slower memory, too.
ONNX_MAXPOOL_COST double kNearLine = 1.5, kLine = 4, kFarLine = 15, kNarrowerFarLine = 30;
// kLine and kFarLine, where whole rows of a map are read, as processors fetch these in advance.
ONNX_MAXPOOL_COST double kRowLine = 2.7, kFarRowLine = 4.5, kNarrowerFarRowLine = 12;
// kLine, where a block is read again straight from the map, of processors without vectors of 64 bytes: their caches are
// smaller.
ONNX_MAXPOOL_COST double kNarrowerLine = 8;

// For each channel of a narrow map.
ONNX_MAXPOOL_COST double kNarrowRow = 3;                                // a row of the map
ONNX_MAXPOOL_COST double kBinRow = 6.5;                                 // a row of bins
ONNX_MAXPOOL_COST double kBinColumn = 1;                                // each column of its widest bin
ONNX_MAXPOOL_COST double kNarrowerBinRow = 10, kNarrowerBinColumn = 2;  // the same of vectors of less than 64 bytes
ONNX_MAXPOOL_COST double kBinLine = 1;                                  // each row of its bins
// For each unit: an ROI, and a column of its bins.
ONNX_MAXPOOL_COST double kNarrowMapRoi = 44, kPermutation = 4;

// The few_channels mode by lines: an ROI; and for each channel a row of bins, a row of the map in it, as many of its
// cells as a vector has, a bin, and each vector of a wide one beyond its first. Of vectors of less than 64 bytes, two
// cost less.
ONNX_MAXPOOL_COST double kFewChannelsRoi = 120, kLineOfBins = 28, kLineRow = 6, kLineVector = 2.8, kLineBin = 13,
                         kWideBin = 2.5, kNarrowerLineRow = 4, kNarrowerLineVector = 2.7;

// The same of bins that are looked up: an ROI, and each piece of its rows of bins; for each channel such a piece, and
// for each of its vectors a step by which bins are taken, and a row of the map; and a row of bins that repeats the one
// before it. Of vectors of 64 bytes, and of less.
struct LookupCosts {
  double roi, piece, piece_row, lookup, line, repeated_row;
};
ONNX_MAXPOOL_COST LookupCosts kLookups = {57, 27, 14, 2, 1.5, 5}, kNarrowerLookups = {100, 8, 17, 1.5, 5, 10};

// The same of bins that are folded from the map: an ROI that is one bin, as others cost kFewChannelsRoi; and for each
// channel such a bin, one of several, a row of the map, and as many of its cells as a vector has.
struct FoldCosts {
  double roi, only_bin, bin, row, vector;
};
ONNX_MAXPOOL_COST FoldCosts kFolds = {18, 3, 12, 2.5, 1}, kNarrowerFolds = {18, 4, 12, 1.5, 1.4};

// The cells mode: an ROI; and for each channel a bin, and a cell. Where bins differ in their cells, jumps are not
// foreseen; where each has one, they are.
ONNX_MAXPOOL_COST double kCellsRoi = 20, kCellsBin = 18, kBinOfCell = 8, kCell = 3;

// Not fitted. Roughly: by the few_channels mode an ROI of one bin, and for each channel the bin; an ROI of more, and
// for each channel a row of bins. From a table of all channels a cell of the map; an ROI, and one of one bin; a row of
// bins, a bin, and a cell of an only bin.
struct RoughCosts {
  double fold_roi, fold, lookups_roi, lookups;
  double pack, roi, single_bin_roi, bins_row, bin, column;
};
constexpr RoughCosts kRough = {20, 7, 75, 16, 2, 15, 35, 30, 14, 2};

// Not fitted, too: to find a window, before there is a plan; and where those of many ROIs are found at once.
constexpr double kWindow = 15, kWindowOfMany = 2;

// What a part of a group costs beside its share of the group's work: it is handed out, and waits for its last stores.
constexpr double kPart = 2000;
// A line that one thread writes right before or after those that another writes at about the same time: processors
// fetch lines in advance, and so take them from each other. There are so many for each ROI, as far as it has them, and
// fewer where a thread's outputs of an ROI fill more lines than this, as the other is then seldom near.
constexpr double kHandedLine = 75, kHandedLines = 12, kNearLines = 128;
// By how much threads differ in speed, as others use their processors and memory, too: one of two took twice as long
// as the other for a second or so, while its core ran another program's thread as well.
constexpr double kUnevenThreads = 0.12;

}  // namespace roi_costs

// What few channels cost by the few_channels mode where lanes are looked up, and from a table, with so many cells in
// all: roughly, of small windows, and without a look at each ROI.
double rough_looked_up(const RoiShape& shape);
double rough_table(const RoiShape& shape, double cells);

// Channels of the last block, where it is no more than half full and not the only one; else 0.
int64_t channels_left(const RoiShape& shape);

// The cells that the ROIs of a run visit, and so what each mode costs.
class RoiCost {
 public:
  // Of ROIs of so many images.
  RoiCost(const RoiShape& shape, const RoiWindows& windows, size_t groups);

  // The separate mode, for each of all blocks on average, and for one whose channels fill the vector.
  double separate() const;
  double full_block() const { return separate(lanes_); }
  // The shared mode, with so many levels of tables, for a unit of so many blocks: to fill them for an image, and to
  // pool all ROIs.
  double fill(int levels, double blocks) const;
  double shared(int levels, double blocks) const;
  // The narrow_map mode, for a unit of so many channels: to read an image's map, and to pool all ROIs.
  double fill_narrow_map(double channels) const;
  double narrow_map(double channels) const;
  // The few_channels mode, of so many channels, and the cells mode, of all.
  double few_channels(double channels) const;
  double cells() const;

 private:
  double separate(double channels) const;  // for a block of so many
  void add(const RoiWindow* rows, const RoiWindow* columns);
  void add_straight(int64_t rows, int64_t tallest, int64_t width);
  void add_tables(int64_t rows, int64_t tallest, int64_t width, int64_t widest);
  void add_few_channels(int64_t rows, int64_t height, int64_t tallest, int64_t width, int64_t widest);
  void reckon(double weight);
  void reckon_few_channels(double weight);
  // Of memory, for each channel.
  double lines(int64_t rows, int64_t width) const;
  double first_line(double line, double far_line) const;
  // What ROIs touch that are pooled straight from the map, so many channels at a time.
  double straight(double channels) const;

  // With so many levels of tables: cells of bins that are combined, and cells of lines that go into others.
  struct Tables {
    std::array<double, kMostLevels + 1> combined{};
    std::array<double, kMostLevels + 1> reduced{};
  };
  // Of some of the ROIs. Whole numbers where 64 bits hold them: a small run would notice as many floating-point sums.
  struct Sums {
    int64_t rois = 0;
    int64_t of_cells = 0;                       // ROIs whose bins have one cell each
    int64_t tall = 0, wide = 0, area = 0;       // rows, columns and cells of an ROI's largest bin
    int64_t rows = 0;                           // of bins, but for those that repeat others
    int64_t columns = 0;                        // of these rows: cells of lines, in bins
    int64_t touched_rows = 0, touched = 0;      // rows of the map, and their cells but for one in each
    int64_t squares = 0;                        // of the separate mode: blocks of 16 bytes
    double map_rows = 0;                        // and vectors of a channel
    double wide_rows = 0;                       // the same of rows that it reads with the widest vectors
    int64_t row_rois = 0;                       // of the few_channels mode: ROIs whose bins it folds by rows
    int64_t bin_rows = 0, row_vectors = 0;      // rows of their largest bins, and these rows' vectors
    int64_t line_rois = 0, line_bins = 0;       // ROIs that it folds by lines, and vectors of a bin beyond its first
    int64_t line_rows = 0, line_vectors = 0;    // rows of their largest bins, and these lines' vectors
    int64_t looked_up = 0, pieces = 0;          // ROIs that it looks up instead, and pieces of theirs
    int64_t piece_rows = 0, repeated_rows = 0;  // rows of bins in pieces, and those that repeat others
    int64_t lookups = 0;                        // in these rows
    double lookup_rows = 0;                     // of the map
    Tables tables, at_most;                     // of ROIs that have a use for more levels, and of those that have none
  };

  const RoiShape& shape_;
  const double groups_;
  const double element_bytes_;
  const int64_t row_bytes_;  // of the map
  const double lanes_;
  const int lanes_shift_, line_shift_, block_shift_;  // lanes of a block's vector, of the widest, and of 16 bytes
  const bool has_full_blocks_;
  const bool has_64_byte_vectors_;  // the processor
  const roi_costs::BlockCosts& block_;
  Sums sums_;
  int64_t top_, bottom_ = 0;                              // the map's rows that the ROIs reach
  double squares_ = 0, map_rows_ = 0;                     // of the separate mode, in vectors' lanes
  double wide_rows_ = 0;                                  // the same of rows that it reads with the widest vectors
  double columns_ = 0;                                    // of bins: cycles for cells of lines
  double bins_rows_ = 0;                                  // rows of bins, but for those that repeat others
  double row_line_ = 0;                                   // where a whole row is read for the first time
  double touched_ = 0, touched_first_ = 0;                // lines of memory, for each channel; and the first time
  std::array<double, kMostLevels + 1> shared_{};          // cycles, with so many levels of tables
  double narrow_map_ = 0, few_channels_ = 0, cells_ = 0;  // cycles for each channel
  double few_channels_rois_ = 0;                          // cycles for all channels together
};

}  // namespace onnx_maxpool
