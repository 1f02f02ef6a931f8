// A copy that goes past the caches, line by line, while something else is computed.
#pragma once

#include "kernels/simd/vector.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {

constexpr int64_t kStreamedLine = 64;  // bytes that go past the caches at a time: a line of memory

// Rows of which a copy makes one piece, if there are several. Each but the last is followed by the beginning of the
// next one, of as many bytes as a line has, so that none has to be put together.
class StreamedRows {
 public:
  // Rows of so many bytes, no fewer than a line has, `pitch` bytes apart.
  StreamedRows(int64_t rows, int64_t row, int64_t pitch) : rows_(rows), row_(row), gap_(pitch - row) {}

 private:
  friend class StreamedCopy;
  int64_t rows_, row_, gap_;
  int64_t lines_ = 0;  // that begin in rows behind the one that is being copied
  int64_t left_ = 0;   // bytes of this row behind its lines: less than 0, as the last one reaches into the next row
};

// A copy past the caches that goes on while something else is computed: such a store waits for memory, and a processor
// has room for few that wait. One line goes at each `step`. It is small, as loops have a copy of it in registers, which
// they must write back: copies share their rows.
class StreamedCopy {
 public:
  static constexpr bool kStreams = true;

  // Ends the copy before, and takes the next one on. `from` must stay as it is until that has ended, too.
  void begin(void* to, const void* from, size_t bytes) {
    const auto all = static_cast<int64_t>(bytes), head = begin_at(to, from, all), tail = head + lines_ * kStreamedLine;
    copy_tail(static_cast<char*>(to) + tail, static_cast<const char*>(from) + tail, all - tail);
  }

  // The same of rows, which have to be there as long.
  void begin(void* to, const void* from, StreamedRows& rows) {
    const int64_t all = rows.rows_ * rows.row_, head = begin_at(to, from, all), tail = head + lines_ * kStreamedLine;
    const int64_t gaps = (rows.rows_ - 1) * rows.gap_;
    copy_tail(static_cast<char*>(to) + tail, static_cast<const char*>(from) + tail + gaps, all - tail);
    rows_ = &rows;
    rows.lines_ = lines_;
    rows.left_ = rows.row_ - head;
    take_row();
  }

  ONNX_MAXPOOL_INLINE void step() {
    if (lines_ == 0) return;
    --lines_;
    streamed_ = true;
    stream_line();
    to_ += kStreamedLine;
    from_ += kStreamedLine;
    if (__builtin_expect(lines_ == 0, 0) && rows_) next_row();
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
  // Whole, so that no line is stored in part past the caches and in part through them.
  ONNX_MAXPOOL_INLINE void stream_line() {
#pragma GCC unroll 4
    for (int at = 0; at < kStreamedLine; at += kVectorBytes) {
#if defined(__AVX512BW__)
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to_ + at), _mm512_loadu_si512(from_ + at));
#elif defined(__AVX2__)
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to_ + at),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from_ + at)));
#elif defined(__SSE2__)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to_ + at),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from_ + at)));
#else
      __builtin_memcpy(to_ + at, from_ + at, kVectorBytes);
#endif
    }
  }

  // Only whole lines stream: what lies before the first and after the last is copied at once. Returns the bytes before.
  int64_t begin_at(void* to, const void* from, int64_t bytes) {
    while (lines_) step();
    to_ = static_cast<char*>(to);
    from_ = static_cast<const char*>(from);
    rows_ = nullptr;
    int64_t head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(to_) % kStreamedLine);
    if (head > bytes) head = bytes;
    if (head) __builtin_memcpy(to_, from_, static_cast<size_t>(head));
    to_ += head;
    from_ += head;
    lines_ = (bytes - head) / kStreamedLine;
    return head;
  }
  static void copy_tail(char* to, const char* from, int64_t bytes) {
    if (bytes) __builtin_memcpy(to, from, static_cast<size_t>(bytes));
  }

  ONNX_MAXPOOL_INLINE void next_row() {
    from_ += rows_->gap_;
    rows_->left_ += rows_->row_;
    take_row();
  }
  // The lines that begin in a row.
  ONNX_MAXPOOL_INLINE void take_row() {
    StreamedRows& rows = *rows_;
    lines_ = (rows.left_ + kStreamedLine - 1) / kStreamedLine;
    if (lines_ > rows.lines_) lines_ = rows.lines_;
    rows.lines_ -= lines_;
    rows.left_ -= lines_ * kStreamedLine;
    if (rows.lines_ == 0) rows_ = nullptr;
  }

  char* to_ = nullptr;
  const char* from_ = nullptr;
  int64_t lines_ = 0;
  StreamedRows* rows_ = nullptr;  // if others follow
  bool streamed_ = false;         // since the last fence
};

// What loops have in its place where nothing streams: no register is kept for it.
struct NoCopy {
  static constexpr bool kStreams = false;
  void step() {}
  void finish() {}
};

}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
