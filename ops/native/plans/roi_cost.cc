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
int shift_of(double lanes) { return 31 - __builtin_clz(static_cast<unsigned>(std::max(lanes, 1.0))); }

// How often 2^shift goes into what is not negative, and how many such parts have all of it.
int64_t parts(int64_t of, int shift) { return of >> shift; }
int64_t all_parts(int64_t of, int shift) { return (of + (int64_t{1} << shift) - 1) >> shift; }

double number(int64_t count) { return static_cast<double>(count); }

// The bins of an ROI are much alike: the largest of three stands for all.
int64_t largest(const RoiWindow* windows, int64_t count) {
  int32_t most = std::max(windows[0].end - windows[0].start, 0);
  if (count > 1) most = std::max(most, windows[count - 1].end - windows[count - 1].start);
  if (count > 2) most = std::max(most, windows[count / 2].end - windows[count / 2].start);
  return most;
}

// How many rows of an ROI's bins do not repeat the one before them: of an ROI with fewer rows of the map, these and the
// pairs of neighbours.
int64_t different_rows(const RoiWindow* rows, int64_t bins) {
  return std::clamp<int64_t>(2 * (int64_t{rows[bins - 1].end} - rows[0].start) - 1, 1, bins);
}

// From 0 to 1 as `bytes` grow from one size to another: no cache ends at a byte.
double beyond(double bytes, double from, double to) { return std::clamp((bytes - from) / (to - from), 0.0, 1.0); }
constexpr double kKiB = 1024, kMiB = 1024 * kKiB;
constexpr double kFirstCaches = kMiB / 2;  // what is here costs no more for its place

// Of vectors of so many bytes, or of the narrowest that there are.
const BlockCosts& block_costs(int64_t vector_bytes) {
  return kBlocks[vector_bytes >= 64 ? 2 : vector_bytes >= 32 ? 1 : 0];
}

}  // namespace

double rough_looked_up(const RoiShape& shape) {
  const auto channels = static_cast<double>(shape.channels), rows = static_cast<double>(shape.bins_y);
  const double roi = shape.has_single_bins() ? kRough.fold_roi + channels * kRough.fold
                                             : kRough.lookups_roi + rows * channels * kRough.lookups;
  return static_cast<double>(shape.rois) * roi;
}

double rough_table(const RoiShape& shape, double cells) {
  const auto rows = static_cast<double>(shape.bins_y), columns = static_cast<double>(shape.bins_x);
  const double fill = kUnit + kRough.pack * static_cast<double>(shape.height * shape.width),
               rois = static_cast<double>(shape.rois);
  if (shape.has_single_bins()) {
    return fill + kRough.column * cells / static_cast<double>(shape.channels) + rois * kRough.single_bin_roi;
  }
  return fill + rois * (kRough.roi + rows * (kRough.bins_row + kRough.bin * columns));
}

RoiCost::RoiCost(const RoiShape& shape, const RoiWindows& windows, size_t groups)
    : shape_(shape),
      groups_(static_cast<double>(groups)),
      element_bytes_(static_cast<double>(shape.input_bytes) /
                     static_cast<double>(shape.images * shape.channels * shape.height * shape.width)),
      row_bytes_(shape.width * static_cast<int64_t>(element_bytes_)),
      lanes_(static_cast<double>(shape.vector_bytes) / element_bytes_),
      lanes_shift_(shift_of(lanes_)),
      line_shift_(shift_of(static_cast<double>(shape.line_bytes) / element_bytes_)),
      block_shift_(shift_of(16 / element_bytes_)),
      has_full_blocks_(static_cast<double>(shape.channels) >= lanes_),
      has_64_byte_vectors_(std::max(shape.vector_bytes, shape.line_bytes) >= 64),
      block_(block_costs(shape.vector_bytes)),
      top_(shape.height) {
  const int64_t sample = std::clamp(shape.rois / 4, kLeastSample, kMostSample),
                step = (shape.rois + sample - 1) / sample;
  const double weight = static_cast<double>(shape.rois) / static_cast<double>((shape.rois + step - 1) / step);
  for (int64_t roi = 0; roi < shape.rois; roi += step) {
    add(&windows.rows[static_cast<size_t>(roi * shape.bins_y)],
        &windows.columns[static_cast<size_t>(roi * shape.bins_x)]);
  }
  row_line_ = first_line(kRowLine, has_64_byte_vectors_ ? kFarRowLine : kNarrowerFarRowLine);
  reckon(weight);
}

void RoiCost::add(const RoiWindow* rows, const RoiWindow* columns) {
  const int64_t different = different_rows(rows, shape_.bins_y),
                width = std::max<int64_t>(columns[shape_.bins_x - 1].end - columns[0].start, 0),
                tallest = largest(rows, shape_.bins_y), widest = largest(columns, shape_.bins_x);
  ++sums_.rois;
  const int64_t height = rows[shape_.bins_y - 1].end - rows[0].start;
  sums_.of_cells += std::max(tallest, widest) <= 1 && (height <= 1 || height == shape_.bins_y) &&
                    (width <= 1 || width == shape_.bins_x);
  sums_.tall += tallest;
  sums_.wide += widest;
  sums_.area += tallest * widest;
  sums_.rows += different;
  if (shape_.line_bytes > 0) add_few_channels(different, height, tallest, width, widest);
  if (tallest == 0 || width == 0) return;
  const int64_t top = rows[0].start, bottom = rows[shape_.bins_y - 1].end;
  top_ = std::min(top_, top);
  bottom_ = std::max(bottom_, bottom);
  sums_.touched_rows += bottom - top;
  sums_.touched += (bottom - top) * (width - 1);
  // Of fewer rows than bins each is read once, unless a bin has more than two.
  const bool keeps_rows = height < shape_.bins_y && tallest <= 2;
  add_straight(keeps_rows ? height : different, keeps_rows ? 1 : tallest, width);
  add_tables(different, tallest, width, widest);
}

// Squares are of as many columns as a vector has lanes or, where fewer than half are left of a block of channels that
// is full, of 16 bytes.
void RoiCost::add_straight(int64_t rows, int64_t tallest, int64_t width) {
  const int64_t lanes = int64_t{1} << lanes_shift_, left = width & (lanes - 1);
  const int blocks_shift = lanes_shift_ - block_shift_;  // of a vector
  if (line_shift_ > lanes_shift_ && tallest > 1 && width > lanes) {
    sums_.wide_rows += number(rows * tallest) * number(all_parts(width, line_shift_));
    sums_.squares += rows * (all_parts(width, lanes_shift_) << blocks_shift);
  } else if (2 * left > lanes || !has_full_blocks_) {
    const int64_t squares = all_parts(width, lanes_shift_);
    sums_.map_rows += number(rows * tallest) * number(squares);
    sums_.squares += rows * (squares << blocks_shift);
  } else {
    const int64_t squares = parts(width, lanes_shift_), in_blocks = all_parts(left, block_shift_);
    sums_.map_rows += number(rows * tallest) * number(squares + in_blocks);
    sums_.squares += rows * ((squares << blocks_shift) + in_blocks);
  }
}

void RoiCost::add_tables(int64_t rows, int64_t tallest, int64_t width, int64_t widest) {
  // A bin's columns go four at a time; up to three take as long as three.
  const int64_t of_bin = widest < 4 ? 3 : (widest + 3) / 4 * 4, columns = rows * of_bin;
  sums_.columns += columns;
  const auto add = [&](size_t levels, Tables& tables) {
    const int64_t lines = ((tallest - 1) >> levels) + 1;
    tables.combined[levels] += lines < 3 ? number(columns) * number(lines) : number(columns);
    if (lines >= 3) tables.reduced[levels] += number(rows * lines) * number(width);
  };
  size_t levels = 0;
  for (; levels < kMostLevels && (int64_t{2} << levels) <= tallest; ++levels) add(levels, sums_.tables);
  add(levels, sums_.at_most);
}

// Near a vector's edge, the largest of three bins may go another way than the widest of all.
void RoiCost::add_few_channels(int64_t rows, int64_t height, int64_t tallest, int64_t width, int64_t widest) {
  const int64_t lanes = shape_.lookup_lanes, line_vectors = all_parts(width, line_shift_),
                bin_vectors = all_parts(widest, line_shift_);
  const BinsBy way =
      shape_.has_single_bins()
          ? BinsBy::rows
          : bins_by(lanes > 0, row_bytes_, {shape_.bins_y, shape_.bins_x, height, line_vectors, bin_vectors});
  if (way == BinsBy::rows) {
    ++sums_.row_rois;
    sums_.bin_rows += tallest;
    sums_.row_vectors += tallest * bin_vectors;
    return;
  }
  if (way == BinsBy::lines) {
    ++sums_.line_rois;
    sums_.line_rows += tallest;
    sums_.line_vectors += tallest * line_vectors;
    sums_.line_bins += parts(widest, line_shift_);
    return;
  }
  const int64_t most_vectors = most_lookup_vectors(shape_.line_bytes);
  const int64_t vectors = width > lanes ? most_vectors : 1, most = vectors * lanes;
  int64_t pieces = 1;  // without divisions where an ROI is small
  if (width > most || shape_.bins_x > lanes) {
    const int64_t in_line = width > 0 ? (most - widest) * shape_.bins_x / width + 1 : shape_.bins_x;
    const int64_t of_piece = std::min({in_line, shape_.bins_x, lanes});
    pieces = (shape_.bins_x + of_piece - 1) / of_piece;
  }
  const int64_t piece_rows = pieces * rows;
  ++sums_.looked_up;
  sums_.pieces += pieces;
  sums_.piece_rows += piece_rows;
  sums_.repeated_rows += pieces * (shape_.bins_y - rows);
  // Of wide bins, the cells become the best of several first.
  sums_.lookups += piece_rows * vectors * std::min<int64_t>(widest, 5);
  sums_.lookup_rows += number(piece_rows * vectors) * number(tallest);
}

// From the sums, each of whose ROIs stands for so many.
void RoiCost::reckon(double weight) {
  const bool is_64 = has_64_byte_vectors_;
  const auto all = [&](int64_t sum) { return weight * number(sum); };
  const double bins_y = number(shape_.bins_y), bins_x = number(shape_.bins_x);
  narrow_map_ = bins_y * ((is_64 ? kBinRow : kNarrowerBinRow) * all(sums_.rois) +
                          (is_64 ? kBinColumn : kNarrowerBinColumn) * all(sums_.wide) + kBinLine * all(sums_.tall));
  cells_ = bins_y * bins_x *
           (kCellsBin * all(sums_.rois - sums_.of_cells) + kBinOfCell * all(sums_.of_cells) + kCell * all(sums_.area));
  bins_rows_ = all(sums_.rows);
  columns_ = block_.column * bins_x * all(sums_.columns);
  map_rows_ = weight * sums_.map_rows;
  wide_rows_ = weight * sums_.wide_rows;
  squares_ = all(sums_.squares) / number(int64_t{1} << (lanes_shift_ - block_shift_));
  touched_ = all(sums_.touched_rows) + all(sums_.touched) * element_bytes_ / 64;
  const double map = std::max(groups_ * number((bottom_ - top_) * shape_.width) * element_bytes_ / 64, 1.0);
  // Of lines that lie anywhere. Where all is in the first caches, none costs more than another.
  const double block = lanes_ * element_bytes_ * number(shape_.height * shape_.width);
  const bool is_near = std::max(number(shape_.input_bytes), block) <= kFirstCaches;
  touched_first_ = is_near ? touched_ : map * (1 - std::exp(-touched_ / map));
  const auto cycles = [&](const Tables& tables, size_t levels) {
    return weight * (block_.column * bins_x * tables.combined[levels] + block_.reduce * tables.reduced[levels]);
  };
  double sum = 0;
  for (size_t levels = 0; levels <= kMostLevels; ++levels) {
    sum += cycles(sums_.at_most, levels);
    shared_[levels] = sum + cycles(sums_.tables, levels);
  }
  if (shape_.line_bytes > 0) reckon_few_channels(weight);
}

void RoiCost::reckon_few_channels(double weight) {
  const bool is_64 = has_64_byte_vectors_;
  const auto all = [&](int64_t sum) { return weight * number(sum); };
  const FoldCosts& fold = is_64 ? kFolds : kNarrowerFolds;
  const LookupCosts& lookups = is_64 ? kLookups : kNarrowerLookups;
  const double bins_x = number(shape_.bins_x);
  const double of_row = (kLineOfBins + kLineBin * bins_x) * all(sums_.line_rois) +
                        (is_64 ? kLineRow : kNarrowerLineRow) * all(sums_.line_rows) +
                        (is_64 ? kLineVector : kNarrowerLineVector) * all(sums_.line_vectors) +
                        bins_x * kWideBin * all(sums_.line_bins);
  const double of_bin = (shape_.has_single_bins() ? fold.only_bin : fold.bin) * all(sums_.row_rois) +
                        fold.row * all(sums_.bin_rows) + fold.vector * all(sums_.row_vectors);
  few_channels_ = number(shape_.bins_y) * (of_row + bins_x * of_bin) + lookups.piece_row * all(sums_.piece_rows) +
                  lookups.lookup * all(sums_.lookups) + lookups.line * weight * sums_.lookup_rows +
                  lookups.repeated_row * all(sums_.repeated_rows);
  few_channels_rois_ = kFewChannelsRoi * all(sums_.line_rois) +
                       (shape_.has_single_bins() ? fold.roi : kFewChannelsRoi) * all(sums_.row_rois) +
                       lookups.roi * all(sums_.looked_up) + lookups.piece * all(sums_.pieces);
}

double RoiCost::lines(int64_t rows, int64_t width) const {
  return static_cast<double>(rows) * (static_cast<double>(width - 1) * element_bytes_ / 64 + 1);
}

// What is read for the first time in a run: it comes from where so many bytes fit.
double RoiCost::first_line(double line, double far_line) const {
  const auto bytes = static_cast<double>(shape_.input_bytes);
  return line * beyond(bytes, kFirstCaches, 1.5 * kMiB) + far_line * beyond(bytes, 16 * kMiB, 32 * kMiB);
}

double RoiCost::straight(double channels) const {
  const double block = channels * element_bytes_ * static_cast<double>(shape_.height * shape_.width);
  const double near = kNearLine * beyond(block, 32 * kKiB, 64 * kKiB);
  const double again =
      has_64_byte_vectors_ ? kLine * beyond(block, kMiB, 2 * kMiB) : kNarrowerLine * beyond(block, kFirstCaches, kMiB);
  const double first = first_line(kLine, has_64_byte_vectors_ ? kFarLine : kNarrowerFarLine);
  return touched_ * near + touched_first_ * first + (touched_ - touched_first_) * again;
}

double RoiCost::few_channels(double channels) const {
  if (!shape_.has_single_bins()) return few_channels_rois_ + channels * (few_channels_ + straight(channels));
  // All ROIs read so many channels before others, of which a unit has a whole number.
  const double plane_bytes = element_bytes_ * number(shape_.height * shape_.width),
               read_bytes = shape_.rois <= kSingleBinsRois * static_cast<int64_t>(groups_) ? 64 * touched_ / groups_
                                                                                           : plane_bytes;
  const auto of_unit = static_cast<int64_t>(std::ceil(channels)),
             bytes = static_cast<int64_t>(std::min(plane_bytes, read_bytes));
  const double at_once = std::min(number(single_bins_channels_at_once(of_unit, bytes)), channels);
  return few_channels_rois_ * channels / at_once + channels * (few_channels_ + straight(at_once));
}

double RoiCost::cells() const {
  const auto channels = static_cast<double>(shape_.channels);
  return static_cast<double>(shape_.rois) * kCellsRoi + channels * (cells_ + straight(channels));
}

int64_t channels_left(const RoiShape& shape) {
  const int64_t cells = shape.images * shape.channels * shape.height * shape.width;
  const int64_t lanes = std::max<int64_t>(shape.vector_bytes * cells / shape.input_bytes, 1);
  const int64_t left = shape.channels % lanes;
  return shape.channels > lanes && left <= lanes / 2 ? left : 0;
}

double RoiCost::separate() const {
  return separate(std::min(lanes_, static_cast<double>(shape_.channels) / static_cast<double>(shape_.blocks)));
}

double RoiCost::separate(double channels) const {
  const auto rois = static_cast<double>(shape_.rois);
  return lanes_ * block_.transpose * squares_ +
         channels *
             (block_.map_row * map_rows_ + block_costs(shape_.line_bytes).map_row * wide_rows_ + straight(lanes_)) +
         columns_ + bins_rows_ * (kBinsRow + kSquaresRow) +
         rois * (kRoi + block_.bin * static_cast<double>(shape_.bins_y * shape_.bins_x));
}

double RoiCost::fill(int levels, double blocks) const {
  const auto cells = blocks * static_cast<double>(std::max<int64_t>(bottom_ - top_, 0) * shape_.width);
  return kUnit + cells * (block_.pack + block_.table * levels + lanes_ * element_bytes_ / 64 * row_line_);
}

double RoiCost::shared(int levels, double blocks) const {
  const auto rois = static_cast<double>(shape_.rois);
  const double cells = blocks * shared_[static_cast<size_t>(levels)];
  if (shape_.has_single_bins()) return cells + rois * (kSingleBin + (blocks - 1) * kSingleBinAgain);
  const double found = rois * kRoi + bins_rows_ * kBinsRow, again = (blocks - 1) * kBlockAgain;
  return cells + found * (1 + again) + blocks * rois * block_.bin * static_cast<double>(shape_.bins_y * shape_.bins_x);
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
