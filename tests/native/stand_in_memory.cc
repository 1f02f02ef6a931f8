// Tensors of the stand-in runtime, between guards.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "stand_in_slots.h"

#if defined(__SANITIZE_ADDRESS__)
#define STAND_IN_POISONS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STAND_IN_POISONS
#endif
#endif
#ifdef STAND_IN_POISONS
#include <sanitizer/asan_interface.h>
#endif

namespace stand_in {

size_t largest_allocation = size_t{1} << 26;

namespace {

constexpr char kGuardByte = 0x5a;

}  // namespace

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "stand-in runtime: %s\n", what.c_str());
  std::abort();
}

Block::Block(size_t bytes, size_t offset) : bytes_(bytes), offset_(offset) {
  const size_t whole = (2 * kGuard + offset + bytes + 63) / 64 * 64;
  memory_.reset(static_cast<char*>(std::aligned_alloc(64, whole)));
  if (!memory_) die("out of memory");
  char* data = memory_.get() + kGuard + offset;
  std::memset(memory_.get(), kGuardByte, kGuard + offset);
  std::memset(data + bytes, kGuardByte, whole - kGuard - offset - bytes);
  static std::atomic<uint32_t> junk{1};
  std::memset(data, static_cast<int>(junk.fetch_add(0x3b)), bytes);
#ifdef STAND_IN_POISONS
  ASAN_POISON_MEMORY_REGION(memory_.get(), kGuard + offset);
  ASAN_POISON_MEMORY_REGION(data + bytes, whole - kGuard - offset - bytes);
#endif
}

Block::~Block() {
  if (!memory_) return;
  const size_t whole = (2 * kGuard + offset_ + bytes_ + 63) / 64 * 64;
#ifdef STAND_IN_POISONS
  ASAN_UNPOISON_MEMORY_REGION(memory_.get(), whole);
#endif
  for (size_t i = 0; i < whole; ++i) {
    if (i == kGuard + offset_) i += bytes_;
    if (memory_.get()[i] == kGuardByte) continue;
    die("byte " + std::to_string(static_cast<int64_t>(i) - static_cast<int64_t>(kGuard + offset_)) + " of a block of " +
        std::to_string(bytes_) + " was written");
  }
}

void Block::Free::operator()(char* memory) const { std::free(memory); }

std::unique_ptr<OrtValue> tensor(ElementType type, const Shape& shape, size_t offset_cells) {
  const size_t size = element_size(type);
  const auto cells = static_cast<size_t>(onnx_maxpool::checked_cells(shape));
  return std::make_unique<OrtValue>(OrtValue{type, shape, Block(cells * size, offset_cells * size)});
}

}  // namespace stand_in
