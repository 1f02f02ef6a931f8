// A sparse table over the rows of a map: the maximum over any rows from two lines of it, or a few.
//
//   row y of table 0: row y               rows 2 to 9 of the map, of 2^2 rows each:
//   row y of table 1: rows y, y + 1         table 2, row 2: 2 3 4 5
//   row y of table 2: rows y ... y + 3      table 2, row 5:       5 6 7 8
//
// It is filled from the map's last row up. In a sweep each table is a ring buffer of the rows that may still be asked
// for (kept_rows).
//
// Tables of several blocks of channels lie one after the other, so that what is found out about an ROI's lines serves
// all of them.
#pragma once

#include "kernels/roi_map.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Rows of vectors, a vector a column; row y is kept in place `y & mask`.
template <class V>
struct TableRows {
  V* rows;
  int64_t mask, width;
  V* at(int64_t y) const { return rows + (y & mask) * width; }
};

// Lines whose maximum is wanted, each with a vector per column: the last, and `before` of them, of which the n-th is
// row `start + n * step` of a table. They begin with column `origin`, which is 0 in tables.
template <class V>
struct Lines {
  const V* last;
  int64_t origin;
  int64_t before;
  TableRows<V> table;
  int64_t start, step;
  const V* at(int64_t n) const { return table.at(start + n * step); }
};

template <class Key, int bytes>
class SparseTables {
  using V = Vector<Key, bytes>;
  static constexpr int64_t kLanes = bytes / sizeof(Key);

 public:
  static int64_t vectors(const RoiJob& job) { return job.tables.at_once * vectors_of_block(job); }

  // Of the blocks that so many channels fill, from block `first` on, and of the map's rows before `bottom`.
  SparseTables(const RoiJob& job, int64_t image, int64_t first, int64_t channels, V* memory, int64_t bottom)
      : job_(job),
        image_(image),
        first_(first),
        blocks_((channels + kLanes - 1) / kLanes),
        block_(vectors_of_block(job)),
        levels_(job.tables.levels),
        bottom_(bottom),
        width_(job.dims.width),
        packed_rows_(job.tables.sweep || width_ > kPackedCells ? 1 : kPackedCells / width_),
        filled_(bottom) {
    for (int k = 0; k <= levels_; ++k) {
      const KeptRows rows = kept(job, k);
      tables_[k] = {memory, rows.mask, width_};
      memory += rows.count * width_;
    }
  }

  // From the last row that was filled up to `top`.
  ONNX_MAXPOOL_NOINLINE void fill(int64_t top) {
    while (filled_ > top) {
      // Rows of a narrow map together, as they lie one after the other in memory: no lanes are left over in each.
      const int64_t rows = filled_ - top < packed_rows_ ? filled_ - top : packed_rows_;
      filled_ -= rows;
      for (int64_t block = 0; block < blocks_; ++block) {
        const MapBlock<Key, bytes> map(job_, image_, first_ + block);
        has_nan_ |= map.pack(filled_ * width_, rows * width_, tables_[0].at(filled_) + block * block_);
        fill_tables(filled_, rows, block * block_);
      }
    }
  }

  // Whether a number of the map was NaN, in what was filled until now (MapBlock::pack).
  bool has_nan() const { return has_nan_; }

  // Vectors from a block of channels to the next one.
  int64_t block() const { return block_; }

  // The lines that stand for these rows, of which there is one or more.
  ONNX_MAXPOOL_INLINE Lines<V> lines_of(RoiWindow rows) {
    if (rows.start < filled_) fill(rows.start);
    const int most = 31 - __builtin_clz(static_cast<unsigned>(rows.end - rows.start));
    const int k = most < levels_ ? most : levels_;
    const int64_t step = int64_t{1} << k;
    return {tables_[k].at(rows.end - step), 0, (rows.end - rows.start - 1) >> k, tables_[k], rows.start, step};
  }

 private:
  static constexpr int64_t kPackedCells = 256;

  static int64_t vectors_of_block(const RoiJob& job) {
    int64_t rows = 0;
    for (int k = 0; k <= job.tables.levels; ++k) rows += kept(job, k).count;
    return rows * job.dims.width;
  }

  // So many rows from y on of all tables but the first, of the block that is so many vectors on: several are as one.
  void fill_tables(int64_t y, int64_t rows, int64_t block) {
    for (int k = 1; k <= levels_; ++k) {
      const int64_t half = int64_t{1} << (k - 1), last = bottom_ - 2 * half;
      if (last < y) return;
      const V* const upper = tables_[k - 1].at(y) + block;
      const V* const lower = tables_[k - 1].at(y + half) + block;
      V* const to = tables_[k].at(y) + block;
      const int64_t count = (last < y + rows - 1 ? last - y + 1 : rows) * width_;
      for (int64_t x = 0; x < count; ++x) to[x] = max(upper[x], lower[x]);
    }
  }

  static KeptRows kept(const RoiJob& job, int k) {
    return kept_rows(job.dims.height, job.tables.tallest, job.tables.levels, job.tables.sweep, k);
  }

  const RoiJob& job_;
  const int64_t image_, first_, blocks_, block_;
  const int levels_;
  const int64_t bottom_, width_, packed_rows_;
  TableRows<V> tables_[kMostLevels + 1];
  int64_t filled_;  // the topmost row that the tables have
  bool has_nan_ = false;
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
