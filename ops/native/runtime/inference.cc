#include "runtime/inference.h"

#include <atomic>
#include <cstring>

#include "runtime/handles.h"

namespace onnx_maxpool {

// Borrowed.
OrtTensorTypeAndShapeInfo* Inference::info_of(size_t index) const {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  check(api_, ort::ShapeInferGetInput::of(api_)(context_, index, &info));
  return info;
}

ElementType Inference::input_type(size_t index) const {
  int type = 0;
  check(api_, ort::GetTensorElementType::of(api_)(info_of(index), &type));
  return static_cast<ElementType>(type);
}

size_t Inference::input_rank(size_t index) const { return dimensions(api_, info_of(index)).size(); }

std::vector<Dim> Inference::input(size_t index, size_t rank) const {
  std::vector<Dim> dims(rank);
  const OrtTensorTypeAndShapeInfo* const info = info_of(index);
  const Dims sizes = dimensions(api_, info);
  std::vector<const char*> symbols(sizes.size());
  if (sizes.size()) check(api_, ort::GetSymbolicDimensions::of(api_)(info, symbols.data(), symbols.size()));
  for (size_t i = 0; i < rank; ++i) {
    const bool known = sizes.size() == rank;
    if (known && sizes[i] >= 0) {
      dims[i].size = sizes[i];
    } else if (known && symbols[i] && *symbols[i]) {
      dims[i].symbol = symbols[i];
    } else {
      dims[i] = unknown();
    }
  }
  return dims;
}

std::vector<char> Inference::attribute(const char* name, int type) const {
  const OrtOpAttr* attribute = nullptr;
  if (OrtStatus* status = ort::ShapeInferGetAttribute::of(api_)(context_, name, &attribute)) {
    ort::ReleaseStatus::of(api_)(status);
    return {};
  }
  // The first call, without room, answers with a status and the size that it wants.
  size_t bytes = 0;
  if (OrtStatus* status = ort::ReadOpAttr::of(api_)(attribute, type, nullptr, 0, &bytes)) {
    ort::ReleaseStatus::of(api_)(status);
  }
  std::vector<char> value(bytes);
  if (bytes) check(api_, ort::ReadOpAttr::of(api_)(attribute, type, value.data(), bytes, &bytes));
  return value;
}

std::vector<int64_t> Inference::ints(const char* name, const std::vector<int64_t>& missing) const {
  const std::vector<char> bytes = attribute(name, ort::kAttributeInts);
  if (bytes.empty()) return missing;
  std::vector<int64_t> values(bytes.size() / sizeof(int64_t));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(int64_t));
  return values;
}

std::string Inference::string(const char* name, const std::string& missing) const {
  const std::vector<char> bytes = attribute(name, ort::kAttributeString);
  return bytes.empty() ? missing : std::string(bytes.begin(), bytes.end());
}

void Inference::set_output(size_t index, ElementType type, const std::vector<Dim>& dims) const {
  OwnedShape info(api_);
  check(api_, ort::CreateTensorTypeAndShapeInfo::of(api_)(info.out()));
  check(api_, ort::SetTensorElementType::of(api_)(info.get(), static_cast<int>(type)));
  Shape sizes;
  std::vector<const char*> symbols;
  for (const Dim& dim : dims) {
    sizes.push_back(dim.size);
    symbols.push_back(dim.symbol.c_str());
  }
  check(api_, ort::SetDimensions::of(api_)(info.get(), sizes.data(), sizes.size()));
  check(api_, ort::SetSymbolicDimensions::of(api_)(info.get(), symbols.data(), symbols.size()));
  check(api_, ort::ShapeInferSetOutput::of(api_)(context_, index, info.get()));
}

Dim Inference::unknown() {
  // Without a symbol the runtime would take two unknown dimensions for equal, and share buffers of unlike size.
  static std::atomic<uint64_t> count{0};
  return {-1, "onnx_maxpool_dim_" + std::to_string(count.fetch_add(1))};
}

}  // namespace onnx_maxpool
