// The plan by walks: short windows that start one cell apart in both directions. Columns are walked down the map's
// rows, as many at once as there are lanes: each row becomes keys once, as what is known of the rows above it stays in
// registers. A walk finds the vector that its windows reach into (window_short.h) where the walk before has left it for
// each line. Walks go from right to left: what a line's last vector leaves beyond its windows, the next line's first
// overwrites. Of long lines in memory, this reads and writes too many at once: it is a plan of its own.
#pragma once

#include "kernels/window_short.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

constexpr int64_t kBand = 64;  // lines that are walked at once
// Tensors of fewer bytes, cells and outputs, are mostly in a cache that is near: to fetch them would take longer.
constexpr int64_t kFar = 4 << 20;

// Of a value and its index.
template <bool indexed>
int64_t output_bytes(const PoolJob& job, int64_t element_size) {
  return element_size + (!indexed ? 0 : job.indices_are_64_bits ? 8 : 4);
}
// Of its cells and outputs.
template <bool indexed>
int64_t plane_bytes(const PoolJob& job, int64_t element_size) {
  return job.depth.size * job.rows.size * job.columns.size * element_size +
         job.depth.count * job.rows.count * job.columns.count * output_bytes<indexed>(job, element_size);
}

// Whether columns can be walked, and may be the faster for it: where lines are as short as two of memory, or all is in
// a share of the third cache. From memory, walks of longer lines take up to three times as long as rows.
template <class Lane, bool indexed>
bool can_be_walked(const PoolJob& job, int64_t element_size) {
  constexpr int64_t kFewWindows = 8, kShortLine = 144, kNear = 16 << 20;
  constexpr int kMost = kMostWalked<Lane, indexed>;
  // Narrower vectors take several operations to compare such keys, or to follow positions.
  constexpr bool kIsFaster = !(indexed ? kVectorBytes < 64 : kVectorBytes == 16 && sizeof(Lane) == 8);
  if (!kIsFaster || !slides_by_one(job.rows, kMost) || !slides_by_one(job.columns, kMost)) return false;
  // Of several slices, a walk does not come to cells in the order of their positions.
  if (indexed && job.depth.length != 1) return false;
  // At a tensor's ends, lines are not walked.
  if (job.planes * job.rows.size < kFewWindows * job.rows.length) return false;
  const int64_t line = job.columns.size * element_size,
                of_windows = job.columns.count * output_bytes<indexed>(job, element_size);
  if (line <= kShortLine && of_windows <= kShortLine) return true;
  return plane_bytes<indexed>(job, element_size) <= kNear / job.planes;
}

template <class Element, class Lane, bool indexed>
class Walks : public ShortWindows<Element, Lane, indexed> {
  using Base = ShortWindows<Element, Lane, indexed>;
  using Base::job_, Base::reader_, Base::x_, Base::width_, Base::rows_, Base::slice_, Base::height_, Base::length_,
      Base::first_row_, Base::column_, Base::count_, Base::last_, Base::end_, Base::has_nan_;
  using Base::kLanes, Base::pool_lines, Base::lesser, Base::greater, Base::with_number;
  using typename Base::Best;
  using typename Base::Watch;
  using typename Base::Writer;
  using RowLine = Line<Lane, indexed>;
  static constexpr int64_t kBests = kBand * kLanes;

 public:
  static constexpr int64_t kScratchBytes = 2 * kBests * RowLine::kArrays * sizeof(Lane);

  Walks(const PoolJob& job, Lane* scratch)
      : Base(job, job.columns.first, job.columns.count),
        is_far_(plane_bytes<indexed>(job, sizeof(Element)) > kFar / job.planes),
        scratch_(scratch) {}

  // The lines of the output from `begin` to `end`.
  void pool(int64_t begin, int64_t end, Writer& writer) {
    this->each_slice(begin, end, [&](const Element* plane, Window depth, int64_t first, int64_t last) {
      for (int64_t next; first < last && !has_nan_; first = next) {
        next = lesser(first + kBand, last);
        pool_band(plane, depth, first, next, writer);
      }
    });
  }

 private:
  ONNX_MAXPOOL_NOINLINE void pool_band(const Element* plane, Window depth, int64_t begin, int64_t end, Writer& writer) {
    // Walks read and write whole vectors: not the lines of which one would leave the tensor, or the unit's outputs.
    const int64_t position = depth.start * slice_ + column_;
    const int64_t before = plane + position - x_;
    const int64_t left = reader_.end - plane - ((depth.end - 1) * slice_ + column_ + end_);
    const int64_t room = writer.room() - last_ - kLanes;
    int64_t first = begin, last = end;
    if (before < 0) first = greater(first, (width_ - 1 - before) / width_ - first_row_);
    if (left < 0 || room < 0) {
      last = first;
    } else {
      if (left < (rows_ - 1) * width_) last = lesser(last, left / width_ - first_row_ - height_ + 2);
      if (room < (end - begin - 1) * count_) last = lesser(last, begin + room / count_ + 1);
    }
    if (first >= last) return pool_lines(plane, depth, begin, end, writer);
    if (begin < first) pool_lines(plane, depth, begin, first, writer);
    writer.write_whole((last - first) * count_, [&](const auto& write) __attribute__((always_inline)) {
      const int64_t slices = depth.end - depth.start;
      if (is_far_) {
        pool_columns<true>(plane, position, slices, first, last, write);
      } else {
        pool_columns<false>(plane, position, slices, first, last, write);
      }
    });
    if (last < end) pool_lines(plane, depth, last, end, writer);
  }

  // Of so many slices, from the one whose cell of row 0 and column_ has this position.
  template <bool fetches, class Write>
  ONNX_MAXPOOL_INLINE void pool_columns(const Element* plane, int64_t position, int64_t slices, int64_t begin,
                                        int64_t end, const Write& write) {
    RowLine here = {scratch_, scratch_ + (RowLine::kArrays - 1) * 2 * kBests}, next = line_at(here, kBests);
    // The usual windows are taken in the walk itself, which finds what it follows where it leaves its own.
    const bool at_once = height_ == length_ && length_ <= 3;
    for (int64_t x = end_ - kLanes; x >= 0; x -= kLanes) {
      const int64_t first = position + x;
      if (at_once && x <= last_) {
        if (length_ == 1) walk<fetches, 1, 1>(plane, first, slices, x, begin, end, here, write);
        if (length_ == 2) walk<fetches, 2, 2>(plane, first, slices, x, begin, end, here, write);
        if (length_ == 3) walk<fetches, 3, 3>(plane, first, slices, x, begin, end, here, write);
        continue;
      }
      with_number(height_, [&](auto height) {
        walk<fetches, height.value, 0>(plane, first, slices, x, begin, end, here, write);
      });
      if (x <= last_) with_number(length_, [&](auto length) { take<length.value>(here, next, x, end - begin, write); });
      if (at_once) continue;
      const RowLine walked = here;
      here = next;
      next = walked;
    }
  }

  // The columns from the x-th on: the best over the rows of each line, to `bests`, and windows of `length` columns, if
  // it is not 0, of these and of the bests that there are.
  template <bool fetches, int height, int length, class Write>
  ONNX_MAXPOOL_NOINLINE void walk(const Element* plane, int64_t position, int64_t slices, int64_t x, int64_t begin,
                                  int64_t end, const RowLine bests, Write write) {
    // Meanwhile a share of the next band's rows and outputs is fetched, in the order of memory, if they may be far.
    [[maybe_unused]] const int64_t lines = end - begin, next_outputs = (count_ + x) * lines;
    [[maybe_unused]] const int64_t next_cells = position - x + (first_row_ + height - 1 + end) * width_ + x * lines;
    const LaneLimits<Lane, indexed> limits(-column_ - x, width_ - column_ - x);
    const CellReader<Element, Lane, indexed> reader = reader_;
    const int64_t width = width_, slice = slice_, rows = rows_, count = count_;
    Watch watch;
    // A window that reaches beyond the map has the row at its edge, so that this row will do for those that there are
    // not.
    const auto row_at = [&](int64_t row) __attribute__((always_inline)) {
      const int64_t at = position + lesser(greater(row, 0), rows - 1) * width;
      Best best = cells_from<Lane, indexed>(reader.keys_once_at(plane + at), at);
      watch.see(best.key);
      for (int64_t z = 1; z < slices; ++z) {
        const Best next = cells_from<Lane, indexed>(reader.keys_once_at(plane + at + z * slice), at + z * slice);
        watch.see(next.key);
        follow(best, next);
      }
      return limits.of(best);
    };
    Best known[height];  // of the last row, the best of the last two, ...
    for (Best& each : known) each = padding<Lane, indexed>();
    const auto add = [&](const Best& row) __attribute__((always_inline)) {
#pragma GCC unroll 8
      for (int i = height - 1; i > 0; --i) {
        known[i] = known[i - 1];
        follow(known[i], row);
      }
      known[0] = row;
    };
    int64_t row = first_row_ + begin;
    for (int i = 1; i < height; ++i) add(row_at(row++));
    for (int64_t i = 0; i < (end - begin) * kLanes; i += kLanes, x += count) {
      if constexpr (fetches) {
        prefetch<Cache::second>(plane, next_cells + i);
        write.fetch(next_outputs + i);
      }
      add(row_at(row++));
      const Best here = known[height - 1];
      if constexpr (length > 0) write(x, Base::template windows<length>(here, bests.at(i)));
      bests.set(i, here);
    }
    has_nan_ |= watch.any();
  }

  // The windows of so many lines in the columns from the x-th on.
  template <int length, class Write>
  ONNX_MAXPOOL_NOINLINE void take(const RowLine here, const RowLine next, int64_t x, int64_t lines, Write write) const {
    const int64_t count = count_;
    for (int64_t i = 0; i < lines * kLanes; i += kLanes, x += count) {
      write(x, Base::template windows<length>(here.at(i), next.at(i)));
    }
  }

  const bool is_far_;
  Lane* const scratch_;  // a vector for each line, twice
};

template <class Element, class Lane, bool indexed>
struct WalkPool : UnitsOfLines {
  static bool takes(const PoolJob& job) { return can_be_walked<Lane, indexed>(job, sizeof(Element)); }

  static size_t scratch_bytes(const PoolJob&) { return Walks<Element, Lane, indexed>::kScratchBytes; }

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
