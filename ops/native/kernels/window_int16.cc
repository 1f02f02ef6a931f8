// Windows over elements of 16 bits.
#include "kernels/window_pools.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {

template const PoolKernel* pool_kernel_of<int16_t>(const PoolJob&, PoolPlan);
template PoolCosts pool_costs_of<int16_t>(const PoolJob&);

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
