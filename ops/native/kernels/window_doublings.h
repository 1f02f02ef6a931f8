// Windows as the best of ever more neighbours, by doubling: of 2, of 4, ... and, in the end, of as many as a window
// has, where the two halves may overlap.
//
//   of 2   x0x1 x1x2 x2x3 ...      of 4   x0-x3 x1-x4 ...      of 7   x0-x3 and x3-x6, x1-x4 and x4-x7 ...
//
// Where windows start several cells apart, so many cells are a group; a window is whole groups and then, maybe, the
// first few cells of the next one.
#pragma once

#include "kernels/window_line.h"
#include "kernels/window_list.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

constexpr int64_t kMostGroups = 16;  // of a window
constexpr int kMostDoublings = 4;
// Of all rings of a walk over four vectors of a row. The rings of a window of kMostGroups keep 2 + 4 + 8 groups: the
// first doubling needs none.
constexpr int64_t kMostKnownVectors = (kMostGroups - 2) * 4;

// Whether lanes of a vector and the next one are looked up at little cost.
template <class Lane>
constexpr bool kDoublesWindows = kVectorBytes == 64 ? sizeof(Lane) >= 2 : kVectorBytes > 16 && sizeof(Lane) >= 4;
// How far apart windows may start. With AVX2, windows three columns apart were never faster so.
constexpr int64_t kMostRowsApart = 16, kMostColumnsApart = kVectorBytes == 64 ? 3 : 2;

inline bool is_doubled(const PoolAxis& axis, int64_t most_apart) {
  return has_step(axis) && axis.step <= most_apart && axis.length / axis.step <= kMostGroups;
}
// Whether windows may have more than one slice. Then their rows are not in the order of positions, which are compared.
inline bool has_slices(const PoolJob& job) { return job.depth.length != 1 || job.depth.grain != 1; }

// No window of columns reaches further than into the next group of vectors.
template <class Lane>
bool doubles_windows(const PoolJob& job) {
  constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  const PoolAxis &rows = job.rows, &columns = job.columns;
  if (!kDoublesWindows<Lane> || !is_doubled(rows, kMostRowsApart) || !is_doubled(columns, kMostColumnsApart)) {
    return false;
  }
  return columns.length <= columns.step * kLanes && (rows.length > 1 || columns.length > 1);
}

// How far apart are two neighbours that are combined, each time.
struct Doublings {
  int64_t groups = 1, rest = 0;  // of a window, and its cells beyond
  int count = 0;
  int64_t by[kMostDoublings] = {};

  Doublings() = default;
  explicit Doublings(const PoolAxis& axis) : groups(axis.length / axis.step), rest(axis.length % axis.step) {
    for (int64_t known = 1; known < groups; known += by[count++]) {
      by[count] = known < groups - known ? known : groups - known;
    }
  }
};

// Of columns, lanes of a vector and the next one as far apart, and those of the cells beyond groups.
template <class Lane>
struct ColumnDoublings {
  using Place = typename IntegerOf<sizeof(Lane)>::type;
  using Places = Vector<Place, kVectorBytes>;

  Doublings doublings;
  Places lanes[kMostDoublings], rest_lanes;

  ColumnDoublings() {}  // sets no lanes, which nobody reads then: a small run would notice it
  explicit ColumnDoublings(const PoolAxis& axis) : doublings(axis) {
    for (int i = 0; i < doublings.count; ++i) lanes[i] = lane_numbers<Place>() + static_cast<Place>(doublings.by[i]);
    rest_lanes = lane_numbers<Place>() + static_cast<Place>(doublings.groups);
  }
};

// Lanes of a vector and the next one.
template <class Lane, bool indexed, class Places>
ONNX_MAXPOOL_INLINE Cells<Lane, indexed> looked_up(const Cells<Lane, indexed>& cells, const Cells<Lane, indexed>& next,
                                                   Places lanes) {
  const auto look_up = [lanes](auto v, auto after) ONNX_MAXPOOL_INLINED {
    return reinterpret_cast<decltype(v)>(
        two_tables_lookup_lanes(reinterpret_cast<Places>(v), reinterpret_cast<Places>(after), lanes));
  };
  return moved(look_up, cells, next);
}

// Of `step` vectors of cells, in groups of `step`, one vector of the first of each group, one of the second, ...
template <int step, class Lane, bool indexed>
ONNX_MAXPOOL_INLINE void in_groups(const Cells<Lane, indexed>* cells, Cells<Lane, indexed>* of_groups) {
  if constexpr (step == 1) {
    of_groups[0] = cells[0];
  } else if constexpr (step == 2) {
    of_groups[0] = in_order(every_other_lane<0>(cells[0], cells[1]));
    of_groups[1] = in_order(every_other_lane<1>(cells[0], cells[1]));
  } else {
    of_groups[0] = odd_lanes<3, 0>(cells);
    of_groups[1] = odd_lanes<3, 1>(cells);
    of_groups[2] = odd_lanes<3, 2>(cells);
  }
}

// What walks of a job have in common. The scratch has room for kMostKnownVectors.
template <class Lane, bool indexed>
struct DoubledParts {
  Doublings rows;
  ColumnDoublings<Lane> columns;
  Line<Lane, indexed> scratch;
};

// What a walk over so many vectors knows, of windows that start `step` columns apart (window_walk.h says what it is
// asked for). The first doubling needs the group of rows before; for each of the others a ring in scratch has what was
// known by[i] groups ago. Where `rows_are_near`, windows start one row apart, and a group is one row.
template <class Lane, bool indexed, int step_, int vectors_, bool rows_are_near>
class DoubledWindows {
  static constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  using Best = Cells<Lane, indexed>;
  using RowLine = Line<Lane, indexed>;

 public:
  static constexpr int step = step_, vectors = vectors_, kRead = step * vectors;
  static constexpr int kEdge = step == 1 ? 1 : 2;  // vectors that the walk on the left has to know
  static_assert(kRead <= 4, "kMostKnownVectors are enough");

  DoubledWindows(const PoolJob& job, const DoubledParts<Lane, indexed>& parts)
      : rows_(parts.rows),
        columns_(parts.columns),
        row_step_(job.rows.step),
        are_ordered_(!has_slices(job)),
        known_(parts.scratch) {
    for (int i = 1; i < rows_.count; ++i) {
      at_[i] = begin_[i];
      begin_[i + 1] = begin_[i] + rows_.by[i] * kRead * kLanes;
    }
  }

  // Rows that the last line reads beyond its windows, as the next ones begin in the same group.
  int64_t beyond() const { return rows_.groups > 0 && rows_.rest > 0 ? row_step_ - rows_.rest : 0; }

  template <class NextRow>
  ONNX_MAXPOOL_INLINE void begin(const NextRow& next_row) {
    const int64_t before = rows_.rest > 0 ? rows_.groups : rows_.groups - 1;
    for (int64_t group = 0; group < before; ++group) {
      next_row(last_);
      if constexpr (!rows_are_near) follow_rows(next_row, row_step_ - 1, last_);
      double_rows(last_);
    }
  }

  template <class NextRow, class SkipRow>
  ONNX_MAXPOOL_INLINE void line(const NextRow& next_row, const SkipRow& skip_row, Best* here) {
    if constexpr (rows_are_near) {
      next_row(here);
      return double_rows(here);
    }
    // The rest of a window are the first rows of a group that the next window has, too.
    const int64_t first = rows_.rest > 0 ? rows_.rest : row_step_;
    Best group[kRead];
    next_row(group);
    follow_rows(next_row, first - 1, group);
    copy_all<kRead>(group, here);
    if (rows_.groups == 0) {
      for (int64_t row = first; row < row_step_; ++row) skip_row();
    } else if (rows_.rest == 0) {
      double_rows(here);
    } else {
      copy_all<kRead>(last_, here);
      add(here, group);
      follow_rows(next_row, row_step_ - first, group);
      double_rows(group);
      copy_all<kRead>(group, last_);
    }
  }

  // The windows of a line of the best over rows. `edge` has what the walk on the right has left, and then what the one
  // on the left needs: of the first group's vector its cells, and the first cells of groups that may be a rest.
  ONNX_MAXPOOL_INLINE void windows(const Best* here, Best* edge, Best* found) const {
    Best all[vectors + 1], rest[vectors + 1];
    all[vectors] = edge[0];
    rest[vectors] = edge[kEdge - 1];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      Best cells[step];
      in_groups<step>(here + v * step, cells);
      rest[v] = all[v] = cells[0];
      if constexpr (step > 1) all[v] = either(all[v], cells[1]);
      if constexpr (step > 2) {
        if (columns_.doublings.rest > 1) rest[v] = all[v];
        all[v] = either(all[v], cells[2]);
      }
    }
    edge[0] = all[0];
    edge[kEdge - 1] = rest[0];
    for (int i = 0; i < columns_.doublings.count; ++i) {
      const auto lanes = columns_.lanes[i];
#pragma GCC unroll 8
      for (int v = 0; v <= vectors; ++v)
        all[v] = either(all[v], looked_up(all[v], all[v < vectors ? v + 1 : v], lanes));
    }
    if (step == 1 || columns_.doublings.rest == 0) {
      copy_all<vectors>(all, found);
    } else if (columns_.doublings.groups == 0) {
      copy_all<vectors>(rest, found);
    } else {
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) found[v] = either(all[v], looked_up(rest[v], rest[v + 1], columns_.rest_lanes));
    }
  }

 private:
  template <class NextRow>
  ONNX_MAXPOOL_INLINE void follow_rows(const NextRow& next_row, int64_t count, Best* best) const {
    for (int64_t row = 0; row < count; ++row) {
      Best next[kRead];
      next_row(next);
      add(best, next);
    }
  }

  // Later rows to what is known of earlier ones.
  ONNX_MAXPOOL_INLINE void add(Best* best, const Best* next) const { join_all<kRead>(best, next, are_ordered_); }

  // The best of this group of rows becomes that of all groups of a window.
  ONNX_MAXPOOL_INLINE void double_rows(Best* group) {
    if (rows_.count == 0) return;
    Best earlier[kRead];
    copy_all<kRead>(before_, earlier);
    copy_all<kRead>(group, before_);
    add(earlier, group);
    copy_all<kRead>(earlier, group);
    for (int i = 1; i < rows_.count; ++i) {
      const RowLine ring = line_at(known_, at_[i]);
#pragma GCC unroll 8
      for (int v = 0; v < kRead; ++v) {
        earlier[v] = ring.at(v * kLanes);
        ring.set(v * kLanes, group[v]);
      }
      add(earlier, group);
      copy_all<kRead>(earlier, group);
      const int64_t next = at_[i] + kRead * kLanes;
      at_[i] = next < begin_[i + 1] ? next : begin_[i];
    }
  }

  const Doublings& rows_;
  const ColumnDoublings<Lane>& columns_;
  const int64_t row_step_;
  const bool are_ordered_;
  const RowLine known_;
  int64_t at_[kMostDoublings], begin_[kMostDoublings + 1] = {};  // of the rings, from the second doubling on
  Best before_[kRead] = {};                                      // the best of the last group
  Best last_[kRead] = {};  // the best of the whole groups before, where windows have a rest
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
