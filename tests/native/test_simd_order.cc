// kernels/simd/order.h against the numbers that elements are, for every element type.
#include "kernels/simd/order.h"
#include "kernels/simd/vector.h"
#include "test_simd.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

bool is_nan(long double value) { return value != value; }

// Whether `a` comes before `b`: NaN after all numbers (G3).
bool is_less(long double a, long double b) { return is_nan(b) ? !is_nan(a) : a < b; }
// By G4 and G5: +0 is -0, and all NaNs are one.
bool is_same(long double a, long double b) { return a == b || (is_nan(a) && is_nan(b)); }

// Elements' bits: any, and what is special in floats of any type of this width.
template <class Key>
Key some_bits(Random& random) {
  if (random.bits() >> 61 > 1) return random.key<Key>();
  if constexpr (sizeof(Key) == 1) return random.key<Key>();  // no float is so narrow
  // Sign, some of the upper bits all set, and perhaps the next or the last one: infinities and NaNs.
  constexpr int width = sizeof(Key) > 1 ? 8 * sizeof(Key) : 16;
  const uint64_t r = random.bits() >> 8;
  const int exponent = sizeof(Key) == 2 ? (r & 1 ? 5 : 8) : sizeof(Key) == 4 ? 8 : 11;
  uint64_t bits = ((uint64_t{1} << exponent) - 1) << (width - 1 - exponent);
  if (r & 2) bits |= uint64_t{1} << (width - 2 - exponent);
  if (r & 4) bits |= 1;
  if (r & 8) bits ^= uint64_t{1} << (width - 1);
  return static_cast<Key>(r & 16 ? bits : bits & (uint64_t{1} << (width - 1)));  // or a zero of either sign
}

template <ElementType type, class Key, int bytes>
void check(Random& random) {
  static_assert(element_size(type) == sizeof(Key));
  constexpr Order order = order_of(type);
  constexpr int kLanes = bytes / sizeof(Key);
  using V = Vector<Key, bytes>;
  Keys<Key, kLanes> a(random), b(random);
  for (int i = 0; i < kLanes; ++i) {
    a.at[i] = some_bits<Key>(random);
    b.at[i] = random.bits() >> 61 ? some_bits<Key>(random) : a.at[i];
  }
  const KeyOrder<Key> keys(order);
  const TieOrder<Key> ties(order);
  const V a_keys = keys.to_key(a.vector()), b_keys = keys.to_key(b.vector());
  expect_lanes<Key>("from_key", keys.from_key(a_keys), [&](int i) { return a.at[i]; });
  const V a_ties = ties.to_key(a.vector()), b_ties = ties.to_key(b.vector());
  expect_lanes<Key>("merged", ties.merged(a_keys), [&](int i) { return a_ties[i]; });
  const V back = ties.from_key(a_ties);
  for (int i = 0; i < kLanes; ++i) {
    const long double x = test_simd::number(type, &a.at[i]), y = test_simd::number(type, &b.at[i]);
    const Key returned = back[i];
    expect<Key>("TieOrder::from_key", bytes, i, is_same(test_simd::number(type, &returned), x), true);
    if (is_less(x, y)) expect<Key>("KeyOrder::to_key", bytes, i, a_keys[i] < b_keys[i], true);
    expect<Key>("TieOrder::to_key", bytes, i, a_ties[i] < b_ties[i], is_less(x, y));
    expect<Key>("TieOrder::to_key", bytes, i, a_ties[i] == b_ties[i], is_same(x, y));
  }
}

// Numbers as ROIs and windows are pooled by them: a NaN is seen in any lane of either vector, and a zero comes out as
// +0, by keys too.
template <ElementType type, class Key, class Number, int bytes>
void check_numbers(Random& random) {
  constexpr int kLanes = bytes / sizeof(Key);
  using V = Vector<Key, bytes>;
  using N = Vector<Number, bytes>;
  Keys<Key, kLanes> a(random), b(random);
  for (int i = 0; i < kLanes; ++i) {
    a.at[i] = random.bits() % 8 ? a.at[i] : some_bits<Key>(random);
    b.at[i] = random.bits() % 8 ? b.at[i] : some_bits<Key>(random);
  }
  const ValueOrder<Key> keys(order_of(type));
  const ValueOrder<Number> numbers(order_of(type));
  const N x = reinterpret_cast<N>(a.vector()), y = reinterpret_cast<N>(b.vector());
  bool has_nan = false;
  for (int i = 0; i < kLanes; ++i) has_nan |= x[i] != x[i] || y[i] != y[i];
  NanWatch<N> watch;
  watch.see(x, y);
  watch.see(N{}, N{});
#if defined(__SSE2__)
  expect<Key>("NanWatch", bytes, 0, watch.any(), has_nan);
  const auto is_nan = [&](int i) { return x[i] != x[i] || y[i] != y[i]; };
  if constexpr (bytes == 64) {
    constexpr auto kSome = static_cast<decltype(still_ordered({}, x, y))>(0x5a3c);
    const unsigned ordered = still_ordered(kSome, x, y);
    for (int i = 0; i < kLanes; ++i) {
      expect<Key>("still_ordered", bytes, i, ordered >> i & 1, (kSome >> i & 1) && !is_nan(i));
    }
  } else {
    const V unordered_lanes = reinterpret_cast<V>(unordered(x, y));
    for (int i = 0; i < kLanes; ++i) expect<Key>("unordered", bytes, i, unordered_lanes[i] != 0, is_nan(i));
  }
  NanWatch<N> one, other, both;
  one.see(x);
  other.see(y);
  both.see(one);
  both.see(other);
  expect<Key>("NanWatch of watches", bytes, 0, both.any(), has_nan);
#endif
  const V of_keys = keys.from_key(keys.to_key(a.vector())), of_numbers = reinterpret_cast<V>(numbers.from_key(x));
  for (int i = 0; i < kLanes; ++i) {
    const Key before = a.at[i], wanted = x[i] == 0 ? Key{} : before;
    expect<Key>("ValueOrder", bytes, i, of_keys[i], wanted);
    expect<Key>("ValueOrder of a lane", bytes, i, keys.from_key(keys.to_key(before)), wanted);
    if (x[i] == x[i]) expect<Key>("ValueOrder of numbers", bytes, i, of_numbers[i], wanted);
  }
  expect_lanes<Key>("key_of_zero", keys.from_key(keys.template key_of_zero<V>()), [](int) { return Key{}; });
  expect_lanes<Key>("key_of_zero", reinterpret_cast<V>(numbers.from_key(numbers.template key_of_zero<N>())),
                    [](int) { return Key{}; });
}

template <class Key, int bytes>
struct Numbers {
  static void run(Random& random) {
    if constexpr (sizeof(Key) == 4) check_numbers<ElementType::float_, Key, float, bytes>(random);
    if constexpr (sizeof(Key) == 8) check_numbers<ElementType::double_, Key, double, bytes>(random);
  }
};

template <class Key, int bytes>
struct Orders {
  static void run(Random& random) {
    if constexpr (sizeof(Key) == 1) {
      check<ElementType::int8_, Key, bytes>(random);
      check<ElementType::uint8_, Key, bytes>(random);
    } else if constexpr (sizeof(Key) == 2) {
      check<ElementType::float16_, Key, bytes>(random);
      check<ElementType::bfloat16_, Key, bytes>(random);
      check<ElementType::int16_, Key, bytes>(random);
      check<ElementType::uint16_, Key, bytes>(random);
    } else if constexpr (sizeof(Key) == 4) {
      check<ElementType::float_, Key, bytes>(random);
      check<ElementType::int32_, Key, bytes>(random);
      check<ElementType::uint32_, Key, bytes>(random);
    } else {
      check<ElementType::double_, Key, bytes>(random);
      check<ElementType::int64_, Key, bytes>(random);
      check<ElementType::uint64_, Key, bytes>(random);
    }
  }
};

}  // namespace

void test_order() {
  for_each_vector<Orders>();
  for_each_vector<Numbers>();
}

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
