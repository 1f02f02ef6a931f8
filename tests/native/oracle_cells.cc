// Cells of every element type as numbers, exactly; windows and their maxima, from the rules alone.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "oracle.h"

namespace naive {
namespace {

constexpr long double kNan = std::numeric_limits<long double>::quiet_NaN();
constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
static_assert(std::numeric_limits<long double>::digits >= 64, "a long double holds every element type's numbers");

template <class T>
T read(const void* cells, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const char*>(cells) + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void put(void* cells, int64_t i, T value) {
  std::memcpy(static_cast<char*>(cells) + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

// A float of 16 bits with so many in its exponent.
long double small_float(uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits & 0x7fff) >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
  long double value = std::ldexp(static_cast<long double>(fraction), 1 - bias - fraction_bits);
  if (exponent == (1 << exponent_bits) - 1) {
    value = fraction ? kNan : kInfinity;
  } else if (exponent) {
    value = std::ldexp(static_cast<long double>(fraction + (1 << fraction_bits)), exponent - bias - fraction_bits);
  }
  return bits & 0x8000 ? -value : value;
}

uint16_t small_bits(long double value, int exponent_bits) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const int infinity = ((1 << exponent_bits) - 1) << (15 - exponent_bits);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7fff);
  // Finite numbers of one sign are ordered as their bits are.
  int low = 0, high = infinity;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (small_float(static_cast<uint16_t>(middle), exponent_bits) <= std::fabs(value) ? low : high) = middle;
  }
  return static_cast<uint16_t>(sign | (std::isinf(value) ? infinity : low));
}

template <class T>
T integer(long double value) {
  constexpr long double least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  if (!(value >= least)) return std::numeric_limits<T>::min();
  return value >= most ? std::numeric_limits<T>::max() : static_cast<T>(value);
}

}  // namespace

long double number(ElementType type, const void* cells, int64_t i) {
  switch (type) {
    case ElementType::float_:
      return read<float>(cells, i);
    case ElementType::double_:
      return read<double>(cells, i);
    case ElementType::float16_:
      return small_float(read<uint16_t>(cells, i), 5);
    case ElementType::bfloat16_:
      return small_float(read<uint16_t>(cells, i), 8);
    case ElementType::int8_:
      return read<int8_t>(cells, i);
    case ElementType::int16_:
      return read<int16_t>(cells, i);
    case ElementType::int32_:
      return static_cast<long double>(read<int32_t>(cells, i));
    case ElementType::int64_:
      return static_cast<long double>(read<int64_t>(cells, i));
    case ElementType::uint8_:
      return read<uint8_t>(cells, i);
    case ElementType::uint16_:
      return read<uint16_t>(cells, i);
    case ElementType::uint32_:
      return static_cast<long double>(read<uint32_t>(cells, i));
    default:
      return static_cast<long double>(read<uint64_t>(cells, i));
  }
}

void set_number(ElementType type, void* cells, int64_t i, long double value) {
  switch (type) {
    case ElementType::float_:
      return put(cells, i, static_cast<float>(value));
    case ElementType::double_:
      return put(cells, i, static_cast<double>(value));
    case ElementType::float16_:
      return put(cells, i, small_bits(value, 5));
    case ElementType::bfloat16_:
      return put(cells, i, small_bits(value, 8));
    case ElementType::int8_:
      return put(cells, i, integer<int8_t>(value));
    case ElementType::int16_:
      return put(cells, i, integer<int16_t>(value));
    case ElementType::int32_:
      return put(cells, i, integer<int32_t>(value));
    case ElementType::int64_:
      return put(cells, i, integer<int64_t>(value));
    case ElementType::uint8_:
      return put(cells, i, integer<uint8_t>(value));
    case ElementType::uint16_:
      return put(cells, i, integer<uint16_t>(value));
    case ElementType::uint32_:
      return put(cells, i, integer<uint32_t>(value));
    default:
      return put(cells, i, integer<uint64_t>(value));
  }
}

bool same(long double a, long double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

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
