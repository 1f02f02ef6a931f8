#include "runtime/attributes.h"

#include "runtime/handles.h"

namespace onnx_maxpool {

bool Attributes::succeeded(OrtStatus* status) const {
  if (!status) return true;
  ort::ReleaseStatus::of(api_)(status);
  return false;
}

int64_t Attributes::count(const char* name) const {
  size_t size = 0;
  const bool found = succeeded(ort::KernelInfoGetInt64s::of(api_)(info_, name, nullptr, &size));
  return found ? static_cast<int64_t>(size) : -1;
}

void Attributes::refuse_other_types(const char* name, const char* expected) const {
  float f;
  int64_t i;
  size_t size = 0;
  const char* found = nullptr;
  if (succeeded(ort::KernelInfoGetFloat::of(api_)(info_, name, &f))) {
    found = "FLOAT";
  } else if (succeeded(ort::KernelInfoGetInt64::of(api_)(info_, name, &i))) {
    found = "INT";
  } else if (succeeded(ort::KernelInfoGetString::of(api_)(info_, name, nullptr, &size))) {
    found = "STRING";
  } else if (size = 0, succeeded(ort::KernelInfoGetFloats::of(api_)(info_, name, nullptr, &size)) && size) {
    found = "FLOATS";
  } else if (const int64_t integers = count(name); integers >= 0) {
    found = integers ? "INTS" : "empty or of another type";  // such as TENSOR: the runtime has nothing that would tell
  }
  if (!found) return;
  throw Error(std::string(op_) + ": attribute " + name + " is " + found + ", expected " + expected);
}

float Attributes::get(const char* name, float missing) const {
  float value = missing;
  if (succeeded(ort::KernelInfoGetFloat::of(api_)(info_, name, &value))) return value;
  refuse_other_types(name, "FLOAT");
  return missing;
}

std::vector<int64_t> Attributes::get(const char* name, const std::vector<int64_t>& missing) const {
  const int64_t size = count(name);
  if (size <= 0) {
    refuse_other_types(name, "INTS");
    return missing;
  }
  std::vector<int64_t> values(static_cast<size_t>(size));
  size_t room = values.size();
  check(api_, ort::KernelInfoGetInt64s::of(api_)(info_, name, values.data(), &room));
  return values;
}

std::vector<int64_t> Attributes::required(const char* name) const {
  std::vector<int64_t> values = get(name, std::vector<int64_t>{});
  if (values.empty()) throw Error(std::string(op_) + ": the required attribute " + name + " is missing");
  return values;
}

std::string Attributes::get(const char* name, const std::string& missing) const {
  size_t size = 0;  // the terminating NUL included
  if (succeeded(ort::KernelInfoGetString::of(api_)(info_, name, nullptr, &size)) && size) {
    std::string value(size, '\0');
    check(api_, ort::KernelInfoGetString::of(api_)(info_, name, value.data(), &size));
    value.resize(size - 1);
    return value;
  }
  refuse_other_types(name, "STRING");
  return missing;
}

bool Attributes::has_output(size_t index) const {
  size_t count = 0;
  check(api_, ort::KernelInfoGetOutputCount::of(api_)(info_, &count));
  if (index >= count) return false;
  size_t size = 0;  // of its name, the terminating NUL included
  check(api_, ort::KernelInfoGetOutputName::of(api_)(info_, index, nullptr, &size));
  return size > 1;
}

}  // namespace onnx_maxpool
