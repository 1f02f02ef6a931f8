// The maximum over the bins of ROIs. Compiled once per target.
//
// Lanes are channels, except for narrow maps, few channels and ROIs of one bin: a block of as many channels as fit a
// vector is pooled at once, so that every step but the last is the same plain maximum whatever a bin's width. At the
// end an ROI's bins are transposed to the output's order, in which the block is one contiguous piece.
//
//   map ----------> lines of columns ----------> bins ---------> output
//     shared:   roi_table.h       roi_bins.h          roi_writer.h
//     separate: roi_map.h
//
// Of few cells each is read by itself (roi_cells.h): to fill vectors would take longer.
#include "kernels/roi.h"

#include "kernels/numbers.h"
#include "kernels/roi_bins.h"
#include "kernels/roi_cells.h"
#include "kernels/roi_few_channels.h"
#include "kernels/roi_map.h"
#include "kernels/roi_narrow_map.h"
#include "kernels/roi_single_bins.h"
#include "kernels/roi_table.h"
#include "kernels/roi_writer.h"
#include "kernels/upper_halves.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Where a unit keeps what it works on, all in vectors:
//   line  | bins of each slot | the writer's buffers | tables
template <class Key, int bytes>
struct Scratch {
  using V = Vector<Key, bytes>;
  static constexpr int kLanes = bytes / sizeof(Key);
  static int64_t bins_of(const RoiDims& dims) { return dims.bins_y * dims.bins_x; }
  // Of all blocks that are pooled at once, or two lines of one.
  static int64_t line_vectors(const RoiJob& job) {
    return (job.tables.at_once < 2 ? 2 : job.tables.at_once) * (job.dims.width + kLanes);
  }
  static int64_t bins_vectors(const RoiJob& job) {
    return job.tables.slots * job.tables.at_once * bins_of(job.dims) + kLanes;
  }

  static int64_t buffer_vectors(const RoiJob& job) {
    return job.stream ? BinWriter<Key, bytes, StreamedCopy>::vectors(job.tables.at_once, bins_of(job.dims)) : 0;
  }

  static size_t separate_bytes(const RoiJob& job) {
    return sizeof(V) * static_cast<size_t>(line_vectors(job) + bins_vectors(job) + buffer_vectors(job));
  }
  static size_t shared_bytes(const RoiJob& job) {
    return separate_bytes(job) + sizeof(V) * static_cast<size_t>(SparseTables<Key, bytes>::vectors(job));
  }

  Scratch(const RoiJob& job, void* memory)
      : line(static_cast<V*>(memory)),
        bins(line + line_vectors(job)),
        buffers(bins + bins_vectors(job)),
        tables(buffers + buffer_vectors(job)) {}

  V *const line, *const bins, *const buffers, *const tables;
};

// Pools ROIs of one image, on a block of channels or, from tables, on several: what is found out about an ROI then
// serves all of them, and what they write is one piece.
template <class Key, int bytes, class Copy>
class RoiPool {
  using V = Vector<Key, bytes>;
  using Map = MapBlock<Key, bytes>;
  using Memory = Scratch<Key, bytes>;

 public:
  // Returns whether all is pooled: where a number was NaN, keys have to pool the unit.
  static bool run_shared(const RoiJob& job, int64_t number, void* scratch) {
    const RoiUnit unit = job.units[number];
    const int64_t* rois = job.rois_by_image + unit.begin;
    const int64_t count = unit.end - unit.begin;
    const int64_t first = unit.block * job.tables.at_once;
    RoiPool pool(job, unit.image, first, scratch);
    const int64_t channels = channels_from(job, first * Map::kLanes, job.tables.at_once * Map::kLanes);
    const RoiWindow all = rows_of(job, rois, count);
    SparseTables<Key, bytes> table(job, unit.image, first, channels, pool.scratch_.tables, all.end);
    const auto lines_of = [&](RoiWindow rows, RoiWindow) { return table.lines_of(rows); };
    const RoiTask* tasks = job.tables.sweep ? job.tasks + unit.begin * job.dims.bins_y : nullptr;
    if (pool.bins_ == 1 && !Copy::kStreams) {
      if (!job.tables.sweep) table.fill(all.start);
      constexpr int64_t kAhead = 4;
      const auto roi_at = [&](int64_t i) { return rois[job.tables.sweep ? tasks[i].slot : i]; };
      for (int64_t i = 0; i < count; ++i) {
        if (i + kAhead < count) pool.fetch_output(roi_at(i + kAhead), {0, 1}, channels);
        pool.pool_single(roi_at(i), channels, table);
      }
    } else if (job.tables.sweep) {
      for (int64_t i = 0; i < count * job.dims.bins_y; ++i) {
        pool.pool_row(pool.roi_of(rois[tasks[i].slot], tasks[i].slot), tasks[i].row, kOneBlock, lines_of);
      }
      for (int64_t slot = 0; slot < count; ++slot) {
        if (slot + 1 < count) pool.fetch_output(rois[slot + 1], {0, pool.rows_of_bins()}, pool.map_.channels);
        pool.write(rois[slot], slot);
      }
    } else if (channels > Map::kLanes) {
      table.fill(all.start);
      for (int64_t i = 0; i < count; ++i) pool.pool_blocks(rois[i], channels, table);
    } else {
      table.fill(all.start);
      for (int64_t i = 0; i < count; ++i) pool.pool_roi(rois[i], lines_of);
    }
    pool.copy_.finish();
    return !table.has_nan();
  }

  static bool run_separate(const RoiJob& job, int64_t number, void* scratch) {
    const RoiUnit unit = job.units[number];
    RoiPool pool(job, unit.image, unit.block, scratch);
    V* const line = pool.scratch_.line;
    bool has_nan = false;
    for (int64_t i = unit.begin; i < unit.end && !has_nan; ++i) {
      const int64_t roi = job.rois_by_image[i];
      const bool keeps_rows = pool.has_fewer_rows_than_bins(roi);
      int64_t kept = -1;  // the last row that is kept, or -1
      if (i + 1 < unit.end) pool.fetch(job.rois_by_image[i + 1], unit.end - unit.begin);
      pool.pool_roi(roi, [&](RoiWindow rows, RoiWindow columns) -> Lines<V> {
        const int64_t count = rows.end - rows.start;
        if (!keeps_rows || count > 2) {
          kept = -1;
          has_nan |= pool.map_.max_of_rows(rows, columns, line);
          return {line, columns.start, 0, {}, 0, 0};
        }
        // Each row is read once, though it is in several bins: two are kept, in turn.
        const TableRows<V> lines = {line, 1, columns.end - columns.start + Map::kLanes};
        for (int32_t y = kept < rows.start ? rows.start : static_cast<int32_t>(kept + 1); y < rows.end; ++y) {
          has_nan |= pool.map_.max_of_rows({y, y + 1}, columns, lines.at(y));
        }
        kept = rows.end - 1;
        return {lines.at(kept), columns.start, count - 1, lines, rows.start, 1};
      });
    }
    pool.copy_.finish();
    return !has_nan;
  }

 private:
  RoiPool(const RoiJob& job, int64_t image, int64_t block, void* scratch)
      : job_(job),
        map_(job, image, block),
        scratch_(job, scratch),
        bins_(Memory::bins_of(job.dims)),
        is_output_far_(is_output_far(job)),
        writer_(map_.order, job.tables.at_once, bins_, scratch_.buffers) {}

  // The rows of the map that the ROIs reach.
  static RoiWindow rows_of(const RoiJob& job, const int64_t* rois, int64_t count) {
    const int64_t bins_y = job.dims.bins_y;
    RoiWindow all = {static_cast<int32_t>(job.dims.height), 0};
    for (int64_t i = 0; i < count; ++i) {
      const RoiWindow rows = span_of(job.rows + rois[i] * bins_y, bins_y);
      if (rows.start < all.start) all.start = rows.start;
      if (rows.end > all.end) all.end = rows.end;
    }
    return all;
  }

  // Whether an ROI has fewer rows of the map than bins. Most bins have one or two of them then: more only where
  // rounding has it so, or at the map's edges.
  bool has_fewer_rows_than_bins(int64_t roi) const {
    const RoiWindow rows = span_of(job_.rows + roi * job_.dims.bins_y, job_.dims.bins_y);
    return rows.end - rows.start < job_.dims.bins_y;
  }

  // Has the ROI's cells fetched, of a unit with so many ROIs.
  ONNX_MAXPOOL_INLINE void fetch(int64_t roi, int64_t rois) const {
    const int64_t bins_y = job_.dims.bins_y, bins_x = job_.dims.bins_x;
    map_.fetch(span_of(job_.rows + roi * bins_y, bins_y), span_of(job_.columns + roi * bins_x, bins_x), bins_y, rois);
  }

  // Whether outputs leave a core's own caches before a run is over, other than those that stream.
  static bool is_output_far(const RoiJob& job) {
    constexpr int64_t kFar = 512 << 10;  // bytes
    const int64_t outputs = job.dims.rois * job.dims.channels * Memory::bins_of(job.dims);
    return !Copy::kStreams && outputs * int64_t{sizeof(Key)} > kFar;
  }
  // Has the lines of the output fetched where these rows of the ROI's bins go, of so many channels, if they are far.
  // Processors do not foresee them: bins go there in strips that straddle lines and come to each more than once, and
  // the next ROI's place is far from here. A row counts as its share of all lines.
  ONNX_MAXPOOL_INLINE void fetch_output(int64_t roi, RoiWindow rows, int64_t channels) const {
    constexpr int64_t kMost = 16 << 10;  // bytes, for which the first cache has room beside the bins
    if (!is_output_far_) return;
    const int64_t share = job_.dims.bins_x * channels, first = rows.start * share, end = rows.end * share;
    if (channels * bins_ * int64_t{sizeof(Key)} <= kMost) {
      fetch_output<Cache::first>(place_of(roi), first, end);
    } else {
      fetch_output<Cache::second>(place_of(roi), first, end);
    }
  }
  template <Cache cache>
  ONNX_MAXPOOL_INLINE static void fetch_output(Key* to, int64_t first, int64_t end) {
    constexpr int64_t kLine = 64 / sizeof(Key);
    const auto in_line = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % 64 / sizeof(Key));
    for (int64_t at = first - in_line; at < end; at += kLine) prefetch_to_store<cache>(to, at);
  }
  int32_t rows_of_bins() const { return static_cast<int32_t>(job_.dims.bins_y); }

  // An ROI's windows, and where its bins are kept.
  struct Roi {
    const RoiWindow *rows, *columns;
    RoiWindow span;  // of all columns
    BinWidths widths;
    V* bins;
  };
  ONNX_MAXPOOL_INLINE Roi roi_of(int64_t roi, int64_t slot) const {
    const int64_t bins_x = job_.dims.bins_x;
    const RoiWindow* const columns = job_.columns + roi * bins_x;
    const RoiWindow span = span_of(columns, bins_x);
    const int32_t width = span.end - span.start;  // of the only bin, if there is one
    return {job_.rows + roi * job_.dims.bins_y, columns, span, bins_x == 1 ? BinWidths{width, width} : job_.widths[roi],
            scratch_.bins + slot * bins_};
  }

  template <class LinesOf>
  void pool_roi(int64_t number, LinesOf lines_of) {
    const Roi roi = roi_of(number, 0);
    for (int32_t row = 0; row < rows_of_bins(); ++row) {
      fetch_output(number, {row, row + 1}, map_.channels);
      pool_row(roi, row, kOneBlock, lines_of);
    }
    write(number, 0);
  }

  // The bins of so many channels, which are those of several blocks.
  void pool_blocks(int64_t number, int64_t channels, SparseTables<Key, bytes>& table) {
    const Blocks blocks = {(channels + Map::kLanes - 1) / Map::kLanes, table.block(), bins_};
    const Roi roi = roi_of(number, 0);
    for (int32_t row = 0; row < rows_of_bins(); ++row) {
      fetch_output(number, {row, row + 1}, channels);
      pool_row(roi, row, blocks, [&](RoiWindow rows, RoiWindow) { return table.lines_of(rows); });
    }
    writer_.write(scratch_.bins, channels, place_of(number), copy_);
  }

  // A row of an ROI's bins; the one before it is there, if it has the same rows of the map. `lines_of(rows, columns)`
  // gives lines that stand for rows of the map.
  template <class LinesOf>
  ONNX_MAXPOOL_INLINE void pool_row(const Roi& roi, int64_t row, Blocks blocks, LinesOf lines_of) {
    const int64_t bins_x = job_.dims.bins_x;
    V* const bin = roi.bins + row * bins_x;
    if (repeats(roi.rows, row)) return repeat_bins(bins_x, blocks, bin, copy_);
    const RoiWindow rows = roi.rows[row];
    const V empty = map_.order.template key_of_zero<V>();  // M9
    if (rows.start >= rows.end || roi.span.start >= roi.span.end) {
      for (int64_t n = 0; n < blocks.count; ++n) {
        for (int64_t j = 0; j < bins_x; ++j) bin[n * blocks.bins + j] = empty;
      }
      return;
    }
    pool_bins(lines_of(rows, roi.span), roi.columns, bins_x, roi.widths, roi.span, blocks, empty, scratch_.line, bin,
              copy_);
  }

  // The ROI's only bin, of so many channels. Where windows are small, as most are that are one bin, jumps cost more
  // than what they spare.
  ONNX_MAXPOOL_INLINE void pool_single(int64_t roi, int64_t channels, SparseTables<Key, bytes>& table) {
    const RoiWindow rows = job_.rows[roi], columns = job_.columns[roi];
    const ValueOrder<Key> order = map_.order;
    Key* to = place_of(roi);
    const auto write = [&](V best) {
      store_n(to, order.from_key(best), channels < Map::kLanes ? channels : Map::kLanes);
      to += Map::kLanes;
    };
    if (rows.start >= rows.end || columns.start >= columns.end) {
      for (; channels > 0; channels -= Map::kLanes) write(order.template key_of_zero<V>());  // M9
      return;
    }
    const Lines<V> lines = table.lines_of(rows);
    const V *last = lines.last + columns.start, *first = lines.before ? lines.at(0) + columns.start : last;
    const int64_t end = columns.end - columns.start - 1, middle = (end + 1) / 2;
    for (int64_t block = 0; channels > 0; channels -= Map::kLanes, block += table.block()) {
      V best = max(max(max(first[0], last[0]), max(first[end], last[end])), max(first[middle], last[middle]));
      if (end > 2) {
        int64_t x = 1;  // two at a time, as the maximum of numbers takes some processors four cycles
        for (; x + 1 < end; x += 2) {
          best = max(best, max(max(first[x], last[x]), max(first[x + 1], last[x + 1])));
        }
        if (x < end) best = max(best, max(first[x], last[x]));
      }
      for (int64_t n = 1; n < lines.before; ++n) {
        const V* const line = lines.at(n) + block + columns.start;
        for (int64_t x = 0; x <= end; ++x) best = max(best, line[x]);
      }
      write(best);
      first += table.block();
      last += table.block();
    }
  }

  void write(int64_t roi, int64_t slot) {
    writer_.write(scratch_.bins + slot * bins_, map_.channels, place_of(roi), copy_);
  }
  Key* place_of(int64_t roi) const {
    return static_cast<Key*>(job_.y) + (roi * job_.dims.channels + map_.channel) * bins_;
  }

  const RoiJob& job_;
  const Map map_;
  const Memory scratch_;
  const int64_t bins_;  // of an ROI
  const bool is_output_far_;
  BinWriter<Key, bytes, Copy> writer_;
  Copy copy_;
};

// Bins that stream have loops of their own.
using PoolUnit = bool(const RoiJob&, int64_t, void*);
template <class Key, PoolUnit plain, PoolUnit streaming, PoolUnit by_keys>
void run_pool(const RoiJob& job, int64_t number, void* scratch) {
  if ((sizeof(Key) < 4 || compares_numbers()) && (job.stream ? streaming : plain)(job, number, scratch)) return;
  by_keys(job, number, scratch);
}

template <class Lane>
bool run_few_channels(const RoiJob& job, int64_t number, void* scratch) {
  const bool has_single_bins = job.dims.bins_y * job.dims.bins_x == 1;
  return (has_single_bins ? SingleBinsPool<Lane>::run : FewChannelsPool<Lane>::run)(job, number, scratch);
}

template <auto scratch_bytes, auto run>
constexpr RoiKernel::Mode kMode = {cleared<scratch_bytes>, cleared<run>};

template <class Key, int bytes>
constexpr RoiKernel kernel() {
  using Pooled = typename PooledAs<Key>::type;
  using Pool = RoiPool<Pooled, bytes, NoCopy>;
  using StreamingPool = RoiPool<Pooled, bytes, StreamedCopy>;
  using Keys = RoiPool<Key, bytes, NoCopy>;
  RoiKernel kernel = {bytes,
                      kMode<Scratch<Key, bytes>::shared_bytes,
                            run_pool<Key, Pool::run_shared, StreamingPool::run_shared, Keys::run_shared>>,
                      kMode<Scratch<Key, bytes>::separate_bytes,
                            run_pool<Key, Pool::run_separate, StreamingPool::run_separate, Keys::run_separate>>,
                      {},
                      0,
                      kMode<FewChannelsPool<Key>::scratch_bytes,
                            run_pool<Key, run_few_channels<Pooled>, run_few_channels<Pooled>, run_few_channels<Key>>>,
                      kVectorBytes,
                      kMode<CellPool<Key>::scratch_bytes, CellPool<Key>::run>};
#if defined(__AVX2__)
  using NarrowMap = NarrowMapPool<Pooled, NoCopy>;
  using StreamingMap = NarrowMapPool<Pooled, StreamedCopy>;
  using NarrowKeys = NarrowMapPool<Key, NoCopy>;
  kernel.narrow_map =
      kMode<NarrowMap::scratch_bytes, run_pool<Key, NarrowMap::run, StreamingMap::run, NarrowKeys::run>>;
  kernel.lookup_lanes = kVectorBytes / sizeof(Key);
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
