// Operator cases from a fuzzer's bytes: what is usual mostly, and what is wrong or extreme now and then.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "operator_case.h"

namespace {

using naive::BinEdges;
using onnx_maxpool::ElementType;
using onnx_maxpool::Shape;
using stand_in::Node;
using stand_in::Version;

constexpr int64_t kMostCells = 1 << 13, kMostOfLarge = 1 << 16;
constexpr ElementType kFloats[] = {ElementType::float_, ElementType::float16_, ElementType::double_,
                                   ElementType::bfloat16_};
constexpr ElementType kDirectmlTypes[] = {
    ElementType::float_, ElementType::float16_, ElementType::int8_,   ElementType::uint8_,  ElementType::int16_,
    ElementType::int32_, ElementType::int64_,   ElementType::uint16_, ElementType::uint32_, ElementType::uint64_};

// An attribute's integer: mostly from 1 to `usual`, and now and then at the ends of what is allowed, or anything.
int64_t some_integer(ByteSource& source, int64_t usual) {
  if (!source.one_in(32)) return 1 + source.below(usual);
  if (source.one_in(4)) return source.raw<int64_t>();
  constexpr int64_t most = (int64_t{1} << 31) - 1;
  return source.pick<int64_t>({0, -1, most, most + 1, most - 1, int64_t{1} << 30, int64_t{1} << 62, 65536,
                               std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()});
}

int64_t some_large_size(ByteSource& source) {
  return source.one_in(3) ? some_size(source)
                          : source.pick<int64_t>({40, 100, 127, 181, 200, 255, 256, 257, 300, 1000});
}

// Dimensions of which none is too large for a search cell by cell. Where one is 0 the others may be anything.
Shape some_shape(ByteSource& source, size_t rank, bool is_large = false) {
  Shape shape;
  int64_t room = is_large ? kMostOfLarge : kMostCells;
  const bool huge = source.one_in(64);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t dim = huge                ? std::max<int64_t>(source.raw<int64_t>(), 0)
                        : i < 2 && rank > 2 ? source.pick<int64_t>({1, 2, 3, 1, 5, 1, 4, 17, 33, 8, 16, 64, 0})
                        : is_large          ? some_large_size(source)
                                            : some_size(source);
    shape.push_back(huge ? dim : std::min(dim, room));
    if (shape.back()) room /= huge ? 1 : shape.back();
  }
  if (huge && rank && std::find(shape.begin(), shape.end(), 0) == shape.end())
    shape[source.below(static_cast<int64_t>(rank))] = 0;
  return shape;
}

// Of its own, so that large ones take no longer.
void fill(ByteSource& source, const OrtValue& x, bool is_large) {
  is_large ? fill_large(source, x) : fill_cells(source, x);
}

size_t some_rank(ByteSource& source, size_t right) {
  return source.one_in(64) ? static_cast<size_t>(source.below(7)) : right;
}

void put(Node& node, ByteSource& source, const char* name, stand_in::Attribute value) {
  if (source.one_in(64)) {  // of another type, or left out
    const int64_t kind = source.below(8);
    if (kind == 0) return;
    if (kind == 1) value = source.raw<int64_t>();
    if (kind == 2) value = source.raw<float>();
    if (kind == 3) value = std::string("s");
    if (kind == 4) value = Shape{};
    if (kind == 5) value = std::vector<float>{};
    if (kind == 6) value = std::vector<float>{1, 2};
    if (kind == 7) value = stand_in::OtherType{};
  }
  node.attributes[name] = std::move(value);
}

// A ROI's columns (M4), in all the ways that coordinates can be wrong or on an edge.
void fill_rois(ByteSource& source, const OrtValue& rois, const Shape& x, float scale) {
  const auto rows = static_cast<int64_t>(rois.block.bytes() / element_size(rois.type)) / 5;
  const int64_t height = x.size() == 4 ? x[2] : 8, width = x.size() == 4 ? x[3] : 8;
  const int64_t images = x.empty() ? 0 : x[0];
  const bool sound = !source.one_in(4);  // most bad rows end the run, so that others would be seen too rarely
  for (int64_t row = 0; row < rows; ++row) {
    void* cells = rois.block.data();
    const auto set = [&](int column, long double value) {
      naive::set_number(rois.type, cells, row * 5 + column, value);
    };
    const long double part = source.one_in(16) ? (source.one_in(4) ? -0.5l : 0.75l) : 0;
    set(0, static_cast<long double>(source.below(std::min<int64_t>(images, 200))) + part);
    const int64_t kind = source.below(8);
    for (int column = 1; column < 5; ++column) {
      const int64_t size = std::min<int64_t>(column % 2 ? width : height, 200);
      const int64_t cell = source.below(size + size / 2 + 4) - 1 - size / 4;
      const long double by = static_cast<long double>(scale);
      if (kind < 5) set(column, static_cast<long double>(cell) / by);
      if (kind == 5) set(column, (static_cast<long double>(cell) + 0.5l) / by);
      if (kind == 6) set(column, static_cast<long double>(cell) * source.pick<long double>({1e3l, 1e9l, 1e38l, -1e9l}));
      if (kind == 7) {
        const auto bits = source.raw<uint64_t>();
        std::memcpy(static_cast<char*>(cells) + (row * 5 + column) * static_cast<int64_t>(element_size(rois.type)),
                    &bits, element_size(rois.type));
        const long double value = naive::number(rois.type, cells, row * 5 + column);
        if (sound && std::isnan(value)) set(column, std::numeric_limits<long double>::infinity());
      }
    }
    if (sound || !source.one_in(4)) continue;
    const auto bits = source.raw<uint64_t>();
    std::memcpy(static_cast<char*>(cells) + (row * 5 + source.below(5)) * static_cast<int64_t>(element_size(rois.type)),
                &bits, element_size(rois.type));
  }
}

void decode_roi_pool(ByteSource& source, OperatorCase& out) {
  const bool is_directml = source.below(2) != 0;
  out.node.domain = is_directml ? "directml" : "";
  out.node.op = is_directml ? "RoiPooling" : "MaxRoiPool";
  const ElementType type = kFloats[source.below(is_directml ? 2 : 4)];
  Shape pooled(source.one_in(64) ? static_cast<size_t>(source.below(4)) : 2);
  const bool many = source.one_in(8);
  for (int64_t& side : pooled) side = some_integer(source, many ? 40 : 8);
  put(out.node, source, is_directml ? "pooled_size" : "pooled_shape", pooled);
  const float scale =
      source.one_in(32) ? source.raw<float>() : source.pick<float>({1.0f, 0.5f, 0.0625f, 0.3f, 0.7f, 3.0f});
  if (!source.one_in(8)) put(out.node, source, "spatial_scale", scale);

  const Shape shape = some_shape(source, some_rank(source, 4), out.is_large);
  out.inputs.push_back(stand_in::tensor(type, shape, static_cast<size_t>(source.below(8))));
  int64_t count = source.pick<int64_t>({1, 2, 3, 5, 300, 9, 33, 0});
  if (out.is_large && count == 300) count = 2000;
  Shape rois = is_directml ? Shape{1, 1, count, 5} : Shape{count, 5};
  if (source.one_in(64)) rois = some_shape(source, static_cast<size_t>(source.below(5)));
  out.inputs.push_back(stand_in::tensor(type, rois, static_cast<size_t>(source.below(8))));
  fill_rois(source, *out.inputs[1], shape, scale);
  fill(source, *out.inputs[0], out.is_large);
  out.node.outputs = {"Y"};
}

void decode_outputs(ByteSource& source, Node& node, std::initializer_list<const char*> index_types) {
  const int64_t kind = source.below(8);
  node.outputs = kind == 0   ? std::vector<std::string>{"Y"}
                 : kind == 1 ? std::vector<std::string>{"Y", ""}
                             : std::vector<std::string>{"Y", "Indices"};
  if (!source.one_in(2)) put(node, source, "index_element_type", std::string(source.pick(index_types)));
}

void decode_max_pooling1(ByteSource& source, OperatorCase& out) {
  out.node.domain = "directml";
  out.node.op = "MaxPooling1";
  const ElementType type = kDirectmlTypes[source.below(10)];
  const size_t axes = 2 + static_cast<size_t>(source.below(2));
  const Shape shape = some_shape(source, some_rank(source, axes + 2), out.is_large);
  Shape window, strides, start, end;
  for (size_t i = 0; i < axes; ++i) {
    const int64_t size = i + 2 < shape.size() ? std::clamp<int64_t>(shape[i + 2], 1, 100) : 3;
    window.push_back(source.one_in(3) ? some_integer(source, size + 2) : some_integer(source, 4));
    strides.push_back(some_integer(source, 3));
    const auto padding = [&] { return source.one_in(2) ? source.below(std::clamp<int64_t>(window[i], 1, 200)) : 0; };
    start.push_back(source.one_in(64) ? some_integer(source, 4) : padding());
    end.push_back(source.one_in(64) ? some_integer(source, 4) : padding());
    // Padding may be nearly as large as the largest window.
    if (source.one_in(64)) start.back() = std::max<int64_t>(window.back(), 1) - 1;
    if (source.one_in(64)) end.back() = std::max<int64_t>(window.back(), 1) - 1;
  }
  put(out.node, source, "window_size", window);
  if (!source.one_in(8)) put(out.node, source, "strides", strides);
  if (!source.one_in(4)) put(out.node, source, "start_padding", start);
  if (!source.one_in(4)) put(out.node, source, "end_padding", end);
  decode_outputs(source, out.node, {"u32", "u64", "u32", "i32", ""});
  out.inputs.push_back(stand_in::tensor(type, shape, static_cast<size_t>(source.below(8))));
  fill(source, *out.inputs[0], out.is_large);
}

void fill_sizes(ByteSource& source, const OrtValue& sizes) {
  const auto cells = static_cast<int64_t>(sizes.block.bytes() / element_size(sizes.type));
  for (int64_t i = 0; i < cells; ++i) {
    naive::set_number(sizes.type, sizes.block.data(), i, static_cast<long double>(some_integer(source, 12)));
  }
}

void decode_adaptive_max_pool(ByteSource& source, OperatorCase& out) {
  out.node.domain = "org.openvinotoolkit";
  out.node.op = "AdaptiveMaxPool";
  const ElementType type = kFloats[source.below(4)];
  const size_t axes = 1 + static_cast<size_t>(source.below(3));
  const Shape shape = some_shape(source, some_rank(source, axes + 2), out.is_large);
  const bool narrow = source.below(2) != 0;
  Shape count = {static_cast<int64_t>(axes)};
  if (source.one_in(64)) count = some_shape(source, static_cast<size_t>(source.below(3)));
  decode_outputs(source, out.node, {"i64", "i32", "i64", "u32", "i6"});
  out.inputs.push_back(stand_in::tensor(type, shape, static_cast<size_t>(source.below(8))));
  out.inputs.push_back(stand_in::tensor(narrow ? ElementType::int32_ : ElementType::int64_, count));
  fill_sizes(source, *out.inputs[1]);
  fill(source, *out.inputs[0], out.is_large);
}

void decode_python_result(ByteSource& source, OperatorCase& out) {
  constexpr ElementType types[] = {
      ElementType::float_, ElementType::double_, ElementType::int8_,   ElementType::int16_,  ElementType::int32_,
      ElementType::int64_, ElementType::uint8_,  ElementType::uint16_, ElementType::uint32_, ElementType::uint64_};
  const ElementType type = types[source.below(10)];
  out.node.domain = "onnx_maxpool";
  out.node.op = std::string("PythonResult_") + name_of(type);
  out.node.outputs = {"Y", "message"};
  const Shape shape = some_shape(source, static_cast<size_t>(source.below(5)));
  Shape dims = shape;
  for (int64_t& dim : dims) dim = source.one_in(3) ? -1 : dim;
  if (source.one_in(2)) put(out.node, source, "dims", dims);
  out.inputs.push_back(stand_in::tensor(type, shape, static_cast<size_t>(source.below(8))));
  out.inputs.push_back(stand_in::tensor(ElementType::uint8_, {source.one_in(4) ? source.below(40) : 0}));
  fill_cells(source, *out.inputs[0]);
  auto* message = static_cast<char*>(out.inputs[1]->block.data());
  for (size_t i = 0; i < out.inputs[1]->block.bytes(); ++i) message[i] = static_cast<char>(1 + source.below(255));
}

// What the graph knows before the run: sizes, symbols, another rank, or nothing.
void decode_known_shapes(ByteSource& source, OperatorCase& out) {
  for (size_t i = 0; i < out.inputs.size(); ++i) {
    stand_in::KnownShape known;
    const Shape& shape = out.inputs[i]->shape;
    const bool whole = source.below(4) < 2, none = source.one_in(8);
    for (size_t axis = 0; axis < shape.size() && !none; ++axis) {
      if (whole || source.one_in(2)) {
        known.dims.push_back({shape[axis], ""});
      } else {
        // Equal symbols stand for equal sizes.
        const char kind = source.one_in(3) ? 0 : 's';
        known.dims.push_back({-1, kind ? kind + std::to_string(shape[axis]) : ""});
      }
    }
    out.node.before_the_run.push_back(std::move(known));
  }
}

// Other inputs of the same operator: of the same shape or of others, as many ROIs or nearly, or other ones.
std::vector<std::unique_ptr<OrtValue>> other_inputs(ByteSource& source, const OperatorCase& out) {
  const OrtValue& x = *out.inputs[0];
  const Shape shape = source.one_in(2) ? x.shape : some_shape(source, x.shape.size(), out.is_large);
  std::vector<std::unique_ptr<OrtValue>> inputs;
  inputs.push_back(stand_in::tensor(x.type, shape, static_cast<size_t>(source.below(8))));
  if (out.inputs.size() > 1) {
    const OrtValue& second = *out.inputs[1];
    Shape sizes = second.shape;
    const bool are_rois = out.node.op != "AdaptiveMaxPool";
    const bool are_few = std::all_of(sizes.begin(), sizes.end(), [](int64_t dim) { return dim <= 2000; });
    if (are_rois && are_few && sizes.size() > 1 && sizes.back() == 5) {
      int64_t& count = sizes[sizes.size() - 2];
      count = source.pick<int64_t>({count, count, std::min<int64_t>(count, 1000) + 1, 1, 20, count / 2, 300});
    }
    inputs.push_back(stand_in::tensor(second.type, sizes));
    if (are_rois) {
      const auto scale = out.node.attributes.find("spatial_scale");
      const float* const given = scale == out.node.attributes.end() ? nullptr : std::get_if<float>(&scale->second);
      fill_rois(source, *inputs[1], shape, given ? *given : 1);
    } else {
      fill_sizes(source, *inputs[1]);
    }
  }
  fill(source, *inputs[0], out.is_large);
  return inputs;
}

// A node's first runs try ways to pool, and those that follow go the way that was the fastest, as long as inputs are
// alike: so there are many, mostly of the same inputs.
void decode_turns(ByteSource& source, OperatorCase& out) {
  if (!source.one_in(4) || out.node.op.rfind("PythonResult", 0) == 0) return;
  const auto runs = static_cast<size_t>(source.pick<int64_t>({12, 40, out.is_large ? 40 : 140}));
  const auto others = static_cast<size_t>(source.below(4));
  for (size_t i = 0; i < others; ++i) out.later.push_back(other_inputs(source, out));
  const size_t alike = source.one_in(2) ? 0 : runs / 3;
  std::mt19937 random(source.raw<uint16_t>());
  for (size_t run = 0; run < runs; ++run) {
    const bool is_any = run >= alike && run > others;
    out.turns.push_back(run <= others ? run : is_any ? random() % (others + 1) : 0);
  }
}

}  // namespace

OperatorCase decode_operator_case(ByteSource source) {
  OperatorCase out;
  const int64_t first = source.below(256);
  out.node.threads = 1 + static_cast<size_t>(first % 3);
  // Bytes that no committed input began with when there were large ones: all others mean what they did.
  out.is_large = 0x92 <= first && first <= 0xa0;
  out.node.output_offset = static_cast<size_t>(source.below(64));
  constexpr BinEdges settings[] = {BinEdges::exact_, BinEdges::unset, BinEdges::double_, BinEdges::onnx_};
  out.bin_edges = settings[source.below(4)];
  out.version = source.one_in(8) ? Version::oldest : Version::newest;
  const int64_t op = source.below(16);
  if (op < 6) decode_roi_pool(source, out);
  if (op >= 6 && op < 11) decode_max_pooling1(source, out);
  if (op >= 11 && op < 15) decode_adaptive_max_pool(source, out);
  if (op == 15) decode_python_result(source, out);
  decode_known_shapes(source, out);
  decode_turns(source, out);
  return out;
}
