// Reads choices from a fuzzer's bytes, and fills tensors by them. When they run out, every choice is the first one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "stand_in_runtime.h"

class ByteSource {
 public:
  ByteSource(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  size_t left() const { return size_; }

  template <class T>
  T raw() {
    T value{};
    const size_t taken = size_ < sizeof(T) ? size_ : sizeof(T);
    if (taken == 0) return value;
    std::memcpy(&value, data_, taken);
    data_ += taken;
    size_ -= taken;
    return value;
  }

  // From 0 to `count` - 1.
  int64_t below(int64_t count) {
    if (count <= 1) return 0;
    const uint64_t value = count <= 256 ? raw<uint8_t>() : raw<uint32_t>();
    return static_cast<int64_t>(value % static_cast<uint64_t>(count));
  }

  bool one_in(int64_t count) { return below(count) == count - 1; }

  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<int64_t>(values.size()))];
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

// Fills a tensor by a short description from the source: few values, special ones, any bits, or the source's own bytes.
void fill_cells(ByteSource& source, const OrtValue& tensor);

// The same of the first cells, which then come again: to draw all cells of a large tensor takes longer than to pool it.
void fill_large(ByteSource& source, const OrtValue& tensor);

// A dimension; around the sizes of vectors more often than not.
int64_t some_size(ByteSource& source);
