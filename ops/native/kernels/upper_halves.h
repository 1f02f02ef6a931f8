// How functions of the kernels return to code of other targets. Internal to each file, as kernels are compiled for
// processors of their own.
#pragma once

#include "kernels/simd/vector.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Clears the upper halves of the vector registers at the end of the function that has one. Until that is done,
// instructions for 16 bytes, which leave these halves as they are, wait for what wrote the registers last, wherever in
// the process they are: small runs took up to 1.7 times as long, and other small nodes after them 1.2 times. Compilers
// clear them too, but GCC 12 leaves some returns out.
struct ClearsUpperHalves {
  ClearsUpperHalves() = default;
  ClearsUpperHalves(const ClearsUpperHalves&) = delete;
  ClearsUpperHalves& operator=(const ClearsUpperHalves&) = delete;
  ~ClearsUpperHalves() {
#if defined(__AVX__)
    _mm256_zeroupper();
#endif
  }
};

// `function`, and then the upper halves are clear.
template <auto function>
struct Cleared;
template <class Result, class... Arguments, Result (*function)(Arguments...)>
struct Cleared<function> {
  static Result call(Arguments... arguments) {
    const ClearsUpperHalves clears;
    return function(arguments...);
  }
};
template <auto function>
constexpr auto cleared = Cleared<function>::call;

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
