// The maximum over the bins of ROIs. Compiled once per target.
//
// But for narrow maps, lanes are channels: a block of as many channels as fit a vector is pooled at once, so that every
// step but the last is the same plain maximum whatever a bin's width. At the end a ROI's bins are transposed to the
// output's order, in which the block is one contiguous piece.
#include "kernels/roi.h"

#include "kernels/roi_narrow_map.h"
#include "kernels/simd/order.h"
#include "kernels/simd/streamed_copy.h"
#include "kernels/simd/transpose.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Key, int bytes>
class RoiPool {
  using V = Vector<Key, bytes>;
  static constexpr int kLanes = bytes / sizeof(Key);
  // Bins that are transposed at once: of narrow keys a square would not fit the registers.
  static constexpr int kStrip = sizeof(Key) == 2 && bytes > 16 ? kLanes / 2 : kLanes;
  static constexpr int kFewBins = kStrip / 4;

 public:
  static int64_t blocks(const RoiJob& job) { return (job.channels + kLanes - 1) / kLanes; }

  static int64_t shared_units(const RoiJob& job) { return job.unit_count; }
  static int64_t separate_units(const RoiJob& job) { return job.rois * blocks(job); }

  static size_t separate_scratch(const RoiJob& job) {
    // A line; each slot's bins; twice one ROI's in the output's order, where a last vector may stick out.
    const size_t bins = static_cast<size_t>(job.bins_y * job.bins_x), slots = static_cast<size_t>(job.slots);
    return sizeof(V) * (static_cast<size_t>(job.width) + kLanes + (slots + 2) * bins + 3 * kLanes);
  }
  static size_t shared_scratch(const RoiJob& job) {
    size_t rows = 0;
    for (int k = 0; k <= job.levels; ++k) rows += static_cast<size_t>(kept(job, k).count);
    return separate_scratch(job) + sizeof(V) * rows * static_cast<size_t>(job.width);
  }

  static void run_shared(const RoiJob& job, int64_t unit, void* scratch) {
    const auto [image, block, begin, end] = job.units[unit];
    const int64_t* rois = job.rois_by_image + begin;
    const int64_t count = end - begin;
    RoiPool pool(job, image, block, scratch);
    const auto lines_of = [&](RoiWindow rows, RoiWindow) { return pool.lines_of_tables(rows); };
    if (job.sweep) {
      const RoiTask* tasks = job.tasks + begin * job.bins_y;
      for (int64_t i = 0; i < count * job.bins_y; ++i) pool.pool_row(rois[tasks[i].slot], tasks[i], lines_of);
      for (int64_t slot = 0; slot < count; ++slot) pool.write(rois[slot], slot);
    } else {
      pool.fill_tables(0);
      for (int64_t i = 0; i < count; ++i) pool.pool_roi(rois[i], lines_of);
    }
    pool.copy_.finish();
  }

  static void run_separate(const RoiJob& job, int64_t unit, void* scratch) {
    const int64_t roi = unit / blocks(job);
    RoiPool pool(job, job.image[roi], unit % blocks(job), scratch);
    const auto lines_of = [&](RoiWindow rows, RoiWindow span) { return pool.line_of_map(rows, span); };
    pool.pool_roi(roi, lines_of);
    pool.copy_.finish();
  }

 private:
  RoiPool(const RoiJob& job, int64_t image, int64_t block, void* scratch)
      : job_(job),
        order_(job.order),
        channel_(block * kLanes),
        channels_(job.channels - channel_ < kLanes ? static_cast<int>(job.channels - channel_) : kLanes),
        area_(job.height * job.width),
        plane_(static_cast<const Key*>(job.x) + (image * job.channels + channel_) * area_),
        x_end_(static_cast<const Key*>(job.x) + job.images * job.channels * area_),
        line_(static_cast<V*>(scratch)),
        bins_(line_ + job.width + kLanes),
        bins_per_roi_(job.bins_y * job.bins_x),
        transposed_(bins_ + job.slots * bins_per_roi_ + kLanes),
        filled_(job.height) {
    V* table = transposed_ + 2 * (bins_per_roi_ + kLanes);
    for (int k = 0; k <= job.levels; ++k) {
      const KeptRows rows = kept(job, k);
      tables_[k] = {table, rows.mask};
      table += rows.count * job.width;
    }
  }

  // Rows of the map, or maxima over rows; row y is kept at `y & mask`.
  struct Table {
    V* rows;
    int64_t mask;
  };
  V* row_of(const Table& table, int64_t y) const { return table.rows + (y & table.mask) * job_.width; }

  // Lines whose maximum is wanted, each with a vector per column: the last, and `before` of them, of which the n-th is
  // row `start + n * step` of a table. They begin with column `origin`, which is 0 in tables.
  struct Lines {
    const V* last;
    int64_t origin;
    int64_t before;
    Table table;
    int64_t start, step;
  };
  const V* line(const Lines& lines, int64_t n) const { return row_of(lines.table, lines.start + n * lines.step); }

  template <class LinesOf>
  void pool_roi(int64_t roi, LinesOf lines_of) {
    for (int32_t row = 0; row < job_.bins_y; ++row) pool_row(roi, {0, row}, lines_of);
    write(roi, 0);
  }

  // A row of an ROI's bins; `lines_of(rows, columns)` gives lines that stand for these rows of the map.
  template <class LinesOf>
  void pool_row(int64_t roi, RoiTask task, LinesOf lines_of) {
    const RoiWindow rows = job_.rows[roi * job_.bins_y + task.row];
    const RoiWindow* columns = job_.columns + roi * job_.bins_x;
    // Bins overlap or touch, so the columns from the first bin's start to the last one's end are all wanted.
    const RoiWindow span = {columns[0].start, columns[job_.bins_x - 1].end};
    V* bin = bins_ + task.slot * bins_per_roi_ + task.row * job_.bins_x;
    if (rows.start >= rows.end || span.start >= span.end) {
      for (int64_t j = 0; j < job_.bins_x; ++j) bin[j] = empty();
      return;
    }
    const Lines lines = lines_of(rows, span);
    if (lines.before == 0) {
      pool_columns(columns, lines.origin, bin, [&](int64_t x) { return lines.last[x]; });
    } else if (lines.before == 1) {
      const V* first = line(lines, 0);
      pool_columns(columns, 0, bin, [&](int64_t x) { return max(first[x], lines.last[x]); });
    } else {
      pool_columns(columns, 0, bin, [&](int64_t x) {
        V best = lines.last[x];
        for (int64_t n = 0; n < lines.before; ++n) best = max(best, line(lines, n)[x]);
        return best;
      });
    }
  }

  V empty() const { return V{} - order_.offset; }  // the key of 0 (M9)

  // `at(x)` is the maximum over the bins' rows in column `origin + x`.
  template <class At>
  void pool_columns(const RoiWindow* columns, int64_t origin, V* bin, At at) {
    StreamedCopy copy = copy_;  // a variable of its own, as the compiler takes any store for one to a member
    for (int64_t j = 0; j < job_.bins_x; ++j) {
      const int64_t start = columns[j].start - origin, end = columns[j].end - origin, width = end - start;
      if (width <= 0) {
        bin[j] = empty();
      } else if (width < 4) {
        // A column may count twice. That is cheaper than a jump that the processor foresees half of the time.
        bin[j] = max(max(at(start), at(end - 1)), at(start + width / 2));
      } else {
        V best = max(max(at(end - 1), at(end - 2)), max(at(end - 3), at(end - 4)));
        for (int64_t x = start; x < end - 4; x += 4) {
          best = max(best, max(max(at(x), at(x + 1)), max(at(x + 2), at(x + 3))));
        }
        bin[j] = best;
      }
      // Half of a copy's lines go while the next ROI is pooled, the others while it is transposed.
      if (j % 2) copy.step();
    }
    copy_ = copy;
  }

  // The bins of the ROI in a slot as elements in the output's order, to where they belong. Strips of bins go from last
  // to first: what a channel's last strip leaves beyond its bins, the next channels' strips overwrite.
  void write(int64_t roi, int64_t slot) {
    const V* from = bins_ + slot * bins_per_roi_;
    // The buffer that the last ROI's copy does not still read.
    second_ = !second_;
    V* transposed = transposed_ + second_ * (bins_per_roi_ + kLanes);
    Key* out = job_.stream ? reinterpret_cast<Key*>(transposed) : destination(roi);
    const int64_t rest = bins_per_roi_ % kStrip;
    int64_t end = bins_per_roi_;
    if (channels_ < kLanes) {
      while (end > 0) end = write_part(from, out, end, kLanes);
    } else if (rest <= kFewBins) {
      end -= rest;
      write_columns(from, out, end);
    } else if (!job_.stream) {
      end = write_part(from, out, end, kStrip);
    }
    if (end > 0) write_strips(from, out, (end - 1) / kStrip * kStrip);
    if (job_.stream) {
      copy_.begin(destination(roi), transposed, static_cast<size_t>(channels_ * bins_per_roi_) * sizeof(Key));
    }
  }

  // The last strip before `end`, of strips of so many bins, where channels may be missing, and nothing may stick out of
  // the block: others write beside it. Returns where the strip begins.
  int64_t write_part(const V* from, Key* out, int64_t end, int64_t strip) {
    const int64_t first = (end - 1) / strip * strip;
    V square[kLanes];
    for (int i = 0; i < kLanes; ++i) square[i] = order_.from_key(from[first + i]);
    transpose<Key, kLanes>(square);
    for (int c = 0; c < channels_; ++c) {
      const int64_t at = c * bins_per_roi_ + first, left = end - first;
      if (c % 2) copy_.step();
      if (at + kLanes <= channels_ * bins_per_roi_) {
        store(out + at, square[c]);
      } else {
        __builtin_memcpy(out + at, &square[c], static_cast<size_t>(left) * sizeof(Key));
      }
    }
    return first;
  }

  // The bins from `first` on, one by one: of a few that is cheaper than to transpose a strip.
  void write_columns(const V* from, Key* out, int64_t first) {
    StreamedCopy copy = copy_;
    for (int64_t bin = first; bin < bins_per_roi_; ++bin) {
      Key channels[kLanes];
      store(channels, order_.from_key(from[bin]));
#pragma GCC unroll 32
      for (int c = 0; c < kLanes; ++c) {
        out[c * bins_per_roi_ + bin] = channels[c];
        if (c % (kLanes / 2) == 0) copy.step();
      }
    }
    copy_ = copy;
  }

  // The strips from this one down to the first.
  void write_strips(const V* from, Key* out, int64_t first) {
    if constexpr (kStrip < kLanes) {
      if (bins_per_roi_ >= kStrip) return write_half_strips(from, out, first);
    }
    StreamedCopy copy = copy_;
    for (; first >= 0; first -= kStrip) {
      V square[kLanes];
      for (int i = 0; i < kLanes; ++i) square[i] = order_.from_key(from[first + i]);
      transpose<Key, kLanes>(square);
#pragma GCC unroll 32
      for (int c = 0; c < kLanes; ++c) {
        store(out + c * bins_per_roi_ + first, square[c]);
        if (c % 2) copy.step();
      }
    }
    copy_ = copy;
  }

  // Channels come in another order than the output's, so that what is left beyond a channel's bins has to end before
  // the next one's last strip.
  void write_half_strips(const V* from, Key* out, int64_t first) {
    StreamedCopy copy = copy_;
    for (; first >= 0; first -= kStrip) {
      V strip[kStrip];
      for (int i = 0; i < kStrip; ++i) strip[i] = order_.from_key(from[first + i]);
      transpose_half<kLanes>(strip);
#pragma GCC unroll 16
      for (int i = 0; i < kStrip; ++i) {
        Key* const to = out + half_lane<kLanes>(i) * bins_per_roi_ + first;
        store(to, lower_half<Key>(strip[i]));
        store(to + kHalfApart * bins_per_roi_, upper_half<Key>(strip[i]));
        if (i % 2) copy.step();
      }
    }
    copy_ = copy;
  }

  Key* destination(int64_t roi) const {
    return static_cast<Key*>(job_.y) + (roi * job_.channels + channel_) * job_.bins_y * job_.bins_x;
  }

  // `count` elements of each of the block's channels, from `from` on, as keys with channels in the lanes.
  void pack(const Key* from, int64_t count, V* to) const {
    for (int64_t i = 0; i < count; i += kLanes) {
      V square[kLanes];
      for (int c = 0; c < kLanes; ++c) {
        prefetch(from, c * area_ + i - job_.width);  // tables are filled upwards
        square[c] = order_.to_key(c < channels_ ? row(from + c * area_ + i) : V{});
      }
      transpose<Key, kLanes>(square);
      const int64_t left = count - i < kLanes ? count - i : kLanes;
      for (int64_t j = 0; j < left; ++j) to[i + j] = square[j];
    }
  }

  // A vector from the map. Lanes beyond what is wanted may be anything, but nothing beyond the tensor is read.
  V row(const Key* from) const {
    const int64_t left = x_end_ - from;
    if (left >= kLanes) return load<V>(from);
    V v{};
    __builtin_memcpy(&v, from, static_cast<size_t>(left) * sizeof(Key));
    return v;
  }

  static KeptRows kept(const RoiJob& job, int k) {
    return kept_rows(job.height, job.tallest, job.levels, job.sweep, k);
  }
  // Fills the tables' rows from the last one filled up to `top`.
  void fill_tables(int64_t top) {
    while (filled_ > top) {
      const int64_t y = --filled_;
      pack(plane_ + y * job_.width, job_.width, row_of(tables_[0], y));
      for (int k = 1; k <= job_.levels && y + (int64_t{1} << k) <= job_.height; ++k) {
        const V* upper = row_of(tables_[k - 1], y);
        const V* lower = row_of(tables_[k - 1], y + (int64_t{1} << (k - 1)));
        V* to = row_of(tables_[k], y);
        for (int64_t x = 0; x < job_.width; ++x) to[x] = max(upper[x], lower[x]);
      }
    }
  }

  Lines lines_of_tables(RoiWindow rows) {
    fill_tables(rows.start);
    int k = 0;
    while (k < job_.levels && (int64_t{2} << k) <= rows.end - rows.start) ++k;
    const int64_t step = int64_t{1} << k;
    return {row_of(tables_[k], rows.end - step), 0, (rows.end - rows.start - 1) >> k, tables_[k], rows.start, step};
  }

  // One line for all the rows, from the map itself: maxima over rows first, as fewer squares are then left to
  // transpose.
  Lines line_of_map(RoiWindow rows, RoiWindow columns) {
    for (int64_t x = columns.start; x < columns.end; x += kLanes) {
      V square[kLanes];
      for (int c = 0; c < kLanes; ++c) square[c] = c < channels_ ? max_of_rows(plane_ + c * area_ + x, rows) : V{};
      transpose<Key, kLanes>(square);
      for (int i = 0; i < kLanes; ++i) line_[x - columns.start + i] = square[i];
    }
    return {line_, columns.start, 0, {}, 0, 0};
  }

  V max_of_rows(const Key* column, RoiWindow rows) const {
    const Key* from = column + rows.start * job_.width;
    V best = order_.to_key(row(from));
    for (int64_t y = rows.start + 1; y < rows.end; ++y) best = max(best, order_.to_key(row(from += job_.width)));
    return best;
  }

  const RoiJob& job_;
  const KeyOrder<Key> order_;
  const int64_t channel_;
  const int channels_;
  const int64_t area_;
  const Key* const plane_;
  const Key* const x_end_;
  V* const line_;
  V* const bins_;
  const int64_t bins_per_roi_;
  V* const transposed_;
  Table tables_[kMostLevels + 1];
  int64_t filled_;  // the topmost row that the tables have
  StreamedCopy copy_;
  bool second_ = false;
};

template <class Key, int bytes>
constexpr RoiKernel kernel() {
  using Pool = RoiPool<Key, bytes>;
  RoiKernel kernel = {bytes,
                      {Pool::shared_units, Pool::shared_scratch, Pool::run_shared},
                      {Pool::separate_units, Pool::separate_scratch, Pool::run_separate},
                      {},
                      0};
#if defined(__AVX512BW__)
  using NarrowMap = NarrowMapPool<Key>;
  kernel.narrow_map = {NarrowMap::units, NarrowMap::scratch_bytes, NarrowMap::run};
  kernel.narrow_map_width = kVectorBytes / sizeof(Key);
#endif
  return kernel;
}

// The kernel whose vectors are the widest that the channels fill, so that few channels leave few lanes idle.
template <class Key>
const RoiKernel& of_width(int64_t channels) {
  static constexpr RoiKernel narrow = kernel<Key, 16>();
  static constexpr RoiKernel wide = kernel<Key, kVectorBytes>();
  if (channels <= static_cast<int64_t>(16 / sizeof(Key))) return narrow;
  if constexpr (kVectorBytes > 32) {
    static constexpr RoiKernel middle = kernel<Key, 32>();
    if (channels <= static_cast<int64_t>(32 / sizeof(Key))) return middle;
  }
  return wide;
}

}  // namespace

const RoiKernel& roi_kernel(size_t element_size, int64_t channels) {
  switch (element_size) {
    case 2:
      return of_width<int16_t>(channels);
    case 4:
      return of_width<int32_t>(channels);
    default:
      return of_width<int64_t>(channels);
  }
}

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
