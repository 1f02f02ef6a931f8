// Windows and their maxima, from the rules alone.
#include <algorithm>
#include <cmath>

#include "oracle.h"

namespace naive {

int64_t winner(ElementType type, const void* cells, int64_t plane, const Shape& sizes,
               const std::vector<Window>& windows) {
  std::vector<int64_t> at;
  for (const Window& window : windows) {
    if (window.start >= window.end) return -1;
    at.push_back(window.start);
  }
  int64_t best = -1;
  long double best_value = 0;
  while (true) {
    int64_t cell = 0;
    for (size_t axis = 0; axis < at.size(); ++axis) cell = cell * sizes[axis] + at[axis];
    const long double value = number(type, cells, plane + cell);
    if (best < 0 || value > best_value || std::isnan(value)) {
      best = cell;
      best_value = value;
      if (std::isnan(value)) return best;
    }
    size_t axis = at.size();
    while (axis > 0 && ++at[axis - 1] == windows[axis - 1].end) {
      --axis;
      at[axis] = windows[axis].start;
    }
    if (axis == 0) return best;
  }
}

int64_t edge(ElementType type, long double coordinate, float spatial_scale) {
  long double product;
  if (type == ElementType::double_) {
    volatile double rounded = static_cast<double>(coordinate) * static_cast<double>(spatial_scale);
    product = rounded;
  } else {
    volatile float rounded = static_cast<float>(coordinate) * spatial_scale;
    product = rounded;
  }
  const long double magnitude = std::min(std::floor(std::fabs(product) + 0.5l), 0x1p40l);
  return static_cast<int64_t>(product < 0 ? -magnitude : magnitude);
}

// Each quotient and product rounded to `Float`, whatever the compiler would keep in a wider register.
template <class Float>
Window rounded_bin(int64_t p, int64_t count, int64_t extent) {
  volatile Float length = static_cast<Float>(extent) / static_cast<Float>(count);
  volatile Float start = static_cast<Float>(p) * length, end = static_cast<Float>(p + 1) * length;
  return {static_cast<int64_t>(std::floor(start)), static_cast<int64_t>(std::ceil(end))};
}

Window exact_bin(int64_t p, int64_t count, int64_t extent) {
  __extension__ using Wide = __int128;
  const Wide start = static_cast<Wide>(p) * extent, end = static_cast<Wide>(p + 1) * extent;
  return {static_cast<int64_t>(start / count), static_cast<int64_t>((end + count - 1) / count)};
}

Window bin(int64_t p, int64_t count, int64_t first, int64_t last, int64_t size, EdgeArithmetic edges) {
  const int64_t extent = last >= first ? last - first + 1 : 1;
  const Window window = edges == EdgeArithmetic::exact      ? exact_bin(p, count, extent)
                        : edges == EdgeArithmetic::in_float ? rounded_bin<float>(p, count, extent)
                                                            : rounded_bin<double>(p, count, extent);
  const auto inside = [&](int64_t at) { return std::min(std::max<int64_t>(first + at, 0), size); };
  return {inside(window.start), inside(window.end)};
}

Window sliding_window(int64_t i, int64_t stride, int64_t padding, int64_t length, int64_t size) {
  const int64_t start = i * stride - padding;
  return {std::max<int64_t>(start, 0), std::min(start + length, size)};
}

Window even_window(int64_t i, int64_t count, int64_t size) {
  return {i * size / count, ((i + 1) * size + count - 1) / count};
}

}  // namespace naive
