// DirectML's MaxPooling1, since versions 2, 3 and 5: rules P1 to P6. The words of errors are max_pooling1.py's.
#include <algorithm>
#include <limits>

#include "facts.h"
#include "operators/window_op.h"

namespace onnx_maxpool {
namespace {

constexpr const char* kName = "MaxPooling1";
constexpr const char* kAxes[] = {"D", "H", "W"};
constexpr int64_t kCellsOfUint32 = int64_t{1} << 32;
constexpr uint64_t kMostWindows = std::numeric_limits<int64_t>::max();

[[noreturn]] void refuse(const std::string& what) { throw Error(std::string(kName) + ": " + what); }

// P3. The padded size less the window is not negative, and may be beyond 2^63 where a tensor is empty, as then may the
// count be.
uint64_t window_count(int64_t size, int64_t start_padding, int64_t end_padding, int64_t window, int64_t stride) {
  const uint64_t room = static_cast<uint64_t>(size) + static_cast<uint64_t>(start_padding + end_padding - window);
  return room / static_cast<uint64_t>(stride) + 1;
}

class MaxPooling1 : public Kernel {
 public:
  MaxPooling1(const Variant& variant, const Attributes& attributes)
      : type_(variant.types[0]),
        window_(attributes.required("window_size")),
        strides_(attributes.get("strides", Shape(window_.size(), 1))),
        start_padding_(attributes.get("start_padding", Shape(window_.size(), 0))),
        end_padding_(attributes.get("end_padding", Shape(window_.size(), 0))),
        has_indices_(attributes.has_output(1)) {
    check_counts("window_size", window_, "2 or 3", window_.size() == 2 || window_.size() == 3);
    const std::string axes = std::to_string(window_.size());
    check_counts("strides", strides_, axes, strides_.size() == window_.size());
    check_padding("start_padding", start_padding_);
    check_padding("end_padding", end_padding_);
    index_type_ = index_type(kName, variant, attributes);
  }

  void compute(const Run& run) const override {
    const Tensor x = run.input(0);
    const size_t axes = window_.size();
    if (x.shape.size() != axes + 2) {
      refuse("X has shape " + text(x.shape) + ", expected " +
             (axes == 2 ? "4 dimensions (N, C, H, W)" : "5 dimensions (N, C, D, H, W)"));
    }
    WindowPlans::Key key;
    for (const int64_t side : x.shape) key.push_back(side);
    plans_.pool(run, key, x.data, [&] { return task(x.shape); });
  }

 private:
  WindowTask task(const Dims& x) const {
    const size_t axes = window_.size();
    PoolAxes spatial;
    ShortList<uint64_t, 5> y;
    for (size_t i = 0; i < 2; ++i) y.push_back(static_cast<uint64_t>(x[i]));
    for (size_t i = 0; i < axes; ++i) {
      const int64_t size = x[2 + i];
      const int64_t least = std::max<int64_t>(1, window_[i] - start_padding_[i] - end_padding_[i]);
      if (size < least) {
        refuse("X has shape " + text(x) + ", expected " + kAxes[3 - axes + i] + " of at least " +
               std::to_string(least) + ", as window_size is " + text(window_) + ", start_padding " +
               text(start_padding_) + " and end_padding " + text(end_padding_));
      }
      y.push_back(window_count(size, start_padding_[i], end_padding_[i], window_[i], strides_[i]));
      spatial.push_back({size, static_cast<int64_t>(y.back()), false, -start_padding_[i], strides_[i], window_[i]});
    }
    if (has_indices_ && index_type_ == ElementType::uint32_) {
      const int64_t cells = checked_cells(x);
      if (cells < 0 || cells > kCellsOfUint32) {
        refuse("X has shape " + text(x) + ", expected at most " + std::to_string(kCellsOfUint32) +
               " cells, as many as " + spelling_of(index_type_) + " indices number");
      }
    }
    if (*std::max_element(y.begin(), y.end()) > kMostWindows) refuse_bytes(kName, "Y", text(y));
    const int64_t plane = checked_cells(x.begin() + 2, x.end());
    return {kName, type_, x, spatial, {has_indices_, index_type_, plane}};
  }

  static void check_counts(const char* name, const Shape& values, const std::string& count, bool as_many) {
    const auto bad = [](int64_t value) { return value < 1 || value > kLargestSide; };
    if (as_many && std::none_of(values.begin(), values.end(), bad)) return;
    refuse(std::string(name) + " is " + text(values) + ", expected " + count + " integers from 1 to " +
           std::to_string(kLargestSide));
  }

  void check_padding(const char* name, const Shape& values) const {
    bool good = values.size() == window_.size();
    for (size_t i = 0; good && i < values.size(); ++i) good = values[i] >= 0 && values[i] < window_[i];
    if (good) return;
    refuse(std::string(name) + " is " + text(values) + ", expected " + std::to_string(window_.size()) +
           " integers from 0, each smaller than window_size " + text(window_));
  }

  const ElementType type_;
  const Shape window_, strides_, start_padding_, end_padding_;
  const bool has_indices_;
  ElementType index_type_;
  mutable WindowPlans plans_;
};

std::vector<Parameter> inputs(const Variant& variant) { return {{variant.types[0]}}; }
std::vector<Parameter> outputs(const Variant& variant) { return {{variant.types[0]}, index_parameter(variant)}; }

std::unique_ptr<Kernel> create(const Variant& variant, const Attributes& attributes) {
  return std::make_unique<MaxPooling1>(variant, attributes);
}

void infer(const Variant& variant, const Inference& node) {
  const Shape window = node.ints("window_size", {});
  const size_t axes = window.size() == 3 ? 3 : 2;
  const Shape strides = node.ints("strides", Shape(axes, 1));
  const Shape start = node.ints("start_padding", Shape(axes, 0)), end = node.ints("end_padding", Shape(axes, 0));
  const bool listed = window.size() == axes && strides.size() == axes && start.size() == axes && end.size() == axes;
  std::vector<Dim> dims = node.input(0, axes + 2);
  for (size_t i = 0; i < axes; ++i) {
    Dim& dim = dims[2 + i];
    const bool good = listed && std::max(window[i], strides[i]) <= kLargestSide && strides[i] >= 1 && start[i] >= 0 &&
                      end[i] >= 0 && std::max(start[i], end[i]) < window[i];
    if (good && strides[i] == 1 && start[i] + end[i] + 1 == window[i]) continue;  // as in X, a symbol too
    const bool known = good && dim.size >= std::max<int64_t>(1, window[i] - start[i] - end[i]);
    const uint64_t count = known ? window_count(dim.size, start[i], end[i], window[i], strides[i]) : 0;
    dim = known && count <= kMostWindows ? Dim{static_cast<int64_t>(count), ""} : Inference::unknown();
  }
  infer_windows(variant, node, dims);
}

}  // namespace

extern const Operator kMaxPooling1;
const Operator kMaxPooling1 = {kName, inputs, outputs, create, infer};

}  // namespace onnx_maxpool
