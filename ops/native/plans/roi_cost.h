// What it costs to pool ROIs in each of the kernel's modes: processor cycles of all threads together.
//
// tests/native/measure_costs.cc times the kernels and prints these constants for each target; what it printed is here
// and nowhere else. Only their proportions matter, and these are much the same on all processors that were tried.
#pragma once

#include <array>
#include <cstdint>

#include "plans/roi_plan.h"

namespace onnx_maxpool {

namespace roi_costs {

// For each vector of a block of channels.
constexpr double kPack = 8;       // read, map, transpose and store a cell of the map
constexpr double kTable = 2;      // a cell of a table
constexpr double kTableLine = 2;  // a cell of a line of a table, in a bin
constexpr double kTranspose = 8;  // a cell of a line that comes from the map
constexpr double kBin = 20;       // a bin: reduced, transposed and stored
constexpr double kMapLine = 2;    // a cell of the map that goes into such a line

// For each channel of a narrow map.
constexpr double kMapRow = 3;     // a row of the map
constexpr double kBinRow = 5;     // a row of bins
constexpr double kBinColumn = 1;  // each column of its widest bin
constexpr double kBinLine = 1;    // each row of its bins

// To find a window, before there is a plan.
constexpr double kWindow = 15;

// What a part of a group costs beside its share of the group's work: it is handed out, and waits for its last stores.
constexpr double kPart = 2000;
// By how much threads differ in speed, as others use their processors and memory, too.
constexpr double kUnevenThreads = 0.04;

}  // namespace roi_costs

// The cells that the ROIs of a run visit, and so what each mode costs.
class RoiCost {
 public:
  RoiCost(const RoiShape& shape, const RoiWindows& windows);

  // The separate mode, for each block of channels.
  double separate() const;
  // The shared mode, with so many levels of tables: to fill them for an image, to read the lines of all ROIs, and to
  // reduce their bins, for each block.
  double fill(int levels) const;
  double table_lines(int levels) const;
  double bins() const;
  // The narrow_map mode, for a unit of so many channels: to read an image's map, and to pool all ROIs.
  double fill_narrow_map(double channels) const;
  double narrow_map(double channels) const { return channels * narrow_map_; }

 private:
  void add(const RoiWindow* rows, const RoiWindow* columns);

  const RoiShape& shape_;
  double map_lines_ = 0;                               // rows of the map times columns
  double lines_ = 0;                                   // rows of bins times columns
  std::array<double, kMostLevels + 1> table_lines_{};  // lines of tables times columns, with so many levels
  std::array<double, kMostLevels + 1> at_most_{};      // the same of ROIs that have no use for more levels
  double narrow_map_ = 0;                              // cycles for each channel
};

}  // namespace onnx_maxpool
