// What the tests of vector operations share. They are compiled once per target, as the kernels are, and so use no
// template of the standard library, which one target's compiler options would compile for all.
#pragma once

#include <stdint.h>

#include "base/element_type.h"
#include "kernels/simd/vector.h"

namespace test_simd {

// Ends the program: an operation on keys and vectors of so many bytes has `found` in a place of its result.
[[noreturn]] void differ(const char* operation, int key_bytes, int vector_bytes, int64_t place, int64_t found,
                         int64_t expected);
// Where memory that may be read and written starts, and where it ends.
void* start_of_memory();
void* end_of_memory();
// The cell as a number that has its order; a NaN is a NaN.
long double number(onnx_maxpool::ElementType type, const void* cell);

}  // namespace test_simd

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {

constexpr int kRounds = 50;

// Numbers that look random and are the same in every run: few values, the ends of the range, or any bits.
class Random {
 public:
  uint64_t bits() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  template <class Key>
  Key key() {
    const uint64_t kind = bits() >> 60, value = bits();
    const Key lowest = static_cast<Key>(uint64_t{1} << (8 * sizeof(Key) - 1));
    if (kind < 4) return static_cast<Key>(static_cast<int64_t>(value >> 62) - 1);
    if (kind == 4) return lowest;
    if (kind == 5) return static_cast<Key>(~lowest);
    return static_cast<Key>(value >> 8);
  }

 private:
  uint64_t state_ = 0x9e3779b97f4a7c15;
};

template <class Key, int lanes>
struct Keys {
  Key at[lanes];
  explicit Keys(Random& random) {
    for (Key& key : at) key = random.key<Key>();
  }
  Vector<Key, lanes* static_cast<int>(sizeof(Key))> vector() const {
    Vector<Key, lanes* static_cast<int>(sizeof(Key))> v;
    __builtin_memcpy(&v, at, sizeof v);
    return v;
  }
};

// The lanes of `found` are `expected(lane)`.
template <class Key, class V, class Expected>
inline void expect_lanes(const char* operation, V found, Expected expected) {
  Key lanes[sizeof(V) / sizeof(Key)];
  __builtin_memcpy(lanes, &found, sizeof found);
  for (int i = 0; i < static_cast<int>(sizeof(V) / sizeof(Key)); ++i) {
    const Key wanted = expected(i);
    if (lanes[i] != wanted) test_simd::differ(operation, sizeof(Key), sizeof(V), i, lanes[i], wanted);
  }
}

template <class Key>
inline void expect(const char* operation, int vector_bytes, int64_t place, int64_t found, int64_t expected) {
  if (found != expected) test_simd::differ(operation, sizeof(Key), vector_bytes, place, found, expected);
}

// Calls Test<Key, bytes>::run for vectors of every width that the kernels of this target use.
template <template <class, int> class Test, class Key>
inline void for_each_vector_of() {
  Random random;
  for (int round = 0; round < kRounds; ++round) {
    Test<Key, 16>::run(random);
    if constexpr (kVectorBytes >= 32) Test<Key, 32>::run(random);
    if constexpr (kVectorBytes >= 64) Test<Key, 64>::run(random);
  }
}
// The same for every width of keys.
template <template <class, int> class Test>
inline void for_each_vector() {
  for_each_vector_of<Test, int8_t>();
  for_each_vector_of<Test, int16_t>();
  for_each_vector_of<Test, int32_t>();
  for_each_vector_of<Test, int64_t>();
}

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
