#include "runtime/run.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <new>

#include "runtime/handles.h"

namespace onnx_maxpool {
namespace {

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

}  // namespace

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

}  // namespace onnx_maxpool
