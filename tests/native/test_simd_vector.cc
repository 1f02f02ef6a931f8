// kernels/simd/vector.h and streamed_copy.h against scalar loops.
#include "kernels/simd/streamed_copy.h"
#include "kernels/simd/vector.h"
#include "test_simd.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// From and to any address that a key may have; nothing beside the vector is written.
template <class Key, int bytes>
struct LoadAndStore {
  static constexpr int kLanes = bytes / sizeof(Key);
  using V = Vector<Key, bytes>;
  static void run(Random& random) {
    const Keys<Key, 4 * kLanes> from(random), before(random);
    for (int offset = 0; offset <= 3 * kLanes; ++offset) {
      const V v = load<V>(from.at + offset);
      expect_lanes<Key>("load", v, [&](int i) { return from.at[offset + i]; });
      expect_lanes<Key>("load_once", load_once<V>(from.at + offset), [&](int i) { return from.at[offset + i]; });
      Keys<Key, 4 * kLanes> to = before;
      store(to.at + offset, v);
      for (int i = 0; i < 4 * kLanes; ++i) {
        const bool inside = offset <= i && i < offset + kLanes;
        expect<Key>("store", bytes, i, to.at[i], inside ? from.at[i] : before.at[i]);
      }
    }
  }
};

template <class Key, int bytes>
struct Max {
  static constexpr int kLanes = bytes / sizeof(Key);
  static void run(Random& random) {
    const Keys<Key, kLanes> a(random), b(random);
    expect_lanes<Key>("max", max(a.vector(), b.vector()), [&](int i) { return a.at[i] > b.at[i] ? a.at[i] : b.at[i]; });
    expect_lanes<Key>("min", min(a.vector(), b.vector()), [&](int i) { return a.at[i] < b.at[i] ? a.at[i] : b.at[i]; });
  }
};

// Of masks with none, one or all lanes true, and of any comparison.
template <class Key, int bytes>
struct AllFalse {
  static constexpr int kLanes = bytes / sizeof(Key);
  using V = Vector<Key, bytes>;
  static void run(Random& random) {
    const V zero{};
    expect<Key>("all_false", bytes, -1, all_false(zero != zero), true);
    expect<Key>("all_false", bytes, -2, all_false(zero == zero), false);
    for (int lane = 0; lane < kLanes; ++lane) {
      V one{};
      one[lane] = 1;
      expect<Key>("all_false", bytes, lane, all_false(one > zero), false);
    }
    const Keys<Key, kLanes> a(random), b(random);
    bool none = true;
    for (int i = 0; i < kLanes; ++i) none = none && a.at[i] != b.at[i];
    expect<Key>("all_false", bytes, kLanes, all_false(a.vector() == b.vector()), none);
  }
};

// As many keys as lanes of the wider type fill a vector, as in kernels/window_pools.h.
template <class From, class To, int bytes>
void convert(Random& random) {
  if constexpr (sizeof(From) <= sizeof(To)) {
    constexpr int lanes = bytes / sizeof(To);
    const Keys<From, lanes> narrow(random);
    expect_lanes<To>("promote_to", promote_to<To, From, lanes>(narrow.vector()), [&](int i) { return narrow.at[i]; });
    const Keys<To, lanes> wide(random);
    expect_lanes<From>("truncate_to", truncate_to<From, To, lanes>(wide.vector()),
                       [&](int i) { return static_cast<From>(wide.at[i]); });
  }
}
template <class Key, int bytes>
struct PromoteAndTruncate {
  static void run(Random& random) {
    convert<Key, int8_t, bytes>(random);
    convert<Key, int16_t, bytes>(random);
    convert<Key, int32_t, bytes>(random);
    convert<Key, int64_t, bytes>(random);
  }
};

// A hint changes nothing, wherever it points.
template <class Key, int bytes>
struct Prefetch {
  static void run(Random& random) {
    const Keys<Key, bytes / sizeof(Key)> keys(random), before = keys;
    const int64_t distances[] = {int64_t{0},          int64_t{-100}, int64_t{1} << 20,
                                 -(int64_t{1} << 40), INT64_MAX,     INT64_MIN};
    Keys<Key, bytes / sizeof(Key)> to = keys;
    for (int64_t apart : distances) {
      prefetch(keys.at, apart);
      prefetch<Cache::second>(keys.at, apart);
      prefetch_to_store(to.at, apart);
    }
    prefetch_next_page(keys.at);
    prefetch_next_page(static_cast<const Key*>(nullptr));
    expect_lanes<Key>("prefetch", keys.vector(), [&](int i) { return before.at[i]; });
    expect_lanes<Key>("prefetch_to_store", to.vector(), [&](int i) { return before.at[i]; });
  }
};

template <class Key, int bytes>
struct LoadAndStoreN {
  static constexpr int kLanes = bytes / sizeof(Key);
  using V = Vector<Key, bytes>;
  static void run(Random& random) {
    const Keys<Key, 2 * kLanes> from(random), before(random);
    for (int count = 1; count <= kLanes; ++count) {
      const int offset = static_cast<int>(random.bits() % kLanes);
      const Key* const end = from.at + 2 * kLanes;
      const V v = load_n<V>(from.at + offset, count), first = load_n<V>(from.at + offset, count, end);
      expect_lanes<Key>("load_n", v, [&](int i) { return i < count ? from.at[offset + i] : Key{0}; });
      expect_lanes<Key>("load_n with an end", first, [&](int i) { return i < count ? from.at[offset + i] : first[i]; });
      Keys<Key, 2 * kLanes> to = before;
      store_n(to.at + offset, load<V>(from.at + offset), count);
      for (int i = 0; i < 2 * kLanes; ++i) {
        const bool inside = offset <= i && i < offset + count;
        expect<Key>("store_n", bytes, i, to.at[i], inside ? from.at[i] : before.at[i]);
      }
      for (int room = count; room <= 2 * kLanes - offset; ++room) {
        to = before;
        store_n(to.at + offset, load<V>(from.at + offset), count, to.at + offset + room);
        for (int i = 0; i < 2 * kLanes; ++i) {
          if (offset + count <= i && i < offset + room) continue;  // may be anything
          const bool inside = offset <= i && i < offset + count;
          expect<Key>("store_n with an end", bytes, i, to.at[i], inside ? from.at[i] : before.at[i]);
        }
      }
    }
    // What is not asked for is not read: here it may not be.
    for (int count = 1; count <= kLanes; ++count) {
      Key *const end = static_cast<Key*>(test_simd::end_of_memory()), *const last = end - count;
      store_n(last, load<V>(from.at), count);
      expect_lanes<Key>("load_n", load_n<V>(last, count), [&](int i) { return i < count ? from.at[i] : Key{0}; });
      store_n(last, load<V>(before.at), count, end);
      const V v = load_n<V>(last, count, end);
      expect_lanes<Key>("load_n at an end", v, [&](int i) { return i < count ? before.at[i] : v[i]; });
    }
  }
};

template <class Key, int bytes>
struct LaneNumbers {
  static void run(Random&) {
    expect_lanes<Key>("lane_numbers", lane_numbers<Key, bytes>(), [](int i) { return static_cast<Key>(i); });
  }
};

// At either end of memory, as what is not asked for is not read.
template <class Key, int bytes>
struct LoadWithin {
  static constexpr int kLanes = bytes / sizeof(Key);
  using V = Vector<Key, bytes>;
  static void run(Random& random) {
    const Keys<Key, kLanes> keys(random);
    Key* const first = static_cast<Key*>(test_simd::start_of_memory());
    Key* const last = static_cast<Key*>(test_simd::end_of_memory()) - kLanes;
    store(first, keys.vector());
    store(last, keys.vector());
    for (int begin = -2; begin <= kLanes + 2; ++begin) {
      for (int end = -2; end <= kLanes + 2; ++end) {
        const auto is_within = [&](int lane) { return begin <= lane && lane < end; };
        expect_lanes<Key>("load_within", load_within<V>(keys.at, begin, end),
                          [&](int i) { return is_within(i) ? keys.at[i] : Key{0}; });
        const int before = min(max(begin, 0), kLanes), beyond = kLanes - min(max(end, 0), kLanes);
        expect_lanes<Key>("load_within at the start", load_within<V>(first - before, begin, end),
                          [&](int i) { return is_within(i) ? keys.at[i - before] : Key{0}; });
        expect_lanes<Key>("load_within at the end", load_within<V>(last + beyond, begin, end),
                          [&](int i) { return is_within(i) ? keys.at[i + beyond] : Key{0}; });
      }
    }
  }
};

#if defined(__AVX2__)
template <class Key, int bytes>
struct TableLookupLanes {
  static constexpr int kLanes = bytes / sizeof(Key);
  static void run(Random& random) {
    if constexpr (bytes == kVectorBytes && sizeof(Key) > 1) {
      const Keys<Key, kLanes> table(random);
      Keys<Key, kLanes> lanes(random);
      for (Key& lane : lanes.at) lane = static_cast<Key>(random.bits() % kLanes);
      expect_lanes<Key>("table_lookup_lanes", table_lookup_lanes(table.vector(), lanes.vector()),
                        [&](int i) { return table.at[lanes.at[i]]; });
      const Keys<Key, kLanes> any(random);
      expect_lanes<Key>("table_lookup_lanes of any number", table_lookup_lanes(table.vector(), any.vector()),
                        [&](int i) { return table.at[any.at[i] & (kLanes - 1)]; });
      const Keys<Key, kLanes> upper(random);
      for (Key& lane : lanes.at) lane = static_cast<Key>(random.bits() % (2 * kLanes));
      expect_lanes<Key>(
          "two_tables_lookup_lanes", two_tables_lookup_lanes(table.vector(), upper.vector(), lanes.vector()),
          [&](int i) { return lanes.at[i] < kLanes ? table.at[lanes.at[i]] : upper.at[lanes.at[i] - kLanes]; });
    }
  }
};
#endif

constexpr int kLine = kStreamedLine, kMost = 5 * kLine, kRoom = kMost + 2 * kLine;

// Copies of every length between places of every alignment. Each is two buffers on, as kernels have it: the copy before
// may still read the other one.
void check_streamed_copy(Random& random, bool in_steps) {
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
    const int bytes = below(kMost + 1), at = i * kRoom + below(kLine), source = below(kLine);
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

// The same of rows of every length from a line on, each followed by the beginning of the next one.
void check_streamed_rows(Random& random, bool in_steps) {
  constexpr int kRows = 4, kPitch = 4 * kLine, kCopies = 6, kPiece = kRows * kPitch + kLine;
  const auto below = [&](int count) { return static_cast<int>((random.bits() >> 20) % static_cast<uint64_t>(count)); };
  alignas(64) char from[2][kRows * kPitch], to[kCopies * kPiece], expected[sizeof to];
  StreamedRows all[2] = {{0, 0, 0}, {0, 0, 0}};
  for (char& byte : to) byte = static_cast<char>(random.bits() >> 20);
  __builtin_memcpy(expected, to, sizeof to);
  StreamedCopy copy;
  for (int n = 0; n < kCopies; ++n) {
    char* const buffer = from[n % 2];
    for (int i = 0; i < kRows * kPitch; ++i) buffer[i] = static_cast<char>(random.bits() >> 20);
    const int rows = 1 + below(kRows), row = kLine + below(2 * kLine + 1);
    const int at = n * kPiece + below(kLine);
    for (int i = 0; i < rows; ++i) {
      char* const begin = buffer + i * kPitch;
      if (i + 1 < rows) __builtin_memcpy(begin + row, begin + kPitch, kLine);
      __builtin_memcpy(expected + at + i * row, begin, static_cast<size_t>(row));
    }
    all[n % 2] = {rows, row, kPitch};
    copy.begin(to + at, buffer, all[n % 2]);
    for (int steps = in_steps ? below(8) : 0; steps > 0; --steps) copy.step();
  }
  copy.finish();
  for (int i = 0; i < static_cast<int>(sizeof to); ++i)
    expect<char>("StreamedCopy of rows", kVectorBytes, i, to[i], expected[i]);
}

}  // namespace

void test_streamed_copy() {
  Random random;
  for (int round = 0; round < 10 * kRounds; ++round) {
    check_streamed_copy(random, round % 2);
    check_streamed_rows(random, round % 2);
  }
}

void test_vector() {
  for_each_vector<LoadAndStore>();
  for_each_vector<Max>();
  for_each_vector<AllFalse>();
  for_each_vector<PromoteAndTruncate>();
  for_each_vector<Prefetch>();
  for_each_vector<LoadAndStoreN>();
  for_each_vector<LaneNumbers>();
  for_each_vector<LoadWithin>();
#if defined(__AVX2__)
  for_each_vector<TableLookupLanes>();
#endif
}

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
