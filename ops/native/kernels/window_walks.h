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
// has few columns, those of several planes may be walked at once (window_walk_tails.h).
// window_walk_choice.h says which windows are walked in which of these ways.
//
// Lines that have more vectors than fit the registers are walked from right to left, as what a line's last vector
// leaves beyond its windows is overwritten by the next line's first. A walk finds the first vector of each line on its
// right where that walk has left it.
#pragma once

#include "kernels/window_doublings.h"
#include "kernels/window_short_walks.h"
#include "kernels/window_stepped_walks.h"
#include "kernels/window_walk_choice.h"
#include "kernels/window_walk_tails.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Tensors of fewer bytes, cells and outputs, are mostly in a cache that is near: to fetch them would take longer.
constexpr int64_t kFar = 4 << 20;

template <class Element, class Lane, bool indexed>
class Walks {
  static constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  static constexpr int kMost = kMostShortSide<Lane, indexed>;
  // Vectors of a row, of windows that have no code of their own. Three columns apart they take three.
  static constexpr int kReadAtOnce = kAreNumbers<Lane> ? 4 : 2;
  static_assert(kMost <= kLanes + 1, "a window reaches no further than into the next vector");
  using Best = Cells<Lane, indexed>;
  using RowLine = Line<Lane, indexed>;
  using Watch = typename CellReader<Element, Lane, indexed>::Watch;
  using Writer = WindowWriter<Element, Lane, indexed>;
  using Tails = WalkTails<Element, Lane, indexed>;
  static constexpr int64_t kEdgeCells = 2 * kBand * kLanes,
                           kKnownCells = (kDoublesWindows<Lane> ? kMostKnownVectors : 0) * kLanes,
                           kAllCells = (kEdgeCells + kKnownCells) * RowLine::kArrays;

 public:
  static int64_t scratch_bytes(const PoolJob& job) {
    const int64_t of_tails = tails_at_once<Lane, indexed>(job, sizeof(Element)) > 0 ? Tails::kScratchCells : 0;
    return (kAllCells + of_tails) * static_cast<int64_t>(sizeof(Lane));
  }

  Walks(const PoolJob& job, Lane* scratch)
      : job_(job),
        reader_(job),
        x_(static_cast<const Element*>(job.x)),
        width_(job.columns.size),
        rows_(job.rows.size),
        slice_(rows_ * width_),
        column_(job.columns.first),
        count_(job.columns.count),
        vectors_(walk_vectors(job.columns, kLanes)),
        is_far_(tensor_bytes<indexed>(job, sizeof(Element)) > kFar),
        has_own_walk_(has_own_walk<Lane, indexed>(job)),
        bests_{scratch, scratch + (RowLine::kArrays - 1) * kEdgeCells},
        parts_{has_own_walk_ ? Doublings() : Doublings(job.rows),
               has_own_walk_ ? ColumnDoublings<Lane>() : ColumnDoublings<Lane>(job.columns),
               {scratch + RowLine::kArrays * kEdgeCells,
                scratch + RowLine::kArrays * kEdgeCells + (RowLine::kArrays - 1) * kKnownCells}},
        tails_(job, scratch + kAllCells) {
    const int64_t step = job.columns.step;
    for (int64_t v = 0; v < step; ++v) at_first_[v] = limits_from(v);
    for (int64_t v = 0; v < 2 * step; ++v) at_last_[v] = limits_from((vectors_.read - 2) * step + v);
  }

  // The lines of the output from `begin` to `end`.
  void pool(int64_t begin, int64_t end, Writer& writer) {
    // Planes of which all lines are in the unit may have their tails walked together.
    const int64_t at_once = tails_.planes(), rows = job_.rows.count;
    int64_t whole = at_once > 0 ? end / rows - (begin + rows - 1) / rows : 0, number = 0, together = 0;
    each_slice(job_, begin, end, [&](int64_t plane, Window depth, Window lines) {
      const int64_t position = depth.start * slice_;
      Band band = {x_ + plane + position, position, depth.end - depth.start, lines.start, lines.end};
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
      for (int64_t y = lines.start; y < lines.end && !has_nan_; y += kBand) {
        band.begin = y;
        band.end = min(y + kBand, lines.end);
        pool_band(band, writer);
      }
      return !has_nan_;
    });
  }

  // Whether a number was NaN: then not all is pooled.
  bool has_nan() const { return has_nan_; }

 private:
  // Of a line's vector.
  LaneLimits<Lane, indexed> limits_from(int64_t vector) const {
    const int64_t column = column_ + vector * kLanes;
    return {-column, width_ - column};
  }

  // Lines of windows, of so many slices of a plane. `first` is the first one's first cell, whose number in the plane is
  // `position`. If `tails_wanted` is not 0, only the tails of so many planes are pooled, of which this is the first. If
  // `known_tail` is not -1, only the other columns are, as the tail is known: that plane's of those pooled last.
  struct Band {
    const Element* first;
    int64_t position, slices, begin, end, tails_wanted = 0, known_tail = -1;
  };

  ONNX_MAXPOOL_NOINLINE void pool_band(const Band& band, Writer& writer) {
    const int64_t done = band.tails_wanted > 0 ? 0 : band.end - band.begin;
    writer.write_band(done, [&](const auto& write) ONNX_MAXPOOL_INLINED {
      const int64_t height = job_.rows.length, length = job_.columns.length;
      if constexpr (kDoublesWindows<Lane>) {
        if (!has_own_walk_) {
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
          if constexpr (side.value > 1) pool_columns<side.value, side.value>(band, write);
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
    call(Number<3>{});
  }

  // Of `height` rows and `length` columns; 0 where only the job knows how many.
  template <int height, int length, class Write>
  ONNX_MAXPOOL_INLINE void pool_columns(const Band& band, const Write& write) {
    // As many as there are registers for, or fewer, where their code is not worth its size. A line of 64 windows with
    // padding takes five.
    constexpr bool kIsSquare = length > 0, kIsSmall = height <= 3 && (kIsSquare || indexed);
    constexpr int kAtOnce = kVectorBytes == 64 && kAreNumbers<Lane> ? (kIsSmall ? 5 : 4)
                            : kAreNumbers<Lane> || kIsSmall         ? 2
                                                                    : 1;
    each_walk<kAtOnce>(band, [&](auto number, int64_t first) ONNX_MAXPOOL_INLINED {
      walk<ShortWalk<Lane, indexed, height, length, number.value, kMost>>(band, first, write);
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
    constexpr bool kAreCommon = step == 2 || (kAreNumbers<Lane> && kept == 0);
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
    // Vectors of a row that there are registers for, or fewer, where their code is not worth its size.
    constexpr int kRead = kVectorBytes == 64 && kAreNumbers<Lane> ? 8 : 4, kAtOnce = kRead / step;
    each_walk<kAtOnce>(band, [&](auto number, int64_t first) ONNX_MAXPOOL_INLINED {
      walk<SteppedWalk<Lane, indexed, step, kept, apart, number.value>>(band, first, write);
    });
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
        walk<DoubledWindows<Lane, indexed, step, number.value, kMayBeNear>>(band, first, write);
      } else {
        walk<DoubledWindows<Lane, indexed, step, number.value, false>>(band, first, write);
      }
    });
  }

  // use(number of vectors, first vector), from right to left.
  template <int at_once, class Use>
  ONNX_MAXPOOL_INLINE void each_walk(const Band& band, const Use& use) const {
    if (band.tails_wanted > 0) return use(Number<1>{}, vectors_.read - 1);
    for (int64_t end = vectors_.read - (band.known_tail >= 0); end > 0;) {
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

  // Of a walk, in one register.
  enum : int { kHasLeft = 1, kHasRight = 2, kLeavesLast = 4, kHasSlices = 8, kIsFar = 16, kIsAtEnd = 32 };

  // The windows of so many vectors, from this one on. What is known of the rows above is up to `Windows`, a ShortWalk,
  // SteppedWalk or DoubledWindows: begin() reads the rows before the first line's last ones, line() gives a line of the
  // best over rows, windows() combines its columns, and beyond() tells how many rows the last line reads that no window
  // has.
  template <class Windows, class Write>
  ONNX_MAXPOOL_NOINLINE void walk(const Band& band, int64_t first_vector, Write write) {
    constexpr int step = Windows::step, vectors = Windows::vectors;
    constexpr int kRead = vectors * step, kEdge = Windows::kEdge;  // vectors of a row, and of what the left needs
    if constexpr (vectors == 1 && kHasTails<Lane, indexed> && sizeof(Element) == sizeof(Lane)) {
      if (band.tails_wanted > 0) {
        has_nan_ |= !tails_.template walk<Windows>(band.first, band.tails_wanted, parts_, write);
        return;
      }
    }
    const int64_t row_step = job_.rows.step;
    const CellReader<Element, Lane, indexed> reader = reader_;
    const int64_t begin = first_vector * kLanes, column = column_ + begin * step, count = count_;
    const int64_t lines = band.end - band.begin, width = width_, last_row = rows_ - 1;
    const bool is_before_tail = band.known_tail >= 0 && first_vector + vectors + 1 == vectors_.read;
    const RowLine bests = bests_, of_right = is_before_tail ? tails_.edges(band.known_tail) : bests;
    Windows windows(job_, parts_);
    // A window that reaches beyond the map has the row at its edge, so that this row will do for those that there are
    // not: so many rows are `pace` cells apart.
    const int64_t first_row = job_.rows.first + band.begin * row_step;
    int64_t at = min(max<int64_t>(first_row, 0), last_row) * width + column;
    int64_t pace = first_row < 0 || first_row >= last_row ? 0 : width;
    int64_t alike = first_row < 0 ? -first_row : first_row < last_row ? last_row - first_row : INT64_MAX;
    // Whether some row does not lie in the tensor, or some vector of windows in the unit's outputs.
    const int64_t least = x_ - band.first, most = reader.end - band.first - kRead * kLanes;
    const int64_t end_row = min(first_row + (lines - 1) * row_step + job_.rows.length - 1 + windows.beyond(), last_row);
    const bool is_at_end = at < least || end_row * width + column + (band.slices - 1) * slice_ > most ||
                           begin + (lines - 1) * count + (vectors - 1) * kLanes > write.last;
    const int flags = (first_vector > 0 ? kHasLeft : 0) | (first_vector + vectors < vectors_.read ? kHasRight : 0) |
                      (first_vector + vectors > vectors_.written ? kLeavesLast : 0) |
                      (band.slices > 1 ? kHasSlices : 0) | (is_far_ ? kIsFar : 0) | (is_at_end ? kIsAtEnd : 0);
    // Only the first group of a line and the last two have columns beside the map.
    const int64_t to_last = (vectors_.read - first_vector - 2) * step;
    LaneLimits<Lane, indexed> limits[kRead];
#pragma GCC unroll 16
    for (int v = 0; v < kRead; ++v) {
      limits[v] = v >= to_last ? at_last_[v - to_last] : v < step && first_vector == 0 ? at_first_[v] : all_lanes_;
    }
    Watch watch;
    const auto read = [&](const int64_t cell, Best* row) ONNX_MAXPOOL_INLINED {
      const Element* from = band.first + cell;
      Element copy[kRead * kLanes];
      if (__builtin_expect(flags & kIsAtEnd, 0)) {
        if (cell < least || cell > most) from = copy_cells(copy, from, kRead * kLanes);
      }
#pragma GCC unroll 8
      for (int v = 0; v < kRead; ++v) {
        row[v] = cells_from<Lane, indexed>(reader.keys_once_at(from + v * kLanes), band.position + cell + v * kLanes);
      }
      see_all<kRead>(row, watch);
    };
    const auto skip_row = [&]() ONNX_MAXPOOL_INLINED {
      at += pace;
      if (--alike > 0) return;
      const bool was_before = pace == 0 && last_row > 0;
      pace = was_before ? width : 0;
      alike = was_before ? last_row : INT64_MAX;
    };
    const auto next_row = [&](Best* row) ONNX_MAXPOOL_INLINED {
      read(at, row);
      if (flags & kHasSlices) {
        for (int64_t z = 1; z < band.slices; ++z) {
          Best next[kRead];
          read(at + z * slice_, next);
          follow_all<kRead>(row, next);
        }
      }
      skip_row();
    };
    windows.begin(next_row);
    int64_t to = begin;
    for (int64_t i = 0; i < lines * kLanes; i += kLanes, to += count) {
      Best here[kRead], edge[kEdge], found[vectors];
      windows.line(next_row, skip_row, here);
#pragma GCC unroll 8
      for (int v = 0; v < kRead; ++v) {
        if (v < step || v >= kRead - 2 * step) here[v] = limits[v].of(here[v]);
      }
      if (flags & kIsFar) fetch(band, first_vector, vectors, step * row_step, i / kLanes, write);
      if (flags & kHasRight) {
#pragma GCC unroll 2
        for (int n = 0; n < kEdge; ++n) edge[n] = of_right.at(kEdge * i + n * kLanes);
      } else {
#pragma GCC unroll 2
        for (int n = 0; n < kEdge; ++n) edge[n] = padding<Lane, indexed>();  // no window reaches cells there
      }
      windows.windows(here, edge, found);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) {
        if (v + 1 == vectors && (flags & kLeavesLast)) break;
        if (__builtin_expect(flags & kIsAtEnd, 0)) {
          write.some(to + v * kLanes, found[v], count - begin - v * kLanes);
        } else {
          write(to + v * kLanes, found[v]);
        }
      }
      if (flags & kHasLeft) {
#pragma GCC unroll 2
        for (int n = 0; n < kEdge; ++n) bests.set(kEdge * i + n * kLanes, edge[n]);
      }
    }
    has_nan_ |= watch.any();
  }

  // A share of the next band's rows and outputs, in the order of memory: what a line of a walk takes,
  // which reads so many vectors for each that it writes.
  template <class Write>
  ONNX_MAXPOOL_INLINE void fetch(const Band& band, int64_t first_vector, int vectors, int64_t read, int64_t line,
                                 const Write& write) const {
    const int64_t lines = band.end - band.begin, vector = first_vector * lines + line * vectors;
    const PoolAxis& axis = job_.rows;
    const int64_t row = axis.first + axis.step * (band.end - 1) + axis.length;
    for (int v = 0; v < vectors; ++v) write.fetch(count_ * lines + (vector + v) * kLanes);
    for (int64_t v = 0; v < vectors * read; ++v) {
      prefetch<Cache::second>(band.first, row * width_ + (vector * read + v) * kLanes);
    }
  }

  // Cells of which not all lie in the tensor.
  ONNX_MAXPOOL_RARE const Element* copy_cells(Element* to, const Element* from, int64_t cells) const {
    const int64_t begin = max<int64_t>(x_ - from, 0), end = min(reader_.end - from, cells);
    __builtin_memset(to, 0, static_cast<size_t>(cells) * sizeof(Element));
    if (begin < end) __builtin_memcpy(to + begin, from + begin, static_cast<size_t>(end - begin) * sizeof(Element));
    return to;
  }

  const PoolJob& job_;
  const CellReader<Element, Lane, indexed> reader_;
  const Element* const x_;
  const int64_t width_, rows_, slice_, column_, count_;
  const WalkVectors vectors_;
  const bool is_far_, has_own_walk_;
  LaneLimits<Lane, indexed> at_first_[3], at_last_[6], all_lanes_{0, kLanes};
  const RowLine bests_;  // a vector or two for each line
  const DoubledParts<Lane, indexed> parts_;
  const Tails tails_;
  bool has_nan_ = false;
};

template <class Element, class Lane, bool indexed>
struct WalkPool : UnitsOfLines {
  // Narrower vectors take several operations to follow positions, to compare such keys, or to slide such lanes.
  // Positions of narrower elements in 64 bits are too seldom to be worth the code.
  static constexpr bool kIsFaster = indexed ? kVectorBytes == 64 && (sizeof(Lane) < 8 || sizeof(Element) == 8)
                                            : kVectorBytes > 16 || sizeof(Lane) == 4;

  static bool takes(const PoolJob& job) {
    return kIsFaster && (has_own_walk<Lane, indexed>(job) || doubles_windows<Lane>(job));
  }

  static size_t scratch_bytes(const PoolJob& job) {
    return static_cast<size_t>(Walks<Element, Lane, indexed>::scratch_bytes(job));
  }

  static bool run(const PoolJob& job, int64_t unit, void* scratch) {
    const Window lines = lines_of_unit(job, unit);
    WindowWriter<Element, Lane, indexed> writer(job, lines.start, lines.end);
    Walks<Element, Lane, indexed> windows(job, static_cast<Lane*>(scratch));
    windows.pool(lines.start, lines.end, writer);
    return !windows.has_nan();
  }
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
