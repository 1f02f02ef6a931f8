#include "operators/window_op.h"

#include "base/window_plan.h"
#include "kernels/targets.h"

namespace onnx_maxpool {
namespace {

// Roughly, whatever the windows.
constexpr double kCyclesPerCell = 0.5;

constexpr const char* kIndexAttribute = "index_element_type";

ElementType spelled(const std::string& name) {
  if (name == "i32") return ElementType::int32_;
  if (name == "i64") return ElementType::int64_;
  if (name == "u32") return ElementType::uint32_;
  if (name == "u64") return ElementType::uint64_;
  return ElementType::undefined_;
}

// An axis with its windows.
struct Axis {
  int64_t size;
  std::vector<Window> windows;
  int64_t first, step, length;

  bool is_one_window() const { return windows.size() == 1 && windows[0].start == 0 && windows[0].end == size; }
  PoolAxis pool_axis() const {
    return {size, static_cast<int64_t>(windows.size()), windows.data(), first, step, length};
  }
};

Axis planned(const AxisPlan& plan) {
  Axis axis = {plan.size, std::vector<Window>(static_cast<size_t>(plan.count)), plan.first, plan.step, plan.length};
  if (plan.even) {
    even_windows(plan.size, plan.count,
                 [&](int64_t i, Window window) { axis.windows[static_cast<size_t>(i)] = window; });
    const bool equal = plan.size % plan.count == 0;
    axis.first = 0;
    axis.step = axis.length = equal ? plan.size / plan.count : 0;
  } else {
    int64_t start = plan.first;
    for (Window& window : axis.windows) {
      window = clip({start, start + plan.length}, plan.size);
      start += plan.step;
    }
  }
  return axis;
}

// Depth, rows and columns of cells in memory: an innermost axis of one whole window is a part of the axis around it,
// whose windows are then contiguous; axes that are missing are of one cell.
std::vector<Axis> three_axes(const std::vector<AxisPlan>& plans) {
  std::vector<Axis> axes;
  for (const AxisPlan& plan : plans) axes.push_back(planned(plan));
  while (axes.size() > 1 && axes.back().is_one_window()) {
    const int64_t cells = axes.back().size;
    axes.pop_back();
    Axis& outer = axes.back();
    outer.size *= cells;
    for (Window& window : outer.windows) window = {window.start * cells, window.end * cells};
    if (cells > 1) outer.step = 0;
  }
  while (axes.size() < 3) axes.insert(axes.begin(), Axis{1, {{0, 1}}, 0, 0, 0});
  return axes;
}

}  // namespace

void pool_windows(const Run& run, const char* op, ElementType type, const Tensor& x, const std::vector<AxisPlan>& plans,
                  const IndexOutput& index) {
  Shape shape = {x.shape[0], x.shape[1]};
  for (const AxisPlan& plan : plans) shape.push_back(plan.count);
  const int64_t bytes = output_bytes(op, "Y", shape, type);
  if (index.present) output_bytes(op, "Indices", shape, index.type);
  void* y = run.output(0, type, shape);
  void* indices = index.present ? run.output(1, index.type, shape) : nullptr;
  if (bytes == 0) return;  // G7
  const std::vector<Axis> axes = three_axes(plans);
  const PoolJob job = {x.data,
                       y,
                       indices,
                       element_size(index.type) == 8,
                       index.step,
                       shape[0] * shape[1],
                       axes[0].pool_axis(),
                       axes[1].pool_axis(),
                       axes[2].pool_axis(),
                       order_of(type)};
  const PoolKernel& kernel = kernels().pool(job, element_size(type));
  const int64_t cells = job.planes * job.depth.size * job.rows.size * job.columns.size;
  run.parallel(kernel.units(job), kernel.scratch_bytes(job), kCyclesPerCell * static_cast<double>(cells),
               [&](int64_t unit, void* scratch) { kernel.run(job, unit, scratch); });
}

ElementType index_type(const char* op, const Variant& variant, const Attributes& attributes, const char* first,
                       const char* second) {
  const std::string name = attributes.get(kIndexAttribute, std::string(first));
  const auto refuse = [&](const std::string& expected) {
    throw Error(std::string(op) + ": " + kIndexAttribute + " is \"" + escaped(name) + "\", expected " + expected);
  };
  if (name != first && name != second) refuse("\"" + std::string(first) + "\" or \"" + second + "\"");
  if (name != first && !variant.infers_optional_outputs && attributes.has_output(1)) {
    refuse("\"" + std::string(first) + "\", as another needs ONNX Runtime 1.28 or newer");
  }
  return spelled(name);
}

Parameter index_parameter(const Variant& variant, ElementType first) {
  return {variant.infers_optional_outputs ? ElementType::undefined_ : first, ort::kOptional};
}

void infer_windows(const Variant& variant, const Inference& node, const std::vector<Dim>& dims, const char* first) {
  node.set_output(0, node.input_type(0), dims);
  if (!variant.infers_optional_outputs) return;
  const ElementType index = spelled(node.string(kIndexAttribute, first));
  // Of a type that there is not, the kernel speaks. Last: where the node leaves the output out, this throws.
  node.set_output(1, index == ElementType::undefined_ ? spelled(first) : index, dims);
}

}  // namespace onnx_maxpool
