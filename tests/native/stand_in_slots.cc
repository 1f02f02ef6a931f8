#include "stand_in_slots.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

namespace ort = onnx_maxpool::ort;

namespace stand_in {
namespace {

// What the stand-in allocates while the library calls it is not the library's to fail.
class OwnAllocations {
 public:
  OwnAllocations() : kept_(std::exchange(failing_allocation_here, -1)) {}
  ~OwnAllocations() { failing_allocation_here = kept_; }

 private:
  int64_t kept_;
};

OrtStatus* status(const std::string& message, int code = kFail) { return new OrtStatus{code, message}; }

// A slot that may fail: `body` is its work.
template <class Body>
OrtStatus* fallible(const Body& body) {
  const OwnAllocations own;
  if (failing_call.load() >= 0 && failing_call.fetch_sub(1) == 0) return status("stand-in: told to fail");
  return body();
}

OrtStatus* copy_string(const std::string& from, char* to, size_t* size) {
  const size_t room = std::exchange(*size, from.size() + 1);
  if (!to) return nullptr;
  if (room < from.size() + 1) return status("stand-in: too little room for a string", kInvalidArgument);
  std::memcpy(to, from.c_str(), from.size() + 1);
  return nullptr;
}

template <class T>
OrtStatus* scalar_attribute(const OrtKernelInfo* info, const char* name, T* out) {
  return fallible([&] {
    const auto found = info->node->attributes.find(name);
    const T* value = found == info->node->attributes.end() ? nullptr : std::get_if<T>(&found->second);
    if (!value) return status("stand-in: no such attribute");
    *out = *value;
    return static_cast<OrtStatus*>(nullptr);
  });
}

// An attribute of another type reads as an empty list.
template <class T>
OrtStatus* list_attribute(const OrtKernelInfo* info, const char* name, T* out, size_t* size) {
  return fallible([&]() -> OrtStatus* {
    const auto found = info->node->attributes.find(name);
    if (found == info->node->attributes.end()) return status("stand-in: no such attribute");
    const auto* values = std::get_if<std::vector<T>>(&found->second);
    const size_t count = values ? values->size() : 0, room = std::exchange(*size, count);
    if (!out || !count) return nullptr;
    if (room < count) return status("stand-in: too little room for a list", kInvalidArgument);
    std::copy(values->begin(), values->end(), out);
    return nullptr;
  });
}

template <class Slot>
struct PointerOf;
template <size_t number, class Result, class... Arguments>
struct PointerOf<ort::Slot<number, Result(Arguments...)>> {
  static constexpr size_t index = number;
  using type = Result (*)(Arguments...);
};
template <class Slot>
void set(OrtApi& api, typename PointerOf<Slot>::type function) {
  api.slots[PointerOf<Slot>::index] = reinterpret_cast<void (*)()>(function);
}

template <size_t index>
[[noreturn]] void missing() {
  die("slot " + std::to_string(index) + " was called, which base/ort_abi.h does not name");
}
template <size_t... index>
OrtApi without_slots(std::index_sequence<index...>) {
  return {{missing<index>...}};
}

void set_registration(OrtApi& api) {
  set<ort::CreateStatus>(api, [](int code, const char* message) {
    const OwnAllocations own;
    return status(message, code);
  });
  set<ort::GetErrorMessage>(api, [](const OrtStatus* status) { return status->message.c_str(); });
  set<ort::ReleaseStatus>(api, [](OrtStatus* status) { delete status; });
  set<ort::CreateCustomOpDomain>(api, [](const char* name, OrtCustomOpDomain** out) {
    return fallible([&] {
      *out = new OrtCustomOpDomain{name, {}};
      return static_cast<OrtStatus*>(nullptr);
    });
  });
  set<ort::CustomOpDomainAdd>(api, [](OrtCustomOpDomain* domain, const OrtCustomOp* op) {
    return fallible([&] {
      domain->ops.push_back(op);
      return static_cast<OrtStatus*>(nullptr);
    });
  });
  set<ort::AddCustomOpDomain>(api, [](OrtSessionOptions* options, OrtCustomOpDomain* domain) {
    return fallible([&]() -> OrtStatus* {
      for (const OrtCustomOpDomain* there : options->domains) {
        if (there->name == domain->name) return status("stand-in: domain already set in registry");
      }
      options->domains.push_back(domain);
      return nullptr;
    });
  });
  set<ort::AddSessionConfigEntry>(api, [](OrtSessionOptions* options, const char* key, const char* value) {
    return fallible([&] {
      options->entries[key] = value;
      return static_cast<OrtStatus*>(nullptr);
    });
  });
  set<ort::HasSessionConfigEntry>(api, [](const OrtSessionOptions* options, const char* key, int* found) {
    return fallible([&] {
      *found = options->entries.count(key) != 0;
      return static_cast<OrtStatus*>(nullptr);
    });
  });
  set<ort::GetSessionConfigEntry>(api,
                                  [](const OrtSessionOptions* options, const char* key, char* value, size_t* size) {
                                    return fallible([&] { return copy_string(options->entries.at(key), value, size); });
                                  });
}

void set_tensors(OrtApi& api) {
  set<ort::GetTensorMutableData>(api, [](OrtValue* value, void** data) {
    return fallible([&] {
      *data = value->block.data();
      return static_cast<OrtStatus*>(nullptr);
    });
  });
  set<ort::GetTensorTypeAndShape>(api, [](const OrtValue* value, OrtTensorTypeAndShapeInfo** out) {
    return fallible([&] {
      auto info = std::make_unique<OrtTensorTypeAndShapeInfo>();
      info->known.type = static_cast<int>(value->type);
      for (int64_t dim : value->shape) info->known.dims.push_back({dim, ""});
      *out = info.release();
      return static_cast<OrtStatus*>(nullptr);
    });
  });
  set<ort::CreateTensorTypeAndShapeInfo>(api, [](OrtTensorTypeAndShapeInfo** out) {
    return fallible([&] {
      *out = new OrtTensorTypeAndShapeInfo;
      return static_cast<OrtStatus*>(nullptr);
    });
  });
  set<ort::SetTensorElementType>(api, [](OrtTensorTypeAndShapeInfo* info, int type) {
    return fallible([&] {
      info->known.type = type;
      return static_cast<OrtStatus*>(nullptr);
    });
  });
  set<ort::SetDimensions>(api, [](OrtTensorTypeAndShapeInfo* info, const int64_t* dims, size_t rank) {
    return fallible([&] {
      info->known.dims.clear();
      for (size_t i = 0; i < rank; ++i) info->known.dims.push_back({dims[i], ""});
      return static_cast<OrtStatus*>(nullptr);
    });
  });
  set<ort::SetSymbolicDimensions>(api, [](OrtTensorTypeAndShapeInfo* info, const char** symbols, size_t rank) {
    return fallible([&] {
      if (rank != info->known.dims.size()) die("as many symbols as dimensions were expected");
      for (size_t i = 0; i < rank; ++i) info->known.dims[i].symbol = symbols[i];
      return static_cast<OrtStatus*>(nullptr);
    });
  });
  set<ort::GetTensorElementType>(api, [](const OrtTensorTypeAndShapeInfo* info, int* type) {
    return fallible([&] {
      *type = info->known.type;
      return static_cast<OrtStatus*>(nullptr);
    });
  });
  set<ort::GetDimensionsCount>(api, [](const OrtTensorTypeAndShapeInfo* info, size_t* rank) {
    return fallible([&] {
      *rank = info->known.dims.size();
      return static_cast<OrtStatus*>(nullptr);
    });
  });
  set<ort::GetDimensions>(api, [](const OrtTensorTypeAndShapeInfo* info, int64_t* dims, size_t rank) {
    return fallible([&] {
      for (size_t i = 0; i < std::min(rank, info->known.dims.size()); ++i) dims[i] = info->known.dims[i].size;
      return static_cast<OrtStatus*>(nullptr);
    });
  });
  set<ort::GetSymbolicDimensions>(api, [](const OrtTensorTypeAndShapeInfo* info, const char** symbols, size_t rank) {
    return fallible([&] {
      for (size_t i = 0; i < std::min(rank, info->known.dims.size()); ++i) {
        symbols[i] = info->known.dims[i].symbol.c_str();
      }
      return static_cast<OrtStatus*>(nullptr);
    });
  });
  set<ort::ReleaseTensorTypeAndShapeInfo>(api, [](OrtTensorTypeAndShapeInfo* info) { delete info; });
}

void set_lent_shapes(OrtApi& api) {
  set<ort::GetTensorElementTypeAndShapeDataReference>(
      api, [](const OrtValue* value, int* type, const int64_t** dims, size_t* rank) {
        return fallible([&] {
          *type = static_cast<int>(value->type);
          *dims = value->shape.data();
          *rank = value->shape.size();
          return static_cast<OrtStatus*>(nullptr);
        });
      });
}

void set_kernel_info(OrtApi& api) {
  set<ort::KernelInfoGetOutputCount>(api, [](const OrtKernelInfo* info, size_t* count) {
    return fallible([&] {
      *count = info->node->outputs.size();
      return static_cast<OrtStatus*>(nullptr);
    });
  });
  set<ort::KernelInfoGetOutputName>(api, [](const OrtKernelInfo* info, size_t index, char* name, size_t* size) {
    return fallible([&] { return copy_string(info->node->outputs.at(index), name, size); });
  });
  set<ort::KernelInfoGetFloat>(api, scalar_attribute<float>);
  set<ort::KernelInfoGetInt64>(api, scalar_attribute<int64_t>);
  set<ort::KernelInfoGetString>(api, [](const OrtKernelInfo* info, const char* name, char* out, size_t* size) {
    std::string value;
    OrtStatus* status = scalar_attribute(info, name, &value);
    const OwnAllocations own;
    return status ? status : copy_string(value, out, size);
  });
  set<ort::KernelInfoGetFloats>(api, list_attribute<float>);
  set<ort::KernelInfoGetInt64s>(api, list_attribute<int64_t>);
}

OrtStatus* get_output(OrtKernelContext* context, size_t index, const int64_t* dims, size_t rank, OrtValue** out) {
  const Node& node = *context->node;
  if (context->before_output) std::exchange(context->before_output, nullptr)();
  *out = nullptr;
  if (index >= node.outputs.size() || node.outputs[index].empty()) return nullptr;
  const Shape shape(dims, dims + rank);
  const ElementType type = context->output_types.at(index);
  const int64_t cells = onnx_maxpool::checked_cells(shape);
  if (cells < 0 || static_cast<uint64_t>(cells) > largest_allocation / element_size(type)) {
    context->run->output_refused = true;
    return status("stand-in: no memory for an output of shape " + onnx_maxpool::text(shape));
  }
  std::unique_ptr<OrtValue>& value = context->run->outputs.at(index);
  value = tensor(type, shape, node.output_offset);
  *out = value.get();
  return nullptr;
}

void parallel_for(const Node& node, void (*work)(void*, size_t), size_t total, void* user) {
  std::atomic<size_t> next{0};
  const auto take = [&] {
    for (size_t i; (i = next.fetch_add(1)) < total;) work(user, i);
  };
  const size_t count = std::min(node.threads, total);
  std::atomic<size_t> awake{0};
  const auto wake_and_take = [&] {
    std::this_thread::sleep_for(node.wake);
    if (node.wake.count() > 0) {
      for (++awake; awake < count;) std::this_thread::yield();
    }
    take();
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < count; ++i) threads.emplace_back(wake_and_take);
  wake_and_take();
  for (std::thread& thread : threads) thread.join();
}

void set_kernel_context(OrtApi& api) {
  set<ort::KernelContextGetInput>(api, [](const OrtKernelContext* context, size_t index, const OrtValue** out) {
    return fallible([&] {
      *out = context->inputs->at(index);
      return static_cast<OrtStatus*>(nullptr);
    });
  });
  set<ort::KernelContextGetOutput>(
      api, [](OrtKernelContext* context, size_t index, const int64_t* dims, size_t rank, OrtValue** out) {
        return fallible([&] { return get_output(context, index, dims, rank, out); });
      });
  set<ort::KernelContextGetAllocator>(api, [](const OrtKernelContext*, const OrtMemoryInfo* info, OrtAllocator** out) {
    return fallible([&] {
      if (!info) die("an allocator was asked for without memory info");
      *out = new OrtAllocator;
      return static_cast<OrtStatus*>(nullptr);
    });
  });
  set<ort::KernelContextParallelFor>(
      api, [](const OrtKernelContext* context, void (*work)(void*, size_t), size_t total, size_t, void* user) {
        return fallible([&] {
          ++context->run->on_threads.back();
          parallel_for(*context->node, work, total, user);
          return static_cast<OrtStatus*>(nullptr);
        });
      });
  set<ort::CreateCpuMemoryInfo>(api, [](int, int, OrtMemoryInfo** out) {
    return fallible([&] {
      *out = new OrtMemoryInfo;
      return static_cast<OrtStatus*>(nullptr);
    });
  });
  set<ort::ReleaseMemoryInfo>(api, [](OrtMemoryInfo* info) { delete info; });
  // An arena that has no more answers without a status.
  set<ort::AllocatorAlloc>(api, [](OrtAllocator* allocator, size_t bytes, void** out) {
    return fallible([&] {
      *out = nullptr;
      size_t most = most_scratch;
      while (most < bytes && !most_scratch.compare_exchange_weak(most, bytes)) continue;
      if (bytes <= std::min(largest_allocation, largest_scratch)) {
        library_bytes += bytes;
        Block block(bytes);
        *out = block.data();
        allocator->blocks.emplace(*out, std::move(block));
      }
      return static_cast<OrtStatus*>(nullptr);
    });
  });
  set<ort::AllocatorFree>(api, [](OrtAllocator* allocator, void* memory) {
    return fallible([&] {
      if (!allocator->blocks.erase(memory)) die("memory was freed that the allocator did not give");
      return static_cast<OrtStatus*>(nullptr);
    });
  });
  set<ort::ReleaseAllocator>(api, [](OrtAllocator* allocator) { delete allocator; });
}

OrtStatus* read_attribute(const OrtOpAttr* attribute, int type, void* data, size_t room, size_t* needed) {
  const char* from = nullptr;
  *needed = 0;
  if (type == ort::kAttributeInts) {
    if (const auto* ints = std::get_if<std::vector<int64_t>>(&attribute->value)) {
      from = reinterpret_cast<const char*>(ints->data());
      *needed = ints->size() * sizeof(int64_t);
    }
  } else if (type == ort::kAttributeString) {
    if (const auto* string = std::get_if<std::string>(&attribute->value)) {
      from = string->data();
      *needed = string->size();
    }
  } else {
    die("an attribute was read as type " + std::to_string(type));
  }
  if (room < *needed) return status("stand-in: too little room for an attribute", kInvalidArgument);
  if (*needed) std::memcpy(data, from, *needed);
  return nullptr;
}

void set_inference(OrtApi& api) {
  set<ort::ShapeInferGetInput>(api,
                               [](const OrtShapeInferContext* context, size_t index, OrtTensorTypeAndShapeInfo** out) {
                                 return fallible([&]() -> OrtStatus* {
                                   if (index >= context->inputs.size())
                                     return status("stand-in: no such input", kInvalidArgument);
                                   *out = const_cast<OrtTensorTypeAndShapeInfo*>(&context->inputs[index]);
                                   return nullptr;
                                 });
                               });
  set<ort::ShapeInferGetAttribute>(api,
                                   [](const OrtShapeInferContext* context, const char* name, const OrtOpAttr** out) {
                                     return fallible([&]() -> OrtStatus* {
                                       const auto found = context->attributes.find(name);
                                       if (found == context->attributes.end()) {
                                         return status("stand-in: no such attribute", kInvalidArgument);
                                       }
                                       *out = &found->second;
                                       return nullptr;
                                     });
                                   });
  set<ort::ShapeInferSetOutput>(
      api, [](const OrtShapeInferContext* context, size_t index, const OrtTensorTypeAndShapeInfo* info) {
        return fallible([&]() -> OrtStatus* {
          if (index >= context->outputs.size()) return status("stand-in: no such output", kInvalidArgument);
          for (const KnownDim& dim : info->known.dims) {
            if (dim.size < 0 && dim.symbol.empty()) die("inference gave a dimension without size and symbol");
          }
          context->outputs[index] = info->known;
          return nullptr;
        });
      });
  set<ort::ReadOpAttr>(api, [](const OrtOpAttr* attribute, int type, void* data, size_t room, size_t* needed) {
    return fallible([&] { return read_attribute(attribute, type, data, room, needed); });
  });
}

}  // namespace

OrtApi make_api(Version version) {
  OrtApi api = without_slots(std::make_index_sequence<std::tuple_size_v<decltype(OrtApi::slots)>>());
  set_registration(api);
  set_tensors(api);
  if (version == Version::newest) set_lent_shapes(api);
  set_kernel_info(api);
  set_kernel_context(api);
  set_inference(api);
  return api;
}

}  // namespace stand_in
