#include "operators/window_op.h"

#include <algorithm>

#include "base/window_plan.h"
#include "facts.h"
#include "kernels/targets.h"

namespace onnx_maxpool {
namespace {

// Roughly, whatever the windows. An index is an output of its own.
constexpr double kCyclesPerCell = 0.5, kCyclesPerOutput = 1;

const char* spelling(ElementType type) {
  for (const IndexSpelling& known : kIndexSpellings) {
    if (known.type == type) return known.name;
  }
  return "";
}

// Undefined where nothing is spelled so.
ElementType spelled(const std::string& name) {
  for (const IndexSpelling& known : kIndexSpellings) {
    if (name == known.name) return known.type;
  }
  return ElementType::undefined_;
}

// What inference says of the index. If the operator has no such type, the kernel says so.
ElementType inferred_index(const Variant& variant, const Inference& node) {
  const ElementType type = spelled(node.string(kIndexAttribute, spelling(variant.index_types[0])));
  return type == ElementType::undefined_ ? variant.index_types[0] : type;
}

// Whether the axis has one window, of all its cells.
bool is_one_window(const PoolAxis& axis) {
  return axis.count == 1 && (axis.even || (axis.first <= 0 && axis.size / axis.grain - axis.first <= axis.length));
}

// The same windows, which slide where they share out the axis evenly.
PoolAxis sliding_if_equal(const PoolAxis& axis) {
  if (!axis.even || axis.size % axis.count != 0) return axis;
  const int64_t part = axis.size / axis.count;
  return {axis.size, axis.count, false, 0, part, part};
}

// Depth, rows and columns of cells in memory: an innermost axis of one whole window is a part of the axis around it,
// whose windows are then contiguous; axes that are missing are of one cell.
PoolAxes three_axes(const PoolAxes& spatial) {
  PoolAxes inner;
  for (const PoolAxis& axis : spatial) inner.push_back(sliding_if_equal(axis));
  while (inner.size() > 1 && is_one_window(inner.back())) {
    const int64_t cells = inner.back().size;
    inner.pop_back();
    inner.back().size *= cells;
    inner.back().grain *= cells;
  }
  PoolAxes axes;
  while (axes.size() + inner.size() < 3) axes.push_back({1, 1, false, 0, 1, 1});
  for (const PoolAxis& axis : inner) axes.push_back(axis);
  return axes;
}

// Writes the axis's windows, and returns where they end.
Window* list(const PoolAxis& axis, Window* to) {
  const int64_t n = axis.size / axis.grain;
  const auto add = [&](int64_t, Window window) { *to++ = {window.start * axis.grain, window.end * axis.grain}; };
  if (axis.even) {
    even_windows(n, axis.count, add);
  } else {
    for (int64_t i = 0; i < axis.count; ++i) {
      const int64_t start = axis.first + i * axis.step;
      add(i, clip({start, start + axis.length}, n));
    }
  }
  return to;
}

// Lists the windows of those axes that have few enough.
class Lists {
 public:
  explicit Lists(PoolAxes& axes) {
    int64_t windows = 0;
    for (const PoolAxis& axis : axes) windows += is_listed(axis) ? axis.count : 0;
    if (windows > static_cast<int64_t>(few_.size())) many_.resize(static_cast<size_t>(windows));
    Window* next = many_.empty() ? few_.data() : many_.data();
    for (PoolAxis& axis : axes) {
      if (!is_listed(axis)) continue;
      axis.windows = next;
      next = list(axis, next);
    }
  }
  Lists(const Lists&) = delete;
  Lists& operator=(const Lists&) = delete;

 private:
  static bool is_listed(const PoolAxis& axis) { return axis.count <= kMostListed; }
  std::array<Window, 64> few_;
  std::vector<Window> many_;
};

}  // namespace

void pool_windows(const Run& run, const char* op, ElementType type, const Tensor& x, const PoolAxes& spatial,
                  const IndexOutput& index) {
  Dims shape(2 + spatial.size());
  std::copy_n(x.shape.begin(), 2, shape.begin());
  for (size_t i = 0; i < spatial.size(); ++i) shape[2 + i] = spatial[i].count;
  const int64_t bytes = output_bytes(op, "Y", shape, type);
  if (index.present) output_bytes(op, "Indices", shape, index.type);
  void* y = run.output(0, type, shape);
  void* indices = index.present ? run.output(1, index.type, shape) : nullptr;
  if (bytes == 0) return;  // G7
  PoolAxes axes = three_axes(spatial);
  const Lists lists(axes);
  const PoolJob job = {
      x.data,  y,       indices,       element_size(index.type) == 8, index.step, shape[0] * shape[1], axes[0],
      axes[1], axes[2], order_of(type)};
  const PoolKernel& kernel = *kernels().pool(job, element_size(type), PoolPlan::cheapest);
  const int64_t cells = job.planes * job.depth.size * job.rows.size * job.columns.size;
  const int64_t outputs = checked_cells(shape) * (index.present ? 2 : 1);
  const double cycles = kCyclesPerCell * static_cast<double>(cells) + kCyclesPerOutput * static_cast<double>(outputs);
  run.parallel(kernel.units(job), kernel.scratch_bytes(job), cycles,
               [&](int64_t unit, void* scratch) { kernel.run(job, unit, scratch); });
}

ElementType index_type(const char* op, const Variant& variant, const Attributes& attributes) {
  const std::vector<ElementType>& known = variant.index_types;
  const std::string name = attributes.get(kIndexAttribute, std::string(spelling(known[0])));
  const auto quoted = [](const std::string& text) { return "\"" + text + "\""; };
  const auto refuse = [&](const std::string& expected) {
    throw Error(std::string(op) + ": " + kIndexAttribute + " is " + quoted(escaped(name)) + ", expected " + expected);
  };
  const ElementType type = spelled(name);
  if (std::find(known.begin(), known.end(), type) == known.end()) {
    std::string all;
    for (const ElementType each : known) all += (all.empty() ? "" : " or ") + quoted(spelling(each));
    refuse(all);
  }
  if (type != known[0] && !variant.infers_optional_outputs && attributes.has_output(1)) {
    refuse(quoted(spelling(known[0])) + ", as another needs ONNX Runtime " + kInfersIndexTypes.text + " or newer");
  }
  return type;
}

std::string spelling_of(ElementType index_type) { return spelling(index_type); }

Parameter index_parameter(const Variant& variant) { return {variant.index_type, ort::kOptional}; }

void infer_windows(const Variant& variant, const Inference& node, const std::vector<Dim>& dims) {
  node.set_output(0, node.input_type(0), dims);
  // Last: where the node leaves the output out, this throws.
  if (variant.infers_optional_outputs) node.set_output(1, inferred_index(variant, node), dims);
}

void infer_windows_of_any_rank(const Variant& variant, const Inference& node) {
  if (!variant.infers_optional_outputs) return;
  const ElementType index = inferred_index(variant, node);
  if (index != variant.index_types[0]) node.set_output(1, index, std::vector<Dim>(4, Inference::unknown()));
}

}  // namespace onnx_maxpool
