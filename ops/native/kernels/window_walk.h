// One walk down the rows of a map, over a few vectors of columns. It reads rows, has them combined to windows, and
// writes those; window_walks.h says which walks there are, and in which order.
#pragma once

#include "kernels/window_doublings.h"
#include "kernels/window_walk_choice.h"
#include "kernels/window_walk_tails.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Element, class Lane, bool indexed>
class Walk {
  static constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  using Best = Cells<Lane, indexed>;
  using RowLine = Line<Lane, indexed>;
  using Watch = typename CellReader<Element, Lane, indexed>::Watch;
  using Tails = WalkTails<Element, Lane, indexed>;
  static constexpr int64_t kEdgeCells = 2 * kBand * kLanes,
                           kKnownCells = (kDoublesWindows<Lane> ? kMostKnownVectors : 0) * kLanes,
                           kAllCells = (kEdgeCells + kKnownCells) * RowLine::kArrays;
  static constexpr int kMostRead = 8;  // vectors of a row

 public:
  static int64_t scratch_bytes(const PoolJob& job) {
    const int64_t of_tails = tails_at_once<Lane, indexed>(job, sizeof(Element)) > 0 ? Tails::kScratchCells : 0;
    return (kAllCells + of_tails) * static_cast<int64_t>(sizeof(Lane));
  }

  Walk(const PoolJob& job, Lane* scratch)
      : job_(job),
        reader_(job),
        x_(static_cast<const Element*>(job.x)),
        width_(job.columns.size),
        rows_(job.rows.size),
        slice_(rows_ * width_),
        vectors_(walk_vectors<Lane, indexed>(job)),
        count_(job.columns.count),
        fetches_(leaves_near_caches<indexed>(job, sizeof(Element)) && foresees_rows(width_) == job.fetches_otherwise),
        has_own_walk_(has_own_walk<Lane, indexed>(job)),
        bests_(RowLine::in(scratch, kEdgeCells)),
        parts_{has_own_walk_ ? Doublings() : Doublings(job.rows),
               has_own_walk_ ? ColumnDoublings<Lane>() : ColumnDoublings<Lane>(job.columns),
               RowLine::in(scratch + RowLine::kArrays * kEdgeCells, kKnownCells)},
        tails_(job, scratch + kAllCells) {
    const int64_t step = job.columns.step;
    for (int64_t v = 0; v < step; ++v) at_first_[v] = limits_from(v);
    for (int64_t v = 0; v < 2 * step; ++v) at_last_[v] = limits_from((vectors_.read - 2) * step + v);
  }

  // Lines of windows, of so many slices of a plane. `first` is the first one's first cell, whose number in the plane is
  // `position`. If `tails_wanted` is not 0, only the tails of so many planes are pooled, of which this is the first. If
  // `known_tail` is not -1, only the other columns are, as the tail is known: that plane's of those pooled last.
  struct Band {
    const Element* first;
    int64_t position, slices, begin, end, tails_wanted = 0, known_tail = -1;
  };

  // The lines of a slice of windows, of the plane that begins with this cell.
  Band band_of(int64_t plane, Window depth, Window lines) const {
    const int64_t position = depth.start * slice_;
    return {x_ + plane + position, position, depth.end - depth.start, lines.start, lines.end};
  }

  // Vectors of a line, those that are missing in its last group, and planes of which the last ones may be walked
  // together, or 0.
  int64_t vectors() const { return vectors_.read; }
  int64_t missing() const { return vectors_.missing; }
  int64_t planes_of_tails() const { return tails_.planes(); }
  bool has_own_code() const { return has_own_walk_; }

  // Whether a number was NaN: then not all is pooled.
  bool has_nan() const { return has_nan_; }

  // The windows of so many vectors, from this one on. What is known of the rows above is up to `Windows`, a ShortWalk,
  // SteppedWalk or DoubledWindows: begin() reads the rows before the first line's last ones, line() gives a line of the
  // best over rows, windows() combines its columns, and beyond() tells how many rows the last line reads that no window
  // has.
  template <class Windows, class Write>
  ONNX_MAXPOOL_NOINLINE void walk(const Band& band, int64_t first_vector, Write write) {
    constexpr int step = Windows::step, vectors = Windows::vectors;
    // Vectors of a row that are read, all of which windows are taken, and those of what the left needs.
    constexpr int kRead = Windows::kRead, kAll = vectors * step, kEdge = Windows::kEdge;
    static_assert(kRead <= kMostRead, "a copy has room");
    if constexpr (vectors == 1 && kRead == kAll && kHasTails<Lane, indexed> && sizeof(Element) == sizeof(Lane)) {
      if (band.tails_wanted > 0) {
        has_nan_ |= !tails_.template walk<Windows>(band.first, band.tails_wanted, parts_, write);
        return;
      }
    }
    const int64_t row_step = job_.rows.step;
    const CellReader<Element, Lane, indexed> reader = reader_;
    const int64_t begin = first_vector * kLanes, column = vectors_.column + begin * step, count = count_;
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
                      (band.slices > 1 ? kHasSlices : 0) | (fetches_ ? kFetches : 0) | (is_at_end ? kIsAtEnd : 0);
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
      if (__builtin_expect(flags & kIsAtEnd, 0)) {
        if (cell < least || cell > most) from = copied(from, kRead * kLanes);
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
      Best here[kAll], edge[kEdge], found[vectors];
      windows.line(next_row, skip_row, here);
#pragma GCC unroll 8
      for (int v = 0; v < kRead; ++v) {
        if (v < step || v >= kAll - 2 * step) here[v] = limits[v].of(here[v]);
      }
#pragma GCC unroll 2
      for (int v = kRead; v < kAll; ++v) here[v] = padding<Lane, indexed>();
      if (flags & kFetches) fetch(band, first_vector, vectors, step * row_step, i / kLanes, write);
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

 private:
  // Of a walk, in one register.
  enum : int { kHasLeft = 1, kHasRight = 2, kLeavesLast = 4, kHasSlices = 8, kFetches = 16, kIsAtEnd = 32 };

  // Of a line's vector.
  LaneLimits<Lane, indexed> limits_from(int64_t vector) const {
    const int64_t column = vectors_.column + vector * kLanes;
    return {-column, width_ - column};
  }

  // Whether rows are so short that walks take little else than what comes next in memory, which processors foresee.
  // With AVX-512 that depends on the processor and the windows: trials find out.
  static bool foresees_rows(int64_t width) {
    constexpr int64_t kLongRow = 256 / sizeof(Element);
    return kVectorBytes < 64 && width < kLongRow;
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

  // A copy of cells of which not all lie in the tensor. Windows that reach beyond the map have the same row several
  // times.
  ONNX_MAXPOOL_RARE const Element* copied(const Element* from, int64_t cells) {
    using Bits = Vector<Element, kLanes * sizeof(Element)>;
    if (from == copied_from_ && cells <= copied_cells_) return copy_;
    copied_from_ = from;
    copied_cells_ = cells;
    for (int64_t x = 0; x < cells; x += kLanes) {
      store(copy_ + x, load_within<Bits>(from + x, x_ - from - x, reader_.end - from - x));
    }
    return copy_;
  }

  const PoolJob& job_;
  const CellReader<Element, Lane, indexed> reader_;
  const Element* const x_;
  const int64_t width_, rows_, slice_;
  const WalkVectors vectors_;
  const int64_t count_;
  const bool fetches_, has_own_walk_;
  LaneLimits<Lane, indexed> at_first_[3], at_last_[6], all_lanes_{0, kLanes};
  const RowLine bests_;  // a vector or two for each line
  const DoubledParts<Lane, indexed> parts_;
  const Tails tails_;
  const Element* copied_from_ = nullptr;
  int64_t copied_cells_ = 0;
  Element copy_[kMostRead * kLanes];
  bool has_nan_ = false;
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
