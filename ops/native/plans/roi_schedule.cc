#include "plans/roi_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "plans/roi_cost.h"

namespace onnx_maxpool {
namespace {

using roi_costs::kPart;
using roi_costs::kUnevenThreads;

using RoiNumbers = List<int64_t, kFewRois>;

// Sorts the numbers of ROIs by their images, those of one image in ascending order.
void sort_by_image(int64_t images, const RoiNumbers& image, RoiNumbers& rois) {
  if (images > static_cast<int64_t>(image.size())) {  // a count for each would be larger than what is sorted
    std::iota(rois.begin(), rois.end(), int64_t{0});
    std::sort(rois.begin(), rois.end(), [&](int64_t a, int64_t b) {
      const int64_t of_a = image[static_cast<size_t>(a)], of_b = image[static_cast<size_t>(b)];
      return of_a != of_b ? of_a < of_b : a < b;
    });
    return;
  }
  std::vector<int64_t> next(static_cast<size_t>(images) + 1);
  for (int64_t of : image) ++next[static_cast<size_t>(of) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (size_t roi = 0; roi < image.size(); ++roi) {
    rois[static_cast<size_t>(next[static_cast<size_t>(image[roi])]++)] = static_cast<int64_t>(roi);
  }
}

// Where the ROIs of an image end that begin at `begin`: in steps that double, as images mostly have many.
template <class ImageAt>
int64_t end_of_image(int64_t begin, int64_t count, const ImageAt& image_at) {
  const int64_t image = image_at(begin);
  int64_t step = 1, last = begin;  // the last one that is known to be of this image
  for (; last + step < count && image_at(last + step) == image; step *= 2) last += step;
  for (; step > 0; step /= 2) {
    if (last + step < count && image_at(last + step) == image) last += step;
  }
  return last + 1;
}

// The tasks of a sweep for the ROIs of a unit: by the starts of their windows, last first (RoiJob::tasks).
void order_sweep(const RoiShape& shape, const RoiWindows& windows, const RoiUnit& unit, RoiPlan& plan) {
  const int64_t count = unit.end - unit.begin;
  RoiTask* const tasks = &plan.tasks[static_cast<size_t>(unit.begin * shape.bins_y)];
  const auto start = [&](int64_t slot, int64_t row) {
    const int64_t roi = plan.rois_by_image[static_cast<size_t>(unit.begin + slot)];
    return static_cast<size_t>(windows.rows[static_cast<size_t>(roi * shape.bins_y + row)].start);
  };
  std::vector<int64_t> next(static_cast<size_t>(shape.height) + 1);
  for (int64_t slot = 0; slot < count; ++slot) {
    for (int64_t row = 0; row < shape.bins_y; ++row) ++next[start(slot, row)];
  }
  int64_t before = 0;
  for (auto at = next.rbegin(); at != next.rend(); ++at) before += std::exchange(*at, before);
  for (int32_t slot = 0; slot < count; ++slot) {
    for (int32_t row = 0; row < shape.bins_y; ++row) tasks[next[start(slot, row)]++] = {slot, row};
  }
}

// Blocks from `first` to `end` in an order in which those that threads take at the same time lie far apart: neighbours'
// outputs meet in the same lines of memory, which processors would hand to each other with each store.
template <class Each>
void spread(int64_t first, int64_t end, int64_t threads, Each&& each) {
  if (threads == 1) {  // a small run would notice the divisions
    for (int64_t block = first; block < end; ++block) each(block);
    return;
  }
  List<int64_t, 9> begins;  // of each thread's blocks, and the end of the last one's
  begins.resize(static_cast<size_t>(threads) + 1);
  for (int64_t thread = 0; thread <= threads; ++thread) {
    begins[static_cast<size_t>(thread)] = first + (end - first) * thread / threads;
  }
  for (int64_t step = 0; step * threads < end - first + threads; ++step) {
    for (size_t thread = 0; thread + 1 < begins.size(); ++thread) {
      if (const int64_t block = begins[thread] + step; block < begins[thread + 1]) each(block);
    }
  }
}

}  // namespace

bool are_in_order(const RoiWindows& windows) { return std::is_sorted(windows.image.begin(), windows.image.end()); }

RoiGroups group_by_image(const RoiShape& shape, const RoiWindows& windows, RoiNumbers& rois_by_image) {
  RoiGroups groups;
  rois_by_image.resize(windows.image.size());
  if (shape.images == 1) {
    std::iota(rois_by_image.begin(), rois_by_image.end(), int64_t{0});
    groups.resize(1);
    groups[0] = {0, 0, shape.rois};
    return groups;
  }
  if (are_in_order(windows)) {  // as most detectors give them: to sort takes longer than to pool small ones
    std::iota(rois_by_image.begin(), rois_by_image.end(), int64_t{0});
  } else {
    sort_by_image(shape.images, windows.image, rois_by_image);
  }
  const auto image_at = [&](int64_t slot) {
    return windows.image[static_cast<size_t>(rois_by_image[static_cast<size_t>(slot)])];
  };
  for (int64_t begin = 0; begin < shape.rois;) {
    const int64_t end = end_of_image(begin, shape.rois, image_at);
    groups.resize(groups.size() + 1);
    *(groups.end() - 1) = {image_at(begin), begin, end};
    begin = end;
  }
  std::sort(groups.begin(), groups.end(), [](const RoiGroup& a, const RoiGroup& b) {
    return a.count() != b.count() ? a.count() > b.count() : a.image < b.image;
  });
  return groups;
}

void estimate(const RoiGroups& groups, RoiDivision& division) {
  if (division.threads == 1 && groups[0].count() <= division.most_rois) {  // all units are whole
    const auto blocks = static_cast<double>(division.blocks), count = static_cast<double>(groups.size());
    double rois = 0;
    for (const RoiGroup& group : groups) rois += static_cast<double>(group.count());
    division.units = blocks * count;
    division.cycles = division.time = blocks * (division.fill * count + division.roi * rois);
    return;
  }
  const auto workers = static_cast<double>(division.threads);
  double longest = 0, latest = 0;
  division.units = division.cycles = 0;
  // Stores wait for lines while what comes next is pooled.
  const bool hands = division.handed > 0 && division.blocks > 1 && !division.by_rois;
  const double waits = hands ? division.handed * division.handed / (division.handed + division.roi) : 0;
  const double roi = division.roi + waits;
  divide(groups, division, [&](const RoiGroup& group, int64_t first, int64_t end, int64_t parts) {
    const auto count = static_cast<double>(parts), units = count * static_cast<double>(end - first);
    const double rois = static_cast<double>(group.count());
    const double unit = division.fill + (parts > 1 ? roi * rois / count + kPart : roi * rois);
    longest = std::max(longest, unit);
    division.units += units;
    division.cycles += units * unit;
    // Threads take units in turns, and help each other. When the last of these units is over, all before it are done,
    // and while it ran, the other threads waited for half of its time, unless there was more to do.
    latest = std::max(latest, division.cycles + unit / 2 * (workers - 1));
  });
  // Units that are few and alike end together, but for the last one of the slowest thread: the others have taken what
  // it had before that, which is less where units are smaller.
  const double later = division.threads > 1 ? kUnevenThreads * longest : 0;
  division.time =
      std::min(std::max(longest + later, latest / workers), std::ceil(division.units / workers) * longest + later);
}

void divide_best(const RoiGroups& groups, RoiDivision& division) {
  division.parts = 1;
  estimate(groups, division);
  if (division.threads == 1 || division.by_rois) return;
  RoiDivision parted = division;
  double before = std::numeric_limits<double>::infinity();
  for (parted.parts = 2; parted.parts <= groups[0].count(); parted.parts *= 2) {
    estimate(groups, parted);
    if (parted.time < division.time) division = parted;
    if (parted.time >= before) break;
    before = parted.time;
  }
}

void lay_out(const RoiShape& shape, const RoiWindows& windows, const RoiGroups& groups, const RoiDivision& division,
             RoiPlan& plan) {
  if (division.sweep) plan.tasks.resize(static_cast<size_t>(shape.rois * shape.bins_y));
  divide(groups, division, [&](const RoiGroup& group, int64_t first, int64_t end, int64_t parts) {
    const size_t before = plan.units.size();
    plan.units.resize(before + static_cast<size_t>(parts * (end - first)));
    RoiUnit* next = plan.units.begin() + before;
    // The same part of each block in turn, as a rule for the thread that had it before.
    spread(first, end, division.by_rois ? 1 : division.threads, [&](int64_t block) {
      int64_t begin = group.begin;
      for (int64_t part = 1; part <= parts; ++part) {
        const int64_t end_of_part = part == parts ? group.end : group.begin + group.count() * part / parts;
        const RoiUnit unit = {group.image, block, begin, end_of_part};
        begin = end_of_part;
        *next++ = unit;
        if (!division.sweep || block > 0) continue;
        plan.slots = std::max(plan.slots, unit.end - unit.begin);
        order_sweep(shape, windows, unit, plan);
      }
    });
  });
}

}  // namespace onnx_maxpool
