// The maximum over windows that all planes share, and the index of its first cell. Compiled once per target, as are the
// files of each size of element: window_int8.cc to window_int64.cc.
#include "kernels/window.h"

#include "kernels/upper_halves.h"
#include "kernels/window_cell_types.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {

const PoolKernel* pool_kernel(const PoolJob& job, size_t element_size, PoolPlan plan) {
  const ClearsUpperHalves clears;
  return with_element(element_size, [&](auto element) { return pool_kernel_of<decltype(element)>(job, plan); });
}

PoolCosts pool_costs(const PoolJob& job, size_t element_size) {
  const ClearsUpperHalves clears;
  return with_element(element_size, [&](auto element) { return pool_costs_of<decltype(element)>(job); });
}

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
