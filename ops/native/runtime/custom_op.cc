#include "runtime/custom_op.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "base/machine.h"

namespace onnx_maxpool {
namespace {

// Releases what the runtime gave us to own.
template <class T, class Release>
class Owned {
 public:
  explicit Owned(const OrtApi* api) : api_(api) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (pointer_) Release::of(api_)(pointer_);
  }
  T** out() { return &pointer_; }
  T* get() const { return pointer_; }

 private:
  const OrtApi* api_;
  T* pointer_ = nullptr;
};

using OwnedShape = Owned<OrtTensorTypeAndShapeInfo, ort::ReleaseTensorTypeAndShapeInfo>;
using OwnedMemoryInfo = Owned<OrtMemoryInfo, ort::ReleaseMemoryInfo>;
using OwnedAllocator = Owned<OrtAllocator, ort::ReleaseAllocator>;

Shape dimensions(const OrtApi* api, const OrtTensorTypeAndShapeInfo* info) {
  size_t rank = 0;
  check(api, ort::GetDimensionsCount::of(api)(info, &rank));
  Shape shape(rank);
  if (rank) check(api, ort::GetDimensions::of(api)(info, shape.data(), rank));
  return shape;
}

// Memory from the runtime's arena.
class Scratch {
 public:
  // Nothing where no bytes are wanted, as a small run would notice the calls.
  Scratch(const OrtApi* api, const OrtKernelContext* context, size_t bytes) : api_(api), allocator_(api) {
    if (bytes == 0) return;
    OwnedMemoryInfo info(api);
    check(api, ort::CreateCpuMemoryInfo::of(api)(ort::kArenaAllocator, ort::kMemoryDefault, info.out()));
    check(api, ort::KernelContextGetAllocator::of(api)(context, info.get(), allocator_.out()));
    check(api, ort::AllocatorAlloc::of(api)(allocator_.get(), bytes, &memory_));
    if (!memory_) throw std::bad_alloc();
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (memory_) {
      if (OrtStatus* status = ort::AllocatorFree::of(api_)(allocator_.get(), memory_)) {
        ort::ReleaseStatus::of(api_)(status);
      }
    }
  }
  void* get() const { return memory_; }

 private:
  const OrtApi* api_;
  OwnedAllocator allocator_;
  void* memory_ = nullptr;
};

// What the runtime holds as a kernel.
struct KernelHandle {
  const OrtApi* api;
  std::unique_ptr<Kernel> kernel;
  Threads threads{machine().processors, machine().cycles_worth_a_thread};
};

}  // namespace

void check(const OrtApi* api, OrtStatus* status) {
  Owned<OrtStatus, ort::ReleaseStatus> owned(api);
  *owned.out() = status;
  if (status) throw Error(ort::GetErrorMessage::of(api)(status), ort::kFail);
}

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

Tensor Run::input(size_t index) const {
  const OrtValue* value = nullptr;
  check(api_, ort::KernelContextGetInput::of(api_)(context_, index, &value));
  OwnedShape info(api_);
  check(api_, ort::GetTensorTypeAndShape::of(api_)(value, info.out()));
  void* data = nullptr;
  check(api_, ort::GetTensorMutableData::of(api_)(const_cast<OrtValue*>(value), &data));
  return {data, dimensions(api_, info.get())};
}

void* Run::output(size_t index, ElementType type, const Shape& shape) const {
  OrtValue* value = nullptr;
  check(api_, ort::KernelContextGetOutput::of(api_)(context_, index, shape.data(), shape.size(), &value));
  if (!value) return nullptr;
  OwnedShape info(api_);
  check(api_, ort::GetTensorTypeAndShape::of(api_)(value, info.out()));
  int found = 0;
  check(api_, ort::GetTensorElementType::of(api_)(info.get(), &found));
  if (found != static_cast<int>(type)) {
    throw Error("onnx_maxpool: output " + std::to_string(index) + " is of element type " + std::to_string(found) +
                " in the graph, expected " + std::to_string(static_cast<int>(type)));
  }
  void* data = nullptr;
  check(api_, ort::GetTensorMutableData::of(api_)(value, &data));
  return data;
}

void Run::parallel(int64_t units, size_t scratch_bytes, double cycles, bool shows_threads, const void* work,
                   UnitFunction run) const {
  struct Shared {
    const void* work;
    UnitFunction run;
    int64_t units;
    char* scratch;
    size_t stride;
    std::atomic<int64_t> next{0};
    std::atomic<int64_t> worked{0};
  } shared{work, run, units, nullptr, (scratch_bytes + 63) / 64 * 64};

  // Each worker takes units until none is left: the scratch is then bounded whatever the number of units, and a slow
  // unit holds up nobody. With fewer threads the first workers leave nothing to the rest.
  const size_t workers = static_cast<size_t>(std::min(units, threads_.workers(cycles)));
  const Scratch scratch(api_, context_, scratch_bytes ? workers * shared.stride + 64 : 0);
  const auto address = reinterpret_cast<uintptr_t>(scratch.get());
  shared.scratch = static_cast<char*>(scratch.get()) + (-address % 64);

  const auto worker = [](void* user, size_t index) {
    Shared& s = *static_cast<Shared*>(user);
    void* own = s.scratch + index * s.stride;
    const auto take = [&] { return s.next.fetch_add(1, std::memory_order_relaxed); };
    int64_t unit = take();
    if (unit < s.units) s.worked.fetch_add(1, std::memory_order_relaxed);
    for (; unit < s.units; unit = take()) s.run(s.work, unit, own);
  };
  if (workers == 1) return worker(&shared, 0);
  check(api_, ort::KernelContextParallelFor::of(api_)(context_, worker, workers, 0, &shared));
  if (shows_threads) threads_.saw(static_cast<int64_t>(workers), shared.worked, cycles);
}

void refuse_bytes(const char* op, const char* output, const std::string& shape) {
  throw Error(std::string(op) + ": " + output + " would have shape " + shape + ", expected fewer than 2^63 bytes");
}

int64_t output_bytes(const char* op, const char* output, const Shape& shape, ElementType type) {
  Shape sides;
  for (int64_t dim : shape) sides.push_back(std::max<int64_t>(dim, 1));
  const int64_t cells = checked_cells(sides), size = static_cast<int64_t>(element_size(type));
  if (cells < 0 || cells > std::numeric_limits<int64_t>::max() / size) refuse_bytes(op, output, text(shape));
  return checked_cells(shape) * size;
}

ElementType Inference::input_type(size_t index) const {
  OrtTensorTypeAndShapeInfo* info = nullptr;  // borrowed
  check(api_, ort::ShapeInferGetInput::of(api_)(context_, index, &info));
  int type = 0;
  check(api_, ort::GetTensorElementType::of(api_)(info, &type));
  return static_cast<ElementType>(type);
}

size_t Inference::input_rank(size_t index) const {
  OrtTensorTypeAndShapeInfo* info = nullptr;  // borrowed
  check(api_, ort::ShapeInferGetInput::of(api_)(context_, index, &info));
  return dimensions(api_, info).size();
}

std::vector<Dim> Inference::input(size_t index, size_t rank) const {
  std::vector<Dim> dims(rank);
  OrtTensorTypeAndShapeInfo* info = nullptr;  // borrowed
  check(api_, ort::ShapeInferGetInput::of(api_)(context_, index, &info));
  const Shape sizes = dimensions(api_, info);
  std::vector<const char*> symbols(sizes.size());
  if (!sizes.empty()) check(api_, ort::GetSymbolicDimensions::of(api_)(info, symbols.data(), symbols.size()));
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

CustomOp::CustomOp(const OrtApi* api, const Operator& op, Variant variant)
    : OrtCustomOp{},
      api_(api),
      operator_(op),
      variant_(std::move(variant)),
      inputs_(op.inputs(variant_)),
      outputs_(op.outputs(variant_)) {
  version = ort::kApiVersion;
  GetName = [](const OrtCustomOp* op) { return self(op).operator_.name; };
  GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };  // the CPU's
  GetInputTypeCount = [](const OrtCustomOp* op) { return self(op).inputs_.size(); };
  GetInputType = [](const OrtCustomOp* op, size_t i) { return static_cast<int>(self(op).inputs_[i].type); };
  GetInputCharacteristic = [](const OrtCustomOp* op, size_t i) -> int { return self(op).inputs_[i].characteristic; };
  GetInputMemoryType = [](const OrtCustomOp*, size_t) -> int { return ort::kMemoryDefault; };
  GetOutputTypeCount = [](const OrtCustomOp* op) { return self(op).outputs_.size(); };
  GetOutputType = [](const OrtCustomOp* op, size_t i) { return static_cast<int>(self(op).outputs_[i].type); };
  GetOutputCharacteristic = [](const OrtCustomOp* op, size_t i) -> int { return self(op).outputs_[i].characteristic; };
  GetStartVersion = [](const OrtCustomOp* op) {
    // Constant folding looks for a kernel among the built-in ones first. It would take ONNX Runtime's own MaxRoiPool,
    // in whose place ours stands, and then fail on our schema; no built-in kernel is of version 0.
    const Variant& variant = self(op).variant_;
    return variant.domain[0] ? variant.since_version : 0;
  };
  // One name has one schema in the runtime, so one range of opsets has to hold all of an operator's versions.
  GetEndVersion = [](const OrtCustomOp*) { return std::numeric_limits<int>::max(); };
  CreateKernelV2 = [](const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info, void** kernel) {
    return guarded(api, [&] {
      const CustomOp& o = self(op);
      const Attributes attributes(api, info, o.operator_.name);
      *kernel = new KernelHandle{api, o.operator_.create(o.variant_, attributes)};
    });
  };
  KernelComputeV2 = [](void* kernel, OrtKernelContext* context) {
    auto* handle = static_cast<KernelHandle*>(kernel);
    return guarded(handle->api, [&] { handle->kernel->compute(Run(handle->api, context, handle->threads)); });
  };
  KernelDestroy = [](void* kernel) { delete static_cast<KernelHandle*>(kernel); };
  InferOutputShapeFn = [](const OrtCustomOp* op, OrtShapeInferContext* context) -> OrtStatus* {
    // What cannot be inferred is no error. The runtime would neither look at a status nor free it.
    const CustomOp& o = self(op);
    try {
      o.operator_.infer(o.variant_, Inference(o.api_, context));
    } catch (...) {
    }
    return nullptr;
  };
}

}  // namespace onnx_maxpool
