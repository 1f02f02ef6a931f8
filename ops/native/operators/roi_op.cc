// MaxRoiPool and RoiPooling: rules M1 to M11, D1. The words of errors are roi.py's.
#include "operators/roi_op.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "base/machine.h"
#include "base/window_edges.h"
#include "facts.h"
#include "kernels/targets.h"
#include "plans/roi_cost.h"
#include "plans/roi_plan.h"
#include "plans/roi_small_plan.h"

namespace onnx_maxpool {
namespace {

constexpr int64_t kUnitRois = 128;    // whose windows a thread finds at a time
constexpr int64_t kMostOneByOne = 2;  // whose windows are found without vectors, as few lanes would take longer

constexpr int kOfRoi = 5;  // numbers
constexpr const char* kColumns[kOfRoi] = {"batch", "x1", "y1", "x2", "y2"};

// A float from its bits; exact.
float widen(uint16_t bits, ElementType type) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  if (type == ElementType::float16_) {
    const uint32_t sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 31, fraction = bits & 1023u;
    if (exponent == 0) {
      const float tiny = static_cast<float>(fraction) * 0x1p-24f;
      return sign ? -tiny : tiny;
    }
    wide = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction << 13;
  }
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

// The least number above all batch numbers of so many images. The nearest one to their number may be a batch number.
template <class Float>
Float beyond_batches(int64_t images) {
  if (images == 0) return -1;  // 0 would be above -0.5, which is truncated to 0
  const auto limit = static_cast<Float>(images);
  const bool is_below = limit < Float{0x1p63} && static_cast<int64_t>(limit) < images;
  return is_below ? std::nextafter(limit, std::numeric_limits<Float>::infinity()) : limit;
}

// The ROI tensor's values in the type that rule M5 computes in: float, or double for double. Narrower ones are widened
// once, as they are read several times.
template <class Float>
class Rois {
 public:
  Rois(const void* data, ElementType type, int64_t count) : values_(static_cast<const Float*>(data)) {
    if (element_size(type) != 2) return;
    const auto* narrow = static_cast<const uint16_t*>(data);
    widened_.resize(static_cast<size_t>(kOfRoi * count));
    for (Float& value : widened_) value = widen(*narrow++, type);
    values_ = widened_.data();
  }
  Rois(const Rois&) = delete;
  Rois& operator=(const Rois&) = delete;
  const Float* row(int64_t row) const { return values_ + row * kOfRoi; }

 private:
  List<Float, kOfRoi * kFewRois> widened_;
  const Float* values_;
};

class RoiNode : public Kernel {
 public:
  RoiNode(const RoiOp& op, const Variant& variant, const Attributes& attributes)
      : op_(op),
        type_(variant.types[0]),
        edges_(edge_arithmetic(variant.bin_edges, type_ == ElementType::double_)),
        pooled_(attributes.required(variant.size_attribute)),
        scale_(attributes.get("spatial_scale", 1.0f)) {
    const auto bad = [](int64_t side) { return side < 1 || side > kLargestSide; };
    if (pooled_.size() != 2 || bad(pooled_[0]) || bad(pooled_[1])) {
      refuse(std::string(variant.size_attribute) + " is " + text(pooled_) + ", expected two integers from 1 to " +
             std::to_string(kLargestSide));
    }
    if (!std::isfinite(scale_) || scale_ <= 0) {
      refuse("spatial_scale is " + text(scale_) + ", expected a finite number greater than 0");
    }
  }

  void compute(const Run& run) const override {
    const Tensor x = run.input(0), rois = run.input(1);
    if (x.shape.size() != 4) refuse("X has shape " + text(x.shape) + ", expected 4 dimensions (N, C, H, W)");
    if (std::max(x.shape[2], x.shape[3]) > kLargestSide) {
      refuse("X has shape " + text(x.shape) + ", expected a height and a width of at most " +
             std::to_string(kLargestSide));
    }
    if (!is_list_of_rois(rois.shape)) {
      refuse("rois has shape " + text(rois.shape) + ", expected (" + (op_.rois_rank == 4 ? "1, 1, " : "") +
             "R, 5) with columns batch, x1, y1, x2, y2");
    }
    const Dims shape = {rois.shape[op_.rois_rank - 2], x.shape[1], pooled_[0], pooled_[1]};
    if (type_ == ElementType::double_) {
      pool(run, x, Rois<double>(rois.data, type_, shape[0]), shape);
    } else {
      pool(run, x, Rois<float>(rois.data, type_, shape[0]), shape);
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw Error(std::string(op_.name) + ": " + what); }

  // (R, 5) with 1 in every dimension before.
  bool is_list_of_rois(const Dims& shape) const {
    const auto one = [](int64_t dim) { return dim == 1; };
    return shape.size() == op_.rois_rank && *(shape.end() - 1) == 5 && std::all_of(shape.begin(), shape.end() - 2, one);
  }

  template <class Float>
  void pool(const Run& run, const Tensor& x, const Rois<Float>& rois, const Dims& shape) const {
    const std::optional<int64_t> bytes = bytes_of(shape, type_);
    if (!bytes || *bytes == 0 || x.shape[2] == 0 || x.shape[3] == 0) return pool_nothing(run, x, rois, shape);
    void* const y = output(run, x, rois, shape);  // before windows, of which there may be as many as cells
    const RoiWindows windows = windows_of(run, rois, shape[0], x.shape);
    const RoiDims dims = {x.shape[0], x.shape[1], x.shape[2], x.shape[3], shape[0], pooled_[0], pooled_[1]};
    const Kernels& kernels_of_run = is_little(dims, windows) ? kernels_for_little() : kernels();
    const RoiKernel& kernel = kernels_of_run.roi(element_size(type_), dims.channels);
    const RoiShape shape_of_run = shape_for(kernel, run, dims);
    RoiPlan plan = plan_rois(shape_of_run, windows, &trials_);
    const bool past_caches = choose_storing(shape_of_run, plan);
    const auto pool_by = [&](const RoiPlan& plan, bool past_caches) {
      const RoiJob job = {x.data,
                          y,
                          shape_of_run,
                          {0, x.shape[1] - plan.left},
                          order_of(type_),
                          past_caches,
                          windows.rows.data(),
                          windows.columns.data(),
                          windows.widths.data(),
                          plan.rois_by_image.data(),
                          plan.units.data(),
                          static_cast<int64_t>(plan.units.size()),
                          plan,
                          plan.tasks.data()};
      pool_as_planned(run, kernel, plan, job);
    };
    try {
      return pool_by(plan, past_caches);
    } catch (const NoScratch&) {
      rule_out(plan);
    }
    try {
      return pool_by(plan_with_little_scratch(shape_of_run, windows), false);
    } catch (const NoScratch&) {
    }
    pool_by(plan_without_scratch(shape_of_run, windows), false);
  }

  // Bad ROIs are refused before an output that is too large, as the reference does it.
  template <class Float>
  void* output(const Run& run, const Tensor& x, const Rois<Float>& rois, const Dims& shape) const {
    try {
      return run.output(0, type_, shape);
    } catch (const Error&) {
      check_rois(rois, shape[0], x.shape[0]);
      throw;
    }
  }

  // Of an empty map or to an empty output: every bin is empty (M9).
  template <class Float>
  void pool_nothing(const Run& run, const Tensor& x, const Rois<Float>& rois, const Dims& shape) const {
    check_rois(rois, shape[0], x.shape[0]);
    const int64_t bytes = output_bytes(op_.name, "Y", shape, type_);
    void* const y = run.output(0, type_, shape);
    if (bytes > 0) std::memset(y, 0, static_cast<size_t>(bytes));
  }

  // What a plan depends on beside the windows.
  RoiShape shape_for(const RoiKernel& kernel, const Run& run, const RoiDims& dims) const {
    const auto size = static_cast<int64_t>(element_size(type_));
    const int64_t lanes = kernel.vector_bytes / size, threads = run.threads();
    return {dims,
            (dims.channels + lanes - 1) / lanes,
            kernel.vector_bytes,
            kernel.lookup_lanes,
            threads,
            dims.images * dims.channels * dims.height * dims.width * size,
            kernel.line_bytes,
            machine().cycles_worth_a_thread,
            machine().second_cache,
            run.may_use_one_thread(threads)};
  }

  static void pool_as_planned(const Run& run, const RoiKernel& kernel, const RoiPlan& plan, const RoiJob& job) {
    const RoiKernel::Mode &mode = kernel.*plan.mode, &of_left = kernel.few_channels;
    size_t scratch_bytes = mode.scratch_bytes(job);
    RoiJob left;
    if (plan.left > 0) {
      left = job;
      left.channels = {job.channels.count, plan.left};
      scratch_bytes = std::max(scratch_bytes, of_left.scratch_bytes(left));
    }
    const auto pool_all = [&] {
      const bool all_took_part =
          run.parallel(job.unit_count, Sharing::in_turns, scratch_bytes, plan.threads, plan.cycles,
                       [&](int64_t unit, void* scratch) {
                         unit < plan.left_begin ? mode.run(job, unit, scratch) : of_left.run(left, unit, scratch);
                       });
      return all_took_part || plan.is_brief;
    };
    if (plan.trials) {
      plan.trials->run(plan.turn, pool_all);
    } else {
      pool_all();
    }
  }

  // Whether to store past the caches. Where either may be faster, runs that do not try ways to pool try both. What is
  // stored past the caches has to come back from memory for the node that reads it next. That node's time shows it, not
  // ours, so that ours has to be clearly less.
  bool choose_storing(const RoiShape& shape, RoiPlan& plan) const {
    constexpr size_t kPast = 0, kThrough = 1;
    const size_t size = element_size(type_);
    if (!streams(shape, size, machine().streaming_threshold)) return false;
    if (plan.trials || streams(shape, size, machine().streaming_limit)) return true;
    Trials* const known = storing_.find(number_of(shape));
    if (!known) return true;
    Trials::Costs costs;
    costs.fill(Trials::kNever);
    constexpr double kReadAgain = 1.15;  // docs/benchmark/rois.md
    costs[kPast] = costs[kThrough] = plan.time;
    known->count_run();
    plan.turn = known->next(costs, {kPast, kReadAgain});
    if (plan.turn.is_trial) plan.trials = known;
    return plan.turn.way == kPast;
  }

  // The first number of a row that breaks M10 or M11; none is kOfRoi.
  template <class Float>
  static int bad_column(const Float* row, Float limit) {
    // A batch number is truncated: -0.5 is 0, of which there may be no image.
    if (!(row[0] > -1) || !(row[0] < limit)) return 0;
    int column = 1;
    while (column < kOfRoi && !std::isnan(row[column])) ++column;
    return column;
  }

  // M10 and M11, for the first row that breaks either.
  template <class Float>
  void check_rois(const Rois<Float>& rois, int64_t count, int64_t images) const {
    const auto limit = beyond_batches<Float>(images);
    for (int64_t i = 0; i < count; ++i) {
      const Float* const row = rois.row(i);
      const int column = bad_column(row, limit);
      if (column == kOfRoi) continue;
      const std::string required = column   ? "a number"
                                   : images ? "a batch number from 0 to " + std::to_string(images - 1)
                                            : "no ROI, as X has batch size 0";
      refuse("rois row " + std::to_string(i) + " has " + kColumns[column] + " " + text(row[column]) + ", expected " +
             required);
    }
  }

  // Throws Error for ROIs that check_rois() refuses, and checks them while it finds their windows.
  template <class Float>
  RoiWindows windows_of(const Run& run, const Rois<Float>& rois, int64_t count, const Dims& x) const {
    const int64_t bins_y = pooled_[0], bins_x = pooled_[1];
    RoiWindows windows;
    windows.image.resize(static_cast<size_t>(count));
    windows.rows.resize(static_cast<size_t>(count * bins_y));
    windows.columns.resize(static_cast<size_t>(count * bins_x));
    if (bins_x > 1) windows.widths.resize(static_cast<size_t>(count));
    // No rounding changes an only bin of an ROI near the map; the kernel refuses others.
    constexpr bool is_double = sizeof(Float) == sizeof(double);
    const bool is_kernels =
        edges_ == (is_double ? EdgeArithmetic::in_double : EdgeArithmetic::in_float) || std::max(bins_y, bins_x) == 1;
    const double of_window = is_kernels ? roi_costs::kWindowOfMany : roi_costs::kWindow,
                 cycles = of_window * static_cast<double>(count * (bins_y + bins_x));
    const auto limit = beyond_batches<Float>(x[0]);
    std::atomic<bool> are_good{true};
    run.parallel_before((count + kUnitRois - 1) / kUnitRois, cycles, [&](int64_t unit) {
      const int64_t begin = unit * kUnitRois, some = std::min(count - begin, kUnitRois);
      const Float* row = rois.row(begin);
      RoiWindow* const rows = windows.rows.data() + begin * bins_y;
      RoiWindow* const columns = windows.columns.data() + begin * bins_x;
      BinWidths* const widths = bins_x > 1 ? windows.widths.data() + begin : nullptr;
      int64_t* const image = windows.image.data() + begin;
      if (is_kernels && some > kMostOneByOne &&
          kernels().roi_windows(
              {row, is_double, some, scale_, x[0], x[2], x[3], bins_y, bins_x, image, rows, columns, widths})) {
        return;
      }
      for (int64_t i = 0; i < some; ++i, row += kOfRoi) {
        if (bad_column(row, limit) != kOfRoi) return are_good.store(false, std::memory_order_relaxed);
        image[i] = static_cast<int64_t>(row[0]);  // truncates toward zero (M10)
        roi_windows(roi_edge(row[2], scale_), roi_edge(row[4], scale_), bins_y, x[2], edges_, rows + i * bins_y);
        roi_windows(roi_edge(row[1], scale_), roi_edge(row[3], scale_), bins_x, x[3], edges_, columns + i * bins_x);
        if (widths) widths[i] = widths_of(columns + i * bins_x, bins_x);
      }
    });
    if (!are_good.load(std::memory_order_relaxed)) check_rois(rois, count, x[0]);
    return windows;
  }

  const RoiOp& op_;
  const ElementType type_;
  const EdgeArithmetic edges_;
  const std::vector<int64_t> pooled_;
  const float scale_;
  mutable TrialsByShape trials_, storing_;
};

}  // namespace

std::vector<Parameter> roi_inputs(const Variant& variant) { return {{variant.types[0]}, {variant.types[0]}}; }
std::vector<Parameter> roi_outputs(const Variant& variant) { return {{variant.types[0]}}; }

std::unique_ptr<Kernel> make_roi_pool(const RoiOp& op, const Variant& variant, const Attributes& attributes) {
  return std::make_unique<RoiNode>(op, variant, attributes);
}

void infer_roi_pool(const RoiOp& op, const Variant& variant, const Inference& node) {
  const std::vector<int64_t> pooled = node.ints(variant.size_attribute, {});
  const bool known = pooled.size() == 2 && pooled[0] > 0 && pooled[1] > 0;
  node.set_output(
      0, node.input_type(0),
      {node.input(1, op.rois_rank)[op.rois_rank - 2], node.input(0, 4)[1],
       known ? Dim{pooled[0], ""} : Inference::unknown(), known ? Dim{pooled[1], ""} : Inference::unknown()});
}

}  // namespace onnx_maxpool
