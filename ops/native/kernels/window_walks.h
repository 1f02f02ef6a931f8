// The plan by walks: windows that overlap or lie near one another. A walk goes down the map's rows, over a few vectors
// of columns at a time, and keeps what is known of the rows above: each row is loaded once, however many windows it is
// in, and rows and outputs are taken in the order of memory. Where windows start two or three columns apart, as many of
// them take two or three vectors, of which they are every other or every third lane.
//
//   row 0    x0 x1 x2 x3 | x4 x5 x6 x7    known: best of rows 0 and 1
//   row 1    x0 x1 x2 x3 | x4 x5 x6 x7
//   row 2    x0 x1 x2 x3 | x4 x5 x6 x7    best of the three: windows of this and the next vector
//
// The most common windows, small ones, have code of their own, which keeps what is known in registers: those that start
// one row and column apart (window_short_walks.h), and those that start two or three columns apart
// (window_stepped_walks.h). For others most of it lies in scratch (window_doublings.h). Where the last vector of a line
// has few columns, those of several planes may be walked at once (window_walk_tails.h). Where a line has as many
// windows as cells, all lines of a map may be walked as one, which is no walk down its rows (window_flat_walks.h).
// With indices columns may be combined first, a vector of windows at a time, so that positions come in their order
// (window_ordered_walks.h). Without AVX-512 all walks with indices are so. window_walk_choice.h says which windows are
// walked in which of these ways, window_walk.h what a walk does.
//
// Lines that have more vectors than fit the registers are walked from right to left, as what a line's last vector
// leaves beyond its windows is overwritten by the next line's first. A walk finds the first vector of each line on its
// right where that walk has left it.
#pragma once

#include <type_traits>

#include "kernels/window_flat_walks.h"
#include "kernels/window_ordered_walks.h"
#include "kernels/window_short_walks.h"
#include "kernels/window_stepped_walks.h"
#include "kernels/window_walk.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Element, class Lane, bool indexed>
class Walks {
  static constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  static constexpr int kMost = kMostShortSide<Lane, indexed>;
  // Vectors of a row, of windows that have no code of their own. Three columns apart they take three.
  static constexpr int kReadAtOnce = kAreOnlyNumbers<Lane, indexed> ? 4 : 2;
  static_assert(kMost <= kLanes + 1, "a window reaches no further than into the next vector");
  using Writer = WindowWriter<Element, Lane, indexed>;
  using OneWalk = Walk<Element, Lane, indexed>;
  using Band = typename OneWalk::Band;

 public:
  static int64_t scratch_bytes(const PoolJob& job) { return OneWalk::scratch_bytes(job); }

  Walks(const PoolJob& job, Lane* scratch) : job_(job), walk_(job, scratch) {}

  // The lines of the output from `begin` to `end`.
  void pool(int64_t begin, int64_t end, Writer& writer) {
    // Planes of which all lines are in the unit may have their tails walked together.
    const int64_t at_once = walk_.planes_of_tails(), rows = job_.rows.count;
    int64_t whole = at_once > 0 ? end / rows - (begin + rows - 1) / rows : 0, number = 0, together = 0;
    each_slice(job_, begin, end, [&](int64_t plane, Window depth, Window lines) {
      Band band = walk_.band_of(plane, depth, lines);
      if (whole > 0 && lines.start == 0) {
        if (number == together) {
          number = 0;
          together = min(whole, at_once);
          if (together > 1) {
            band.tails_wanted = together;
            pool_band(band, writer);
            band.tails_wanted = 0;
          }
        }
        if (together > 1) band.known_tail = number;
        ++number;
        --whole;
      }
      for (int64_t y = lines.start; y < lines.end && !has_nan(); y += kBand) {
        band.begin = y;
        band.end = min(y + kBand, lines.end);
        pool_band(band, writer);
      }
      return !has_nan();
    });
  }

  // Whether a number was NaN: then not all is pooled.
  bool has_nan() const { return walk_.has_nan(); }

 private:
  ONNX_MAXPOOL_NOINLINE void pool_band(const Band& band, Writer& writer) {
    const int64_t done = band.tails_wanted > 0 ? 0 : band.end - band.begin;
    writer.write_band(done, [&](const auto& write) ONNX_MAXPOOL_INLINED {
      const int64_t height = job_.rows.length, length = job_.columns.length;
      if constexpr (kDoublesWindows<Lane>) {
        if (!walk_.has_own_code()) {
          if (job_.columns.step == 1) return pool_doubled<1>(band, write);
          if (job_.columns.step == 2) return pool_doubled<2>(band, write);
          if constexpr (kMostColumnsApart == 3) pool_doubled<3>(band, write);
          return;
        }
      }
      if (job_.columns.step == 2) return pool_stepped<2>(band, write);
      if constexpr (kMostColumnsStepped<Lane> == 3) {
        if (job_.columns.step == 3) return pool_stepped<3>(band, write);
      }
      if (height == length && height > 1) {
        with_number(height, [&](auto side) {
          if constexpr (side.value > 1 && side.value <= kMost) pool_columns<side.value, side.value>(band, write);
        });
      } else if constexpr (kWalksOblongs<Lane, indexed>) {
        with_number(height, [&](auto side) { pool_columns<side.value, 0>(band, write); });
      }
    });
  }

  // WalkPool takes no other numbers.
  template <class Call>
  static ONNX_MAXPOOL_INLINE void with_number(int64_t number, const Call& call) {
    if (number == 1) return call(Number<1>{});
    if (number == 2) return call(Number<2>{});
    if constexpr (kMost > 3) {
      if (number == 4) return call(Number<4>{});
      if (number == 5) return call(Number<5>{});
    }
    if constexpr (kMost > 5) {
      if (number == 6) return call(Number<6>{});
      if (number == 7) return call(Number<7>{});
    }
    if constexpr (kMostShortRows<Lane, indexed> > 7) {
      if (number == 8) return call(Number<8>{});
    }
    call(Number<3>{});
  }

  // Of `height` rows and `length` columns; 0 where only the job knows how many.
  template <int height, int length, class Write>
  ONNX_MAXPOOL_INLINE void pool_columns(const Band& band, const Write& write) {
    constexpr int kAtOnce = short_at_once<Lane, indexed>(height, length > 0);
    each_walk<kAtOnce>(band, [&](auto number, int64_t first) ONNX_MAXPOOL_INLINED {
      walk_.template walk<ShortWalk<Lane, indexed, height, length, number.value, kMost>>(band, first, write);
    });
  }

  // Of windows that start so many columns apart.
  template <int step, class Write>
  ONNX_MAXPOOL_INLINE void pool_stepped(const Band& band, const Write& write) {
    const int64_t kept = kept_rows(job_.rows);
    if (kept == 0) return pool_kept<step, 0>(band, write);
    if (kept == 1) return pool_kept<step, 1>(band, write);
    pool_kept<step, 2>(band, write);
  }
  template <int step, int kept, class Write>
  ONNX_MAXPOOL_INLINE void pool_kept(const Band& band, const Write& write) {
    // Squares of which there are many; 0 rows apart stands for all others.
    constexpr bool kAreCommon = step == 2 || (kAreOnlyNumbers<Lane, indexed> && kept == 0);
    const int64_t apart = squares_apart(job_.rows, job_.columns);
    if constexpr (kAreCommon && kept < 2) {
      if (apart == step) return pool_apart<step, kept, step>(band, write);
    }
    if constexpr (kAreCommon && kept > 0) {
      if (apart == 1) return pool_apart<step, kept, 1>(band, write);
    }
    pool_apart<step, kept, 0>(band, write);
  }
  template <int step, int kept, int apart, class Write>
  ONNX_MAXPOOL_INLINE void pool_apart(const Band& band, const Write& write) {
    each_walk<kSteppedAtOnce<Lane, indexed, step>>(band, [&](auto number, int64_t first) ONNX_MAXPOOL_INLINED {
      const bool is_last = first + number.value == walk_.vectors() && band.tails_wanted == 0;
      with_missing<step>(is_last ? walk_.missing() : 0, [&](auto missing) ONNX_MAXPOOL_INLINED {
        using Windows = SteppedWalk<Lane, indexed, step, kept, apart, number.value, missing.value>;
        walk_.template walk<Windows>(band, first, write);
      });
    });
  }

  // Vectors that are missing are not read where that is worth the code: 64x56x56 k3 s3 takes 0.85 of the time, and
  // 3x112x112 k2x3 s2x3 with indices 0.88. Of every other column it is one at most, and to ask for it takes as long as
  // it saves.
  template <int step, class Call>
  static ONNX_MAXPOOL_INLINE void with_missing(int64_t vectors, const Call& call) {
    if constexpr (step == 3 && kVectorBytes == 64 && (indexed ? sizeof(Lane) == 4 : kAreNumbers<Lane>)) {
      if (vectors == 1) return call(Number<1>{});
      if (vectors == 2) return call(Number<2>{});
    }
    call(Number<0>{});
  }

  // The same of other windows.
  template <int step, class Write>
  ONNX_MAXPOOL_INLINE void pool_doubled(const Band& band, const Write& write) {
    constexpr int kAtOnce = kReadAtOnce > step ? kReadAtOnce / step : 1;
    // Windows that start one row and one column apart have code of their own where it is worth its size. With AVX2, or
    // with indices, they take as long without.
    constexpr bool kMayBeNear = kVectorBytes == 64 && !indexed && step == 1;
    each_walk<kAtOnce>(band, [&](auto number, int64_t first) ONNX_MAXPOOL_INLINED {
      if (kMayBeNear && job_.rows.step == 1) {
        walk_.template walk<DoubledWindows<Lane, indexed, step, number.value, kMayBeNear>>(band, first, write);
      } else {
        walk_.template walk<DoubledWindows<Lane, indexed, step, number.value, false>>(band, first, write);
      }
    });
  }

  // use(number of vectors, first vector), from right to left.
  template <int at_once, class Use>
  ONNX_MAXPOOL_INLINE void each_walk(const Band& band, const Use& use) const {
    const int64_t all = walk_.vectors();
    if (band.tails_wanted > 0) return use(Number<1>{}, all - 1);
    for (int64_t end = all - (band.known_tail >= 0); end > 0;) {
      const int64_t number = (end - 1) % at_once + 1;
      end -= number;
      if (number == 1) use(Number<1>{}, end);
      if constexpr (at_once > 1) {
        if (number == 2) use(Number<2>{}, end);
      }
      if constexpr (at_once > 2) {
        if (number == 3) use(Number<3>{}, end);
        if (number == 4) use(Number<4>{}, end);
      }
      if constexpr (at_once > 4) {
        if (number == 5) use(Number<5>{}, end);
      }
    }
  }

  const PoolJob& job_;
  OneWalk walk_;
};

template <class Element, class Lane, bool indexed>
struct WalkPool : UnitsOfLines {
  static constexpr bool kHasOrdered = indexed && sizeof(Lane) >= 4 && sizeof(Element) == sizeof(Lane);
  // Whether rows may be combined first. With indices narrower vectors take several operations to follow positions, or
  // to slide such lanes. Positions of narrower elements in 64 bits are too seldom to be worth the code.
  static constexpr bool kHasOthers = indexed ? kVectorBytes == 64 && (sizeof(Lane) < 8 || sizeof(Element) == 8)
                                             : kVectorBytes > 16 || sizeof(Lane) == 4;
  static constexpr bool kIsFaster = kHasOrdered || kHasOthers;

  static bool takes(const PoolJob& job) {
    if (kHasOrdered && is_ordered(job)) return true;
    return kHasOthers && (has_own_walk<Lane, indexed>(job) || doubles_windows<Lane>(job));
  }

  static bool may_fetch(const PoolJob& job) {
    return kHasOthers && leaves_near_caches<indexed>(job, sizeof(Element)) && !is_ordered(job) && !is_flat_walk(job);
  }

  static size_t scratch_bytes(const PoolJob& job) {
    return with_walks(job, [&](auto* walks) {
      using Chosen = typename std::remove_pointer<decltype(walks)>::type;
      return static_cast<size_t>(Chosen::scratch_bytes(job));
    });
  }

  static bool run(const PoolJob& job, int64_t unit, void* scratch) {
    const Window lines = lines_of_unit(job, unit);
    WindowWriter<Element, Lane, indexed> writer(job, lines.start, lines.end);
    return with_walks(job, [&](auto* walks) {
      using Chosen = typename std::remove_pointer<decltype(walks)>::type;
      Chosen windows(job, static_cast<Lane*>(scratch));
      windows.pool(lines.start, lines.end, writer);
      return !windows.has_nan();
    });
  }

 private:
  static bool is_ordered(const PoolJob& job) { return walks_in_order<Element, Lane, indexed>(job); }
  static bool is_flat_walk(const PoolJob& job) { return walks_flat<Lane, indexed>(job); }

  // use(a pointer to nothing) of the walks that the job has.
  template <class Use>
  static auto with_walks(const PoolJob& job, const Use& use) {
    if constexpr (kHasOrdered) {
      if (!kHasOthers || is_ordered(job)) return use(static_cast<OrderedWalks<Element, Lane>*>(nullptr));
    }
    if constexpr (kHasOthers) {
      if constexpr (kWalksFlat<Lane>) {
        if (is_flat_walk(job)) return use(static_cast<FlatWalk<Element, Lane, indexed>*>(nullptr));
      }
      return use(static_cast<Walks<Element, Lane, indexed>*>(nullptr));
    }
  }
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
