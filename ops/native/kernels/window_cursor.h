// The windows of an axis, one after the other.
#pragma once

#include "kernels/simd/vector.h"
#include "kernels/window.h"

namespace onnx_maxpool::ONNX_MAXPOOL_TARGET {
namespace {

// Goes from window to window by additions: to divide for each would take longer than pooling a small one. Of even
// windows the quotients of i*n / count are followed by their remainders.
class WindowCursor {
 public:
  explicit WindowCursor(const PoolAxis& axis, int64_t i = 0)
      : axis_(axis), n_(axis.size / axis.grain), whole_(n_ / axis.count), part_(n_ % axis.count) {
    go_to(i);
  }

  Window window() const {
    Window window;
    if (axis_.even) {
      const int64_t sum = remainder_ + part_;
      window = {start_, start_ + whole_ + (sum > 0) + (sum > axis_.count)};
    } else {
      const int64_t end = start_ + axis_.length;
      window = {start_ < 0 ? 0 : start_, end < n_ ? end : n_};
    }
    return {window.start * axis_.grain, window.end * axis_.grain};
  }

  // After the last window comes the first one again. Returns whether it has come.
  bool next() {
    if (++i_ == axis_.count) {
      go_to(0);
      return true;
    }
    if (axis_.even) {
      remainder_ += part_;
      const int64_t carry = remainder_ >= axis_.count;
      remainder_ -= -carry & axis_.count;
      start_ += whole_ + carry;
    } else {
      start_ += axis_.step;
    }
    return false;
  }

  // This window and those after it, `count` of them.
  void take(int64_t count, Window* to) {
    WindowCursor cursor = *this;
    for (int64_t i = 0; i < count; ++i) {
      to[i] = cursor.window();
      cursor.next();
    }
    i_ = cursor.i_;
    start_ = cursor.start_;
    remainder_ = cursor.remainder_;
  }

 private:
  void go_to(int64_t i) {
    i_ = i;
    remainder_ = i * part_ % axis_.count;  // both are below 2^31
    start_ = axis_.even ? i * whole_ + i * part_ / axis_.count : axis_.first + i * axis_.step;
  }

  const PoolAxis axis_;
  const int64_t n_, whole_, part_;
  int64_t i_ = 0, start_ = 0, remainder_ = 0;
};

inline Window window_at(const PoolAxis& axis, int64_t i) { return WindowCursor(axis, i).window(); }

}  // namespace
}  // namespace onnx_maxpool::ONNX_MAXPOOL_TARGET
