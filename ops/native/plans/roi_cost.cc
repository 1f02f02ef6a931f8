#include "plans/roi_cost.h"

#include <algorithm>
#include <cmath>

namespace onnx_maxpool {
namespace {

using namespace roi_costs;

// Of so many ROIs, evenly among all, the cost is that of all. To look at each would take longer than to pool small
// ones.
constexpr int64_t kSample = 96;

// Of what is not negative. std::floor and std::ceil are calls where the compiler may not use SSE4.1.
double rounded_down(double value) { return static_cast<double>(static_cast<int64_t>(value)); }
double rounded_up(double value) {
  const double down = rounded_down(value);
  return down < value ? down + 1 : down;
}

// The bins of an ROI are much alike: the largest of three stands for all.
int64_t largest(const RoiWindow* windows, int64_t count) {
  const auto size = [&](int64_t i) { return std::max<int64_t>(windows[i].end - windows[i].start, 0); };
  return std::max({size(0), size(count / 2), size(count - 1)});
}

// From 0 to 1 as `bytes` grow from one size to another: no cache ends at a byte.
double beyond(double bytes, double from, double to) { return std::clamp((bytes - from) / (to - from), 0.0, 1.0); }
constexpr double kKiB = 1024, kMiB = 1024 * kKiB;

}  // namespace

RoiCost::RoiCost(const RoiShape& shape, const RoiWindows& windows, size_t groups)
    : shape_(shape),
      groups_(static_cast<double>(groups)),
      element_bytes_(static_cast<double>(shape.input_bytes) /
                     static_cast<double>(shape.images * shape.channels * shape.height * shape.width)),
      lanes_(static_cast<double>(shape.vector_bytes) / element_bytes_),
      part_(shape.vector_bytes < 64 ? 0.5 : 1),
      line_lanes_(std::max(static_cast<double>(shape.line_bytes) / element_bytes_, 1.0)),
      has_64_byte_vectors_(std::max(shape.vector_bytes, shape.line_bytes) >= 64),
      top_(shape.height) {
  const int64_t step = (shape.rois + kSample - 1) / kSample;
  const double weight = static_cast<double>(shape.rois) / static_cast<double>((shape.rois + step - 1) / step);
  for (int64_t roi = 0; roi < shape.rois; roi += step) {
    add(&windows.rows[static_cast<size_t>(roi * shape.bins_y)],
        &windows.columns[static_cast<size_t>(roi * shape.bins_x)], weight);
  }
  double sum = 0;
  for (size_t levels = 0; levels <= kMostLevels; ++levels) {
    sum += at_most_[levels];
    shared_[levels] += sum;
  }
}

void RoiCost::add(const RoiWindow* rows, const RoiWindow* columns, double weight) {
  const auto bins_y = static_cast<double>(shape_.bins_y) * weight;
  const auto width = static_cast<double>(std::max<int64_t>(columns[shape_.bins_x - 1].end - columns[0].start, 0));
  const int64_t tallest = largest(rows, shape_.bins_y), widest = largest(columns, shape_.bins_x);
  narrow_map_ +=
      bins_y * (kBinRow + kBinColumn * static_cast<double>(widest) + kBinLine * static_cast<double>(tallest));
  cells_ += bins_y * static_cast<double>(shape_.bins_x) *
            (kCellsBin + kCell * static_cast<double>(tallest) * static_cast<double>(widest));
  add_few_channels(width, static_cast<double>(tallest), static_cast<double>(widest), weight);
  if (tallest == 0 || width == 0) return;
  top_ = std::min<int64_t>(top_, rows[0].start);
  bottom_ = std::max<int64_t>(bottom_, rows[shape_.bins_y - 1].end);
  touched_ += weight * lines(static_cast<double>(rows[shape_.bins_y - 1].end - rows[0].start), width);

  // Squares are of as many columns as a vector has lanes or, where fewer than half are left of a block of channels that
  // is full, of 16 bytes.
  const auto tall = static_cast<double>(tallest);
  const double squares = rounded_down(width / lanes_), left = width - squares * lanes_;
  if (line_lanes_ > lanes_ && tallest > 1 && width > lanes_) {
    wide_rows_ += bins_y * tall * rounded_up(width / line_lanes_);
    squares_ += bins_y * rounded_up(width / lanes_);
  } else if (left > lanes_ / 2 || static_cast<double>(shape_.channels) < lanes_) {
    map_rows_ += bins_y * tall * rounded_up(width / lanes_);
    squares_ += bins_y * rounded_up(width / lanes_);
  } else {
    const double in_blocks = rounded_up(left * element_bytes_ / 16);
    map_rows_ += bins_y * tall * (squares + in_blocks);
    squares_ += bins_y * (squares + in_blocks * 16 / static_cast<double>(shape_.vector_bytes));
  }

  // A bin's columns go four at a time; up to three take as long as three.
  const double of_bin = widest < 4 ? 3 : static_cast<double>((widest + 3) / 4 * 4);
  const double bins = bins_y * static_cast<double>(shape_.bins_x) * of_bin * kColumn;
  columns_ += bins;
  const auto with = [&](size_t levels) {
    const auto before = static_cast<double>((tallest - 1) >> levels);
    return before < 2 ? bins * (before + 1) : bins + bins_y * width * (before + 1) * kReduce;
  };
  size_t levels = 0;
  for (; levels < kMostLevels && (int64_t{2} << levels) <= tallest; ++levels) shared_[levels] += with(levels);
  at_most_[levels] += with(levels);
}

void RoiCost::add_few_channels(double width, double tallest, double widest, double weight) {
  if (shape_.bins_y * shape_.bins_x == 1) {
    const FoldCosts& cost = has_64_byte_vectors_ ? kFolds : kNarrowerFolds;
    few_channels_ += weight * (cost.bin + tallest * (cost.row + cost.vector * rounded_up(width / line_lanes_)));
    few_channels_rois_ += weight * cost.roi;
    return;
  }
  const auto bins_x = static_cast<double>(shape_.bins_x), rows = static_cast<double>(shape_.bins_y) * weight;
  const auto lanes = static_cast<double>(shape_.lookup_lanes),
             most_vectors = static_cast<double>(most_lookup_vectors(shape_.line_bytes));
  if (lanes > 0 && widest <= most_vectors * lanes && width <= kLookedUpVectors * lanes) {
    const double vectors = width > lanes ? most_vectors : 1, most = vectors * lanes;
    double pieces = 1;  // without divisions where an ROI is small
    if (width > most || bins_x > lanes) {
      const double in_line = width > 0 ? rounded_down((most - widest) * bins_x / width) + 1 : bins_x;
      pieces = rounded_up(bins_x / std::min({in_line, bins_x, lanes}));
    }
    const double steps = std::min(widest, 5.0);  // of wide bins, the cells become the best of several first
    const LookupCosts& cost = has_64_byte_vectors_ ? kLookups : kNarrowerLookups;
    few_channels_ += rows * pieces * (cost.piece_row + vectors * (cost.lookup * steps + cost.line * tallest));
    few_channels_rois_ += weight * (cost.roi + cost.piece * pieces);
    return;
  }
  const double line = has_64_byte_vectors_ ? kLineRow : kNarrowerLineRow,
               vector = has_64_byte_vectors_ ? kLineVector : kNarrowerLineVector;
  few_channels_ +=
      rows * (kLineOfBins + kLineBin * bins_x + tallest * (line + vector * rounded_up(width / line_lanes_)) +
              bins_x * kWideBin * rounded_down(widest / line_lanes_));
  few_channels_rois_ += weight * kFewChannelsRoi;
}

double RoiCost::lines(double rows, double width) const { return rows * ((width - 1) * element_bytes_ / 64 + 1); }

// What is read for the first time in a run: it comes from where so many bytes fit.
double RoiCost::first_line(double line, double far_line) const {
  const auto bytes = static_cast<double>(shape_.input_bytes);
  return line * beyond(bytes, kMiB / 2, 1.5 * kMiB) + far_line * beyond(bytes, 16 * kMiB, 32 * kMiB);
}

double RoiCost::straight(double channels) const {
  const double block = channels * element_bytes_ * static_cast<double>(shape_.height * shape_.width);
  const double all = std::max(
      groups_ * static_cast<double>(bottom_ - top_) * static_cast<double>(shape_.width) * element_bytes_ / 64, 1.0);
  const double first = all * (1 - std::exp(-touched_ / all));  // of lines that lie anywhere
  const double near = kNearLine * beyond(block, 32 * kKiB, 64 * kKiB);
  const double again =
      has_64_byte_vectors_ ? kLine * beyond(block, kMiB, 2 * kMiB) : kNarrowerLine * beyond(block, kMiB / 2, kMiB);
  return touched_ * near + first * first_line(kLine, kFarLine) + (touched_ - first) * again;
}

double RoiCost::few_channels(double channels) const {
  return few_channels_rois_ + channels * (few_channels_ + straight(channels));
}

double RoiCost::cells() const {
  const auto channels = static_cast<double>(shape_.channels);
  return static_cast<double>(shape_.rois) * kCellsRoi + channels * (cells_ + straight(channels));
}

int64_t RoiCost::channels_left() const {
  const auto lanes = std::max<int64_t>(static_cast<int64_t>(lanes_), 1);
  const int64_t left = shape_.channels % lanes;
  return shape_.channels > lanes && left <= lanes / 2 ? left : 0;
}

double RoiCost::separate() const {
  return separate(std::min(lanes_, static_cast<double>(shape_.channels) / static_cast<double>(shape_.blocks)));
}

double RoiCost::separate(double channels) const {
  const auto rois = static_cast<double>(shape_.rois), rows = rois * static_cast<double>(shape_.bins_y);
  return lanes_ * kTranspose * part_ * squares_ +
         channels * ((part_ < 1 ? kNarrowerMapRow : kMapRow) * map_rows_ +
                     (has_64_byte_vectors_ ? kMapRow : kNarrowerMapRow) * wide_rows_ + straight(lanes_)) +
         columns_ + rows * (kBinsRow + kSquaresRow) +
         rois * (kRoi + kBin * static_cast<double>(shape_.bins_y * shape_.bins_x));
}

double RoiCost::fill(int levels, double blocks) const {
  const auto cells = blocks * static_cast<double>(std::max<int64_t>(bottom_ - top_, 0) * shape_.width);
  return kUnit +
         cells * (kPack + kTable * part_ * levels + lanes_ * element_bytes_ / 64 * first_line(kRowLine, kFarRowLine));
}

double RoiCost::shared(int levels, double blocks) const {
  const auto rois = static_cast<double>(shape_.rois), rows = static_cast<double>(shape_.bins_y);
  const double cells = blocks * shared_[static_cast<size_t>(levels)];
  if (shape_.bins_y * shape_.bins_x == 1) return cells + rois * (kSingleBin + (blocks - 1) * kSingleBinAgain);
  return cells + blocks * rois * (kRoi + rows * (kBinsRow + kBin * static_cast<double>(shape_.bins_x)));
}

double RoiCost::fill_narrow_map(double channels) const {
  return kUnit + channels * (kNarrowRow * static_cast<double>(shape_.height) +
                             lines(static_cast<double>(shape_.height), static_cast<double>(shape_.width)) *
                                 first_line(kRowLine, kFarRowLine));
}

double RoiCost::narrow_map(double channels) const {
  const double columns = kPermutation * static_cast<double>(shape_.bins_x);
  return channels * narrow_map_ + static_cast<double>(shape_.rois) * (kNarrowMapRoi + columns);
}

}  // namespace onnx_maxpool
