// Windows of one cell each, several rows or columns apart: outputs are some of the cells, as in the coarsest level of a
// feature pyramid (windows of 1x1 with stride 2).
#pragma once

#include "kernels/window.h"
#include "kernels/window_copy.h"
#include "kernels/window_line.h"
#include "kernels/window_strides.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Element, bool indexed>
class SamplePool : public UnitsOfLines {
  using V = Vector<Element, kVectorBytes>;
  static constexpr int64_t kLanes = kVectorBytes / sizeof(Element);
  static constexpr int64_t kLine = 64 / sizeof(Element), kNear = kNearBytes / sizeof(Element);

 public:
  static bool takes(const PoolJob& job) {
    return is_sampled(job.depth) && is_sampled(job.rows) && is_sampled(job.columns);
  }

  static size_t scratch_bytes(const PoolJob&) { return 0; }

  static void run(const PoolJob& job, int64_t unit, void*) {
    const Window lines = lines_of_unit(job, unit);
    const int64_t begin = lines.start * job.columns.count, end = lines.end * job.columns.count;
    Element* const y = static_cast<Element*>(job.y);
    const SamplePool pool(job, y + end);
    pool.sample(lines, y + begin);
    if constexpr (indexed) {
      copy_cells<indexed>(job.order, y + begin, end - begin, y + begin);
      with_indices(job, [&](auto* indices) { pool.number(lines, indices + begin); });
    }
  }

 private:
  SamplePool(const PoolJob& job, const Element* y_end)
      : job_(job),
        y_end_(y_end),
        x_end_(static_cast<const Element*>(job.x) + job.planes * cells_of_plane(job)),
        first_(job.columns.size == 1 ? 0 : job.columns.first),
        step_(job.columns.count == 1 ? 1 : job.columns.step),
        per_line_(kLine > step_ ? kLine / step_ : 1),
        ahead_(rows_ahead<Element>(job)),
        is_far_(job.planes * cells_of_plane(job) > kNear) {}

  // No window is empty, so that the only one of a single cell has it.
  static bool is_sampled(const PoolAxis& axis) {
    return axis.size == 1 ? axis.count == 1 : has_step(axis) && axis.length == 1;
  }

  void sample(Window lines, Element* y) const {
    if (step_ == 1) return sample<1>(lines, y);
    if (step_ == 2) return sample<2>(lines, y);
    sample<0>(lines, y);
  }

  template <int step>
  ONNX_MAXPOOL_NOINLINE void sample(Window lines, Element* y) const {
    const int64_t count = job_.columns.count;
    each_row(lines, [&](int64_t plane, int64_t row) {
      sample_row<step>(static_cast<const Element*>(job_.x) + plane + row, count, y);
      y += count;
    });
  }

  // So many cells. What is written beyond the row is overwritten later.
  template <int step>
  ONNX_MAXPOOL_INLINE void sample_row(const Element* x, int64_t count, Element* y) const {
    if (is_far_) {
      for (int64_t i = 0; i < count; i += per_line_) prefetch<Cache::second>(x + step_ * i, ahead_);
    }
    int64_t i = 0;
    if constexpr (step > 0) {
      for (; i < count && y_end_ - y - i >= kLanes && x_end_ - x - step * i >= step * kLanes; i += kLanes) {
        Cells<Element, false> cells[step];
        for (int v = 0; v < step; ++v) cells[v].key = load<V>(x + step * i + v * kLanes);
        store(y + i, of_each<Of::first, step>(cells).key);
      }
    }
    for (; i < count; ++i) y[i] = x[step_ * i];
  }

  // Each cell's position in its plane.
  template <class Index>
  void number(Window lines, Index* indices) const {
    using Indices = Vector<Index, kVectorBytes>;
    constexpr int64_t kAtOnce = kVectorBytes / sizeof(Index);
    const int64_t count = job_.columns.count, step = step_, cells = cells_of_plane(job_);
    const Index* const end = indices + (lines.end - lines.start) * count;
    const Indices steps = lane_numbers<Index>() * static_cast<Index>(step);
    each_row(lines, [&](int64_t plane, int64_t row) {
      const int64_t first = plane / cells * job_.index_step + row;
      int64_t i = 0;
      for (; i < count && end - indices - i >= kAtOnce; i += kAtOnce) {
        store(indices + i, steps + static_cast<Index>(first + step * i));
      }
      for (; i < count; ++i) indices[i] = static_cast<Index>(first + step * i);
      indices += count;
    });
  }

  // use(plane, cell) for each line: the number of its plane's first cell, and from there that of its own first one.
  template <class Use>
  ONNX_MAXPOOL_INLINE void each_row(Window lines, const Use& use) const {
    const PoolAxis rows = job_.rows;
    const int64_t width = job_.columns.size;
    each_slice(job_, lines.start, lines.end, [&](int64_t plane, Window depth, Window slice) {
      for (int64_t line = slice.start; line < slice.end; ++line) {
        use(plane, (depth.start * rows.size + window_at(rows, line).start) * width + first_);
      }
      return true;
    });
  }

  const PoolJob& job_;
  const Element *const y_end_, *const x_end_;
  const int64_t first_, step_;
  const int64_t per_line_, ahead_;  // cells of a line of memory; how far ahead lines are fetched
  const bool is_far_;               // no near cache holds the tensor, so that they should be
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
