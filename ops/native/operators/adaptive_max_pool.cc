// OpenVINO's AdaptiveMaxPool, since version 8: rules A1 to A5. The words of errors are adaptive_max_pool.py's.
#include <algorithm>

#include "facts.h"
#include "operators/window_op.h"

namespace onnx_maxpool {
namespace {

constexpr const char* kName = "AdaptiveMaxPool";
constexpr int64_t kCellsOfInt32 = int64_t{1} << 31;

[[noreturn]] void refuse(const std::string& what) { throw Error(std::string(kName) + ": " + what); }

class AdaptiveMaxPool : public Kernel {
 public:
  AdaptiveMaxPool(const Variant& variant, const Attributes& attributes)
      : type_(variant.types[0]),
        size_type_(variant.types[1]),
        has_indices_(attributes.has_output(1)),
        index_type_(index_type(kName, variant, attributes)) {}

  void compute(const Run& run) const override {
    const Tensor x = run.input(0), size = run.input(1);
    const size_t rank = x.shape.size();
    if (rank < 3 || rank > 5) {
      refuse("X has shape " + text(x.shape) + ", expected 3 to 5 dimensions (N, C and 1 to 3 spatial ones)");
    }
    if (std::find(x.shape.begin() + 2, x.shape.end(), 0) != x.shape.end()) {
      refuse("X has shape " + text(x.shape) + ", expected spatial dimensions of at least 1");
    }
    const Dims sizes = output_size(size, rank - 2);
    WindowPlans::Key key;
    for (const int64_t side : x.shape) key.push_back(side);
    for (const int64_t side : sizes) key.push_back(side);
    plans_.pool(run, key, x.data, [&] { return task(x.shape, sizes); });
  }

 private:
  WindowTask task(const Dims& x, const Dims& sizes) const {
    PoolAxes axes;
    for (size_t i = 0; i < sizes.size(); ++i) axes.push_back({x[2 + i], sizes[i], true, 0, 0, 0});
    if (has_indices_ && index_type_ == ElementType::int32_ && x[0] && x[1]) {
      const int64_t cells = checked_cells(x.begin() + 2, x.end());
      if (cells < 0 || cells > kCellsOfInt32) {
        refuse("X has shape " + text(x) + ", expected at most " + std::to_string(kCellsOfInt32) +
               " cells in a channel, as many as " + spelling_of(index_type_) + " indices number");
      }
    }
    return {kName, type_, x, axes, {has_indices_, index_type_, 0}};
  }

  Dims output_size(const Tensor& size, size_t axes) const {
    if (size.shape.size() != 1 || size.shape[0] != static_cast<int64_t>(axes)) {
      refuse("output_size has shape " + text(size.shape) + ", expected [" + std::to_string(axes) +
             "], a size for each spatial dimension of X");
    }
    Dims sizes(axes);
    bool good = true;
    for (size_t i = 0; i < axes; ++i) {
      sizes[i] = size_type_ == ElementType::int32_ ? static_cast<const int32_t*>(size.data)[i]
                                                   : static_cast<const int64_t*>(size.data)[i];
      good = good && sizes[i] >= 1 && sizes[i] <= kLargestSide;
    }
    if (!good) {
      refuse("output_size is " + text(sizes) + ", expected " + std::to_string(axes) + " integers from 1 to " +
             std::to_string(kLargestSide));
    }
    return sizes;
  }

  const ElementType type_, size_type_;
  const bool has_indices_;
  const ElementType index_type_;
  mutable WindowPlans plans_;
};

std::vector<Parameter> inputs(const Variant& variant) { return {{variant.types[0]}, {variant.types[1]}}; }
std::vector<Parameter> outputs(const Variant& variant) { return {{variant.types[0]}, index_parameter(variant)}; }

std::unique_ptr<Kernel> create(const Variant& variant, const Attributes& attributes) {
  return std::make_unique<AdaptiveMaxPool>(variant, attributes);
}

void infer(const Variant& variant, const Inference& node) {
  // The sizes are not to be seen here, but how many there are tells X's rank where X's own shape does not.
  const Dim sizes = node.input(1, 1)[0];
  size_t rank = node.input_rank(0);
  if (rank == 0 && sizes.size >= 1 && sizes.size <= 3) rank = static_cast<size_t>(sizes.size) + 2;
  if (rank == 0) return infer_windows_of_any_rank(variant, node);
  std::vector<Dim> dims = node.input(0, rank);
  for (size_t i = 2; i < rank; ++i) dims[i] = Inference::unknown();
  infer_windows(variant, node, dims);
}

}  // namespace

extern const Operator kAdaptiveMaxPool;
const Operator kAdaptiveMaxPool = {kName, inputs, outputs, create, infer};

}  // namespace onnx_maxpool
