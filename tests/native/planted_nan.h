// For the tests of what is pooled as numbers (kernels/numbers.h): an input of few numbers, of which each output is the
// maximum of some, and a NaN in each of its cells in turn; of more cells than kMostNans in every second, third, ...,
// from another one each time, as all would take minutes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "require.h"
#include "stand_in_runtime.h"

namespace onnx_maxpool {

#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kMostNans = 200;
#else
constexpr size_t kMostNans = 1200;
#endif

template <class Number>
class PlantedNan {
 public:
  // `cells_of[i]` are the cells that output i is the maximum of. Without any it is 0.
  PlantedNan(int64_t cells, std::vector<std::vector<int64_t>> cells_of)
      : cells_of_(std::move(cells_of)),
        outputs_of_(static_cast<size_t>(cells)),
        cells_per_nan_((outputs_of_.size() + kMostNans - 1) / kMostNans),
        x_(static_cast<size_t>(cells) * sizeof(Number)),
        y_(cells_of_.size() * sizeof(Number)) {
    for (size_t output = 0; output < cells_of_.size(); ++output) {
      for (const int64_t cell : cells_of_[output]) outputs_of_[static_cast<size_t>(cell)].push_back(output);
    }
    uint64_t random = 88172645463325252u;
    for (int64_t i = 0; i < cells; ++i) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      // Few numbers, so that a zero of either sign wins in many outputs.
      const auto few = static_cast<Number>(static_cast<int64_t>(random % 5) - 4);
      x()[i] = few == 0 && random % 2 ? -few : few;
    }
  }

  Number* x() { return static_cast<Number*>(x_.data()); }
  void* y() { return y_.data(); }

  // Requires of pool(), which writes the outputs from the input, the maxima with each zero as +0, and the same bits
  // whichever way it pools. With a NaN in any one cell, each output that has the cell is NaN, and no other changes.
  template <class Pool>
  void check(const Pool& pool, const std::string& name) {
    const std::vector<Number> found = outputs(pool);
    if (bits_.empty()) {
      require(found == expected(), name + ": the maxima are wrong");
      for (const Number number : found) require(number != 0 || !std::signbit(number), name + ": a zero is -0");
      bits_ = found;
    }
    require(std::memcmp(found.data(), bits_.data(), y_.bytes()) == 0, name + ": other bits than in another way");
    for (size_t at = checks_++ % cells_per_nan_; at < outputs_of_.size(); at += cells_per_nan_)
      check_nan(pool, at, name);
  }

 private:
  template <class Pool>
  std::vector<Number> outputs(const Pool& pool) {
    std::memset(y(), 0x55, y_.bytes());
    pool();
    const auto* const begin = static_cast<const Number*>(y());
    return {begin, begin + cells_of_.size()};
  }

  std::vector<Number> expected() {
    std::vector<Number> all;
    for (const std::vector<int64_t>& cells : cells_of_) {
      Number best = cells.empty() ? 0 : -std::numeric_limits<Number>::infinity();
      for (const int64_t cell : cells) best = std::max(best, x()[cell]);
      all.push_back(best);
    }
    return all;
  }

  template <class Pool>
  void check_nan(const Pool& pool, size_t at, const std::string& name) {
    const Number before = x()[at];
    x()[at] = at % 2 ? std::numeric_limits<Number>::quiet_NaN() : -std::numeric_limits<Number>::quiet_NaN();
    const std::vector<Number> found = outputs(pool);
    x()[at] = before;
    std::vector<bool> has_nan(found.size());
    for (const size_t output : outputs_of_[at]) has_nan[output] = true;
    for (size_t i = 0; i < found.size(); ++i) {
      const bool same = std::memcmp(&found[i], &bits_[i], sizeof(Number)) == 0;
      if (has_nan[i] ? std::isnan(found[i]) : same) continue;
      require(false, name + ": with a NaN in cell " + std::to_string(at) + ", output " + std::to_string(i) + " is " +
                         std::to_string(found[i]));
    }
  }

  const std::vector<std::vector<int64_t>> cells_of_;
  std::vector<std::vector<size_t>> outputs_of_;  // of each cell
  const size_t cells_per_nan_;
  stand_in::Block x_, y_;
  std::vector<Number> bits_;  // of what was found first
  size_t checks_ = 0;
};

}  // namespace onnx_maxpool
