// kernels/simd/streamed_copy.h: copies of every length between places of every alignment, one after the other.
#include "kernels/simd/streamed_copy.h"
#include "test_simd.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

constexpr int kMost = 5 * kVectorBytes, kRoom = kMost + 2 * kVectorBytes;

// Each copy is two buffers on, as kernels have it: the copy before may still read the other one.
void check(Random& random, bool in_steps) {
  alignas(64) char from[2][kRoom], to[kRoom * 8], expected[kRoom * 8];
  for (char& byte : to) byte = static_cast<char>(random.bits() >> 20);
  __builtin_memcpy(expected, to, sizeof to);
  StreamedCopy copy;
  for (int i = 0; i < 8; ++i) {
    char* const buffer = from[i % 2];
    for (int j = 0; j < kRoom; ++j) buffer[j] = static_cast<char>(random.bits() >> 20);
    const auto below = [&](int count) {
      return static_cast<int>((random.bits() >> 20) % static_cast<uint64_t>(count));
    };
    const int bytes = below(kMost + 1), at = i * kRoom + below(kVectorBytes), source = below(kVectorBytes);
    __builtin_memcpy(expected + at, buffer + source, static_cast<size_t>(bytes));
    copy.begin(to + at, buffer + source, static_cast<size_t>(bytes));
    for (int steps = in_steps ? below(8) : 0; steps > 0; --steps) copy.step();
  }
  copy.finish();
  copy.step();  // of nothing
  copy.finish();
  for (int i = 0; i < static_cast<int>(sizeof to); ++i)
    expect<char>("StreamedCopy", kVectorBytes, i, to[i], expected[i]);
}

}  // namespace

void test_streamed_copy() {
  Random random;
  for (int round = 0; round < 10 * kRounds; ++round) check(random, round % 2);
}

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
