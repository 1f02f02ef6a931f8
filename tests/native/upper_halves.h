// Whether kernels clear the upper halves of vector registers before they return.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "kernels/targets.h"
#include "require.h"

// What is above the first 16 bytes of each vector register that older instructions know. To be called right after a
// kernel: other code may clear them too. Registers are read in assembly, as this is compiled for every processor.
inline void require_clear_upper_halves([[maybe_unused]] const onnx_maxpool::Kernels& kernels,
                                       [[maybe_unused]] const std::string& function) {
#if defined(__x86_64__)
  constexpr int kRegisters = 16, kBytes = 64, kLower = 16;
  alignas(kBytes) unsigned char all[kRegisters * kBytes] = {};
  const std::string target = kernels.target;
#define STORE_ALL(register) \
  ".irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n" \
  "vmovups %%" register "\\number, 64*\\number(%0)\n" \
  ".endr"
  if (target == "avx512") __asm__ volatile(STORE_ALL("zmm") : : "r"(all) : "memory");
  if (target == "avx2") __asm__ volatile(STORE_ALL("ymm") : : "r"(all) : "memory");
#undef STORE_ALL
  for (int i = 0; i < kRegisters; ++i) {
    const unsigned char *const begin = all + i * kBytes + kLower, *const end = all + (i + 1) * kBytes;
    require(std::all_of(begin, end, [](unsigned char byte) { return byte == 0; }),
            target + ": " + function + " leaves the upper half of vector register " + std::to_string(i) + " in use");
  }
#endif
}
