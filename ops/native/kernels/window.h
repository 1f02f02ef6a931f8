// The maximum over windows that all planes share: what the kernel needs to know, and its entry points.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/element_type.h"
#include "base/window.h"

namespace onnx_maxpool {

// The windows along one axis. They are arithmetic, and only few are listed: a tensor may have as many windows as bytes,
// and a list of those would take many times its memory. The kernel has nothing to check: none is empty.
constexpr int64_t kMostListed = 4096;
struct PoolAxis {
  int64_t size;   // cells
  int64_t count;  // windows
  // Even windows share out the axis (A2): window i is [floor(i*n / count), ceil((i+1)*n / count)) of n = size / grain.
  // Others are [first + i*step, first + i*step + length), clipped into [0, n) (P4).
  bool even;
  int64_t first, step, length;
  int64_t grain = 1;                // cells that windows take as one
  const Window* windows = nullptr;  // where there are no more than kMostListed
};

// A planned run over a tensor of planes. Pointers are borrowed.
struct PoolJob {
  const void* x;  // (planes, depth.size, rows.size, columns.size)
  void* y;        // (planes, depth.count, rows.count, columns.count)
  void* indices;  // the same shape, of the first cell that holds the maximum (G5); null where they are not wanted
  bool indices_are_64_bits;
  int64_t index_step;  // from a plane's first index to the next one's; the first plane's is 0
  int64_t planes;
  PoolAxis depth, rows, columns;
  Order order;
  int64_t workers = 1;  // for which there is to be work, however little it is
  // Walks over more than a core's own caches fetch what comes next if that should help; or if it should not.
  bool fetches_otherwise = false;
};

// Work comes in units that may run in any order and on any thread, each with `scratch_bytes(job)` of its own memory,
// aligned to 64 bytes.
struct PoolKernel {
  int64_t (*units)(const PoolJob&);
  size_t (*scratch_bytes)(const PoolJob&);
  void (*run)(const PoolJob&, int64_t unit, void* scratch);
};

// How a job is computed: by the rows of its maps (kernels/window_rows.h), by whole maps (kernels/window_maps.h), with
// planes side by side (kernels/window_planes.h), by lookups (kernels/window_lookups.h), by walks down the columns
// (kernels/window_walks.h), or with the slices of volumes combined first (kernels/window_slices.h). By rows every job
// can be.
enum class PoolPlan { rows, maps, planes, lookups, walks, slices };
constexpr PoolPlan kPoolPlans[] = {PoolPlan::rows,    PoolPlan::maps,  PoolPlan::planes,
                                   PoolPlan::lookups, PoolPlan::walks, PoolPlan::slices};
constexpr const char* kPoolPlanNames[] = {"rows", "maps", "planes", "lookups", "walks", "slices"};

// What a job takes by each of kPoolPlans, in about tenths of nanoseconds, as the cost model has it: infinity by one
// that cannot compute it, or that is known to be worse.
struct PoolCosts {
  double of[sizeof kPoolPlans / sizeof *kPoolPlans];
  bool may_fetch = false;  // walks: then PoolJob::fetches_otherwise makes a difference
};

// How many pieces of work make up a unit, where a job has so many, of so many cells each: as many as read a part of a
// cache; fewer where workers would go without, or would wait for one that has more than the others. Internal to each
// file, as kernels are compiled for processors of their own.
static inline int64_t pieces_per_unit(const PoolJob& job, int64_t pieces, int64_t cells) {
  constexpr int64_t kCells = int64_t{1} << 16;
  // A small job would notice the divisions.
  if (int64_t all; job.workers == 1 && !__builtin_mul_overflow(pieces, cells, &all) && all <= kCells) return pieces;
  const int64_t most = cells < kCells ? kCells / cells : 1, units = (pieces + most - 1) / most;
  if (units >= 4 * job.workers) return most;
  const int64_t shared = (units + job.workers - 1) / job.workers * job.workers;
  return (pieces + shared - 1) / shared;
}

static inline int64_t cells_of_plane(const PoolJob& job) { return job.depth.size * job.rows.size * job.columns.size; }
static inline int64_t windows_of_plane(const PoolJob& job) {
  return job.depth.count * job.rows.count * job.columns.count;
}
// Whichever are more.
static inline int64_t work_of_plane(const PoolJob& job) {
  const int64_t cells = cells_of_plane(job), windows = windows_of_plane(job);
  return cells > windows ? cells : windows;
}

}  // namespace onnx_maxpool
