// Windows over elements of 8 bits.
#include "kernels/window_pools.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {

template const PoolKernel* pool_kernel_of<int8_t>(const PoolJob&, PoolPlan);
template PoolCosts pool_costs_of<int8_t>(const PoolJob&);

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
