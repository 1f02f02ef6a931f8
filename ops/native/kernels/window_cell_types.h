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

// use(CellTypes) of the job's cells.
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
template <class Use>
auto with_cells(const PoolJob& job, size_t element_size, Use use) {
  switch (element_size) {
    case 1:
      return with_lanes<int8_t>(job, use);
    case 2:
      return with_lanes<int16_t>(job, use);
    case 4:
      return with_lanes<int32_t>(job, use);
    default:
      return with_lanes<int64_t>(job, use);
  }
}

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
