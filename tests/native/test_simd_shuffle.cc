// kernels/simd/shuffle.h and transpose.h against scalar loops.
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/simd/shuffle.h"
#include "kernels/simd/transpose.h"
#include "test_simd.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Key, int bytes>
struct Interleave {
  static constexpr int kLanes = bytes / sizeof(Key);
  static void run(Random& random) {
    const Keys<Key, kLanes> a(random), b(random);
    // The i-th of the keys of two runs of `count` in turn, which begin at `from`.
    const auto in_turn = [&](int from, int i) { return i % 2 ? b.at[from + i / 2] : a.at[from + i / 2]; };
    constexpr int block = 16 / sizeof(Key);
    expect_lanes<Key>("interleave_lower", interleave_lower<Key>(a.vector(), b.vector()),
                      [&](int i) { return in_turn(i / block * block, i % block); });
    expect_lanes<Key>("interleave_upper", interleave_upper<Key>(a.vector(), b.vector()),
                      [&](int i) { return in_turn(i / block * block + block / 2, i % block); });
    expect_lanes<Key>("interleave_whole_lower", interleave_whole_lower<Key>(a.vector(), b.vector()),
                      [&](int i) { return in_turn(0, i); });
    expect_lanes<Key>("interleave_whole_upper", interleave_whole_upper<Key>(a.vector(), b.vector()),
                      [&](int i) { return in_turn(kLanes / 2, i); });
  }
};

template <class Key, int bytes>
struct Concat {
  static constexpr int kLanes = bytes / sizeof(Key);
  static void run(Random& random) {
    const Keys<Key, kLanes> a(random), b(random);
    const auto both = [&](int i) { return i < kLanes ? a.at[i] : b.at[i - kLanes]; };
    expect_lanes<Key>("concat_even", concat_even<Key>(a.vector(), b.vector()), [&](int i) { return both(2 * i); });
    expect_lanes<Key>("concat_odd", concat_odd<Key>(a.vector(), b.vector()), [&](int i) { return both(2 * i + 1); });
    constexpr int kBlock = 16 / sizeof(Key), kHalf = kBlock / 2;
    const auto in_blocks = [&](int i, int odd) {
      const int lane = i / kBlock * kBlock + 2 * (i % kHalf) + odd;
      return i % kBlock < kHalf ? a.at[lane] : b.at[lane];
    };
    expect_lanes<Key>("concat_even_in_blocks", concat_even_in_blocks<Key>(a.vector(), b.vector()),
                      [&](int i) { return in_blocks(i, 0); });
    expect_lanes<Key>("concat_odd_in_blocks", concat_odd_in_blocks<Key>(a.vector(), b.vector()),
                      [&](int i) { return in_blocks(i, 1); });
    expect_lanes<Key>("concat_words", concat_words(a.vector()), [&](int i) {
      const int half = i * 2 / kLanes, word = i % (kLanes / 2) / kHalf;
      return a.at[word * kBlock + half * kHalf + i % kHalf];
    });
  }
};

template <class Key, int bytes>
struct FourthLanes {
  static constexpr int kLanes = bytes / sizeof(Key);
  static void run(Random& random) {
    if constexpr (bytes == 32 && sizeof(Key) <= 4) {
      const Keys<Key, kLanes> a(random), b(random), c(random), d(random);
      const auto all = [&](int i) {
        return (i < kLanes ? a : i < 2 * kLanes ? b : i < 3 * kLanes ? c : d).at[i % kLanes];
      };
      const auto first = concat_even_in_blocks<Key>(concat_even_in_blocks<Key>(a.vector(), b.vector()),
                                                    concat_even_in_blocks<Key>(c.vector(), d.vector()));
      expect_lanes<Key>("order_fourths", order_fourths<Key>(first), [&](int i) { return all(4 * i); });
      const auto last = concat_odd_in_blocks<Key>(concat_odd_in_blocks<Key>(a.vector(), b.vector()),
                                                  concat_odd_in_blocks<Key>(c.vector(), d.vector()));
      expect_lanes<Key>("order_fourths", order_fourths<Key>(last), [&](int i) { return all(4 * i + 3); });
    }
  }
};

template <class Key, int bytes>
struct LanesApart {
  static constexpr int kLanes = bytes / sizeof(Key);
  static void run(Random& random) {
    three<3>(random);
    three<5>(random);
    three<7>(random);
  }

 private:
  // The first phases, of `n` vectors.
  template <int n>
  static void three(Random& random) {
    std::vector<Keys<Key, kLanes>> all;
    decltype(std::declval<Keys<Key, kLanes>>().vector()) vectors[n];
    for (int v = 0; v < n; ++v) {
      all.emplace_back(random);
      vectors[v] = all[static_cast<size_t>(v)].vector();
    }
    const auto cell = [&](int i) { return all[static_cast<size_t>(i / kLanes)].at[i % kLanes]; };
    const auto from = [&](auto number) {
      constexpr int phase = decltype(number)::value;
      // The phase and a multiple of n that has lane i in its vector.
      const auto of_lane = [](int i) {
        while (i % n != phase) i += kLanes;
        return i;
      };
      const auto blended = blend_apart<Key, n, phase>(vectors);
      expect_lanes<Key>("blend_apart", blended, [&](int i) { return cell(of_lane(i)); });
      expect_lanes<Key>("order_apart", order_apart<Key, n, phase>(blended), [&](int i) { return cell(n * i + phase); });
    };
    from(std::integral_constant<int, 0>());
    from(std::integral_constant<int, 1>());
    from(std::integral_constant<int, 2>());
  }
};

template <class Key, int bytes>
struct Slides {
  static constexpr int kLanes = bytes / sizeof(Key);
  static void run(Random& random) {
    if constexpr (bytes == kVectorBytes) {
      const Keys<Key, kLanes> a(random), b(random);
      const auto both = [&](int i) { return i < kLanes ? a.at[i] : b.at[i - kLanes]; };
      const auto slide = [&](auto number) {
        constexpr int n = decltype(number)::value, kBytes = n * sizeof(Key);
        if constexpr (kBytes <= 16 || (bytes == 64 && kBytes < 64 && kBytes % 4 == 0)) {
          expect_lanes<Key>("slide_down_lanes", slide_down_lanes<Key, n>(a.vector(), b.vector()),
                            [&](int i) { return both(i + n); });
        }
      };
      slide(std::integral_constant<int, 1>());
      slide(std::integral_constant<int, 2>());
      slide(std::integral_constant<int, 3>());
      slide(std::integral_constant<int, 4>());
      slide(std::integral_constant<int, 6>());
      expect_lanes<Key>("slide_up_lane", slide_up_lane<Key>(a.vector(), b.vector()),
                        [&](int i) { return both(i + kLanes - 1); });
    }
  }
};

template <class Key, int bytes>
struct Combine {
  static constexpr int kLanes = bytes / sizeof(Key), kBlock = 16 / sizeof(Key), kBlocks = bytes / 16;
  static void run(Random& random) {
    const Keys<Key, kLanes> whole(random);
    if constexpr (kBlocks > 1) {
      const Vector<Key, bytes / 2> lower = load<Vector<Key, bytes / 2>>(whole.at),
                                   upper = load<Vector<Key, bytes / 2>>(whole.at + kLanes / 2);
      expect_lanes<Key>("combine", combine<Key>(lower, upper), [&](int i) { return whole.at[i]; });
    }
    Vector<Key, 16> blocks[kBlocks];
    for (int n = 0; n < kBlocks; ++n) blocks[n] = load<Vector<Key, 16>>(whole.at + n * kBlock);
    expect_lanes<Key>("combine_blocks", combine_blocks<Vector<Key, bytes>, Key>(blocks),
                      [&](int i) { return whole.at[i]; });
    expect_lanes<Key>("extract_block", extract_block<Key, kBlocks - 1>(whole.vector()),
                      [&](int i) { return whole.at[(kBlocks - 1) * kBlock + i]; });
    expect_lanes<Key>("extract_block", extract_block<Key, kBlocks / 2>(whole.vector()),
                      [&](int i) { return whole.at[kBlocks / 2 * kBlock + i]; });
  }
};

template <class Key, int bytes>
struct Blocks {
  static constexpr int kLanes = bytes / sizeof(Key), kBlock = 16 / sizeof(Key), kBlocks = bytes / 16;
  static void run(Random& random) {
    if constexpr (kBlocks > 1) {
      const Keys<Key, kLanes> a(random), b(random);
      const auto block = [&](int number, int i) {
        const Key* from = number < kBlocks ? a.at + number * kBlock : b.at + (number - kBlocks) * kBlock;
        return from[i % kBlock];
      };
      expect_lanes<Key>("concat_even_blocks", concat_even_blocks(a.vector(), b.vector()),
                        [&](int i) { return block(2 * (i / kBlock), i); });
      expect_lanes<Key>("concat_odd_blocks", concat_odd_blocks(a.vector(), b.vector()),
                        [&](int i) { return block(2 * (i / kBlock) + 1, i); });
      const auto in_turn = [&](int from, int i) {
        const int n = i / kBlock;
        return block(from + n / 2 + n % 2 * kBlocks, i);
      };
      expect_lanes<Key>("interleave_lower_blocks", interleave_lower_blocks(a.vector(), b.vector()),
                        [&](int i) { return in_turn(0, i); });
      expect_lanes<Key>("interleave_upper_blocks", interleave_upper_blocks(a.vector(), b.vector()),
                        [&](int i) { return in_turn(kBlocks / 2, i); });
    }
  }
};

template <class Key, int bytes>
struct Halves {
  static constexpr int kLanes = bytes / sizeof(Key);
  static void run(Random& random) {
    const Keys<Key, kLanes> v(random);
    expect_lanes<Key>("lower_half", lower_half<Key>(v.vector()), [&](int i) { return v.at[i]; });
    expect_lanes<Key>("upper_half", upper_half<Key>(v.vector()), [&](int i) { return v.at[kLanes / 2 + i]; });
    Key greatest = v.at[0];
    for (Key key : v.at) greatest = key > greatest ? key : greatest;
    expect<Key>("greatest_lane", bytes, 0, greatest_lane<Key>(v.vector()), greatest);
  }
};

// Vectors' keys, and the keys that a scalar loop leaves in their place.
template <class Key, int lanes, int count>
struct Square {
  Vector<Key, lanes* static_cast<int>(sizeof(Key))> vectors[count];
  Key keys[count][lanes];
  explicit Square(Random& random) {
    for (int i = 0; i < count; ++i) {
      const Keys<Key, lanes> row(random);
      vectors[i] = row.vector();
      __builtin_memcpy(keys[i], row.at, sizeof row.at);
    }
  }
};

// `count` vectors of `lanes` keys: as many as there are lanes, or fewer.
template <class Key, int lanes, int count>
void check_in_blocks(Random& random) {
  constexpr int block = 16 / sizeof(Key);
  using V = Vector<Key, lanes* static_cast<int>(sizeof(Key))>;
  Square<Key, lanes, count> square(random);
  V other[count];
  V *from = square.vectors, *to = other;
  transpose_in_blocks<Key, count>(from, to);
  for (int row = 0; row < count; ++row) {
    expect_lanes<Key>("transpose_in_blocks", from[row], [&](int i) {
      return square.keys[row / block * block + i % block][i / block * block + row % block];
    });
  }
}

template <class Key, int bytes>
struct Transpose {
  static constexpr int kLanes = bytes / sizeof(Key);
  static void run(Random& random) {
    check_in_blocks<Key, kLanes, kLanes>(random);
    if constexpr (bytes > 16) check_in_blocks<Key, kLanes, kLanes / 2>(random);
    check_in_blocks<Key, kLanes, 16 / static_cast<int>(sizeof(Key))>(random);
    Square<Key, kLanes, kLanes> square(random);
    transpose<Key, kLanes>(square.vectors);
    for (int row = 0; row < kLanes; ++row) {
      expect_lanes<Key>("transpose", square.vectors[row], [&](int i) { return square.keys[i][row]; });
    }
  }
};

template <class Key, int bytes>
struct GatherBlocks {
  static void run(Random& random) {
    constexpr int lanes = bytes / sizeof(Key), block = 16 / sizeof(Key), blocks = bytes / 16;
    Square<Key, lanes, 4> square(random);
    Vector<Key, bytes> other[4];
    Vector<Key, bytes>*from = square.vectors, *to = other;
    gather_blocks<4, 1>(from, to);
    for (int row = 0; row < 4; ++row) {
      expect_lanes<Key>("gather_blocks", from[row], [&](int i) {
        const int number = row * blocks + i / block;
        return square.keys[number % 4][number / 4 * block + i % block];
      });
    }
  }
};

// Of 16-bit keys only, in vectors of more than a block.
template <class Key, int bytes>
struct TransposeHalf {
  static void run(Random& random) {
    if constexpr (bytes > 16) {
      constexpr int lanes = bytes / 2, half = lanes / 2;
      Square<Key, lanes, half> square(random);
      transpose_half<lanes>(square.vectors);
      bool seen[lanes] = {};
      for (int row = 0; row < half; ++row) {
        const int lower = half_lane<lanes>(row), upper = lower + kHalfApart;
        expect_lanes<Key>("transpose_half", lower_half<Key>(square.vectors[row]),
                          [&](int i) { return square.keys[i][lower]; });
        expect_lanes<Key>("transpose_half", upper_half<Key>(square.vectors[row]),
                          [&](int i) { return square.keys[i][upper]; });
        seen[lower] = seen[upper] = true;
      }
      for (int lane = 0; lane < lanes; ++lane) expect<Key>("half_lane", bytes, lane, seen[lane], true);
    }
  }
};

}  // namespace

void test_shuffle() {
  for_each_vector<Interleave>();
  for_each_vector<Concat>();
  for_each_vector<FourthLanes>();
  for_each_vector<LanesApart>();
  for_each_vector<Slides>();
  for_each_vector<Combine>();
  for_each_vector<Blocks>();
  for_each_vector<Halves>();
}

void test_transpose() {
  for_each_vector<Transpose>();
  for_each_vector<GatherBlocks>();
  for_each_vector_of<TransposeHalf, int16_t>();
}

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
