// Which windows have walks of their own, how far a walk reaches, and of which planes the tails are walked together:
// what walks and the cost model both go by.
#pragma once

#include "kernels/window_doublings.h"
#include "kernels/window_flat_walks.h"
#include "kernels/window_list.h"
#include "kernels/window_ordered_rows.h"
#include "kernels/window_short.h"
#include "kernels/window_stepped_walks.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

constexpr int64_t kBand = 64;  // lines that are walked at once

// Of a value and its index.
template <bool indexed>
int64_t output_bytes(const PoolJob& job, int64_t element_size) {
  return element_size + (!indexed ? 0 : job.indices_are_64_bits ? 8 : 4);
}

// Cells and outputs; no product that leaves 64 bits.
template <bool indexed>
double tensor_bytes(const PoolJob& job, int64_t element_size) {
  const auto cells = static_cast<double>(cells_of_plane(job)), outputs = static_cast<double>(windows_of_plane(job));
  return static_cast<double>(job.planes) * (cells * static_cast<double>(element_size) +
                                            outputs * static_cast<double>(output_bytes<indexed>(job, element_size)));
}

template <bool indexed>
bool leaves_near_caches(const PoolJob& job, int64_t element_size) {
  return tensor_bytes<indexed>(job, element_size) > kNearBytes;
}

// Lanes of 16 bits and fewer are too many for lines to have several vectors often, and so are narrow elements for their
// planes to be large. With AVX-512, a walk of numbers without indices takes several vectors of a row for little more
// than one.
template <class Lane, bool indexed>
constexpr bool kHasTails = sizeof(Lane) >= 4 && (kVectorBytes == 64 ? indexed : kVectorBytes == 32 && !indexed);

// Rows and columns, of windows that start one cell apart and have code of their own. With indices larger ones were no
// faster.
template <class Lane, bool indexed>
constexpr int kMostShortSide = indexed                                   ? 3
                               : kVectorBytes == 64 && sizeof(Lane) >= 4 ? 7
                               : sizeof(Lane) == 8                       ? 3
                               : kVectorBytes == 32 && sizeof(Lane) == 4 ? 7
                                                                         : 5;

// As many columns at most, but of numbers a row more, where doubling would begin with eight rows of a few columns.
template <class Lane, bool indexed>
constexpr int kMostShortRows = kMostShortSide<Lane, indexed> + (kVectorBytes == 64 && kAreOnlyNumbers<Lane, indexed>);

// With AVX-512 oblongs of wide keys take as long by doubling as by code of their own, unless they have positions.
template <class Lane, bool indexed>
constexpr bool kWalksOblongs = indexed || kAreNumbers<Lane> || kVectorBytes < 64 || sizeof(Lane) < 4;

// Whether windows have code of their own: small squares, and oblongs or windows further apart where it is worth it.
template <class Lane, bool indexed>
bool has_own_walk(const PoolJob& job) {
  const PoolAxis &rows = job.rows, &columns = job.columns;
  if (is_stepped<Lane>(rows, columns)) return true;
  constexpr int kMost = kMostShortSide<Lane, indexed>;
  if (!slides_by_one(rows) || rows.length > kMostShortRows<Lane, indexed>) return false;
  if (!slides_by_one(columns) || columns.length > kMost) return false;
  return rows.length == columns.length ? rows.length > 1 : kWalksOblongs<Lane, indexed>;  // one cell is copied
}

// Whether positions are followed in their order (window_ordered_walks.h). Of elements below 32 bits, or narrower than
// their lanes, such walks are not worth the code. With AVX-512 other walks are faster, except for windows two columns
// apart that share most of their rows or are two columns wide, and for lines that fit a vector.
constexpr int64_t kMostOrderedRows = 4;  // that the next windows have, too
template <class Element, class Lane, bool indexed>
bool walks_in_order(const PoolJob& job) {
  if (!indexed || sizeof(Element) != sizeof(Lane) || sizeof(Lane) < 4) return false;
  const PoolAxis &rows = job.rows, &columns = job.columns;
  if (!has_step(rows) || rows.step > kMostRowsApart || kept_rows(rows) > kMostOrderedRows) return false;
  if (!has_step(columns) || columns.step > kMostOrderedApart || columns.length > kMostOrderedColumns) return false;
  if (kVectorBytes < 64) return true;
  if (has_slices(job)) return false;
  const int64_t kept = kept_rows(rows);
  const bool is_narrow = columns.count <= kVectorBytes / static_cast<int64_t>(sizeof(Lane));
  if (columns.step == 2) {
    return rows.step == 1 || (columns.length <= 3 && (is_narrow || kept > 2)) || (columns.length == 2 && kept != 1);
  }
  return is_narrow && (rows.step == 1 || columns.length <= 3) && !walks_flat<Lane, indexed>(job);
}

// Vectors of windows that start one cell apart, which are walked at once: as many as there are registers for, or fewer,
// where their code is not worth its size. A line of 64 windows with padding may take five.
template <class Lane, bool indexed>
constexpr int short_at_once(int64_t height, bool are_squares) {
  const bool is_small = height <= 3 && (are_squares || indexed);
  if (kVectorBytes == 64 && kAreOnlyNumbers<Lane, indexed>) return is_small ? 5 : height < 8 ? 4 : 3;
  return kAreOnlyNumbers<Lane, indexed> || is_small ? 2 : 1;
}

// The same as takes_column_before() of windows that start one column apart: of three columns, as many as the map has.
template <class Lane, bool indexed>
bool takes_neighbours(const PoolJob& job) {
  constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  const PoolAxis &rows = job.rows, &columns = job.columns;
  if (columns.first != -1 || columns.length != 3 || columns.count != columns.size || columns.count % kLanes != 0) {
    return false;
  }
  return slides_by_one(columns) && has_own_walk<Lane, indexed>(job) &&
         columns.count <= kLanes * short_at_once<Lane, indexed>(rows.length, rows.length == columns.length);
}

// Of a line: vectors of windows, and of the map's columns that these reach, in groups of as many as windows are columns
// apart. No window reaches further than into the next group. So many vectors of the last group have no such column.
// `column` is the first that is read: not the first window's where windows take one from the window before.
struct WalkVectors {
  int64_t written, read, missing, column;
};
template <class Lane, bool indexed>
WalkVectors walk_vectors(const PoolJob& job) {
  constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  const PoolAxis& columns = job.columns;
  const bool takes_before = takes_column_before<Lane, indexed>(job) || takes_neighbours<Lane, indexed>(job);
  const int64_t written = (columns.count + kLanes - 1) / kLanes, column = columns.first + takes_before,
                reached = reach_of(columns) - takes_before;
  const int64_t wanted = min(reached, columns.size - column), step = columns.step;
  const int64_t read = wanted > written * kLanes * step ? written + 1 : written;
  return {written, read, min(step - 1, read * step - (wanted + kLanes - 1) / kLanes), column};
}

constexpr int64_t kMostTailVectors = 256;  // of rows

// How many planes' tails a vector has room for, 2 or 4; 0 where it has not, or where that is not worth it.
template <class Lane, bool indexed>
int64_t tails_at_once(const PoolJob& job, int64_t element_size) {
  constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  constexpr int64_t kMostRead = 8;  // vectors of a line: where there are more, the last one is a small part
  // Bytes of planes that are still near when their other columns are walked, and of tensors that a second cache of 2
  // MiB holds. Else memory is better read in its own order.
  constexpr int64_t kNear = 64 << 10, kNearTensor = 7 << 18;
  const PoolAxis &rows = job.rows, &columns = job.columns;
  if (!kHasTails<Lane, indexed> || element_size != sizeof(Lane)) return 0;
  if (!is_flat(job) || job.planes < 2 || rows.count > kBand || rows.first > 0) return 0;
  const int64_t read = walk_vectors<Lane, indexed>(job).read, windows = columns.count - (read - 1) * kLanes;
  if (read < 2 || read > kMostRead) return 0;
  // Where two vectors are mostly walked at once, one alone would take as long.
  if ((!indexed || kAreNumbers<Lane>) && read % 2 == 0) return 0;
  if ((rows.count * rows.step + rows.length) * columns.step > kMostTailVectors) return 0;
  if (tensor_bytes<indexed>(job, element_size) > kNearTensor) return 0;
  // What the tail's windows need, and those before them.
  const int64_t cells = (windows > 0 ? columns.step * (windows - 1) : -1) + columns.length;
  const auto fit = [&](int64_t planes) {
    return planes <= job.planes && planes * cells <= columns.step * kLanes &&
           planes * rows.size * columns.size * element_size <= kNear;
  };
  return fit(4) ? 4 : fit(2) ? 2 : 0;
}

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
