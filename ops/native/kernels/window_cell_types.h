// Elements of a job, and the lanes that kernels widen them to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/window.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// A job's cells as the kernels take them: elements, widened to lanes that hold every position in a plane and one more
// where positions are wanted.
template <class Element_, class Lane_, bool indexed_>
struct CellTypes {
  using Element = Element_;
  using Lane = Lane_;
  static constexpr bool kIndexed = indexed_;
};

// use(CellTypes) of the job's cells, if they are of this element.
template <class Element, class Use>
auto with_lanes(const PoolJob& job, Use use) {
  if (!job.indices) return use(CellTypes<Element, Element, false>());
  const int64_t cells = cells_of_plane(job);
  if constexpr (sizeof(Element) <= 2) {
    if (cells < int64_t{1} << 15) return use(CellTypes<Element, int16_t, true>());
  }
  if constexpr (sizeof(Element) <= 4) {
    if (cells < int64_t{1} << 31) return use(CellTypes<Element, int32_t, true>());
  }
  return use(CellTypes<Element, int64_t, true>());
}

// use(element) with an integer of so many bytes.
template <class Use>
auto with_element(size_t size, Use use) {
  switch (size) {
    case 1:
      return use(int8_t{});
    case 2:
      return use(int16_t{});
    case 4:
      return use(int32_t{});
    default:
      return use(int64_t{});
  }
}

}  // namespace

// What window.cc asks of the files of each size of element.
template <class Element>
const PoolKernel* pool_kernel_of(const PoolJob& job, PoolPlan plan);
template <class Element>
PoolCosts pool_costs_of(const PoolJob& job);

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
