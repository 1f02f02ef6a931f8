// The maximum over the bins of ROIs of a map that is no wider than a vector: for processors that look up lanes. What a
// row of bins takes is roi_bin_lookups.h's, too.
//
// Lanes are columns: a row of a map is one vector, and a row of bins is the maximum of a few lookups in one. So bins
// come in the output's order, where kernels/roi.cc's other modes have to transpose them.
//
//   columns of bins      [0, 3)  [2, 5)  [4, 6)
//   line, over rows      x0 x1 x2 x3 x4 x5
//   first columns        x0      x2      x4       table_lookup_lanes(line, {0, 2, 4})
//   second               x1      x3      x5                               {1, 3, 5}
//   third                x2      x4      x5                               {2, 4, 5}: the last one again
//   bins                 their maximum
#pragma once

#include "kernels/roi.h"
#include "kernels/simd/order.h"
#include "kernels/simd/streamed_copy.h"
#include "kernels/window_cells.h"

#if defined(__AVX2__)

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Of each bin in a row of them, as elements of vectors: the columns whose cells are looked up, and whether it has any.
// Of bins wider than three columns, the line's cells become the best of 2, 4, ... cells before.
template <class Place, int vectors = 1>
struct BinColumns {
  using V = Vector<Place, kVectorBytes>;
  static constexpr int kLanes = kVectorBytes / sizeof(Place), kColumns = vectors * kLanes;
  V at[kColumns];
  int64_t lookups = 1;
  int64_t part = 1;  // the best of how many cells
  V any;

  // Of lines whose first lane is column `first`. There are at most as many bins as lanes in a vector, and none is wider
  // than a line.
  BinColumns(const RoiWindow* columns, int64_t count, int32_t first) {
    V start{}, last{};
    int64_t widest = 1, least = kColumns;
    for (int64_t j = 0; j < count; ++j) {
      const int64_t width = columns[j].end - columns[j].start;
      start[j] = static_cast<Place>(columns[j].start - first);
      last[j] = static_cast<Place>(columns[j].end - first - 1);
      if (width > widest) widest = width;
      if (width > 0 && width < least) least = width;
    }
    any = start <= last;
    while (widest > 3 && 2 * part <= least) part *= 2;
    lookups = (widest + part - 1) / part;
    last -= static_cast<Place>(part - 1);
    for (int64_t n = 0; n < lookups; ++n) {
      const V column = start + static_cast<Place>(n * part);
      at[n] = column < last ? column : last;
    }
  }
};

// What looks up lanes: integers of their width.
template <class Lane>
using PlaceOf = typename IntegerOf<sizeof(Lane)>::type;

// A piece of a row of the map, or the best over some.
template <class Lane, int vectors>
struct MapLine {
  Vector<Lane, kVectorBytes> at[vectors];

  friend ONNX_MAXPOOL_INLINE MapLine max(MapLine a, const MapLine& b) {
    for (int v = 0; v < vectors; ++v) a.at[v] = max(a.at[v], b.at[v]);
    return a;
  }
};

// The maximum of `count` lines, 1 or more.
template <class LineAt>
ONNX_MAXPOOL_INLINE auto max_over_rows(int64_t count, const LineAt& line) {
  // A row may count twice. That is cheaper than a jump that the processor foresees half of the time.
  if (count < 4) return max(max(line(0), line(count - 1)), line(count / 2));
  auto best = max(max(line(count - 1), line(count - 2)), max(line(count - 3), line(count - 4)));
  for (int64_t y = 0; y < count - 4; ++y) best = max(best, line(y));
  return best;
}

// The bins of a row of them, of a line over rows. `most` is the number of lookups, or all lanes.
template <class Lane, int vectors, int most>
class BinsOfLine {
  using V = Vector<Lane, kVectorBytes>;
  using Place = PlaceOf<Lane>;
  using Places = Vector<Place, kVectorBytes>;
  using Line = MapLine<Lane, vectors>;
  static constexpr int kLanes = kVectorBytes / sizeof(Lane);

 public:
  BinsOfLine(const BinColumns<Place, vectors>& bins, ValueOrder<Lane> order)
      : empty(order.template key_of_zero<V>()),
        part_(bins.part),
        lookups_(most < vectors * kLanes ? most : bins.lookups),
        any_(bins.any) {
    for (int n = 0; n < most; ++n) columns_[n] = n < lookups_ ? bins.at[n] : Places{};
  }

  ONNX_MAXPOOL_INLINE V operator()(Line line) const {
    // Lanes that reach beyond the last one begin again with the first: no bin has these.
    Places distance = lane_numbers<Place>() + Place{1};
    for (int64_t tap = 1; tap < part_; tap *= 2) {
      for (int v = 0; v < vectors - 1; ++v) line.at[v] = max(line.at[v], looked_up<2>(&line.at[v], distance));
      line.at[vectors - 1] = max(line.at[vectors - 1], looked_up<1>(&line.at[vectors - 1], distance));
      distance += static_cast<Place>(tap);
    }
    V best = looked_up<vectors>(line.at, columns_[0]);
    for (int64_t n = 1; n < lookups_; ++n) best = max(best, looked_up<vectors>(line.at, columns_[n]));
    return any_ ? best : empty;
  }

  const V empty;  // the key of 0 (M9)

 private:
  template <int tables>
  static ONNX_MAXPOOL_INLINE V looked_up(const V* line, Places columns) {
    static_assert(tables <= 2);
    const auto places = [&](int v) { return reinterpret_cast<Places>(line[v]); };
    if constexpr (tables == 1) return reinterpret_cast<V>(table_lookup_lanes(places(0), columns));
    return reinterpret_cast<V>(two_tables_lookup_lanes(places(0), places(tables - 1), columns));
  }

  const int64_t part_, lookups_;
  const Places any_;
  Places columns_[most];
};

// use(BinsOfLine) of these columns.
template <class Lane, int vectors, class Use>
void with_bins(const BinColumns<PlaceOf<Lane>, vectors>& columns, ValueOrder<Lane> order, const Use& use) {
  if (columns.lookups == 1) return use(BinsOfLine<Lane, vectors, 1>(columns, order));
  if (columns.lookups == 2) return use(BinsOfLine<Lane, vectors, 2>(columns, order));
  if (columns.lookups == 3) return use(BinsOfLine<Lane, vectors, 3>(columns, order));
  use(BinsOfLine<Lane, vectors, vectors* static_cast<int>(kVectorBytes / sizeof(Lane))>(columns, order));
}

template <class Lane, class Copy>
class NarrowMapPool {
  using V = Vector<Lane, kVectorBytes>;
  using Columns = BinColumns<PlaceOf<Lane>>;
  static constexpr int kLanes = kVectorBytes / sizeof(Lane);

 public:
  static size_t scratch_bytes(const RoiJob& job) {
    return sizeof(V) * static_cast<size_t>(kNarrowMapChannels * job.dims.height) + 2 * buffer_bytes(job);
  }

  // Returns whether all is pooled: where a number was NaN, keys have to pool the unit.
  static bool run(const RoiJob& job, int64_t number, void* scratch) {
    const RoiUnit unit = job.units[number];
    NarrowMapPool pool(job, unit, scratch);
    if (!pool.read(unit.image)) return false;
    for (int64_t i = unit.begin; i < unit.end; ++i) pool.pool_roi(job.rois_by_image[i]);
    pool.copy_.finish();
    return true;
  }

 private:
  NarrowMapPool(const RoiJob& job, const RoiUnit& unit, void* scratch)
      : job_(job),
        order_(job.order),
        channel_(job.channels.first + unit.block * kNarrowMapChannels),
        channels_(channels_of_block(job, unit.block, kNarrowMapChannels)),
        group_(group(job)),
        buffer_bytes_(buffer_bytes(job)),
        map_(static_cast<V*>(scratch)),
        buffers_(reinterpret_cast<char*>(map_ + kNarrowMapChannels * job.dims.height)) {}

  // Reads the rows of the unit's channels. Returns whether no number is NaN.
  bool read(int64_t image) {
    const RoiDims& dims = job_.dims;
    const Lane* const x = static_cast<const Lane*>(job_.x);
    const Lane* from = x + (image * dims.channels + channel_) * dims.height * dims.width;
    const Lane* const end = end_of_input<Lane>(job_);
    NanWatch<V> watch;
    for (int64_t y = 0; y < channels_ * dims.height; ++y, from += dims.width) {
      map_[y] = order_.to_key(load_n<V>(from, dims.width, end));
      watch.see(map_[y]);
    }
    return !watch.any();
  }

  static int64_t bins_per_channel(const RoiJob& job) { return job.dims.bins_y * job.dims.bins_x; }

  // Channels that are pooled, and streamed, together: whole lines where that leaves room in the first-level cache.
  static int64_t group(const RoiJob& job) {
    const int64_t bytes = bins_per_channel(job) * static_cast<int64_t>(sizeof(Lane));
    int64_t channels = 1;
    while (channels < kNarrowMapChannels && 2 * channels * bytes <= 8192 &&
           (channels * bytes < 2048 || channels * bytes % kStreamedLine)) {
      channels *= 2;
    }
    return channels;
  }
  static size_t buffer_bytes(const RoiJob& job) {
    if (!job.stream) return 0;
    const size_t bytes = static_cast<size_t>(group(job) * bins_per_channel(job)) * sizeof(Lane);
    return (bytes + sizeof(V) - 1) / sizeof(V) * sizeof(V);
  }

  ONNX_MAXPOOL_NOINLINE void pool_roi(int64_t roi) {
    const Columns columns(job_.columns + roi * job_.dims.bins_x, job_.dims.bins_x, 0);
    const RoiWindow* rows = job_.rows + roi * job_.dims.bins_y;
    const int64_t bins = bins_per_channel(job_), most = group_;
    for (int64_t c = 0; c < channels_; c += most) {
      const int64_t count = channels_ - c < most ? channels_ - c : most;
      Lane* to = static_cast<Lane*>(job_.y) + (roi * job_.dims.channels + channel_ + c) * bins;
      if constexpr (Copy::kStreams) {
        second_ = !second_;  // the buffer that the last copy does not still read
        Lane* buffer = reinterpret_cast<Lane*>(buffers_ + second_ * buffer_bytes_);
        pool_channels(rows, columns, c, count, buffer);
        copy_.begin(to, buffer, static_cast<size_t>(count * bins) * sizeof(Lane));
      } else {
        pool_channels(rows, columns, c, count, to);
      }
    }
  }

  // The bins of channels `first` on, to `to`: (count, bins_y, bins_x).
  void pool_channels(const RoiWindow* rows, const Columns& columns, int64_t first, int64_t count, Lane* to) {
    with_bins<Lane>(columns, order_, [&](const auto& bins_of) { pool_channels_by(bins_of, rows, first, count, to); });
  }

  // What the loop needs is in variables of its own, as the compiler takes any store for one to a member.
  template <class BinsOf>
  void pool_channels_by(BinsOf bins_of, const RoiWindow* rows, int64_t first, int64_t count, Lane* to) {
    const int64_t height = job_.dims.height, bins_y = job_.dims.bins_y, bins_x = job_.dims.bins_x;
    const ValueOrder<Lane> order = order_;
    Copy copy = copy_;
    for (int64_t i = 0; i < bins_y; ++i) {
      const int64_t start = rows[i].start, lines = rows[i].end - start;
      for (int64_t c = 0; c < count; ++c) {
        V best = bins_of.empty;
        if (lines > 0) {
          const V* const line = map_ + (first + c) * height + start;
          best = bins_of(max_over_rows(lines, [&](int64_t y) { return MapLine<Lane, 1>{{line[y]}}; }));
        }
        // A row's vector may reach into rows of the same channel, which are still to come.
        Lane* const of_channel = to + c * bins_y * bins_x;
        store_n(of_channel + i * bins_x, order.from_key(best), bins_x, of_channel + bins_y * bins_x);
        copy.step();
      }
    }
    copy_ = copy;
  }

  const RoiJob& job_;
  const ValueOrder<Lane> order_;
  const int64_t channel_, channels_;
  const int64_t group_;
  const size_t buffer_bytes_;
  V* const map_;
  char* const buffers_;
  bool second_ = false;
  Copy copy_;
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET

#endif
