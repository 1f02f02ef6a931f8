#include "runtime/run.h"

#include <algorithm>
#include <atomic>

#include "base/machine.h"
#include "base/stack.h"
#include "runtime/handles.h"

namespace onnx_maxpool {
namespace {

// Memory from the runtime's arena.
class Scratch {
 public:
  // Throws NoScratch where the arena has not so many bytes.
  Scratch(const OrtApi* api, const OrtKernelContext* context, size_t bytes) : api_(api), allocator_(api) {
    OwnedMemoryInfo info(api);
    check(api, ort::CreateCpuMemoryInfo::of(api)(ort::kArenaAllocator, ort::kMemoryDefault, info.out()));
    check(api, ort::KernelContextGetAllocator::of(api)(context, info.get(), allocator_.out()));
    OrtStatus* const status = ort::AllocatorAlloc::of(api)(allocator_.get(), bytes + 64, &memory_);
    if (status) fail<NoScratch>(api, status);
    if (!memory_) throw NoScratch("onnx_maxpool: out of memory", ort::kFail);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (OrtStatus* status = ort::AllocatorFree::of(api_)(allocator_.get(), memory_)) {
      ort::ReleaseStatus::of(api_)(status);
    }
  }
  // Aligned to 64 bytes.
  char* get() const { return static_cast<char*>(memory_) + (-reinterpret_cast<uintptr_t>(memory_) % 64); }

 private:
  const OrtApi* api_;
  OwnedAllocator allocator_;
  void* memory_ = nullptr;
};

}  // namespace

Tensor Run::input(size_t index) const {
  const OrtValue* value = nullptr;
  check(api_, ort::KernelContextGetInput::of(api_)(context_, index, &value));
  void* data = nullptr;
  check(api_, ort::GetTensorMutableData::of(api_)(const_cast<OrtValue*>(value), &data));
  return {data, shape_of(value)};
}

// A copy takes the runtime three allocations and us five calls, which a small run would notice.
Dims Run::shape_of(const OrtValue* value) const {
  if (!lends_shapes_) {
    OwnedShape info(api_);
    check(api_, ort::GetTensorTypeAndShape::of(api_)(value, info.out()));
    return dimensions(api_, info.get());
  }
  int type = 0;
  const int64_t* lent = nullptr;
  size_t rank = 0;
  check(api_, ort::GetTensorElementTypeAndShapeDataReference::of(api_)(value, &type, &lent, &rank));
  Dims shape(rank);
  std::copy_n(lent, rank, shape.begin());
  return shape;
}

void* Run::output(size_t index, ElementType type, const Dims& shape) const {
  OrtValue* value = nullptr;
  check(api_, ort::KernelContextGetOutput::of(api_)(context_, index, shape.begin(), shape.size(), &value));
  if (!value) return nullptr;
  const uint32_t bit = uint32_t{1} << index;
  if (!(shown_.good_outputs.load(std::memory_order_relaxed) & bit)) {
    check_type(value, index, type);
    shown_.good_outputs.fetch_or(bit, std::memory_order_relaxed);
  }
  void* data = nullptr;
  check(api_, ort::GetTensorMutableData::of(api_)(value, &data));
  return data;
}

void Run::check_type(const OrtValue* output, size_t index, ElementType type) const {
  OwnedShape info(api_);
  check(api_, ort::GetTensorTypeAndShape::of(api_)(output, info.out()));
  int found = 0;
  check(api_, ort::GetTensorElementType::of(api_)(info.get(), &found));
  if (found == static_cast<int>(type)) return;
  throw Error("onnx_maxpool: output " + std::to_string(index) + " is of element type " + std::to_string(found) +
              " in the graph, expected " + std::to_string(static_cast<int>(type)));
}

bool Run::parallel(const Units& units) const {
  const Team team = {static_cast<size_t>(std::min(units.workers, units.count)), (units.scratch_bytes + 63) / 64 * 64};
  // A small run would notice the calls that the runtime's memory takes.
  constexpr size_t kFew = size_t{16} << 10;
  // What the kernels' frames take below, and the runtime's, which has the other threads begin.
  constexpr size_t kFrames = size_t{64} << 10;
  const size_t bytes = team.bytes();
  if (bytes == 0) return on_this_thread(units, nullptr);
  if (bytes <= std::min(kFew, machine().stack_scratch)) return on_stack<kFew>(units, team);
  if (bytes <= machine().stack_scratch && stack_left() >= kStackScratch + kFrames) {
    return on_stack<kStackScratch>(units, team);
  }
  return work(units, team, Scratch(api_, context_, bytes).get());
}

// A function of its own, as some compilers touch every page of what a function may have on its stack.
template <size_t bytes>
__attribute__((noinline)) bool Run::on_stack(const Units& units, const Team& team) const {
  alignas(64) char memory[bytes];
  return work(units, team, memory);
}

bool Run::work(const Units& units, const Team& team, char* memory) const {
  return team.workers == 1 ? on_this_thread(units, memory) : on_threads(units, team, memory);
}

bool Run::on_this_thread(const Units& units, void* scratch) {
  for (int64_t unit = 0; unit < units.count; ++unit) units.run(units.work, unit, scratch);
  return true;
}

bool Run::on_threads(const Units& units, const Team& team, char* memory) const {
  struct Shared {
    const Units& units;
    const Team& team;
    Shares shares;
    char* scratch;
    std::atomic<int64_t> worked{0};
  };
  // With fewer threads the first workers leave nothing to the rest.
  const auto worker = [](void* user, size_t index) {
    Shared& s = *static_cast<Shared*>(user);
    void* const own = s.scratch + index * s.team.scratch_bytes;
    bool has_worked = false;
    s.shares.work(index, [&](int64_t unit) {
      if (!has_worked) s.worked.fetch_add(1, std::memory_order_relaxed);
      has_worked = true;
      s.units.run(s.units.work, unit, own);
    });
  };
  Shared shared{units, team, Shares(units.count, team.workers, units.sharing, memory),
                memory + Shares::bytes(team.workers)};
  check(api_, ort::KernelContextParallelFor::of(api_)(context_, worker, team.workers, 0, &shared));
  const auto offered = static_cast<int64_t>(team.workers);
  if (units.show_threads) shown_.threads.saw(offered, shared.worked, units.cycles);
  return shared.worked >= std::min(offered, shown_.threads.count());
}

void refuse_bytes(const char* op, const char* output, const std::string& shape) {
  throw Error(std::string(op) + ": " + output + " would have shape " + shape + ", expected fewer than 2^63 bytes");
}

std::optional<int64_t> bytes_of(const Dims& shape, ElementType type) {
  auto bytes = static_cast<int64_t>(element_size(type));
  bool is_empty = false;
  for (int64_t side : shape) {
    is_empty |= side == 0;
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(side, 1), &bytes)) return std::nullopt;
  }
  return is_empty ? 0 : bytes;
}

int64_t output_bytes(const char* op, const char* output, const Dims& shape, ElementType type) {
  const std::optional<int64_t> bytes = bytes_of(shape, type);
  if (!bytes) refuse_bytes(op, output, text(shape));
  return *bytes;
}

}  // namespace onnx_maxpool
