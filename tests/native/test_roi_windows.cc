// The images and windows of many ROIs at once (kernels/roi_windows.cc) are those of each (base/window_edges.h), on
// every target, up to edges at the limits and many bins.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "base/window_edges.h"
#include "kernels/targets.h"
#include "require.h"
#include "upper_halves.h"

namespace {

using namespace onnx_maxpool;

constexpr int32_t kImages = 5;

// Windows of many ROIs at once are those of each, on every target, up to edges at the limits and many bins.
template <class Float>
void finds_windows_of_many_rois(std::mt19937& random, int64_t count, int32_t most, float scale, int32_t bins_y,
                                int32_t bins_x) {
  constexpr EdgeArithmetic arithmetic = sizeof(Float) == 8 ? EdgeArithmetic::in_double : EdgeArithmetic::in_float;
  const int32_t limit = std::min(static_cast<int32_t>(static_cast<float>(most) / scale), (1 << 24) - 1);
  std::uniform_int_distribution<int32_t> quarters(-4 * limit, 4 * limit), sides(1, most);
  const int64_t height = sides(random), width = sides(random);
  std::vector<Float> rows(static_cast<size_t>(5 * count));
  std::uniform_int_distribution<int32_t> batches(-3, 4 * kImages - 1);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i % 5 == 0) {
      rows[i] = static_cast<Float>(batches(random)) / 4;
      continue;
    }
    // The nearest edge to a limit is near, too.
    do rows[i] = static_cast<Float>(quarters(random)) / 4;
    while (std::abs(rows[i] * static_cast<Float>(scale)) >= Float{1 << 22});
  }
  const auto cut = [&](Float from, Float to, int64_t bins, int64_t size, std::vector<RoiWindow>& all) {
    all.resize(all.size() + static_cast<size_t>(bins));
    roi_windows(roi_edge(from, scale), roi_edge(to, scale), bins, size, arithmetic, &*all.end() - bins);
  };
  std::vector<int64_t> images;
  std::vector<RoiWindow> y, x;
  std::vector<BinWidths> widths;
  for (size_t i = 0; i < rows.size(); i += 5) {
    images.push_back(static_cast<int64_t>(rows[i]));
    cut(rows[i + 2], rows[i + 4], bins_y, height, y);
    cut(rows[i + 1], rows[i + 3], bins_x, width, x);
    widths.push_back(widths_of(&*x.end() - bins_x, bins_x));
  }
  for (const Target& target : targets()) {
    if (!target.runs_here) continue;
    std::vector<RoiWindow> found_y(y.size() + 1, {-7, -7}), found_x(x.size() + 1, {-7, -7});
    std::vector<BinWidths> found_widths(widths.size() + 1, {-7, -7});
    std::vector<int64_t> found_images(images.size() + 1, -7);
    const RoiRows job = {rows.data(),
                         sizeof(Float) == 8,
                         count,
                         scale,
                         kImages,
                         height,
                         width,
                         bins_y,
                         bins_x,
                         found_images.data(),
                         found_y.data(),
                         found_x.data(),
                         bins_x > 1 ? found_widths.data() : nullptr};
    const UpperHalves upper_halves(target.kernels);
    const bool are_near = target.kernels.roi_windows(job);
    upper_halves.require_clear("roi_windows");
    require(are_near, "near ROIs are said to be far");
    const auto same = [](RoiWindow a, RoiWindow b) { return a.start == b.start && a.end == b.end; };
    const auto as_wide = [](BinWidths a, BinWidths b) { return a.least == b.least && a.most == b.most; };
    require(std::equal(images.begin(), images.end(), found_images.begin()), "images of many ROIs differ");
    require(std::equal(y.begin(), y.end(), found_y.begin(), same), "windows of many ROIs differ along y");
    require(std::equal(x.begin(), x.end(), found_x.begin(), same), "windows of many ROIs differ along x");
    require(bins_x == 1 || std::equal(widths.begin(), widths.end(), found_widths.begin(), as_wide), "widths differ");
    require(found_images.back() == -7, "an image of no ROI");
    require(same(found_y.back(), {-7, -7}) && same(found_x.back(), {-7, -7}), "windows of no ROI");
    require(as_wide(found_widths.back(), {-7, -7}), "widths of no ROI");
  }
}
template <class Float>
void finds_windows_of_many_rois() {
  constexpr int32_t kBins[][2] = {{1, 1}, {1, 7}, {7, 1}, {2, 2}, {3, 16}, {64, 1000}};
  std::mt19937 random(5);
  for (int64_t count = 1; count <= 33; ++count) {
    for (float scale : {1.0f, 0.25f, 0.3f, 0.7f, 1.0f / 3}) {
      for (const auto& bins : kBins) {
        for (int32_t most : {60, 5000, 1 << 22}) {
          if (bins[1] < 1000 || count % 11 == 0) {
            finds_windows_of_many_rois<Float>(random, count, most, scale, bins[0], bins[1]);
          }
        }
      }
    }
  }
  finds_windows_of_many_rois<Float>(random, 128, 5000, 0.0625f, 7, 7);
}

// Of batch numbers that are truncated to 0, though there is no image.
template <class Float>
void tells_that_there_is_no_image() {
  for (const Target& target : targets()) {
    if (!target.runs_here) continue;
    std::vector<Float> rows(5 * 33, Float{-0.5});
    std::vector<int64_t> images(33);
    std::vector<RoiWindow> y(33), x(33);
    require(!target.kernels.roi_windows(
                {rows.data(), sizeof(Float) == 8, 33, 1, 0, 9, 9, 1, 1, images.data(), y.data(), x.data(), nullptr}),
            "an image is found where there is none");
  }
}

// In every lane and column. Where halves are rounded up to 2^22, an edge is near.
template <class Float>
void tells_far_rois() {
  constexpr Float kFar = 1 << 22;
  const Float far[] = {kFar, -kFar, Float{1e30f}, Float{INFINITY}, -Float{INFINITY}, Float{NAN}};
  const Float near[] = {std::nextafter(kFar, Float{0}), -std::nextafter(kFar, Float{0}), kFar - Float{0.5}};
  for (const Target& target : targets()) {
    if (!target.runs_here) continue;
    for (int64_t at = 0; at < 33; ++at) {
      for (int64_t column = 0; column < 5; ++column) {
        const auto is_near = [&](Float value) {
          std::vector<Float> rows(5 * 33, 3);
          rows[static_cast<size_t>(5 * at + column)] = value;
          std::vector<int64_t> images(33);
          std::vector<RoiWindow> y(33), x(33);
          return target.kernels.roi_windows({rows.data(), sizeof(Float) == 8, 33, 1, kImages, 9, 9, 1, 1, images.data(),
                                             y.data(), x.data(), nullptr});
        };
        for (Float value : far) require(!is_near(value), "a far ROI is said to be near");
        if (column == 0) {
          for (Float value : {Float{-1}, Float{kImages}}) require(!is_near(value), "there is no such image");
          for (Float value : {Float{-0.5}, Float{kImages} - Float{0.5}}) require(is_near(value), "there is an image");
        } else {
          for (Float value : near) require(is_near(value), "a near ROI is said to be far");
        }
      }
    }
  }
}

}  // namespace

int main() {
  finds_windows_of_many_rois<float>();
  finds_windows_of_many_rois<double>();
  tells_that_there_is_no_image<float>();
  tells_that_there_is_no_image<double>();
  tells_far_rois<float>();
  tells_far_rois<double>();
  std::puts("all is well");
  return 0;
}
