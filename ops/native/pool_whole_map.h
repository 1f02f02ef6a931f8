// The maximum over whole maps of narrow elements, and the index of its first cell. Compiled once per target.
//
// To know where the maximum is, pool_window.cc follows each lane's position. Where that takes lanes wider than
// elements, it is faster to take the maximum alone, block by block, and to look for it in the first block that has it.
#pragma once

#include "pool_window.h"
#include "simd.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Element>
class WholeMapPool {
  using V = Vector<Element, kVectorBytes>;
  static constexpr int64_t kLanes = kVectorBytes / sizeof(Element);
  static constexpr int64_t kSearched = 8 * kLanes;  // at once, cells where one may be the maximum
  static constexpr int64_t kBlock = 8 * kSearched;
  static constexpr int64_t kCellsPerUnit = int64_t{1} << 16;

 public:
  // Whether the job's windows are whole maps, one or several along its depth, and large enough.
  static bool takes(const PoolJob& job) {
    const auto is_whole = [](const PoolAxis& axis) {
      return axis.count == 1 && axis.windows[0].start == 0 && axis.windows[0].end == axis.size;
    };
    return is_whole(job.rows) && is_whole(job.columns) && map_cells(job) >= kBlock;
  }

  static int64_t units(const PoolJob& job) {
    const int64_t per_unit = windows_per_unit(job);
    return (job.planes * job.depth.count + per_unit - 1) / per_unit;
  }
  static size_t scratch_bytes(const PoolJob&) { return 0; }

  static void run(const PoolJob& job, int64_t unit, void*) {
    const int64_t per_unit = windows_per_unit(job), begin = unit * per_unit, windows = job.planes * job.depth.count;
    WholeMapPool pool(job);
    for (int64_t i = begin; i < windows && i < begin + per_unit; ++i) pool.pool_window(i);
  }

 private:
  explicit WholeMapPool(const PoolJob& job) : job_(job), order_(job.order), key_order_(job.order) {}

  static int64_t map_cells(const PoolJob& job) { return job.rows.size * job.columns.size; }
  static int64_t windows_per_unit(const PoolJob& job) {
    const Window window = job.depth.windows[job.depth.count / 2];
    const int64_t cells = (window.end - window.start) * map_cells(job);
    return cells < kCellsPerUnit ? kCellsPerUnit / cells : 1;
  }

  void pool_window(int64_t number) {
    const int64_t plane = number / job_.depth.count, maps = map_cells(job_);
    const Window depth = job_.depth.windows[number % job_.depth.count];
    const Element* first = static_cast<const Element*>(job_.x) + plane * job_.depth.size * maps;
    const Element* const end = first + depth.end * maps;
    const Element* block = first + depth.start * maps;
    Element best = greatest(block, end);
    for (const Element* next = block + kBlock; next < end; next += kBlock) {
      const Element key = greatest(next, end);
      if (key <= best) continue;
      best = key;
      block = next;
    }
    static_cast<Element*>(job_.y)[number] = key_order_.from_key(V{} + best)[0];
    const int64_t index = plane * job_.index_step + (position(block, end, best) - first);
    if (job_.indices_are_64_bits) {
      static_cast<uint64_t*>(job_.indices)[number] = static_cast<uint64_t>(index);
    } else {
      static_cast<uint32_t*>(job_.indices)[number] = static_cast<uint32_t>(index);
    }
  }

  // The greatest key of a block that begins here, and of cells before it where less than a vector is left: these are
  // the window's too, and no greater than what is known of it.
  Element greatest(const Element* from, const Element* end) const {
    const Element* last = end - kLanes;
    V best[4];
    for (V& each : best) each = keys(from < last ? from : last);
    if (end - from >= kBlock) {
      for (int64_t x = 0; x < kBlock; x += 4 * kLanes) {
        for (int i = 0; i < 4; ++i) {
          prefetch_next_page(from + x + i * kLanes);
          best[i] = max(best[i], keys(from + x + i * kLanes));
        }
      }
    } else {
      for (; from < last; from += kLanes) best[0] = max(best[0], keys(from));
      best[0] = max(best[0], keys(last));
    }
    Element lanes[kLanes];
    store(lanes, order_.merged(max(max(best[0], best[1]), max(best[2], best[3]))));
    Element result = lanes[0];
    for (int i = 1; i < kLanes; ++i) result = lanes[i] > result ? lanes[i] : result;
    return result;
  }

  // The first cell with this key, which is one of the block's. No earlier cell of the window has it.
  const Element* position(const Element* from, const Element* end, Element key) const {
    const Element* last = end - kLanes;
    const auto found = [&](const Element* x) { return order_.merged(keys(x < last ? x : last)) == V{} + key; };
    for (;; from += kSearched) {
      V any_found = found(from);
      for (int64_t x = kLanes; x < kSearched; x += kLanes) any_found |= found(from + x);
      if (any(any_found)) break;
    }
    while (!any(found(from))) from += kLanes;
    if (from > last) from = last;
    Element lanes[kLanes];
    store(lanes, order_.merged(keys(from)));
    int i = 0;
    while (lanes[i] != key) ++i;
    return from + i;
  }

  V keys(const Element* from) const { return key_order_.to_key(load<V>(from)); }

  const PoolJob& job_;
  const TieOrder<Element> order_;
  const KeyOrder<Element> key_order_;
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
