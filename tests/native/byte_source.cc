#include "byte_source.h"

#include <algorithm>
#include <limits>

#include "oracle.h"

namespace {

using onnx_maxpool::ElementType;

// Numbers that look random and are the same in every run.
class Mixer {
 public:
  explicit Mixer(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

// The ends of the integer types, and of floats what is not a usual number.
long double special(uint64_t which) {
  constexpr long double values[] = {std::numeric_limits<long double>::quiet_NaN(),
                                    std::numeric_limits<long double>::infinity(),
                                    -std::numeric_limits<long double>::infinity(),
                                    -0.0l,
                                    0.0l,
                                    1e-30l,
                                    -0x1p63l,
                                    0x1p64l,
                                    -128,
                                    127,
                                    255,
                                    65535};
  return values[which % (sizeof values / sizeof *values)];
}

}  // namespace

void fill_cells(ByteSource& source, const OrtValue& tensor) {
  const auto cells = static_cast<int64_t>(tensor.block.bytes() / element_size(tensor.type));
  void* data = tensor.block.data();
  const int64_t kind = source.below(5);
  Mixer mixer(source.raw<uint16_t>());
  for (int64_t i = 0; i < cells; ++i) {
    const uint64_t random = mixer.next(), of_seven = random % 7, of_thousand = random / 7 % 1000;
    if (kind == 0 || (kind == 1 && of_thousand >= 30)) {
      naive::set_number(tensor.type, data, i, static_cast<long double>(of_seven) - 3);
    } else if (kind == 1 || kind == 2) {
      naive::set_number(tensor.type, data, i, special(random >> 32));
    } else {
      const uint64_t bits = kind == 4 && source.left() ? source.raw<uint64_t>() : random;
      std::memcpy(static_cast<char*>(data) + i * static_cast<int64_t>(element_size(tensor.type)), &bits,
                  element_size(tensor.type));
    }
  }
}

void fill_large(ByteSource& source, const OrtValue& tensor) {
  constexpr size_t kDrawn = 8191;  // a prime, so that no row is as another
  const size_t bytes = tensor.block.bytes(), size = element_size(tensor.type), drawn = std::min(bytes, kDrawn * size);
  const auto part = stand_in::tensor(tensor.type, {static_cast<int64_t>(drawn / size)});
  fill_cells(source, *part);
  auto* const to = static_cast<char*>(tensor.block.data());
  for (size_t at = 0; at < bytes; at += drawn) std::memcpy(to + at, part->block.data(), std::min(drawn, bytes - at));
}

int64_t some_size(ByteSource& source) {
  if (source.one_in(4)) return 1 + source.below(100);
  return source.pick<int64_t>({1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 0});
}
