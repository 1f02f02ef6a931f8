// Shapes, and short lists: in place, as a small run would notice an allocation for each.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace onnx_maxpool {

using Shape = std::vector<int64_t>;

// A list of at most `room` values, in place.
template <class T, size_t room>
class ShortList {
 public:
  ShortList() {}  // not defaulted, as the values would then be cleared where the list is
  ShortList(const ShortList& other) { *this = other; }
  ShortList& operator=(const ShortList& other) {
    std::copy(other.begin(), other.end(), begin());
    size_ = other.size_;
    return *this;
  }
  void push_back(const T& value) { values_[size_++] = value; }
  void pop_back() { --size_; }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return values_[i]; }
  const T& operator[](size_t i) const { return values_[i]; }
  T& back() { return values_[size_ - 1]; }
  T* begin() { return values_.data(); }
  T* end() { return values_.data() + size_; }
  const T* begin() const { return values_.data(); }
  const T* end() const { return values_.data() + size_; }

 private:
  std::array<T, room> values_;
  size_t size_ = 0;
};

// Any number of values: in place up to `room`, allocated beyond. What it is made or grows with is junk.
template <class T, size_t room>
class List {
 public:
  List() {}  // not defaulted, as the values would then be cleared where the list is
  List(const List& other) { *this = other; }
  List& operator=(const List& other) {
    resize(other.size_);
    std::copy(other.begin(), other.end(), begin());
    return *this;
  }
  void resize(size_t size) {
    if (size > capacity_) {
      const size_t capacity = std::max(size, 2 * capacity_);
      std::unique_ptr<T[]> more(new T[capacity]);  // a vector would clear what is written next
      std::copy(begin(), end(), more.get());
      many_ = std::move(more);
      capacity_ = capacity;
    }
    size_ = size;  // values stay where they are as they get fewer
  }
  size_t size() const { return size_; }
  T* data() { return many_ ? many_.get() : few_.data(); }
  const T* data() const { return many_ ? many_.get() : few_.data(); }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

 private:
  size_t size_ = 0, capacity_ = room;
  std::array<T, room> few_;
  std::unique_ptr<T[]> many_;
};

// The dimensions of a tensor. Those of a rank that no operator has are allocated.
class Dims : public List<int64_t, 6> {
 public:
  explicit Dims(size_t rank) { resize(rank); }
  Dims(std::initializer_list<int64_t> dims) : Dims(dims.size()) { std::copy(dims.begin(), dims.end(), begin()); }
};

// As "[1,2]". Of signed or unsigned integers.
template <class List>
auto text(const List& list) -> decltype(std::end(list), std::string()) {
  std::string out = "[";
  for (const auto& each : list) out += (&each == &*std::begin(list) ? "" : ",") + std::to_string(each);
  return out + "]";
}

// The product of dimensions, or -1 where it leaves 63 bits. A shape with a 0 has no cells, whatever else is in it.
inline int64_t checked_cells(const int64_t* begin, const int64_t* end) {
  int64_t cells = 1;
  for (const int64_t* dim = begin; dim != end; ++dim) {
    if (*dim == 0) return 0;
    if (cells > 0 && __builtin_mul_overflow(cells, *dim, &cells)) cells = -1;  // a division would take longer
  }
  return cells;
}
inline int64_t checked_cells(const Dims& dims) { return checked_cells(dims.begin(), dims.end()); }
inline int64_t checked_cells(const Shape& shape) { return checked_cells(shape.data(), shape.data() + shape.size()); }

}  // namespace onnx_maxpool
