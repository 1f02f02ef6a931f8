#include "operators/window_op.h"

#include <algorithm>

#include "base/window_plan.h"
#include "facts.h"
#include "kernels/targets.h"

namespace onnx_maxpool {
namespace {

// Roughly, whatever the windows.
constexpr double kCyclesPerCell = 0.5;

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
std::vector<PoolAxis> three_axes(const std::vector<PoolAxis>& spatial) {
  std::vector<PoolAxis> axes;
  for (const PoolAxis& axis : spatial) axes.push_back(sliding_if_equal(axis));
  while (axes.size() > 1 && is_one_window(axes.back())) {
    const int64_t cells = axes.back().size;
    axes.pop_back();
    axes.back().size *= cells;
    axes.back().grain *= cells;
  }
  while (axes.size() < 3) axes.insert(axes.begin(), PoolAxis{1, 1, false, 0, 1, 1});
  return axes;
}

// The axis's windows, where they are few enough to be listed.
std::vector<Window> listed(const PoolAxis& axis) {
  std::vector<Window> windows;
  if (axis.count > kMostListed) return windows;
  windows.reserve(static_cast<size_t>(axis.count));
  const int64_t n = axis.size / axis.grain;
  const auto add = [&](int64_t, Window window) {
    windows.push_back({window.start * axis.grain, window.end * axis.grain});
  };
  if (axis.even) {
    even_windows(n, axis.count, add);
  } else {
    for (int64_t i = 0; i < axis.count; ++i) {
      const int64_t start = axis.first + i * axis.step;
      add(i, clip({start, start + axis.length}, n));
    }
  }
  return windows;
}

}  // namespace

void pool_windows(const Run& run, const char* op, ElementType type, const Tensor& x,
                  const std::vector<PoolAxis>& spatial, const IndexOutput& index) {
  Shape shape = {x.shape[0], x.shape[1]};
  for (const PoolAxis& axis : spatial) shape.push_back(axis.count);
  const int64_t bytes = output_bytes(op, "Y", shape, type);
  if (index.present) output_bytes(op, "Indices", shape, index.type);
  void* y = run.output(0, type, shape);
  void* indices = index.present ? run.output(1, index.type, shape) : nullptr;
  if (bytes == 0) return;  // G7
  std::vector<PoolAxis> axes = three_axes(spatial);
  std::vector<std::vector<Window>> lists;
  for (PoolAxis& axis : axes) {
    lists.push_back(listed(axis));
    if (!lists.back().empty()) axis.windows = lists.back().data();
  }
  const PoolJob job = {
      x.data,  y,       indices,       element_size(index.type) == 8, index.step, shape[0] * shape[1], axes[0],
      axes[1], axes[2], order_of(type)};
  const PoolKernel& kernel = *kernels().pool(job, element_size(type), PoolPlan::cheapest);
  const int64_t cells = job.planes * job.depth.size * job.rows.size * job.columns.size;
  run.parallel(kernel.units(job), kernel.scratch_bytes(job), kCyclesPerCell * static_cast<double>(cells),
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
