// The maximum over large windows of narrow elements, and the index of its first cell. Compiled once per target.
//
// To know where the maximum is, the plans follow each lane's position. Where that takes lanes wider than
// elements, it is faster to take the maximum alone, block by block, and to look for it in the first block that has it.
#pragma once

#include "kernels/simd/order.h"
#include "kernels/simd/shuffle.h"
#include "kernels/window.h"
#include "kernels/window_list.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Element>
class LargeWindowPool {
  using V = Vector<Element, kVectorBytes>;
  static constexpr int64_t kLanes = kVectorBytes / sizeof(Element);
  static constexpr int64_t kSearched = 8 * kLanes;  // at once, cells where one may be the maximum
  static constexpr int64_t kBlock = 8 * kSearched;

 public:
  // Whether the job's windows are one row of them, of a map of one row, as those of whole maps are
  // (operators/window_op.cc), and large enough. An axis of one cell may have several windows.
  static bool takes(const PoolJob& job) {
    if (!is_flat(job) || job.rows.size > 1 || job.rows.count > 1) return false;
    // No other one is smaller than these: it is clipped less, or its edges are rounded as well.
    const Window first = window_at(job.columns, 0), last = window_at(job.columns, job.columns.count - 1);
    const int64_t smallest =
        first.end - first.start < last.end - last.start ? first.end - first.start : last.end - last.start;
    return smallest >= kBlock;
  }

  static int64_t units(const PoolJob& job) {
    const int64_t per_unit = windows_per_unit(job);
    return (windows(job) + per_unit - 1) / per_unit;
  }
  static size_t scratch_bytes(const PoolJob&) { return 0; }

  static void run(const PoolJob& job, int64_t unit, void*) {
    const int64_t per_unit = windows_per_unit(job), begin = unit * per_unit;
    LargeWindowPool pool(job);
    for (int64_t i = begin; i < windows(job) && i < begin + per_unit; ++i) pool.pool_window(i);
  }

 private:
  explicit LargeWindowPool(const PoolJob& job) : job_(job), order_(job.order) {}

  static int64_t windows(const PoolJob& job) { return job.planes * job.columns.count; }
  static int64_t windows_per_unit(const PoolJob& job) {
    const Window window = window_at(job.columns, job.columns.count / 2);
    return pieces_per_unit(job, windows(job), window.end - window.start);
  }

  void pool_window(int64_t number) {
    const int64_t plane = number / job_.columns.count;
    const Element* row = static_cast<const Element*>(job_.x) + plane * job_.columns.size;
    const Window window = window_at(job_.columns, number % job_.columns.count);
    int64_t block = window.start;
    Element best = greatest(row, block, window.end);
    for (int64_t next = block + kBlock; next < window.end; next += kBlock) {
      const Element key = greatest(row, next, window.end);
      if (key <= best) continue;
      best = key;
      block = next;
    }
    static_cast<Element*>(job_.y)[number] = order_.from_key(V{} + best)[0];
    const int64_t index = plane * job_.index_step + position(row, block, window.end, best);
    set_index(job_, number, index);
  }

  // The greatest key of a block that begins here, and of cells before it where less than a vector is left: these are
  // the window's too, and no greater than what is known of it.
  Element greatest(const Element* row, int64_t from, int64_t end) const {
    const int64_t last = end - kLanes;
    V best[4];
    for (V& each : best) each = keys(row + (from < last ? from : last));
    if (from + kBlock <= end) {
      for (int64_t x = from; x < from + kBlock; x += 4 * kLanes) {
        for (int i = 0; i < 4; ++i) {
          prefetch_next_page(row + x + i * kLanes);
          best[i] = max(best[i], keys(row + x + i * kLanes));
        }
      }
    } else {
      for (int64_t x = from; x < last; x += kLanes) best[0] = max(best[0], keys(row + x));
      best[0] = max(best[0], keys(row + last));
    }
    return greatest_lane<Element>(order_.merged(max(max(best[0], best[1]), max(best[2], best[3]))));
  }

  // The first cell with this key, which is one of the block's that begins here. No earlier cell of the window has it.
  int64_t position(const Element* row, int64_t from, int64_t end, Element key) const {
    const int64_t last = end - kLanes;
    const auto found = [&](int64_t x) { return order_.merged(keys(row + (x < last ? x : last))) == V{} + key; };
    for (;; from += kSearched) {
      V any_found = found(from);
      for (int64_t x = kLanes; x < kSearched; x += kLanes) any_found |= found(from + x);
      if (!all_false(any_found)) break;
    }
    while (all_false(found(from))) from += kLanes;
    if (from > last) from = last;
    Element lanes[kLanes];
    store(lanes, order_.merged(keys(row + from)));
    int i = 0;
    while (lanes[i] != key) ++i;
    return from + i;
  }

  // Before equal keys are merged.
  V keys(const Element* from) const { return order_.KeyOrder<Element>::to_key(load<V>(from)); }

  const PoolJob& job_;
  const TieOrder<Element> order_;
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
