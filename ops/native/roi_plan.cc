#include "roi_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace onnx_maxpool {
namespace {

// Costs in processor cycles for each vector of a block, measured on an AVX-512 machine. Only their proportions matter,
// and these are much the same elsewhere.
constexpr double kPack = 8;       // read, map, transpose and store a cell of the map
constexpr double kTable = 2;      // a cell of a table
constexpr double kTableLine = 2;  // a cell of a line of a table, in a bin
constexpr double kTranspose = 8;  // a cell of a line that comes from the map
constexpr double kBin = 20;       // a bin: reduced, transposed and stored
constexpr double kMapLine = 2;    // a cell of the map that goes into such a line

// The same for each channel of a narrow map.
constexpr double kMapRow = 3;              // a row of the map
constexpr double kBinRow = 5;              // a row of bins
constexpr double kBinColumn = 1;           // each column of its widest bin
constexpr double kBinLine = 1;             // each row of its bins
constexpr int64_t kTallestNarrowMap = 32;  // of which a unit's channels are 32 KiB, and mostly in the first-level cache

// Tables that are no larger stay in the second-level cache. Of larger ones a sweep keeps a few rows there.
constexpr int64_t kCache = int64_t{1} << 20;
// A worker's memory for the bins of a sweep's batch, and for tables: no more than all images have, within these bounds.
constexpr int64_t kLargestBatch = int64_t{8} << 20;
constexpr int64_t kTablesOfAny = int64_t{4} << 20, kLargestTables = int64_t{32} << 20;

// The cells that ROIs visit, by mode, summed over a run.
struct Work {
  double map_lines = 0;                               // rows of the map times columns
  double lines = 0;                                   // rows of bins times columns
  std::array<double, kMostLevels + 1> table_lines{};  // lines of tables times columns, with so many levels
  double narrow_map = 0;                              // cycles for each channel
};

// The bins of an ROI are much alike: the largest of three stands for all.
int64_t largest(const Window* windows, int64_t count) {
  const auto size = [&](int64_t i) { return std::max<int64_t>(windows[i].end - windows[i].start, 0); };
  return std::max({size(0), size(count / 2), size(count - 1)});
}

Work work_of(const RoiShape& shape, const RoiWindows& windows) {
  Work work;
  for (int64_t roi = 0; roi < shape.rois; ++roi) {
    const Window* rows = &windows.rows[static_cast<size_t>(roi * shape.bins_y)];
    const Window* columns = &windows.columns[static_cast<size_t>(roi * shape.bins_x)];
    const auto width = static_cast<double>(std::max<int64_t>(columns[shape.bins_x - 1].end - columns[0].start, 0));
    const int64_t tallest = largest(rows, shape.bins_y), widest = largest(columns, shape.bins_x);
    work.narrow_map += static_cast<double>(shape.bins_y) *
                       (kBinRow + kBinColumn * static_cast<double>(widest) + kBinLine * static_cast<double>(tallest));
    if (tallest == 0 || width == 0) continue;
    const double lines = width * static_cast<double>(shape.bins_y);
    work.lines += lines;
    work.map_lines += lines * static_cast<double>(tallest);
    for (int levels = 0; levels <= kMostLevels; ++levels) {
      int k = 0;
      while (k < levels && (int64_t{2} << k) <= tallest) ++k;
      work.table_lines[static_cast<size_t>(levels)] += lines * static_cast<double>(((tallest - 1) >> k) + 1);
    }
  }
  return work;
}

}  // namespace

RoiPlan plan_rois(const RoiShape& shape, const RoiWindows& windows) {
  RoiPlan plan{};
  plan.batch = 1;
  plan.image_begins.resize(static_cast<size_t>(shape.images) + 1);
  for (int64_t image : windows.image) ++plan.image_begins[static_cast<size_t>(image) + 1];
  const auto images_with_rois = static_cast<double>(
      std::count_if(plan.image_begins.begin(), plan.image_begins.end(), [](int64_t count) { return count > 0; }));
  std::partial_sum(plan.image_begins.begin(), plan.image_begins.end(), plan.image_begins.begin());
  std::vector<int64_t> next = plan.image_begins;
  plan.image_rois.resize(windows.image.size());
  for (size_t roi = 0; roi < windows.image.size(); ++roi) {
    plan.image_rois[static_cast<size_t>(next[static_cast<size_t>(windows.image[roi])]++)] = static_cast<int64_t>(roi);
  }

  const Work work = work_of(shape, windows);
  const int64_t map_bytes = shape.height * shape.width * shape.vector_bytes;
  const double map = static_cast<double>(shape.height * shape.width) * images_with_rois;
  const auto table_cost = [&](int levels) {
    return map * (kPack + kTable * levels) + kTableLine * work.table_lines[static_cast<size_t>(levels)];
  };
  for (const Window& rows : windows.rows) plan.tallest = std::max(plan.tallest, rows.end - rows.start);
  const auto sweep = [&](int levels) { return (levels + 1) * map_bytes > kCache; };
  const int64_t most = std::clamp(shape.input_bytes, kTablesOfAny, kLargestTables);
  const auto fit = [&](int levels) {
    int64_t rows = 0;
    for (int k = 0; k <= levels; ++k) {
      rows += kept_rows(shape.height, plan.tallest, levels, sweep(levels), k).count;
    }
    return rows * shape.width * shape.vector_bytes <= most;
  };
  bool any_fit = fit(0);
  for (int levels = 1; levels <= kMostLevels && (int64_t{1} << levels) <= plan.tallest; ++levels) {
    if (!fit(levels) || (any_fit && table_cost(levels) >= table_cost(plan.levels))) continue;
    plan.levels = levels;
    any_fit = true;
  }

  // A block of one image is one thread's: with few of them, threads stand idle that single ROIs would have kept busy.
  const auto blocks = static_cast<double>(shape.blocks), rois = static_cast<double>(shape.rois);
  const double bins = kBin * rois * static_cast<double>(shape.bins_y * shape.bins_x);
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](RoiKernel::Mode RoiKernel::* mode, double cycles, double units) {
    const double time = cycles / std::clamp(units, 1.0, static_cast<double>(shape.threads));
    if (time >= least) return;
    least = time;
    plan.mode = mode;
    plan.cycles = cycles;
  };
  consider(&RoiKernel::separate, (kTranspose * work.lines + kMapLine * work.map_lines + bins) * blocks, rois * blocks);
  if (any_fit) consider(&RoiKernel::shared, (table_cost(plan.levels) + bins) * blocks, images_with_rois * blocks);
  if (std::max(shape.width, shape.bins_x) <= shape.narrow_map_width && shape.height <= kTallestNarrowMap) {
    const auto channels = static_cast<double>(shape.channels);
    const double rows = kMapRow * static_cast<double>(shape.height) * images_with_rois;
    consider(&RoiKernel::narrow_map, (rows + work.narrow_map) * channels,
             images_with_rois * std::ceil(channels / kNarrowMapChannels));
  }
  if (plan.mode != &RoiKernel::shared) plan.levels = 0;
  plan.sweep = plan.mode == &RoiKernel::shared && sweep(plan.levels);
  if (!plan.sweep) return plan;

  plan.batch = std::max<int64_t>(kLargestBatch / (shape.bins_y * shape.bins_x * shape.vector_bytes), 1);
  plan.tasks.reserve(static_cast<size_t>(shape.rois * shape.bins_y));
  for (int64_t image = 0; image < shape.images; ++image) {
    const int64_t end = plan.image_begins[static_cast<size_t>(image) + 1];
    for (int64_t first = plan.image_begins[static_cast<size_t>(image)]; first < end; first += plan.batch) {
      const auto begin = static_cast<std::ptrdiff_t>(plan.tasks.size());
      for (int64_t slot = 0; slot < std::min(plan.batch, end - first); ++slot) {
        for (int64_t row = 0; row < shape.bins_y; ++row) plan.tasks.push_back({slot, row});
      }
      const auto top = [&](const RoiTask& task) {
        const int64_t roi = plan.image_rois[static_cast<size_t>(first + task.slot)];
        return windows.rows[static_cast<size_t>(roi * shape.bins_y + task.row)].start;
      };
      std::sort(plan.tasks.begin() + begin, plan.tasks.end(),
                [&](const RoiTask& a, const RoiTask& b) { return top(a) > top(b); });
    }
  }
  return plan;
}

}  // namespace onnx_maxpool
