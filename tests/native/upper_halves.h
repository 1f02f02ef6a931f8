// Whether kernels clear the upper halves of vector registers before they return (kernels/upper_halves.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "kernels/targets.h"
#include "require.h"

class UpperHalves {
 public:
  explicit UpperHalves(const onnx_maxpool::Kernels& kernels)
      : target_(kernels.target), vector_bytes_(kernels.roi(sizeof(float), 1).line_bytes) {}

  // All that is above the first 16 bytes of each register that older instructions know. To be called right after a
  // kernel. Nothing may come before the registers are stored: the C library's functions may clear them, too. They are
  // stored in assembly, as this is compiled for every processor.
  void require_clear([[maybe_unused]] const char* function) const {
#if defined(__x86_64__)
    constexpr int kRegisters = 16, kBytes = 64, kLower = 16;
    alignas(kBytes) unsigned char all[kRegisters * kBytes];
#define STORE_ALL(register) \
  ".irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n" \
  "vmovups %%" register "\\number, 64*\\number(%0)\n"                     \
  ".endr"
    if (vector_bytes_ == 64) __asm__ volatile(STORE_ALL("zmm") : : "r"(all) : "memory");
    if (vector_bytes_ == 32) __asm__ volatile(STORE_ALL("ymm") : : "r"(all) : "memory");
#undef STORE_ALL
    for (int i = 0; i < kRegisters; ++i) {
      const unsigned char *const begin = all + i * kBytes, *const end = begin + vector_bytes_;
      const bool is_clear = std::all_of(begin + kLower, end, [](unsigned char byte) { return byte == 0; });
      if (is_clear) continue;
      require(false,
              target_ + ": " + function + " leaves the upper half of vector register " + std::to_string(i) + " in use");
    }
#endif
  }

 private:
  const std::string target_;
  const int64_t vector_bytes_;
};
