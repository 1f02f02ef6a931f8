// A copy that goes past the caches, line by line, while something else is computed.
#pragma once

#include "kernels/simd/vector.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {

// A copy past the caches that goes on while something else is computed: such a store waits for memory, and a processor
// has room for few that wait. One line goes at each `step`.
class StreamedCopy {
 public:
  // Ends the copy before, and takes the next one on. `from` must stay as it is until that has ended, too.
  void begin(void* to, const void* from, size_t bytes) {
    while (lines_) step();
    to_ = static_cast<char*>(to);
    from_ = static_cast<const char*>(from);
    // Only whole lines stream; what lies before the first and after the last is copied at once.
    size_t head = -reinterpret_cast<uintptr_t>(to_) % kVectorBytes;
    if (head > bytes) head = bytes;
    lines_ = (bytes - head) / kVectorBytes;
    const size_t tail = head + lines_ * kVectorBytes;
    if (head) __builtin_memcpy(to_, from_, head);
    if (tail < bytes) __builtin_memcpy(to_ + tail, from_ + tail, bytes - tail);
    to_ += head;
    from_ += head;
  }

  ONNX_MAXPOOL_INLINE void step() {
    if (lines_ == 0) return;
    --lines_;
    streamed_ = true;
#if defined(__AVX512BW__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to_), _mm512_loadu_si512(from_));
#elif defined(__AVX2__)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to_), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from_)));
#elif defined(__SSE2__)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to_), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from_)));
#else
    __builtin_memcpy(to_, from_, kVectorBytes);
#endif
    to_ += kVectorBytes;
    from_ += kVectorBytes;
  }

  // Afterwards other threads may read what was copied.
  void finish() {
    while (lines_) step();
#if defined(__SSE2__)
    if (streamed_) _mm_sfence();
#endif
    streamed_ = false;
  }

 private:
  char* to_ = nullptr;
  const char* from_ = nullptr;
  size_t lines_ = 0;
  bool streamed_ = false;  // since the last fence
};

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
