#include "operator_case.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <sstream>

#include "require.h"

namespace {

using naive::BinEdges;
using onnx_maxpool::ElementType;
using onnx_maxpool::Shape;
using onnx_maxpool::text;
using stand_in::Version;

template <class T>
void describe_values(std::ostream& out, const std::vector<T>& values) {
  out << "[";
  for (size_t i = 0; i < values.size(); ++i) out << (i ? ", " : "") << values[i];
  out << "]";
}

void describe_inputs(std::ostream& out, const std::vector<std::unique_ptr<OrtValue>>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const OrtValue& input = *inputs[i];
    out << "input " << i << ": " << name_of(input.type) << text(input.shape);
    const auto cells = static_cast<int64_t>(input.block.bytes() / element_size(input.type));
    for (int64_t cell = 0; cell < std::min<int64_t>(cells, 200); ++cell) {
      out << (cell % 10 ? " " : "\n    ") << naive::number(input.type, input.block.data(), cell);
    }
    out << (cells > 200 ? " ...\n" : "\n");
  }
}

// Where the graph tells neither X's rank nor how many sizes there are, inference has to guess that of an index: its
// type cannot be set without a rank.
bool guesses_the_rank(const OperatorCase& c, size_t output) {
  if (c.node.op != "AdaptiveMaxPool" || output == 0) return false;
  const auto known = [&](size_t i) {
    return i < c.node.before_the_run.size() ? c.node.before_the_run[i].dims : std::vector<stand_in::KnownDim>{};
  };
  const std::vector<stand_in::KnownDim> sizes = known(1);
  return known(0).empty() && (sizes.size() != 1 || sizes[0].size < 0);
}

// Inference must not contradict the run.
std::string inference_difference(const OperatorCase& c, const stand_in::Run& run) {
  for (size_t i = 0; i < run.outputs.size(); ++i) {
    if (!run.outputs[i] || guesses_the_rank(c, i)) continue;
    const stand_in::KnownShape& known = run.inferred[i];
    if (!known.type && known.dims.empty()) continue;
    const OrtValue& y = *run.outputs[i];
    if (known.type != static_cast<int>(y.type)) return "inference gave output " + std::to_string(i) + " another type";
    bool equal = known.dims.size() == y.shape.size();
    for (size_t axis = 0; equal && axis < y.shape.size(); ++axis) {
      const stand_in::KnownDim& dim = known.dims[axis];
      if (dim.size >= 0) equal = dim.size == y.shape[axis];
      // Symbols of ours begin with another letter.
      if (dim.size < 0 && dim.symbol[0] == 's') equal = dim.symbol == "s" + std::to_string(y.shape[axis]);
    }
    if (!equal) return "inference gave output " + std::to_string(i) + " another shape than the run, " + text(y.shape);
  }
  return "";
}

std::string output_difference(const stand_in::Run& run, const naive::Expected& expected) {
  size_t found = 0;
  for (const auto& output : run.outputs) found += output != nullptr;
  if (found != expected.shapes.size()) return "the node has " + std::to_string(found) + " outputs";
  for (size_t i = 0; i < expected.shapes.size(); ++i) {
    const OrtValue& y = *run.outputs[i];
    const std::string name = "output " + std::to_string(i);
    if (y.shape != expected.shapes[i])
      return name + " has shape " + text(y.shape) + ", expected " + text(expected.shapes[i]);
    if (expected.too_much) continue;
    for (size_t cell = 0; cell < expected.outputs[i].size(); ++cell) {
      const long double value = naive::number(y.type, y.block.data(), static_cast<int64_t>(cell));
      if (naive::same(value, expected.outputs[i][cell])) continue;
      std::ostringstream out;
      out << name << " has " << value << " in cell " << cell << ", expected " << expected.outputs[i][cell];
      return out.str();
    }
  }
  return "";
}

// Of one of the case's inputs.
std::string run_difference(const OperatorCase& c, const std::vector<const OrtValue*>& inputs,
                           const stand_in::Run& run) {
  const naive::Expected expected = naive::expected(c.node, inputs, c.bin_edges, c.version == Version::newest);
  const stand_in::Outcome& outcome = run.created.code ? run.created : run.computed;
  if (!expected.refusal.empty()) {
    // What is refused is refused as ORT's INVALID_ARGUMENT.
    const bool good = outcome.code == 2 && outcome.message.find(expected.refusal) != std::string::npos;
    return good ? ""
                : "the status is " + std::to_string(outcome.code) + " '" + outcome.message +
                      "', expected 2 and a message with '" + expected.refusal + "'";
  }
  const bool no_memory = outcome.code == 1 && (run.output_refused || outcome.message == "onnx_maxpool: out of memory");
  if (no_memory && (expected.too_much || run.output_refused)) return "";
  if (outcome.code)
    return "the status is " + std::to_string(outcome.code) + " '" + outcome.message + "', expected none";
  return output_difference(run, expected);
}

std::unique_ptr<OrtValue> filled(ElementType type, const Shape& shape, uint8_t kind = 0) {
  auto tensor = stand_in::tensor(type, shape, 1);
  const uint8_t choice[] = {kind, 7, 1};
  ByteSource source(choice, sizeof choice);
  fill_cells(source, *tensor);
  return tensor;
}

std::unique_ptr<OrtValue> numbers(ElementType type, const Shape& shape, const std::vector<long double>& values) {
  auto tensor = stand_in::tensor(type, shape);
  for (size_t i = 0; i < values.size(); ++i) {
    naive::set_number(type, tensor->block.data(), static_cast<int64_t>(i), values[i]);
  }
  return tensor;
}

}  // namespace

const char* name_of(ElementType type) {
  switch (type) {
    case ElementType::float_:
      return "float";
    case ElementType::uint8_:
      return "uint8";
    case ElementType::int8_:
      return "int8";
    case ElementType::uint16_:
      return "uint16";
    case ElementType::int16_:
      return "int16";
    case ElementType::int32_:
      return "int32";
    case ElementType::int64_:
      return "int64";
    case ElementType::float16_:
      return "float16";
    case ElementType::double_:
      return "double";
    case ElementType::uint32_:
      return "uint32";
    case ElementType::uint64_:
      return "uint64";
    case ElementType::bfloat16_:
      return "bfloat16";
    default:
      return "undefined";
  }
}

std::vector<const OrtValue*> OperatorCase::input_values() const {
  std::vector<const OrtValue*> values;
  for (const auto& input : inputs) values.push_back(input.get());
  return values;
}

std::vector<std::vector<const OrtValue*>> OperatorCase::all_inputs() const {
  std::vector<std::vector<const OrtValue*>> all = {input_values()};
  for (const auto& others : later) {
    all.emplace_back();
    for (const auto& input : others) all.back().push_back(input.get());
  }
  return all;
}

OperatorCase max_roi_pool(ElementType type, const Shape& x, const std::vector<long double>& rois, const Shape& pooled) {
  OperatorCase c;
  c.node.op = "MaxRoiPool";
  c.node.attributes["pooled_shape"] = pooled;
  c.node.outputs = {"Y"};
  c.inputs.push_back(filled(type, x, 1));
  c.inputs.push_back(numbers(type, {static_cast<int64_t>(rois.size()) / 5, 5}, rois));
  return c;
}

OperatorCase max_pooling1(ElementType type, const Shape& x, const Shape& window, const Shape& strides,
                          const Shape& start, const Shape& end) {
  OperatorCase c;
  c.node.domain = "directml";
  c.node.op = "MaxPooling1";
  c.node.attributes = {{"window_size", window}, {"strides", strides}, {"start_padding", start}, {"end_padding", end}};
  c.node.outputs = {"Y", "Indices"};
  c.inputs.push_back(filled(type, x, 1));
  return c;
}

OperatorCase adaptive_max_pool(ElementType type, const Shape& x, const std::vector<long double>& size) {
  OperatorCase c;
  c.node.domain = "org.openvinotoolkit";
  c.node.op = "AdaptiveMaxPool";
  c.node.outputs = {"Y", "Indices"};
  c.inputs.push_back(filled(type, x, 1));
  c.inputs.push_back(numbers(ElementType::int64_, {static_cast<int64_t>(size.size())}, size));
  return c;
}

OperatorCase python_result(const std::vector<long double>& message) {
  OperatorCase c;
  c.node.domain = "onnx_maxpool";
  c.node.op = "PythonResult_float";
  c.node.attributes["dims"] = Shape{2, -1};
  c.node.outputs = {"Y", "message"};
  c.inputs.push_back(filled(ElementType::float_, {2, 3}));
  c.inputs.push_back(numbers(ElementType::uint8_, {static_cast<int64_t>(message.size())}, message));
  return c;
}

std::vector<long double> some_rois(int64_t count, int64_t images, int64_t height, int64_t width) {
  std::mt19937 random(5);
  std::vector<long double> rois;
  for (int64_t i = 0; i < count; ++i) {
    const auto at = [&](int64_t size) { return static_cast<long double>(random() % (size + 6)) - 3; };
    for (long double value : {static_cast<long double>(i % images), at(width), at(height), at(width), at(height)}) {
      rois.push_back(value);
    }
  }
  return rois;
}

std::vector<OperatorCase> one_of_each() {
  std::vector<OperatorCase> cases;
  cases.push_back(max_roi_pool(ElementType::float_, {2, 20, 9, 11}, some_rois(7, 2, 9, 11), {2, 3}));
  cases.push_back(max_roi_pool(ElementType::double_, {1, 3, 9, 11}, {0, 0, 0, 3, 3}, {2, 3}));
  cases.push_back(max_roi_pool(ElementType::float_, {1, 3, 9, 11}, {7, 0, 0, 3, 3}, {2, 3}));  // is refused
  cases.push_back(max_pooling1(ElementType::int8_, {2, 3, 9, 11}, {3, 2}, {2, 1}, {1, 0}, {0, 1}));
  cases.back().node.attributes["index_element_type"] = std::string("u64");
  cases.push_back(adaptive_max_pool(ElementType::bfloat16_, {2, 3, 4, 9, 11}, {2, 3, 5}));
  cases.push_back(python_result({}));
  cases.push_back(python_result({'n', 'o'}));
  for (OperatorCase& c : cases) c.node.threads = 2;
  return cases;
}

std::string described(const OperatorCase& c) {
  std::ostringstream out;
  out.precision(21);
  out << "operator: " << (c.node.domain.empty() ? "ai.onnx" : c.node.domain) << " " << c.node.op << "\n";
  for (const auto& [name, value] : c.node.attributes) {
    out << "  " << name << " = ";
    if (const auto* i = std::get_if<int64_t>(&value)) out << *i << " (INT)";
    if (const auto* f = std::get_if<float>(&value)) out << *f << " (FLOAT)";
    if (const auto* s = std::get_if<std::string>(&value)) out << '"' << *s << "\" (STRING)";
    if (const auto* i = std::get_if<Shape>(&value)) describe_values(out, *i);
    if (const auto* f = std::get_if<std::vector<float>>(&value)) describe_values(out, *f), out << " (FLOATS)";
    if (std::holds_alternative<stand_in::OtherType>(value)) out << "of another type";
    out << "\n";
  }
  out << "  bin_edges = " << (*name_of(c.bin_edges) ? name_of(c.bin_edges) : "not set")
      << ", threads = " << c.node.threads << ", ONNX Runtime " << stand_in::base(c.version).GetVersionString() << "\n";
  describe_inputs(out, c.inputs);
  for (size_t i = 0; i < c.later.size(); ++i) {
    out << "of later runs, number " << i + 1 << "\n";
    describe_inputs(out, c.later[i]);
  }
  if (!c.turns.empty()) out << "runs in turn:";
  for (size_t turn : c.turns) out << " " << turn;
  if (!c.turns.empty()) out << "\n";
  out << "outputs:";
  for (const std::string& name : c.node.outputs) out << " '" << name << "'";
  out << ", " << c.node.output_offset << " cells behind a boundary of 64 bytes\n";
  return out.str();
}

const char* name_of(BinEdges bin_edges) {
  constexpr const char* names[] = {"", "onnx", "exact", "double"};
  return names[static_cast<size_t>(bin_edges)];
}

const OrtSessionOptions& session_options(BinEdges bin_edges, Version version) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  static auto& made = *new std::map<std::pair<BinEdges, Version>, OrtSessionOptions>;
  const auto [found, is_new] = made.try_emplace({bin_edges, version});
  if (is_new) {
    if (*name_of(bin_edges)) found->second.entries["onnx_maxpool.bin_edges"] = name_of(bin_edges);
    const stand_in::Outcome outcome = stand_in::register_operators(found->second, version);
    if (outcome.code) throw std::runtime_error("cannot register: " + outcome.message);
  }
  return found->second;
}

void require_target() {
  OrtSessionOptions options;
  const stand_in::Outcome outcome = stand_in::register_operators(options, Version::newest);
  if (outcome.message.find("ONNX_MAXPOOL_TARGET") == std::string::npos) return;
  std::fprintf(stderr, "skipped: %s\n", outcome.message.c_str());
  std::exit(kSkipped);
}

std::string difference(const OperatorCase& c) {
  const std::vector<std::vector<const OrtValue*>> inputs = c.all_inputs();
  const OrtCustomOp* op = stand_in::find(session_options(c.bin_edges, c.version), c.node, inputs[0]);
  if (!op) return "there is no such operator";
  const std::vector<size_t> as_often(static_cast<size_t>(c.node.runs), 0);
  const std::vector<stand_in::Run> runs =
      stand_in::run_in_turns(*op, c.node, inputs, c.turns.empty() ? as_often : c.turns, c.version);
  const bool ran = !runs[0].created.code && !runs[0].computed.code;
  std::string wrong = ran ? inference_difference(c, runs[0]) : "";
  for (size_t i = 0; wrong.empty() && i < runs.size(); ++i) {
    wrong = run_difference(c, inputs[i], runs[i]);
    if (i > 0 && !wrong.empty()) wrong = "of the inputs of later runs, number " + std::to_string(i) + ": " + wrong;
  }
  return wrong;
}

void check(const OperatorCase& c) {
  const std::string wrong = difference(c);
  require(wrong.empty(), wrong + "\n" + described(c));
}
