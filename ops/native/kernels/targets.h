// Which kernels were compiled (of those in targets.inc), and which of them this processor runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/roi.h"
#include "kernels/window.h"

namespace onnx_maxpool {

// The kernels of one target.
struct Kernels {
  const char* target;
  // False, and nothing of use, where an ROI's image is not there, or an edge is NaN, or 2^22 cells or more from the
  // map's first before it is rounded.
  bool (*roi_windows)(const RoiRows&);
  const RoiKernel& (*roi)(size_t element_size, int64_t channels);
  // Null where the job cannot be computed so.
  const PoolKernel* (*pool)(const PoolJob&, size_t element_size, PoolPlan);
  PoolCosts (*pool_costs)(const PoolJob&, size_t element_size);
};

struct Target {
  Kernels kernels;
  bool runs_here;
};

// All that were compiled, worst first.
std::vector<Target> targets();

// The best target that this processor runs, or the one that the environment variable ONNX_MAXPOOL_TARGET names.
// Chosen once. Throws Error where that names none that was compiled and that this processor runs.
const Kernels& kernels();
// Those for a run of little work, chosen with kernels(): the best target whose vectors have at most 32 bytes, as all of
// a process is slower for a while after wider ones, or the one that is named.
const Kernels& kernels_for_little();

}  // namespace onnx_maxpool
