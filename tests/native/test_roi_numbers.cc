// ROIs of float and double are pooled as numbers (kernels/numbers.h): a NaN at any single place is found in every mode
// on every target, in each bin that holds it, and no other output changes by a bit.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/element_type.h"
#include "base/window_edges.h"
#include "kernels/roi.h"
#include "kernels/targets.h"
#include "oracle.h"
#include "planted_nan.h"
#include "require.h"
#include "stand_in_runtime.h"

namespace {

using namespace onnx_maxpool;

struct Box {
  int64_t top, bottom, left, right;
};

struct Case {
  const char* name;
  int64_t channels, height, width, bins_y, bins_x;
  std::vector<Box> rois;
};

// Each way to read an ROI, by vectors of 2 to 16 lanes.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"only bins", 3, 9, 70, 1, 1, {{0, 8, 0, 69}, {2, 2, 3, 3}, {1, 6, 5, 9}, {0, 3, 2, 30}, {3, 8, 20, 69}}},
      {"bins of one vector or less", 2, 14, 19, 2, 2, {{0, 13, 0, 18}, {1, 12, 9, 18}, {0, 5, 12, 16}}},
      {"wide bins", 2, 8, 130, 2, 2, {{0, 7, 0, 129}, {1, 6, 3, 90}, {4, 7, 100, 129}}},
      {"wider bins", 1, 3, 300, 2, 2, {{0, 2, 0, 299}, {1, 2, 7, 290}}},
      {"only bins that are wide", 2, 3, 170, 1, 1, {{0, 2, 0, 169}, {0, 1, 1, 140}}},
      {"many bins that are wide", 1, 9, 140, 2, 7, {{0, 8, 0, 139}, {0, 3, 11, 139}}},
      {"many short bins", 2, 6, 33, 3, 9, {{0, 5, 0, 32}, {0, 1, 2, 3}, {2, 5, 13, 32}}},
      {"tall bins", 1, 24, 54, 2, 3, {{0, 23, 0, 51}, {2, 22, 20, 53}}},
      {"the same of narrow ones", 1, 24, 54, 2, 6, {{0, 23, 0, 51}}},
      {"many tall bins", 1, 24, 43, 2, 9, {{0, 23, 1, 41}}},
      {"more rows of bins than at once", 1, 11, 40, 6, 5, {{0, 10, 0, 39}, {3, 10, 20, 39}}},
      {"empty bins", 2, 5, 9, 2, 3, {{-4, 2, -6, 3}, {3, 9, 5, 14}, {7, 9, 2, 4}}},
      {"a narrow map", 18, 5, 4, 2, 3, {{0, 4, 0, 3}, {1, 3, 2, 3}}},
      {"many channels", 37, 4, 6, 2, 2, {{0, 3, 0, 5}, {1, 2, 3, 5}}},
  };
  return all;
}

template <class Number>
class Pooled {
 public:
  explicit Pooled(const Case& of) : of_(of), image_(of.rois.size()) {
    for (const Box& roi : of.rois) {
      const auto add = [](std::vector<RoiWindow>& to, int64_t bins, int64_t start, int64_t end, int64_t size) {
        for (int64_t i = 0; i < bins; ++i) {
          const Window bin = naive::bin(i, bins, start, end, size, naive::EdgeArithmetic::exact);
          to.push_back({static_cast<int32_t>(bin.start), static_cast<int32_t>(bin.end)});
        }
      };
      add(rows_, of.bins_y, roi.top, roi.bottom, of.height);
      add(columns_, of.bins_x, roi.left, roi.right, of.width);
      widths_.push_back(widths_of(columns_.data() + columns_.size() - of.bins_x, of.bins_x));
      numbers_.insert(numbers_.begin(), static_cast<int64_t>(numbers_.size()));  // the last one first
    }
    planted_.emplace(of.channels * of.height * of.width, cells_of_outputs());
    job_.x = planted_->x();
    job_.y = planted_->y();
    job_.dims = {1, of.channels, of.height, of.width, static_cast<int64_t>(of.rois.size()), of.bins_y, of.bins_x};
    job_.channels = {0, of.channels};
    job_.order = order_of(sizeof(Number) == 8 ? ElementType::double_ : ElementType::float_);
    job_.rows = rows_.data();
    job_.columns = columns_.data();
    job_.widths = widths_.data();
    job_.rois_by_image = numbers_.data();
    for (const RoiWindow& rows : rows_) {
      job_.tables.tallest = std::max<int64_t>(job_.tables.tallest, rows.end - rows.start);
    }
    job_.tables.slots = job_.tables.at_once = 1;
  }

  // Adds the ways of the few_channels mode by which ROIs are pooled, with vectors of so many bytes.
  void add_ways(int64_t vector_bytes, std::set<BinsBy>& ways) const {
    if (of_.bins_y * of_.bins_x == 1) return;
    constexpr auto kSize = static_cast<int64_t>(sizeof(Number));
    const auto vectors = [&](int64_t cells) { return (cells * kSize + vector_bytes - 1) / vector_bytes; };
    for (size_t roi = 0; roi < of_.rois.size(); ++roi) {
      const RoiWindow* const rows = rows_.data() + roi * of_.bins_y;
      const RoiWindow* const columns = columns_.data() + roi * of_.bins_x;
      const BinSizes sizes = {of_.bins_y, of_.bins_x, rows[of_.bins_y - 1].end - rows[0].start,
                              vectors(columns[of_.bins_x - 1].end - columns[0].start), vectors(widths_[roi].most)};
      ways.insert(bins_by(vector_bytes > 16, of_.width * kSize, sizes));
    }
  }

  // Returns in how many ways a target has pooled it.
  int check(const Kernels& kernels) {
    const RoiKernel& kernel = kernels.roi(sizeof(Number), of_.channels);
    const int64_t lanes = kernel.vector_bytes / static_cast<int64_t>(sizeof(Number));
    const std::string of = std::string(kernels.target) + ", " + of_.name + (sizeof(Number) == 8 ? ", double" : "");
    int ways = 0;
    const auto check = [&](const RoiKernel::Mode& mode, int64_t channels, const std::string& name) {
      check_mode(mode, channels, of + ", " + name);
      ++ways;
    };
    for (int levels = 0; levels == 0 || int64_t{1} << levels <= job_.tables.tallest; ++levels) {
      job_.tables.levels = levels;
      check(kernel.shared, lanes, "shared, " + std::to_string(levels) + " levels");
    }
    job_.tables.levels = 0;
    check(kernel.separate, lanes, "separate");
    const bool has_single_bins = of_.bins_y * of_.bins_x == 1;
    check(kernel.few_channels, has_single_bins ? kSingleBinsChannels : of_.channels, "few channels");
    check(kernel.cells, of_.channels, "cells");
    if (std::max(of_.width, of_.bins_x) > kernel.lookup_lanes) return ways;
    for (const bool streams : {false, true}) {
      job_.stream = streams;
      check(kernel.narrow_map, kNarrowMapChannels, streams ? "narrow map, streamed" : "narrow map");
    }
    job_.stream = false;
    return ways;
  }

 private:
  void check_mode(const RoiKernel::Mode& mode, int64_t channels_of_unit, const std::string& name) {
    std::vector<RoiUnit> units;
    for (int64_t block = 0; block * channels_of_unit < of_.channels; ++block) {
      units.push_back({0, block, 0, job_.dims.rois});
    }
    job_.units = units.data();
    job_.unit_count = static_cast<int64_t>(units.size());
    const stand_in::Block scratch(mode.scratch_bytes(job_));
    planted_->check(
        [&] {
          for (int64_t unit = 0; unit < job_.unit_count; ++unit) mode.run(job_, unit, scratch.data());
        },
        name);
  }

  // Of each output, its bin's cells.
  std::vector<std::vector<int64_t>> cells_of_outputs() const {
    std::vector<std::vector<int64_t>> all;
    for (size_t roi = 0; roi < of_.rois.size(); ++roi) {
      for (int64_t channel = 0; channel < of_.channels; ++channel) {
        for (int64_t bin = 0; bin < of_.bins_y * of_.bins_x; ++bin) {
          const RoiWindow rows = rows_[roi * of_.bins_y + bin / of_.bins_x];
          const RoiWindow columns = columns_[roi * of_.bins_x + bin % of_.bins_x];
          all.emplace_back();
          for (int64_t y = rows.start; y < rows.end; ++y) {
            for (int64_t x = columns.start; x < columns.end; ++x) {
              all.back().push_back((channel * of_.height + y) * of_.width + x);
            }
          }
        }
      }
    }
    return all;
  }

  const Case& of_;
  std::vector<int64_t> image_, numbers_;
  std::vector<RoiWindow> rows_, columns_;
  std::vector<BinWidths> widths_;
  std::optional<PlantedNan<Number>> planted_;
  RoiJob job_{};
};

template <class Number>
void check_all(const Kernels& kernels) {
  const RoiKernel& kernel = kernels.roi(sizeof(Number), 1);
  std::set<BinsBy> few_channels;
  int ways = 0;
  bool has_narrow_map = false;
  for (const Case& each : cases()) {
    has_narrow_map |= each.width <= kernel.lookup_lanes;
    Pooled<Number> pooled(each);
    ways += pooled.check(kernels);
    pooled.add_ways(kernel.line_bytes, few_channels);
  }
  const bool looks_up = kernel.lookup_lanes > 0;
  require(few_channels.size() == (looks_up ? 3 : 2) && has_narrow_map == looks_up,
          std::string(kernels.target) + ": a way has no case");
  std::printf("%s: %d ways\n", kernels.target, ways);
}

}  // namespace

int main() {
  for (const Target& target : targets()) {
    if (!target.runs_here) continue;
    check_all<float>(target.kernels);
    check_all<double>(target.kernels);
  }
  std::puts("all is well");
  return 0;
}
