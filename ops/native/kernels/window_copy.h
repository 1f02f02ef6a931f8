// Windows of one cell each, one after the other: outputs are the cells. So it is where an adaptive size is the map's
// own.
#pragma once

#include "kernels/simd/order.h"
#include "kernels/window.h"
#include "kernels/window_list.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Cells one after the other. With indices, cells that are equal have one output, as where windows have several (G4,
// G5). Not by memcpy, which takes up to five times as long where it leaves the work to the processor (rep movsb of
// AMD's Zen 3).
template <bool indexed, class Element>
void copy_cells(Order job_order, const Element* x, int64_t cells, Element* y) {
  using V = Vector<Element, kVectorBytes>;
  constexpr int64_t kLanes = kVectorBytes / sizeof(Element);
  const TieOrder<Element> order(job_order);
  const auto output = [&](const V& bits) { return indexed ? order.from_key(order.to_key(bits)) : bits; };
  int64_t i = 0;
  for (; i + kLanes <= cells; i += kLanes) {
    prefetch_next_page(x + i);
    store(y + i, output(load<V>(x + i)));
  }
  if (i < cells) store_n(y + i, output(load_n<V>(x + i, cells - i)), cells - i);
}

template <class Element, bool indexed>
class CopyPool : public UnitsOfLines {
 public:
  static bool takes(const PoolJob& job) {
    return is_identity(job.depth) && is_identity(job.rows) && is_identity(job.columns);
  }

  static size_t scratch_bytes(const PoolJob&) { return 0; }

  static void run(const PoolJob& job, int64_t unit, void*) {
    const Window lines = lines_of_unit(job, unit);
    const int64_t begin = lines.start * job.columns.size, end = lines.end * job.columns.size;
    copy_cells<indexed>(job.order, static_cast<const Element*>(job.x) + begin, end - begin,
                        static_cast<Element*>(job.y) + begin);
    if constexpr (indexed) {
      with_indices(job, [&](auto* indices) { number(job, begin, end, indices); });
    }
  }

 private:
  // Each cell's position in its plane.
  template <class Index>
  static void number(const PoolJob& job, int64_t begin, int64_t end, Index* indices) {
    const int64_t cells = cells_of_plane(job), plane = begin / cells;
    auto first = static_cast<Index>(plane * (job.index_step - cells));  // of cell 0, as the plane's cells go on from it
    const auto next = static_cast<Index>(job.index_step - cells);
    for (int64_t plane_end = (plane + 1) * cells; begin < end; plane_end += cells, first += next) {
      const int64_t stop = plane_end < end ? plane_end : end;
      for (; begin < stop; ++begin) indices[begin] = first + static_cast<Index>(begin);
    }
  }
};

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
