// Short windows, looked up: as many of a row as there are lanes, if they lie in two vectors of columns. The best over
// the rows stays in registers, however far apart windows start and whatever their sizes are:
//
//   columns         x0 x1 x2 x3 | x4 x5 x6 x7    best over the rows, in two vectors
//   windows         x0-x2  x3-x5  x6-x7
//   first cells     x0     x3     x6             lookup {0, 3, 6}
//   then            x1     x4     x7             lookup {1, 4, 7}
//                   x2     x5     x7             lookup {2, 5, 7}: what a window has already does no harm
//
// Only AVX-512 looks up lanes of two vectors in one instruction.
#pragma once

#include "kernels/window_line.h"
#include "kernels/window_list.h"
#include "kernels/window_writer.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// A row's windows are taken in pieces, each of as many as can be looked up at once.
struct LookupPieces {
  int64_t count;    // 0 where a row cannot be cut so
  int64_t vectors;  // of columns, of all pieces
  int64_t taps;     // cells of the longest window
};

// Whether cells of windows can be counted: they are as far apart as each other, and no number leaves a narrow lane.
inline bool is_counted(const PoolAxis& axis, int64_t lanes) { return has_step(axis) && axis.length <= 2 * lanes; }

// Calls use(columns, first, count) for each piece of windows.
template <class Use>
ONNX_MAXPOOL_INLINE void each_lookup_piece(const PoolAxis& axis, int64_t lanes, const Use& use) {
  const Window* const windows = axis.windows;
  // So many need not be looked at one by one.
  int64_t sure = is_counted(axis, lanes) ? (2 * lanes - axis.length) / axis.step + 1 : 1;
  if (sure > lanes) sure = lanes;
  for (int64_t first = 0, end = 0; first < axis.count; first = end) {
    const int64_t start = windows[first].start;
    end = axis.count - first < sure ? axis.count : first + sure;
    while (end < axis.count && end - first < lanes && windows[end].end - start <= 2 * lanes) ++end;
    use(Window{start, windows[end - 1].end}, first, end - first);
  }
}

template <class Lane>
LookupPieces lookup_pieces(const PoolJob& job) {
  constexpr int64_t kLanes = kVectorBytes / sizeof(Lane), kMostPieces = 256;
  LookupPieces pieces = {0, 0, 1};
#if defined(__AVX512BW__)
  constexpr bool kIsFast = sizeof(Lane) > 1;
#else
  constexpr bool kIsFast = false;
#endif
  const PoolAxis& axis = job.columns;
  if (!kIsFast || !job.depth.windows || !job.rows.windows || !axis.windows) return pieces;
  pieces.taps = lengths_of(axis).longest;
  if (pieces.taps > 2 * kLanes) return pieces;
  each_lookup_piece(axis, kLanes, [&](Window columns, int64_t, int64_t) {
    pieces.vectors += columns.end - columns.start > kLanes ? 2 : 1;
    ++pieces.count;
  });
  if (pieces.count > kMostPieces) pieces.count = 0;
  return pieces;
}

#if defined(__AVX512BW__)

template <class Element, class Lane, bool indexed>
class LookupPool : public UnitsOfLines {
  static constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  using V = Vector<Lane, kVectorBytes>;
  using Place = typename IntegerOf<sizeof(Lane)>::type;  // of a lane
  using Places = Vector<Place, kVectorBytes>;
  using Best = Cells<Lane, indexed>;
  using Watch = typename CellReader<Element, Lane, indexed>::Watch;

 public:
  static bool takes(const PoolJob& job) { return lookup_pieces<Lane>(job).count > 0; }

  static size_t scratch_bytes(const PoolJob& job) {
    return static_cast<size_t>(lookup_pieces<Lane>(job).count) * sizeof(Piece);
  }

  static bool run(const PoolJob& job, int64_t unit, void* scratch) {
    const Window lines = lines_of_unit(job, unit);
    return !LookupPool(job, scratch).pool(lines.start, lines.end);
  }

 private:
  struct alignas(64) Piece {
    Places first, last;  // cells of each window, counted from `column` on
    int64_t column, windows;
    bool has_one_vector;
  };

  LookupPool(const PoolJob& job, void* scratch) : job_(job), pieces_(static_cast<Piece*>(scratch)) {
    const PoolAxis& axis = job.columns;
    each_lookup_piece(axis, kLanes, [&](Window columns, int64_t first, int64_t count) {
      Piece& piece = pieces_[count_++];
      piece.column = columns.start;
      piece.windows = count;
      is_counted(axis, kLanes) ? count_cells(piece, first, columns.end) : list_cells(piece, first);
      piece.has_one_vector = columns.end - columns.start <= kLanes;
    });
  }

  void count_cells(Piece& piece, int64_t first, int64_t end) {
    const PoolAxis& axis = job_.columns;
    const auto step = static_cast<Place>(piece.windows > 1 ? axis.step : 0);
    const auto start = static_cast<Place>(axis.first + first * axis.step - piece.column);
    const Places starts = lane_numbers<Place>() * step + start;
    const Places beyond = Places{} + static_cast<Place>(end - piece.column);
    taps_ = axis.length < axis.size ? axis.length : axis.size;
    piece.first = max(starts, Places{});
    piece.last = min(starts + static_cast<Place>(axis.length), beyond) - static_cast<Place>(1);
  }

  void list_cells(Piece& piece, int64_t first) {
    Place firsts[kLanes], lasts[kLanes];
    for (int64_t i = 0; i < kLanes; ++i) {
      const Window window = job_.columns.windows[first + (i < piece.windows ? i : piece.windows - 1)];
      firsts[i] = static_cast<Place>(window.start - piece.column);
      lasts[i] = static_cast<Place>(window.end - piece.column - 1);
      if (window.end - window.start > taps_) taps_ = window.end - window.start;
    }
    piece.first = load<Places>(firsts);
    piece.last = load<Places>(lasts);
  }

  // Returns whether a number was NaN.
  bool pool(int64_t begin, int64_t end) const {
    if (taps_ <= 2) return pool_lines<2>(begin, end);
    if (taps_ == 3) return pool_lines<3>(begin, end);
    return pool_lines<0>(begin, end);
  }

  // `taps` is 0 where windows have more than 3.
  template <int taps>
  ONNX_MAXPOOL_NOINLINE bool pool_lines(int64_t begin, int64_t end) const {
    const CellReader<Element, Lane, indexed> reader(job_);
    Watch watch;
    WindowWriter<Element, Lane, indexed> writer(job_, begin, end);
    const PoolAxis depth = job_.depth, rows = job_.rows;
    const int64_t width = job_.columns.size, slice = rows.size * width, plane_cells = depth.size * slice;
    const Piece* const pieces = pieces_;
    const int64_t count = count_, most = taps_;
    const int64_t first = begin / rows.count;
    int64_t z = first % depth.count, y = begin % rows.count;
    const Element* plane = static_cast<const Element*>(job_.x) + first / depth.count * plane_cells;
    for (int64_t line = begin; line < end && !watch.any(); ++line) {
      const Window depths = window_at(depth, z), heights = window_at(rows, y);
      const int64_t height = heights.end - heights.start, all = (depths.end - depths.start) * height;
      const int64_t to_next_slice = (rows.size - height + 1) * width;
      const int64_t start = depths.start * slice + heights.start * width;
      const auto pool_piece = [&](const Piece& piece, auto vectors) ONNX_MAXPOOL_INLINED {
        constexpr int kVectors = vectors.value;
        Best best[kVectors];
        int64_t offset = start + piece.column;
        read<kVectors>(reader, plane, offset, watch, [&](int v, const Best& cells) { best[v] = cells; });
        for (int64_t row = 1, rows_left = height; row < all; ++row) {
          offset += --rows_left ? width : to_next_slice;
          if (rows_left == 0) rows_left = height;
          read<kVectors>(reader, plane, offset, watch, [&](int v, const Best& cells) { follow(best[v], cells); });
        }
        for (int v = 0; v < kVectors; ++v) best[v] = along_row(best[v], v * kLanes);
        const Places at = piece.first, last = piece.last;
        Best found = looked_up(best, at);
        if constexpr (taps > 0) {
#pragma GCC unroll 2
          for (int tap = 1; tap < taps; ++tap) {
            found = either(found, looked_up(best, min(at + static_cast<Place>(tap), last)));
          }
        } else {
          Places next = at;
          for (int64_t tap = 1; tap < most; ++tap) {
            next = min(next + static_cast<Place>(1), last);
            found = either(found, looked_up(best, next));
          }
        }
        writer.write(found, piece.windows);
      };
      for (int64_t i = 0; i < count; ++i) {
        pieces[i].has_one_vector ? pool_piece(pieces[i], Number<1>()) : pool_piece(pieces[i], Number<2>());
      }
      if (++y < rows.count) continue;
      y = 0;
      if (++z < depth.count) continue;
      z = 0;
      plane += plane_cells;
    }
    return watch.any();
  }

  // use(v, cells) for each vector of a row's cells from `offset` on. What lies beyond the tensor is not read.
  template <int vectors, class Use>
  ONNX_MAXPOOL_INLINE static void read(const CellReader<Element, Lane, indexed>& reader, const Element* plane,
                                       int64_t offset, Watch& watch, const Use& use) {
    const Element* const from = plane + offset;
    prefetch_next_page(from);
    Best found[vectors];
    const auto cells = [&](int v, V keys) { found[v] = cells_of_row<Lane, indexed>(keys, offset); };
    if (__builtin_expect(reader.end - from < vectors * kLanes, 0)) {
      for (int v = 0; v < vectors; ++v) {
        const Element* const begin = from + v * kLanes;
        cells(v, begin < reader.end ? reader.keys_at_end(begin) : V{} + kLowest<Lane>);
      }
    } else {
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) cells(v, reader.keys_at(from + v * kLanes));
    }
    see_all<vectors>(found, watch);
    for (int v = 0; v < vectors; ++v) use(v, found[v]);
  }

  template <int vectors>
  ONNX_MAXPOOL_INLINE static Best looked_up(const Best (&from)[vectors], Places lanes) {
    const auto in_one = [&](auto v) ONNX_MAXPOOL_INLINED {
      return reinterpret_cast<decltype(v)>(table_lookup_lanes(reinterpret_cast<Places>(v), lanes));
    };
    const auto in_two = [&](auto lower, auto upper) ONNX_MAXPOOL_INLINED {
      return reinterpret_cast<decltype(lower)>(
          two_tables_lookup_lanes(reinterpret_cast<Places>(lower), reinterpret_cast<Places>(upper), lanes));
    };
    if constexpr (vectors == 1) {
      return moved(in_one, from[0]);
    } else {
      return moved(in_two, from[0], from[1]);
    }
  }

  const PoolJob& job_;
  Piece* const pieces_;
  int64_t count_ = 0, taps_ = 1;
};

#endif

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
