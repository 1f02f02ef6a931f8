// The last node of an operator that runs in Python (python_ops.py): hands the result on, or fails with the message.
//
// Nothing that a Python function raises may leave onnxruntime-extensions, which would end the process. So the function
// gives its message as a second output, the bytes of a string, and this node says it as the library says its own.
#include "operators/python_result.h"

#include <cstring>
#include <string>

namespace onnx_maxpool {
namespace {

class PythonResult : public Kernel {
 public:
  explicit PythonResult(ElementType type) : type_(type) {}

  void compute(const Run& run) const override {
    const Tensor message = run.input(1);
    const int64_t length = checked_cells(message.shape);
    if (length) throw Error(std::string(static_cast<const char*>(message.data), static_cast<size_t>(length)));
    const Tensor result = run.input(0);
    const size_t bytes = element_size(type_) * static_cast<size_t>(checked_cells(result.shape));
    void* output = run.output(0, type_, result.shape);
    if (bytes) std::memcpy(output, result.data, bytes);
    run.output(1, ElementType::uint8_, {0});
  }

 private:
  const ElementType type_;
};

std::vector<Parameter> inputs(const Variant& variant) { return {{variant.types[0]}, {ElementType::uint8_}}; }

// The second is the message again, empty: what takes it runs behind this node, which so is the one to fail.
std::vector<Parameter> outputs(const Variant& variant) { return {{variant.types[0]}, {ElementType::uint8_}}; }

std::unique_ptr<Kernel> create(const Variant& variant, const Attributes&) {
  return std::make_unique<PythonResult>(variant.types[0]);
}

// Before it ran a Python operator's result has no shape, not even a rank: what the model says is the attribute `dims`,
// with -1 for a dimension that is not known.
void infer(const Variant& variant, const Inference& node) {
  const std::vector<int64_t> sizes = node.ints("dims", {});
  if (sizes.empty()) return;
  std::vector<Dim> dims;
  for (const int64_t size : sizes) dims.push_back(size < 0 ? Inference::unknown() : Dim{size, ""});
  node.set_output(0, variant.types[0], dims);
}

}  // namespace

const std::vector<PythonResultOp>& python_results() {
  static const auto& ops = *new std::vector<PythonResultOp>{
      {{"PythonResult_float", inputs, outputs, create, infer}, ElementType::float_},
      {{"PythonResult_double", inputs, outputs, create, infer}, ElementType::double_},
      {{"PythonResult_int8", inputs, outputs, create, infer}, ElementType::int8_},
      {{"PythonResult_int16", inputs, outputs, create, infer}, ElementType::int16_},
      {{"PythonResult_int32", inputs, outputs, create, infer}, ElementType::int32_},
      {{"PythonResult_int64", inputs, outputs, create, infer}, ElementType::int64_},
      {{"PythonResult_uint8", inputs, outputs, create, infer}, ElementType::uint8_},
      {{"PythonResult_uint16", inputs, outputs, create, infer}, ElementType::uint16_},
      {{"PythonResult_uint32", inputs, outputs, create, infer}, ElementType::uint32_},
      {{"PythonResult_uint64", inputs, outputs, create, infer}, ElementType::uint64_},
  };
  return ops;
}

}  // namespace onnx_maxpool
