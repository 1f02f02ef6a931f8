// Volumes, slices first: the best over each window of slices, cell by cell, is a map in a cache, and a plan for maps
// pools that one.
//
//   slices    s0  s1  s2  s3        windows of slices    max(s0 s1)  max(s1 s2)  ...    maps of other planes
//
// However narrow the maps are, their rows lie one behind the other, so that no lane is empty; and what is left has as
// many cells less as windows have slices.
#pragma once

#include "kernels/numbers.h"
#include "kernels/window_line.h"
#include "kernels/window_list.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Of how many bytes the maps of a unit are, for the first cache, and of how many a single one may be.
constexpr int64_t kMostMapsBytes = 32 << 10, kMostMapBytes = 256 << 10;

// Whether a volume is pooled so: not where windows share most of their slices, as each takes all of its own.
template <class Element, bool indexed>
bool takes_slices_first(const PoolJob& job) {
  constexpr int64_t kMostTimes = 8;
  if (indexed || is_flat(job) || is_identity(job.depth) || !job.depth.windows) return false;
  if (!job.rows.windows || !job.columns.windows) return false;
  if (job.rows.size * job.columns.size > kMostMapBytes / static_cast<int64_t>(sizeof(Element))) return false;
  return cells_of_windows(job.depth) <= kMostTimes * max(job.depth.size, job.depth.count);
}

// A map for each window of slices.
inline int64_t maps_of(const PoolJob& job) { return job.planes * job.depth.count; }
template <class Element>
int64_t maps_per_unit(const PoolJob& job) {
  constexpr int64_t kLanes = kVectorBytes / sizeof(Element);
  const int64_t bytes = job.rows.size * job.columns.size * static_cast<int64_t>(sizeof(Element));
  const int64_t shared = pieces_per_unit(job, maps_of(job), work_of_plane(job) / job.depth.count);
  const int64_t all = max<int64_t>(1, min(kMostMapsBytes / bytes, shared));
  return all > kLanes ? all / kLanes * kLanes : all;  // planes side by side leave no lane empty
}

// What is left of a unit once slices are combined, but for its tensors.
template <class Element>
PoolJob maps_of_unit(const PoolJob& job, int64_t unit) {
  static constexpr Window kOnly = {0, 1};
  const int64_t per_unit = maps_per_unit<Element>(job);
  PoolJob maps = job;
  maps.planes = min(per_unit, maps_of(job) - unit * per_unit);
  maps.depth = {1, 1, false, 0, 1, 1, 1, &kOnly};
  maps.workers = 1;
  return maps;
}

// The best over windows of slices, of `count` maps from `begin` on: of numbers, or of keys that become elements again.
template <class Lane>
class SlicesFolder {
  static constexpr int64_t kLanes = kVectorBytes / sizeof(Lane);
  using V = Vector<Lane, kVectorBytes>;
  using Order = typename OrderFor<Lane, false>::type;

 public:
  // Returns whether a number was NaN, which a maximum of numbers may lose.
  ONNX_MAXPOOL_NOINLINE static bool fold(const PoolJob& job, int64_t begin, int64_t count, Lane* to) {
    const int64_t slice = job.rows.size * job.columns.size, cells = job.depth.size * slice;
    const Lane* plane = static_cast<const Lane*>(job.x) + begin / job.depth.count * cells;
    const Order order(job.order);
    Watches watches;
    int64_t z = begin % job.depth.count;
    for (int64_t i = 0; i < count; ++i, to += slice) {
      const Window window = job.depth.windows[z];
      const Lane* const x = plane + window.start * slice;
      const int64_t slices = window.end - window.start;
      if (slice < kLanes) {
        fold_short(order, x, slices, slice, to, watches);
      } else if (slices == 2) {
        fold_slices<2>(order, x, slices, slice, to, watches);
      } else if (slices == 3) {
        fold_slices<3>(order, x, slices, slice, to, watches);
      } else {
        fold_slices<0>(order, x, slices, slice, to, watches);
      }
      if (++z < job.depth.count) continue;
      z = 0;
      plane += cells;
    }
    return watches.any();
  }

 private:
  // Several, as one would wait for itself.
  struct Watches {
    NanWatch<V> a, b, c, d;
    bool any() const { return a.any() || b.any() || c.any() || d.any(); }
  };

  ONNX_MAXPOOL_INLINE static V element(const Order& order, V key) {
    if constexpr (kAreNumbers<Lane>) return key;
    return order.from_key(key);
  }

  // The best of a vector of cells in so many slices; `slices` is 0 where only `all` says how many.
  template <int slices>
  ONNX_MAXPOOL_INLINE static V best_at(const Order& order, const Lane* x, int64_t all, int64_t slice,
                                       NanWatch<V>& watch) {
    const auto at = [&](int64_t z) ONNX_MAXPOOL_INLINED { return order.to_key(load_once<V>(x + z * slice)); };
    const int64_t number = slices > 0 ? slices : all, in_pairs = number % 2 == 0;
    V best = at(0);
    if (in_pairs) {
      const V next = at(1);
      watch.see(best, next);
      best = max(best, next);
    } else {
      watch.see(best);
    }
    for (int64_t z = 1 + in_pairs; z < number; z += 2) {
      const V a = at(z), b = at(z + 1);
      watch.see(a, b);
      best = max(best, max(a, b));
    }
    return best;
  }

  // The last vector of a slice has some of the cells before it once more.
  template <int slices>
  ONNX_MAXPOOL_INLINE static void fold_slices(const Order& order, const Lane* x, int64_t all, int64_t slice, Lane* to,
                                              Watches& watches) {
    const auto fold_at = [&](int64_t i, NanWatch<V>& watch) ONNX_MAXPOOL_INLINED {
      store(to + i, element(order, best_at<slices>(order, x + i, all, slice, watch)));
    };
    int64_t i = 0;
    for (; i + 4 * kLanes <= slice; i += 4 * kLanes) {
      fold_at(i, watches.a);
      fold_at(i + kLanes, watches.b);
      fold_at(i + 2 * kLanes, watches.c);
      fold_at(i + 3 * kLanes, watches.d);
    }
    if (i + 2 * kLanes <= slice) {
      fold_at(i, watches.a);
      fold_at(i + kLanes, watches.b);
      i += 2 * kLanes;
    }
    if (i + kLanes <= slice) fold_at(i, watches.c);
    if (slice % kLanes > 0) fold_at(slice - kLanes, watches.d);
  }

  ONNX_MAXPOOL_RARE static void fold_short(const Order& order, const Lane* x, int64_t slices, int64_t slice, Lane* to,
                                           Watches& watches) {
    V best = order.to_key(load_n<V>(x, slice));
    watches.a.see(best);
    for (int64_t z = 1; z < slices; ++z) {
      const V next = order.to_key(load_n<V>(x + z * slice, slice));
      watches.b.see(next);
      best = max(best, next);
    }
    store_n(to, element(order, best), slice);
  }
};

// What is left is pooled by `Maps`, which has the functions of a kernel.
template <class Maps, class Element>
class SlicesPool {
  static constexpr int64_t kLine = 64;

 public:
  static int64_t units(const PoolJob& job) {
    const int64_t per_unit = maps_per_unit<Element>(job);
    return (maps_of(job) + per_unit - 1) / per_unit;
  }
  // Other units, and those for more workers, have fewer maps. These may need more memory: walks take the tails of two
  // or four planes together only where all is near.
  static size_t scratch_bytes(const PoolJob& job) {
    constexpr int64_t kFew = 4;
    PoolJob maps = maps_of_unit<Element>(job, 0);
    const auto of_maps = static_cast<size_t>(bytes_of(maps));
    const size_t of_all = Maps::scratch_bytes(maps);
    maps.planes = min(maps.planes, kFew);
    return of_maps + max(of_all, Maps::scratch_bytes(maps));
  }

  static void run(const PoolJob& job, int64_t unit, void* scratch) {
    const int64_t first = unit * maps_per_unit<Element>(job);
    PoolJob maps = maps_of_unit<Element>(job, unit);
    fold(job, first, maps.planes, scratch);
    maps.x = scratch;
    maps.y = static_cast<Element*>(job.y) + first * windows_of_plane(maps);
    void* const rest = static_cast<char*>(scratch) + bytes_of(maps);
    for (int64_t i = 0, all = Maps::units(maps); i < all; ++i) Maps::run(maps, i, rest);
  }

 private:
  static int64_t bytes_of(const PoolJob& maps) {
    const int64_t bytes = maps.planes * cells_of_plane(maps) * static_cast<int64_t>(sizeof(Element));
    return (bytes + kLine - 1) / kLine * kLine;
  }

  static void fold(const PoolJob& job, int64_t first, int64_t count, void* to) {
    using Number = typename PooledAs<Element>::type;
    if constexpr (kAreNumbers<Number>) {
      if (job.order.mask != 0 && compares_numbers() &&
          !SlicesFolder<Number>::fold(job, first, count, static_cast<Number*>(to))) {
        return;
      }
    }
    SlicesFolder<Element>::fold(job, first, count, static_cast<Element*>(to));
  }
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
