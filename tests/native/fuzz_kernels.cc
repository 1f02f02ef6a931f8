// Fuzzes the kernels by themselves, each target that this processor runs (fuzz_jobs.h).
#include "fuzz_jobs.h"

namespace {

using fuzz_jobs::Reach;

bool between(int64_t kind, int64_t first, int64_t last) { return first <= kind && kind <= last; }

// The bytes that no committed input began with when there was something new to draw: all others mean what they did.
Reach reach_of(int64_t kind) {
  const bool is_new = kind % 2 ? between(kind, 0x15, 0x1f) || between(kind, 0x5d, 0x65) || between(kind, 0x69, 0x73) ||
                                     between(kind, 0xe1, 0xe5) || between(kind, 0xe9, 0xed)
                               : between(kind, 0x4c, 0x58) || between(kind, 0x9c, 0xb4) || between(kind, 0xd8, 0xe4) ||
                                     between(kind, 0xe8, 0xf6);
  return is_new ? Reach::all : Reach::first;
}

fuzz_jobs::WindowDraw window_draw(int64_t kind) {
  const Reach reach = reach_of(kind);
  if (reach == Reach::all) return {kind % 8 == 1, false, reach};
  const bool are_short = between(kind, 0xad, 0xbd) || between(kind, 0xc9, 0xd5);
  return {between(kind, 0x41, 0x54) || between(kind, 0x92, 0xa8) || (are_short && kind > 0xb8), are_short, reach};
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ByteSource source(data, size);
  const int64_t kind = source.below(256);
  if (kind % 2) {
    fuzz_jobs::fuzz_window_kernels(source, window_draw(kind));
  } else {
    fuzz_jobs::fuzz_roi_kernels(source, reach_of(kind));
  }
  return 0;
}
