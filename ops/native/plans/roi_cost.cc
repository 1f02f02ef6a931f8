#include "plans/roi_cost.h"

#include <algorithm>

namespace onnx_maxpool {
namespace {

using namespace roi_costs;

// The bins of an ROI are much alike: the largest of three stands for all.
int64_t largest(const RoiWindow* windows, int64_t count) {
  const auto size = [&](int64_t i) { return std::max<int64_t>(windows[i].end - windows[i].start, 0); };
  return std::max({size(0), size(count / 2), size(count - 1)});
}

}  // namespace

RoiCost::RoiCost(const RoiShape& shape, const RoiWindows& windows) : shape_(shape) {
  for (int64_t roi = 0; roi < shape.rois; ++roi) {
    add(&windows.rows[static_cast<size_t>(roi * shape.bins_y)],
        &windows.columns[static_cast<size_t>(roi * shape.bins_x)]);
  }
  double sum = 0;
  for (size_t levels = 0; levels <= kMostLevels; ++levels) {
    sum += at_most_[levels];
    table_lines_[levels] += sum;
  }
}

void RoiCost::add(const RoiWindow* rows, const RoiWindow* columns) {
  const auto width = static_cast<double>(std::max<int64_t>(columns[shape_.bins_x - 1].end - columns[0].start, 0));
  const int64_t tallest = largest(rows, shape_.bins_y), widest = largest(columns, shape_.bins_x);
  narrow_map_ += static_cast<double>(shape_.bins_y) *
                 (kBinRow + kBinColumn * static_cast<double>(widest) + kBinLine * static_cast<double>(tallest));
  if (tallest == 0 || width == 0) return;
  const double lines = width * static_cast<double>(shape_.bins_y);
  lines_ += lines;
  map_lines_ += lines * static_cast<double>(tallest);
  const auto with = [&](size_t levels) { return lines * static_cast<double>(((tallest - 1) >> levels) + 1); };
  size_t levels = 0;
  for (; levels < kMostLevels && (int64_t{2} << levels) <= tallest; ++levels) table_lines_[levels] += with(levels);
  at_most_[levels] += with(levels);
}

double RoiCost::separate() const { return kTranspose * lines_ + kMapLine * map_lines_ + bins(); }

double RoiCost::fill(int levels) const {
  return static_cast<double>(shape_.height * shape_.width) * (kPack + kTable * levels);
}

double RoiCost::table_lines(int levels) const { return kTableLine * table_lines_[static_cast<size_t>(levels)]; }

double RoiCost::bins() const { return kBin * static_cast<double>(shape_.rois * shape_.bins_y * shape_.bins_x); }

double RoiCost::fill_narrow_map(double channels) const {
  return channels * kMapRow * static_cast<double>(shape_.height);
}

}  // namespace onnx_maxpool
