#include "oracle.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>

namespace naive {
namespace {

constexpr int64_t kMostCount = (int64_t{1} << 31) - 1;

int64_t cells_of(const Shape& shape) {
  int64_t cells = 1;
  for (int64_t dim : shape) cells *= dim;
  return cells;
}

bool has_no_cells(const Shape& shape) { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

// The product of the dimensions in a type that holds any, and no rounding matters for.
long double product(const Shape& shape) {
  long double cells = 1;
  for (int64_t dim : shape) cells *= static_cast<long double>(dim);
  return cells;
}

// Bytes of an output, of an empty one as if it had a cell in every direction: what has to be less than 2^63.
long double bytes_of_sides(Shape shape, size_t size) {
  for (int64_t& dim : shape) dim = std::max<int64_t>(dim, 1);
  return product(shape) * static_cast<long double>(size);
}

// Attributes as the rules have them. A node that gives one as another type is refused, or as an empty list.
class AttributeReader {
 public:
  explicit AttributeReader(const stand_in::Node& node) : node_(node) {}

  template <class T>
  T get(const char* name, const T& missing) {
    const auto found = node_.attributes.find(name);
    if (found == node_.attributes.end()) return missing;
    const T* value = std::get_if<T>(&found->second);
    bool is_empty = false;
    if constexpr (std::is_same_v<T, Shape>) is_empty = value && value->empty();
    if (value && !is_empty) return *value;
    if (refusal.empty()) refusal = std::string("attribute ") + name + " is ";
    return missing;
  }

  Shape required(const std::string& name) {
    if (refusal.empty() && !node_.attributes.count(name)) refusal = "the required attribute " + name + " is missing";
    return get(name.c_str(), Shape{});
  }

  std::string refusal;

 private:
  const stand_in::Node& node_;
};

bool wants(const stand_in::Node& node, size_t output) {
  return output < node.outputs.size() && !node.outputs[output].empty();
}

bool are_counts(const Shape& values) {
  return std::all_of(values.begin(), values.end(), [](int64_t v) { return v >= 1 && v <= kMostCount; });
}

using Inputs = std::vector<const OrtValue*>;

// The first ROI number that is not what it must be (M10, M11), as the message begins; empty if all are good.
std::string bad_roi(const OrtValue& rois, int64_t count, int64_t images) {
  constexpr const char* columns[] = {"batch", "x1", "y1", "x2", "y2"};
  for (int64_t i = 0; i < count * 5; ++i) {
    const long double value = number(rois.type, rois.block.data(), i);
    const bool good = i % 5 ? !std::isnan(value) : std::trunc(value) >= 0 && std::trunc(value) < images;
    if (!good) return "rois row " + std::to_string(i / 5) + " has " + columns[i % 5] + " ";
  }
  return "";
}

// What the operators on ROIs differ in.
struct RoiForm {
  const char* size_name;
  size_t rois_rank;
  BinEdges default_edges;
};

Expected roi_pool(const RoiForm& form, const stand_in::Node& node, const Inputs& inputs, BinEdges edges) {
  const std::string size_name = form.size_name;
  AttributeReader attributes(node);
  const Shape pooled = attributes.required(size_name);
  if (!attributes.refusal.empty()) return {attributes.refusal};
  const float scale = attributes.get("spatial_scale", 1.0f);
  if (!attributes.refusal.empty()) return {attributes.refusal};
  if (pooled.size() != 2 || !are_counts(pooled)) return {size_name + " is "};
  if (!(scale > 0) || std::isinf(scale)) return {"spatial_scale is "};

  const OrtValue &x = *inputs[0], &rois = *inputs[1];
  if (x.shape.size() != 4 || std::max(x.shape[2], x.shape[3]) > kMostCount) return {"X has shape "};
  if (rois.shape.size() != form.rois_rank || rois.shape.back() != 5) return {"rois has shape "};
  if (std::any_of(rois.shape.begin(), rois.shape.end() - 2, [](int64_t dim) { return dim != 1; })) {
    return {"rois has shape "};
  }
  const int64_t count = rois.shape[rois.shape.size() - 2];
  const std::string bad = bad_roi(rois, count, x.shape[0]);
  if (!bad.empty()) return {bad};

  Expected expected;
  expected.shapes = {{count, x.shape[1], pooled[0], pooled[1]}};
  const Shape& shape = expected.shapes[0];
  if (bytes_of_sides(shape, element_size(x.type)) >= 0x1p63l) return {"Y would have shape "};
  const Shape map = {x.shape[2], x.shape[3]};
  expected.too_much = product(shape) > most_work;
  if (has_no_cells(shape) || expected.too_much) {
    expected.outputs.resize(1);
    return expected;
  }
  // M7: the setting, or the operator's own default; ONNX's edges are those of the type, but no narrower than float.
  const bool exact = (edges == BinEdges::unset ? form.default_edges : edges) == BinEdges::exact_;
  const bool wide = edges == BinEdges::double_ || x.type == ElementType::double_;
  const EdgeArithmetic arithmetic = exact  ? EdgeArithmetic::exact
                                    : wide ? EdgeArithmetic::in_double
                                           : EdgeArithmetic::in_float;
  std::vector<long double> y;
  int64_t work = 0;
  for (int64_t roi = 0; roi < count; ++roi) {
    const auto at = [&](int column) { return number(rois.type, rois.block.data(), roi * 5 + column); };
    const auto edge_at = [&](int column) { return edge(rois.type, at(column), scale); };
    const auto image = static_cast<int64_t>(at(0));
    for (int64_t channel = 0; channel < shape[1]; ++channel) {
      for (int64_t bin_cell = 0; bin_cell < pooled[0] * pooled[1]; ++bin_cell) {
        const Window rows = bin(bin_cell / pooled[1], pooled[0], edge_at(2), edge_at(4), map[0], arithmetic);
        const Window columns = bin(bin_cell % pooled[1], pooled[1], edge_at(1), edge_at(3), map[1], arithmetic);
        work += std::max<int64_t>(rows.end - rows.start, 0) * std::max<int64_t>(columns.end - columns.start, 0);
        if (work > most_work) {
          expected.too_much = true;
          expected.outputs.resize(1);
          return expected;
        }
        const int64_t plane = (image * shape[1] + channel) * cells_of(map);
        const int64_t cell = winner(x.type, x.block.data(), plane, map, {rows, columns});
        y.push_back(cell < 0 ? 0 : number(x.type, x.block.data(), plane + cell));
      }
    }
  }
  expected.outputs = {y};
  return expected;
}

// Windows along each axis, and what tells the index of an operator from another's.
struct Pooling {
  Shape counts;
  std::vector<std::vector<Window>> windows;
  bool into_whole_tensor;
};

// The windows are made only where they are few.
template <class WindowAt>
void add_axis(Pooling& pooling, int64_t count, bool few, const WindowAt& window_at) {
  pooling.counts.push_back(count);
  pooling.windows.emplace_back();
  for (int64_t i = 0; few && i < count; ++i) pooling.windows.back().push_back(window_at(i));
}

Expected pool(const stand_in::Node& node, const OrtValue& x, const Pooling& pooling, size_t index_size) {
  Expected expected;
  Shape shape = {x.shape[0], x.shape[1]};
  shape.insert(shape.end(), pooling.counts.begin(), pooling.counts.end());
  const bool indexed = wants(node, 1);
  if (bytes_of_sides(shape, element_size(x.type)) >= 0x1p63l) return {"Y would have shape "};
  if (indexed && bytes_of_sides(shape, index_size) >= 0x1p63l) return {"Indices would have shape "};
  expected.shapes.assign(indexed ? 2 : 1, shape);
  expected.outputs.resize(expected.shapes.size());
  if (has_no_cells(shape)) return expected;
  const Shape sizes(x.shape.begin() + 2, x.shape.end());
  expected.too_much = true;
  if (product(shape) > most_work) return expected;

  const int64_t places = cells_of(pooling.counts), plane_cells = cells_of(sizes);
  std::vector<std::vector<Window>> at(static_cast<size_t>(places));
  int64_t work = 0;
  for (int64_t place = 0; place < places; ++place) {
    std::vector<Window>& windows = at[static_cast<size_t>(place)];
    int64_t rest = place, cells = 1;
    for (size_t axis = pooling.counts.size(); axis-- > 0; rest /= pooling.counts[axis]) {
      windows.insert(windows.begin(), pooling.windows[axis][static_cast<size_t>(rest % pooling.counts[axis])]);
      cells *= windows.front().end - windows.front().start;
    }
    work += cells * shape[0] * shape[1];
    if (work > most_work) return expected;
  }
  for (int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
    for (const std::vector<Window>& windows : at) {
      const int64_t cell = winner(x.type, x.block.data(), plane * plane_cells, sizes, windows);
      expected.outputs[0].push_back(number(x.type, x.block.data(), plane * plane_cells + cell));
      if (indexed) {
        const int64_t index = pooling.into_whole_tensor ? plane * plane_cells + cell : cell;
        expected.outputs[1].push_back(static_cast<long double>(index));
      }
    }
  }
  expected.too_much = false;
  return expected;
}

// The size of an index; 0 where the node is refused.
size_t index_size(const stand_in::Node& node, const std::string& name, const char* first, const char* second,
                  bool infers) {
  if (name != first && name != second) return 0;
  if (name != first && !infers && wants(node, 1)) return 0;
  return name.substr(1) == "64" ? 8 : 4;
}

Expected max_pooling1(const stand_in::Node& node, const Inputs& inputs, bool infers) {
  AttributeReader attributes(node);
  const Shape window = attributes.required("window_size");
  if (!attributes.refusal.empty()) return {attributes.refusal};
  const Shape strides = attributes.get("strides", Shape(window.size(), 1));
  const Shape start = attributes.get("start_padding", Shape(window.size(), 0));
  const Shape end = attributes.get("end_padding", Shape(window.size(), 0));
  if (!attributes.refusal.empty()) return {attributes.refusal};
  const size_t axes = window.size();
  if ((axes != 2 && axes != 3) || !are_counts(window)) return {"window_size is "};
  if (strides.size() != axes || !are_counts(strides)) return {"strides is "};
  const auto is_padding = [&](const Shape& padding) {
    bool good = padding.size() == axes;
    for (size_t i = 0; good && i < axes; ++i) good = padding[i] >= 0 && padding[i] < window[i];
    return good;
  };
  if (!is_padding(start)) return {"start_padding is "};
  if (!is_padding(end)) return {"end_padding is "};
  const std::string name = attributes.get("index_element_type", std::string("u32"));
  if (!attributes.refusal.empty()) return {attributes.refusal};
  const size_t index_bytes = index_size(node, name, "u32", "u64", infers);
  if (!index_bytes) return {"index_element_type is "};

  const OrtValue& x = *inputs[0];
  if (x.shape.size() != axes + 2) return {"X has shape "};
  Pooling pooling{{}, {}, true};
  std::vector<uint64_t> sides(x.shape.begin(), x.shape.begin() + 2);  // of Y; a window's count may need all 64 bits
  for (size_t i = 0; i < axes; ++i) {
    const int64_t size = x.shape[2 + i];
    // Sizes of empty tensors may be anything: their sum with the padding may need more than 63 bits.
    const long double room = static_cast<long double>(size) + static_cast<long double>(start[i]) +
                             static_cast<long double>(end[i]) - static_cast<long double>(window[i]);
    if (size < 1 || room < 0) return {"X has shape "};
    const long double count = std::floor(room / static_cast<long double>(strides[i])) + 1;
    sides.push_back(static_cast<uint64_t>(count));
    add_axis(pooling, static_cast<int64_t>(sides.back()), count <= most_work,
             [&](int64_t w) { return sliding_window(w, strides[i], start[i], window[i], size); });
  }
  if (wants(node, 1) && index_bytes == 4 && !has_no_cells(x.shape) && product(x.shape) > 0x1p32l) {
    return {"X has shape "};
  }
  if (*std::max_element(sides.begin(), sides.end()) >= uint64_t{1} << 63) {
    return {"Y would have shape " + onnx_maxpool::text(sides) + ", expected fewer than 2^63 bytes"};
  }
  return pool(node, x, pooling, index_bytes);
}

Expected adaptive_max_pool(const stand_in::Node& node, const Inputs& inputs, bool infers) {
  AttributeReader attributes(node);
  const std::string name = attributes.get("index_element_type", std::string("i64"));
  if (!attributes.refusal.empty()) return {attributes.refusal};
  const size_t index_bytes = index_size(node, name, "i64", "i32", infers);
  if (!index_bytes) return {"index_element_type is "};

  const OrtValue &x = *inputs[0], &output_size = *inputs[1];
  const size_t axes = x.shape.size() - 2;
  if (x.shape.size() < 3 || x.shape.size() > 5) return {"X has shape "};
  for (size_t i = 0; i < axes; ++i) {
    if (x.shape[2 + i] == 0) return {"X has shape "};
  }
  if (output_size.shape != Shape{static_cast<int64_t>(axes)}) return {"output_size has shape "};
  Shape sizes;
  for (size_t i = 0; i < axes; ++i) {
    const long double size = number(output_size.type, output_size.block.data(), static_cast<int64_t>(i));
    sizes.push_back(static_cast<int64_t>(size));
  }
  if (!are_counts(sizes)) return {"output_size is "};
  Pooling pooling{{}, {}, false};
  for (size_t i = 0; i < axes; ++i) {
    add_axis(pooling, sizes[i], sizes[i] <= most_work && !has_no_cells(x.shape),
             [&](int64_t w) { return even_window(w, sizes[i], x.shape[2 + i]); });
  }
  if (wants(node, 1) && index_bytes == 4 && !has_no_cells(x.shape) &&
      product(Shape(x.shape.begin() + 2, x.shape.end())) > 0x1p31l) {
    return {"X has shape "};
  }
  return pool(node, x, pooling, index_bytes);
}

Expected python_result(const Inputs& inputs) {
  const OrtValue &x = *inputs[0], &message = *inputs[1];
  const auto* text = static_cast<const char*>(message.block.data());
  if (message.block.bytes()) return {std::string(text, strnlen(text, message.block.bytes()))};
  Expected expected;
  expected.shapes = {x.shape, {0}};
  expected.outputs.resize(2);
  const auto cells = static_cast<int64_t>(x.block.bytes() / element_size(x.type));
  for (int64_t i = 0; i < cells; ++i) expected.outputs[0].push_back(number(x.type, x.block.data(), i));
  return expected;
}

}  // namespace

int64_t most_work = int64_t{1} << 21;

Expected expected(const stand_in::Node& node, const Inputs& inputs, BinEdges edges, bool infers) {
  if (node.domain == "onnx_maxpool") return python_result(inputs);
  const auto of_rois = [&](const RoiForm& form) { return roi_pool(form, node, inputs, edges); };
  const std::map<std::string, std::function<Expected()>> answers = {
      {"MaxRoiPool", [&] { return of_rois({"pooled_shape", 2, BinEdges::onnx_}); }},
      {"RoiPooling", [&] { return of_rois({"pooled_size", 4, BinEdges::exact_}); }},
      {"MaxPooling1", [&] { return max_pooling1(node, inputs, infers); }},
      {"AdaptiveMaxPool", [&] { return adaptive_max_pool(node, inputs, infers); }},
  };
  return answers.at(node.op)();  // throws where no answer is known
}

}  // namespace naive
