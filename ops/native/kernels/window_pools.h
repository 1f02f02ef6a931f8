// The plans for elements of one size. Each of the files that include this makes them for one: they are most of what
// there is to compile, and compilers work on files side by side.
//
// There are six plans, of which the caller says which: by rows (window_rows.h), by maps (window_maps.h), by planes
// (window_planes.h), by lookups (window_lookups.h), by walks (window_walks.h), and by any of these once slices are
// combined (window_slices.h). window_cost.h tells what each takes.
// Large windows of narrow elements are pooled by window_large.h where indices are wanted. Where each cell is a window,
// window_copy.h copies it; where windows are some of the cells, window_samples.h does.
#pragma once

#include "kernels/numbers.h"
#include "kernels/upper_halves.h"
#include "kernels/window_cell_types.h"
#include "kernels/window_copy.h"
#include "kernels/window_cost.h"
#include "kernels/window_large.h"
#include "kernels/window_lookups.h"
#include "kernels/window_maps.h"
#include "kernels/window_planes.h"
#include "kernels/window_rows.h"
#include "kernels/window_samples.h"
#include "kernels/window_slices.h"
#include "kernels/window_walks.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

template <class Pool>
const PoolKernel* kernel_of() {
  static constexpr PoolKernel kernel = {cleared<Pool::units>, cleared<Pool::scratch_bytes>, cleared<Pool::run>};
  return &kernel;
}

// The same of what pools numbers too, where there are any. Where keys have to pool them after all, a zero becomes +0,
// as that of numbers is, and as keys that follow positions make it: whether there is a NaN elsewhere must not be seen,
// nor how a thread's processor is set. By integers, as a processor that takes small numbers for 0 would make them 0.
template <template <class, class, bool> class Pool, class Types>
void run_pool(const PoolJob& job, int64_t unit, void* scratch) {
  using Keys = Pool<typename Types::Element, typename Types::Lane, Types::kIndexed>;
  using Number = typename PooledAs<typename Types::Element>::type;
  if constexpr (kAreNumbers<Number> && sizeof(Number) == sizeof(typename Types::Lane)) {
    if (job.order.mask != 0) {
      if (compares_numbers() && Pool<Number, Number, Types::kIndexed>::run(job, unit, scratch)) return;
      Keys::run(job, unit, scratch);
      if constexpr (Types::kIndexed) return;
      Keys::each_piece(job, unit, [&](int64_t begin, int64_t end) {
        using Bits = typename Types::Element;
        const Bits negative_zero = static_cast<Bits>(~job.order.mask);
        Bits* const y = static_cast<Bits*>(job.y);
        for (int64_t i = begin; i < end; ++i) y[i] = y[i] == negative_zero ? Bits{} : y[i];
      });
      return;
    }
  }
  Keys::run(job, unit, scratch);
}
template <template <class, class, bool> class Pool, class Types>
struct NumberPool {
  using Keys = Pool<typename Types::Element, typename Types::Lane, Types::kIndexed>;
  static int64_t units(const PoolJob& job) { return Keys::units(job); }
  static size_t scratch_bytes(const PoolJob& job) { return Keys::scratch_bytes(job); }
  static void run(const PoolJob& job, int64_t unit, void* scratch) { run_pool<Pool, Types>(job, unit, scratch); }
};

// The ways to pool such cells.
template <class Types>
struct Pools {
  using Element = typename Types::Element;
  using Lane = typename Types::Lane;
  static constexpr bool kIndexed = Types::kIndexed;
  // Whether positions of narrower elements need 64 bits, as of 2^31 cells: too seldom for more than the way that takes
  // all windows to be worth its code.
  static constexpr bool kIsHuge = kIndexed && sizeof(Lane) == 8 && sizeof(Element) < 8;
  using Copies = CopyPool<Element, kIndexed>;
  using Samples = SamplePool<Element, kIndexed>;
  using Planes = PlanesPool<Element, Lane, kIndexed>;
  using Maps = MapPool<Element, Lane, kIndexed>;
  using Walks = WalkPool<Element, Lane, kIndexed>;

  // Null where the plan cannot compute the job.
  static const PoolKernel* kernel(const PoolJob& job, PoolPlan plan) {
    if (plan == PoolPlan::slices) return by_slices(job);
    if (plan == PoolPlan::rows) {
      if (const PoolKernel* const kernel = one_way(job)) return kernel;
    }
    return kernel_by<false>(job, plan);
  }

  static PoolCosts costs(const PoolJob& job) {
    if (kIsHuge || one_way(job)) return only_rows(job);
    PoolCosts costs = costs_of_maps(job);
    if (takes_slices_first<Element, kIndexed>(job)) costs.of[static_cast<int>(PoolPlan::slices)] = slices_cost(job);
    return costs;
  }

 private:
  // By all plans but slices.
  static PoolCosts costs_of_maps(const PoolJob& job) {
    if constexpr (kIsHuge) {
      return only_rows(job);
    } else {
      PoolCosts costs = costs_of<Element, Lane, kIndexed>(job, Maps::takes(job), Planes::takes(job), Walks::takes(job));
      if constexpr (Walks::kIsFaster) costs.may_fetch = Walks::may_fetch(job);
      return costs;
    }
  }

  // The plan for the maps of a unit once their slices are combined, and what it takes.
  struct MapsPlan {
    PoolPlan plan;
    double cost;
  };
  static MapsPlan maps_plan(const PoolJob& maps) {
    const PoolCosts costs = costs_of_maps(maps);
    MapsPlan best = {PoolPlan::rows, kNever};
    for (const PoolPlan plan : kPoolPlans) {
      const double cost = costs.of[static_cast<int>(plan)];
      if (cost < best.cost) best = {plan, cost};
    }
    return best;
  }
  static double slices_cost(const PoolJob& job) {
    const PoolJob maps = maps_of_unit<Element>(job, 0);
    const double units = static_cast<double>(job.planes * job.depth.count) / static_cast<double>(maps.planes);
    const JobCost<Lane, kIndexed> cost(job, sizeof(Element), kPlanCosts<kIndexed, sizeof(Lane) == 8>);
    return cost.of_slices() + units * maps_plan(maps).cost;
  }
  static const PoolKernel* by_slices([[maybe_unused]] const PoolJob& job) {
    if constexpr (!kIndexed) {
      if (takes_slices_first<Element, kIndexed>(job)) {
        const PoolJob maps = maps_of_unit<Element>(job, 0);
        return kernel_by<true>(maps, maps_plan(maps).plan);
      }
    }
    return nullptr;
  }

  // Of maps, which may be those of slices that are combined first.
  template <bool slices_first>
  static const PoolKernel* kernel_by(const PoolJob& job, PoolPlan plan) {
    if (plan == PoolPlan::rows) return by_rows<slices_first>(job);
    if constexpr (!kIsHuge) {
      if (plan == PoolPlan::planes && Planes::takes(job)) return kernel_of_maps<PlanesPool, slices_first>();
      if (plan == PoolPlan::lookups) return by_lookups<slices_first>(job);
      if (plan == PoolPlan::maps && Maps::takes(job)) return kernel_of_maps<MapPool, slices_first>();
    }
    if constexpr (Walks::kIsFaster) {
      if (plan == PoolPlan::walks && Walks::takes(job)) return kernel_of_maps<WalkPool, slices_first>();
    }
    return nullptr;
  }
  template <template <class, class, bool> class Pool, bool slices_first>
  static const PoolKernel* kernel_of_maps() {
    using OfMaps = NumberPool<Pool, Types>;
    if constexpr (slices_first) {
      return kernel_of<SlicesPool<OfMaps, Element>>();
    } else {
      return kernel_of<OfMaps>();
    }
  }

  // The kernel of a job for which no plan is better than a way of its own; null of others.
  static const PoolKernel* one_way(const PoolJob& job) {
    if (Copies::takes(job)) return kernel_of<Copies>();
    if (Samples::takes(job)) return kernel_of<Samples>();
    if constexpr (kIndexed && sizeof(Element) <= 2 && sizeof(Lane) >= 4) {
      if (LargeWindowPool<Element>::takes(job)) return kernel_of<LargeWindowPool<Element>>();
    }
    return nullptr;
  }

  template <bool slices_first>
  static const PoolKernel* by_rows(const PoolJob& job) {
    if constexpr (!kIsHuge) {
      if (is_sliding(job.columns, kVectorBytes / sizeof(Lane))) return kernel_of_maps<SlidingPool, slices_first>();
    }
    return kernel_of_maps<GatheringPool, slices_first>();
  }

  template <bool slices_first>
  static const PoolKernel* by_lookups([[maybe_unused]] const PoolJob& job) {
#if defined(__AVX512BW__)
    if constexpr (sizeof(Lane) > 1) {
      using Lookups = LookupPool<Element, Lane, kIndexed>;
      if (Lookups::takes(job)) return kernel_of_maps<LookupPool, slices_first>();
    }
#endif
    return nullptr;
  }
};

}  // namespace

template <class Element>
const PoolKernel* pool_kernel_of(const PoolJob& job, PoolPlan plan) {
  return with_lanes<Element>(job, [&](auto types) { return Pools<decltype(types)>::kernel(job, plan); });
}

template <class Element>
PoolCosts pool_costs_of(const PoolJob& job) {
  return with_lanes<Element>(job, [&](auto types) { return Pools<decltype(types)>::costs(job); });
}

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
