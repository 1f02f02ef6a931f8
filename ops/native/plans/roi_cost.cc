#include "plans/roi_cost.h"

#include <algorithm>
#include <cmath>

namespace onnx_maxpool {
namespace {

using namespace roi_costs;

// Of about a quarter of the ROIs, evenly among all, the cost is that of all, within these bounds or half of them. To
// look at each would take longer than to pool small ones.
constexpr int64_t kLeastSample = 16, kMostSample = 96;

// Of as many lanes, 2^shift; of fewer than one, as where there are no such vectors, that of one.
int shift_of(double lanes) { return std::ilogb(std::max(lanes, 1.0)); }

// How often 2^shift goes into what is not negative, and how many such parts have all of it.
double parts(int64_t of, int shift) { return static_cast<double>(of >> shift); }
double all_parts(int64_t of, int shift) { return static_cast<double>((of + (int64_t{1} << shift) - 1) >> shift); }

// The bins of an ROI are much alike: the largest of three stands for all.
int64_t largest(const RoiWindow* windows, int64_t count) {
  const auto size = [&](int64_t i) { return std::max<int64_t>(windows[i].end - windows[i].start, 0); };
  return std::max({size(0), size(count / 2), size(count - 1)});
}

// How many rows of an ROI's bins do not repeat the one before them: of an ROI with fewer rows of the map, these and the
// pairs of neighbours.
int64_t different_rows(const RoiWindow* rows, int64_t bins) {
  return std::clamp<int64_t>(2 * (int64_t{rows[bins - 1].end} - rows[0].start) - 1, 1, bins);
}

// From 0 to 1 as `bytes` grow from one size to another: no cache ends at a byte.
double beyond(double bytes, double from, double to) { return std::clamp((bytes - from) / (to - from), 0.0, 1.0); }
constexpr double kKiB = 1024, kMiB = 1024 * kKiB;

}  // namespace

double rough_looked_up(const RoiShape& shape) {
  const auto channels = static_cast<double>(shape.channels), rows = static_cast<double>(shape.bins_y);
  const double roi = shape.has_single_bins() ? kFolds.roi + channels * kRoughFold
                                             : kLookups.roi + kLookups.piece + rows * channels * kRoughLookups;
  return static_cast<double>(shape.rois) * roi;
}

double rough_table(const RoiShape& shape, double cells) {
  const auto rows = static_cast<double>(shape.bins_y), columns = static_cast<double>(shape.bins_x);
  const double fill = kUnit + kPackFew * static_cast<double>(shape.height * shape.width),
               rois = static_cast<double>(shape.rois);
  if (shape.has_single_bins()) {
    return fill + kColumn * cells / static_cast<double>(shape.channels) + rois * (kRoi + kSingleBin);
  }
  return fill + rois * (kRoi + rows * (kBinsRow + kRoughBin * columns));
}

RoiCost::RoiCost(const RoiShape& shape, const RoiWindows& windows, size_t groups)
    : shape_(shape),
      groups_(static_cast<double>(groups)),
      element_bytes_(static_cast<double>(shape.input_bytes) /
                     static_cast<double>(shape.images * shape.channels * shape.height * shape.width)),
      lanes_(static_cast<double>(shape.vector_bytes) / element_bytes_),
      part_(shape.vector_bytes < 64 ? 0.5 : 1),
      lanes_shift_(shift_of(lanes_)),
      line_shift_(shift_of(static_cast<double>(shape.line_bytes) / element_bytes_)),
      block_shift_(shift_of(16 / element_bytes_)),
      has_full_blocks_(static_cast<double>(shape.channels) >= lanes_),
      has_64_byte_vectors_(std::max(shape.vector_bytes, shape.line_bytes) >= 64),
      top_(shape.height) {
  const int64_t sample = std::clamp(shape.rois / 4, kLeastSample, kMostSample),
                step = (shape.rois + sample - 1) / sample;
  const double weight = static_cast<double>(shape.rois) / static_cast<double>((shape.rois + step - 1) / step);
  for (int64_t roi = 0; roi < shape.rois; roi += step) {
    add(&windows.rows[static_cast<size_t>(roi * shape.bins_y)],
        &windows.columns[static_cast<size_t>(roi * shape.bins_x)], weight);
  }
  const double all = std::max(
      groups_ * static_cast<double>(bottom_ - top_) * static_cast<double>(shape.width) * element_bytes_ / 64, 1.0);
  row_line_ = first_line(kRowLine, has_64_byte_vectors_ ? kFarRowLine : kNarrowerFarRowLine);
  touched_first_ = all * (1 - std::exp(-touched_ / all));  // of lines that lie anywhere
  double sum = 0;
  for (size_t levels = 0; levels <= kMostLevels; ++levels) {
    sum += at_most_[levels];
    shared_[levels] += sum;
  }
}

void RoiCost::add(const RoiWindow* rows, const RoiWindow* columns, double weight) {
  const double all_bins_y = static_cast<double>(shape_.bins_y) * weight,
               bins_y = static_cast<double>(different_rows(rows, shape_.bins_y)) * weight;
  const int64_t width = std::max<int64_t>(columns[shape_.bins_x - 1].end - columns[0].start, 0),
                tallest = largest(rows, shape_.bins_y), widest = largest(columns, shape_.bins_x);
  const auto tall = static_cast<double>(tallest), wide = static_cast<double>(widest);
  narrow_map_ += all_bins_y * ((has_64_byte_vectors_ ? kBinRow : kNarrowerBinRow) +
                               (has_64_byte_vectors_ ? kBinColumn : kNarrowerBinColumn) * wide + kBinLine * tall);
  cells_ += all_bins_y * static_cast<double>(shape_.bins_x) * (kCellsBin + kCell * tall * wide);
  add_few_channels(width, tallest, widest, bins_y, weight);
  bins_rows_ += bins_y;
  if (tallest == 0 || width == 0) return;
  top_ = std::min<int64_t>(top_, rows[0].start);
  bottom_ = std::max<int64_t>(bottom_, rows[shape_.bins_y - 1].end);
  touched_ += weight * lines(rows[shape_.bins_y - 1].end - rows[0].start, width);

  // Squares are of as many columns as a vector has lanes or, where fewer than half are left of a block of channels that
  // is full, of 16 bytes.
  const int64_t lanes = int64_t{1} << lanes_shift_, left = width & (lanes - 1);
  if (line_shift_ > lanes_shift_ && tallest > 1 && width > lanes) {
    wide_rows_ += bins_y * tall * all_parts(width, line_shift_);
    squares_ += bins_y * all_parts(width, lanes_shift_);
  } else if (2 * left > lanes || !has_full_blocks_) {
    map_rows_ += bins_y * tall * all_parts(width, lanes_shift_);
    squares_ += bins_y * all_parts(width, lanes_shift_);
  } else {
    const double squares = parts(width, lanes_shift_), in_blocks = all_parts(left, block_shift_);
    map_rows_ += bins_y * tall * (squares + in_blocks);
    squares_ += bins_y * (squares + in_blocks / parts(lanes, block_shift_));
  }

  // A bin's columns go four at a time; up to three take as long as three.
  const double of_bin = widest < 4 ? 3 : static_cast<double>((widest + 3) / 4 * 4);
  const double bins = bins_y * static_cast<double>(shape_.bins_x) * of_bin * kColumn;
  columns_ += bins;
  const auto with = [&](size_t levels) {
    const auto before = static_cast<double>((tallest - 1) >> levels);
    return before < 2 ? bins * (before + 1) : bins + bins_y * static_cast<double>(width) * (before + 1) * kReduce;
  };
  size_t levels = 0;
  for (; levels < kMostLevels && (int64_t{2} << levels) <= tallest; ++levels) shared_[levels] += with(levels);
  at_most_[levels] += with(levels);
}

void RoiCost::add_few_channels(int64_t width, int64_t tallest, int64_t widest, double rows, double weight) {
  const auto tall = static_cast<double>(tallest);
  if (shape_.has_single_bins()) {
    const FoldCosts& cost = has_64_byte_vectors_ ? kFolds : kNarrowerFolds;
    few_channels_ += weight * (cost.bin + tall * (cost.row + cost.vector * all_parts(width, line_shift_)));
    few_channels_rois_ += weight * cost.roi;
    return;
  }
  const double bins_x = static_cast<double>(shape_.bins_x), all_rows = static_cast<double>(shape_.bins_y) * weight;
  const int64_t lanes = shape_.lookup_lanes, most_vectors = most_lookup_vectors(shape_.line_bytes);
  if (lanes > 0 && widest <= most_vectors * lanes && width <= kLookedUpVectors * lanes) {
    const int64_t vectors = width > lanes ? most_vectors : 1, most = vectors * lanes;
    double pieces = 1;  // without divisions where an ROI is small
    if (width > most || shape_.bins_x > lanes) {
      const int64_t in_line = width > 0 ? (most - widest) * shape_.bins_x / width + 1 : shape_.bins_x;
      const int64_t of_piece = std::min({in_line, shape_.bins_x, lanes});
      pieces = static_cast<double>((shape_.bins_x + of_piece - 1) / of_piece);
    }
    // Of wide bins, the cells become the best of several first.
    const auto steps = static_cast<double>(std::min<int64_t>(widest, 5)), of_row = static_cast<double>(vectors);
    const LookupCosts& cost = has_64_byte_vectors_ ? kLookups : kNarrowerLookups;
    few_channels_ += pieces * (rows * (cost.piece_row + of_row * (cost.lookup * steps + cost.line * tall)) +
                               (all_rows - rows) * cost.repeated_row);
    few_channels_rois_ += weight * (cost.roi + cost.piece * pieces);
    return;
  }
  const double line = has_64_byte_vectors_ ? kLineRow : kNarrowerLineRow,
               vector = has_64_byte_vectors_ ? kLineVector : kNarrowerLineVector;
  few_channels_ +=
      all_rows * (kLineOfBins + kLineBin * bins_x + tall * (line + vector * all_parts(width, line_shift_)) +
                  bins_x * kWideBin * parts(widest, line_shift_));
  few_channels_rois_ += weight * kFewChannelsRoi;
}

double RoiCost::lines(int64_t rows, int64_t width) const {
  return static_cast<double>(rows) * (static_cast<double>(width - 1) * element_bytes_ / 64 + 1);
}

// What is read for the first time in a run: it comes from where so many bytes fit.
double RoiCost::first_line(double line, double far_line) const {
  const auto bytes = static_cast<double>(shape_.input_bytes);
  return line * beyond(bytes, kMiB / 2, 1.5 * kMiB) + far_line * beyond(bytes, 16 * kMiB, 32 * kMiB);
}

double RoiCost::straight(double channels) const {
  const double block = channels * element_bytes_ * static_cast<double>(shape_.height * shape_.width);
  const double near = kNearLine * beyond(block, 32 * kKiB, 64 * kKiB);
  const double again =
      has_64_byte_vectors_ ? kLine * beyond(block, kMiB, 2 * kMiB) : kNarrowerLine * beyond(block, kMiB / 2, kMiB);
  const double first = first_line(kLine, has_64_byte_vectors_ ? kFarLine : kNarrowerFarLine);
  return touched_ * near + touched_first_ * first + (touched_ - touched_first_) * again;
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
  const auto rois = static_cast<double>(shape_.rois);
  return lanes_ * kTranspose * part_ * squares_ +
         channels * ((part_ < 1 ? kNarrowerMapRow : kMapRow) * map_rows_ +
                     (has_64_byte_vectors_ ? kMapRow : kNarrowerMapRow) * wide_rows_ + straight(lanes_)) +
         columns_ + bins_rows_ * (kBinsRow + kSquaresRow) +
         rois * (kRoi + kBin * static_cast<double>(shape_.bins_y * shape_.bins_x));
}

double RoiCost::fill(int levels, double blocks) const {
  const auto cells = blocks * static_cast<double>(std::max<int64_t>(bottom_ - top_, 0) * shape_.width);
  return kUnit + cells * (kPack + kTable * part_ * levels + lanes_ * element_bytes_ / 64 * row_line_);
}

double RoiCost::shared(int levels, double blocks) const {
  const auto rois = static_cast<double>(shape_.rois);
  const double cells = blocks * shared_[static_cast<size_t>(levels)];
  if (shape_.has_single_bins()) return cells + rois * (kSingleBin + (blocks - 1) * kSingleBinAgain);
  const double found = rois * kRoi + bins_rows_ * kBinsRow,
               again = (blocks - 1) * (has_64_byte_vectors_ ? kBlockAgain : kNarrowerBlockAgain);
  return cells + found * (1 + again) + blocks * rois * kBin * static_cast<double>(shape_.bins_y * shape_.bins_x);
}

double RoiCost::fill_narrow_map(double channels) const {
  return kUnit +
         channels * (kNarrowRow * static_cast<double>(shape_.height) + lines(shape_.height, shape_.width) * row_line_);
}

double RoiCost::narrow_map(double channels) const {
  const double columns = kPermutation * static_cast<double>(shape_.bins_x);
  return channels * narrow_map_ + static_cast<double>(shape_.rois) * (kNarrowMapRoi + columns);
}

}  // namespace onnx_maxpool
