// Of equal maxima, every plan on every target has the first one's index (G5), however it comes to a window's cells:
// tensors here have few values. Without indices it has the same maxima.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/element_type.h"
#include "kernels/targets.h"
#include "kernels/window.h"
#include "oracle.h"
#include "require.h"
#include "stand_in_runtime.h"
#include "window_cases.h"

namespace {

using namespace onnx_maxpool;

enum class Indices { none, of_32_bits, of_64_bits };

// Cells that are mostly the greatest, so that windows are won among their first; few that are; and only the least that
// the type has, which padding must not win against.
enum class Values { many_maxima, few_maxima, least };

long double least_of(ElementType type) {
  switch (type) {
    case ElementType::uint8_:
      return 0;
    case ElementType::int32_:
      return -0x1p31L;
    case ElementType::int64_:
      return -0x1p63L;
    default:
      return -INFINITY;
  }
}

class Pooled {
 public:
  Pooled(const WindowCase& of, ElementType type, Indices indices, Values values)
      : of_(of), type_(type), cells_(of.depth.axis.size * of.rows.axis.size * of.columns.axis.size), job_(of.job()) {
    job_.order = order_of(type);
    job_.indices_are_64_bits = indices == Indices::of_64_bits;
    job_.index_step = cells_;
    const Shape shape = {of.planes, job_.depth.count, job_.rows.count, job_.columns.count};
    x_ = stand_in::tensor(type, {of.planes, cells_}, 0);
    y_ = stand_in::tensor(type, shape, 0);
    indices_ = stand_in::tensor(job_.indices_are_64_bits ? ElementType::uint64_ : ElementType::uint32_, shape, 0);
    job_.x = x_->block.data();
    job_.y = y_->block.data();
    job_.indices = indices == Indices::none ? nullptr : indices_->block.data();
    uint32_t random = 2463534242u;
    for (int64_t i = 0; i < of.planes * cells_; ++i) {
      random ^= random << 13;
      random ^= random >> 17;
      random ^= random << 5;
      const long double value = values == Values::least         ? least_of(type)
                                : values == Values::many_maxima ? random % 3
                                                                : random % 16 == 0;
      naive::set_number(type, x_->block.data(), i, value);
    }
    set_expected();
  }

  // Returns by how many plans a target can pool it, in one unit or in several. A unit may not write to the next one's
  // outputs, so later ones are pooled first.
  int check(const Kernels& kernels) {
    job_.workers = 3;
    check_plans(kernels);
    job_.workers = 1;
    return check_plans(kernels);
  }

 private:
  int check_plans(const Kernels& kernels) {
    int plans = 0;
    for (const PoolPlan plan : kPoolPlans) {
      const PoolKernel* const kernel = kernels.pool(job_, element_size(type_), plan);
      if (!kernel) continue;
      ++plans;
      const stand_in::Block scratch(kernel->scratch_bytes(job_));
      std::memset(y_->block.data(), 0x55, y_->block.bytes());
      std::memset(indices_->block.data(), 0x55, indices_->block.bytes());
      for (int64_t unit = kernel->units(job_); unit-- > 0;) kernel->run(job_, unit, scratch.data());
      require_expected(std::string(kernels.target) + ", " + of_.name + ", by " +
                       kPoolPlanNames[static_cast<int>(plan)] + ", type " + std::to_string(static_cast<int>(type_)));
    }
    return plans;
  }

  void set_expected() {
    const Shape sizes = {job_.depth.size, job_.rows.size, job_.columns.size};
    for (int64_t plane = 0; plane < of_.planes; ++plane) {
      for (const Window& z : of_.depth.windows) {
        for (const Window& y : of_.rows.windows) {
          for (const Window& x : of_.columns.windows) {
            expected_.push_back(plane * cells_ + naive::winner(type_, job_.x, plane * cells_, sizes, {z, y, x}));
          }
        }
      }
    }
  }

  void require_expected(const std::string& name) const {
    for (size_t i = 0; i < expected_.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      require(naive::same(naive::number(type_, job_.y, at), naive::number(type_, job_.x, expected_[i])),
              name + ": output " + std::to_string(i) + " is not the greatest of its window");
      if (!job_.indices) continue;
      const auto index = static_cast<int64_t>(naive::number(indices_->type, job_.indices, at));
      require(index == expected_[i], name + ": index " + std::to_string(i) + " is " + std::to_string(index) +
                                         ", expected " + std::to_string(expected_[i]));
    }
  }

  const WindowCase& of_;
  const ElementType type_;
  const int64_t cells_;  // of a plane
  PoolJob job_;
  std::unique_ptr<OrtValue> x_, y_, indices_;
  std::vector<int64_t> expected_;
};

// Planes of nearly as many cells as there are positions of 16 bits, and of a few more.
const std::vector<WindowCase>& large_cases() {
  using window_axis::even;
  using window_axis::sliding;
  static const std::vector<WindowCase> all = {
      {"32,761 cells", 1, sliding(1), sliding(181, 3, 1, 1), sliding(181, 3, 1, 1)},
      {"32,761 cells, by doubling", 1, sliding(1), sliding(181, 6, 2, 2), sliding(181, 5, 2, 2)},
      {"33,124 cells", 1, sliding(1), sliding(182, 3, 1, 1), sliding(182, 3, 1, 1)},
      {"a row of large windows", 2, sliding(1), even(1, 1), even(40000, 2)},
      {"the same row three times", 2, sliding(1), even(1, 3), even(40000, 2)},
      {"the same by padding", 2, sliding(1), sliding(1, 2, 1, 1), sliding(40000, 20000, 20000)},
      {"the same slice three times", 2, even(1, 3), even(1, 1), even(40000, 2)},
  };
  return all;
}

void check(const Kernels& kernels) {
  constexpr ElementType kTypes[] = {ElementType::uint8_,  ElementType::float16_, ElementType::float_,
                                    ElementType::double_, ElementType::int32_,   ElementType::int64_};
  int plans = 0, jobs = 0;
  const auto pool = [&](const WindowCase& of, ElementType type, Indices indices, Values values) {
    plans += Pooled(of, type, indices, values).check(kernels);
    ++jobs;
  };
  for (const WindowCase& each : window_cases()) {
    for (const ElementType type : kTypes) {
      pool(each, type, Indices::none, Values::few_maxima);
      pool(each, type, Indices::of_32_bits, Values::many_maxima);
      pool(each, type, Indices::of_32_bits, Values::least);
      pool(each, type, Indices::of_64_bits, Values::few_maxima);
    }
  }
  for (const WindowCase& each : large_cases()) {
    pool(each, ElementType::uint8_, Indices::of_64_bits, Values::few_maxima);
    pool(each, ElementType::float16_, Indices::of_32_bits, Values::few_maxima);
  }
  std::printf("%s: %d plans of %d jobs\n", kernels.target, plans, jobs);
  require(plans >= 2 * jobs, "few plans were asked");
}

}  // namespace

int main() {
  for (const Target& target : targets()) {
    if (target.runs_here) check(target.kernels);
  }
  std::puts("all is well");
  return 0;
}
