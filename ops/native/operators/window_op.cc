#include "operators/window_op.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <vector>

#include "base/machine.h"
#include "base/window_edges.h"
#include "facts.h"
#include "kernels/targets.h"
#include "plans/trials.h"

namespace onnx_maxpool {
namespace {

// Of a unit of PoolCosts, roughly, on any processor.
constexpr double kCyclesPerCost = 0.3;

// Undefined where nothing is spelled so.
ElementType spelled(const std::string& name) {
  for (const IndexSpelling& known : kIndexSpellings) {
    if (name == known.name) return known.type;
  }
  return ElementType::undefined_;
}

// What inference says of the index. If the operator has no such type, the kernel says so.
ElementType inferred_index(const Variant& variant, const Inference& node) {
  const ElementType type = spelled(node.string(kIndexAttribute, spelling_of(variant.index_types[0])));
  return type == ElementType::undefined_ ? variant.index_types[0] : type;
}

constexpr Window kOnlyCell = {0, 1};  // of an axis of one

// Whether the axis has one window, of all its cells.
bool is_one_window(const PoolAxis& axis) {
  return axis.count == 1 && (axis.even || (axis.first <= 0 && axis.size / axis.grain - axis.first <= axis.length));
}

// The same windows, which slide where they share out the axis evenly.
PoolAxis sliding_if_equal(const PoolAxis& axis) {
  if (!axis.even || axis.size % axis.count != 0) return axis;
  const int64_t part = axis.size / axis.count;
  return {axis.size, axis.count, false, 0, part, part};
}

// Depth, rows and columns of cells in memory: an innermost axis of one whole window is a part of the axis around it,
// whose windows are then contiguous; axes that are missing are of one cell.
PoolAxes three_axes(const PoolAxes& spatial) {
  PoolAxes inner;
  for (const PoolAxis& axis : spatial) inner.push_back(sliding_if_equal(axis));
  while (inner.size() > 1 && is_one_window(inner.back())) {
    const int64_t cells = inner.back().size;
    inner.pop_back();
    inner.back().size *= cells;
    inner.back().grain *= cells;
  }
  PoolAxes axes;
  while (axes.size() + inner.size() < 3) axes.push_back({1, 1, false, 0, 1, 1});
  for (const PoolAxis& axis : inner) axes.push_back(axis);
  return axes;
}

// Slices that are windows of their own are planes, as long as the first index of one follows from the one before.
void make_planes_of_slices(PoolJob& job) {
  PoolAxis& depth = job.depth;
  const bool are_windows = depth.count == depth.size && depth.grain == 1 && !depth.even && depth.first == 0 &&
                           depth.step == 1 && depth.length == 1;
  if (!are_windows || (job.indices && job.index_step != cells_of_plane(job))) return;
  job.planes *= depth.size;
  job.index_step /= depth.size;
  depth = {1, 1, false, 0, 1, 1, 1, depth.windows ? &kOnlyCell : nullptr};
}

// Writes the axis's windows, and returns where they end.
Window* list(const PoolAxis& axis, Window* to) {
  const int64_t n = axis.size / axis.grain;
  const auto add = [&](int64_t, Window window) { *to++ = {window.start * axis.grain, window.end * axis.grain}; };
  if (axis.even) {
    even_windows(n, axis.count, add);
  } else {
    for (int64_t i = 0; i < axis.count; ++i) {
      const int64_t start = axis.first + i * axis.step;
      add(i, clip({start, start + axis.length}, n));
    }
  }
  return to;
}

// The windows of those axes that have few enough to be listed, to which the axes then point.
std::vector<Window> lists_of(PoolAxes& axes) {
  const auto is_listed = [](const PoolAxis& axis) { return axis.count <= kMostListed; };
  int64_t windows = 0;
  for (const PoolAxis& axis : axes) windows += is_listed(axis) ? axis.count : 0;
  std::vector<Window> lists(static_cast<size_t>(windows));
  Window* next = lists.data();
  for (PoolAxis& axis : axes) {
    if (!is_listed(axis)) continue;
    axis.windows = next;
    next = list(axis, next);
  }
  return lists;
}

// The output's shape.
Dims pooled_shape(const WindowTask& task) {
  Dims shape(2 + task.axes.size());
  std::copy_n(task.x.begin(), 2, shape.begin());
  for (size_t i = 0; i < task.axes.size(); ++i) shape[2 + i] = task.axes[i].count;
  return shape;
}

// The bytes of Y. Throws Error where either output is too large.
int64_t output_bytes(const WindowTask& task, const Dims& shape) {
  const int64_t bytes = output_bytes(task.op, "Y", shape, task.type);
  if (task.index.present) output_bytes(task.op, "Indices", shape, task.index.type);
  return bytes;
}

// Jobs of so few cells or windows take 0.86 to 1.04 of the time without the widest vectors; but not with indices, where
// only the widest walk all lines as one: 1x1x14x14 k3 p1 would take 1.1 times as long, the session included.
constexpr int64_t kLittleWork = 512;
const Kernels& kernels_of(const PoolJob& job) {
  int64_t work = 0;
  const bool is_large = __builtin_mul_overflow(job.planes, work_of_plane(job), &work) || work > kLittleWork;
  return is_large || job.indices ? kernels() : kernels_for_little();
}

// A kernel for a job, and what it needs.
struct Way {
  const PoolKernel* kernel;
  int64_t units;  // for one worker
  size_t scratch_bytes;
  bool is_alone;  // for one thread, whatever others would save
  bool fetches_otherwise;
};

// The kernels for a job, and what they should take on one thread.
struct Ways {
  static constexpr size_t kPlans = std::size(kPoolPlans), kAlone = kPlans, kFetchesOtherwise = kPlans + 1;
  static_assert(kFetchesOtherwise < Trials::kMostWays);
  std::array<Way, Trials::kMostWays> of{};
  Trials::Costs costs;

  Ways() { costs.fill(Trials::kNever); }
  Ways(const PoolJob& job, size_t element_size) : Ways() {
    const Kernels& kernels = kernels_of(job);
    const PoolCosts found = kernels.pool_costs(job, element_size);
    const size_t likeliest = std::min_element(std::begin(found.of), std::end(found.of)) - std::begin(found.of);
    for (size_t i = 0; i < kPlans; ++i) {
      if (found.of[i] > Trials::kTried * found.of[likeliest]) continue;
      const PoolKernel* const kernel = kernels.pool(job, element_size, kPoolPlans[i]);
      of[i] = {kernel, kernel->units(job), kernel->scratch_bytes(job), false, false};
      costs[i] = found.of[i];
    }
    of[kAlone] = of[likeliest];
    of[kAlone].is_alone = true;
    constexpr auto kWalks = static_cast<size_t>(PoolPlan::walks);
    if (found.may_fetch && of[kWalks].kernel) {
      of[kFetchesOtherwise] = of[kWalks];
      of[kFetchesOtherwise].fetches_otherwise = true;
      costs[kFetchesOtherwise] = costs[kWalks];
    }
  }

  // The one that needs the least memory, for one thread.
  static Way of_least_scratch(const PoolJob& job, size_t element_size) {
    const Kernels& kernels = kernels_of(job);
    const PoolCosts found = kernels.pool_costs(job, element_size);
    Way least{};
    for (size_t i = 0; i < kPlans; ++i) {
      if (found.of[i] == Trials::kNever) continue;
      const PoolKernel* const kernel = kernels.pool(job, element_size, kPoolPlans[i]);
      const size_t bytes = kernel->scratch_bytes(job);
      if (!least.kernel || bytes < least.scratch_bytes) least = {kernel, kernel->units(job), bytes, true, false};
    }
    return least;
  }

  double least() const { return *std::min_element(costs.begin(), costs.end()); }
  // Of runs on so many threads, of which one may do all work: where others take longer to wake than they save.
  Trials::Costs costs_on(int64_t workers) const {
    Trials::Costs all = costs;
    if (static_cast<double>(workers) <= Trials::kTried) all[kAlone] = least();
    return all;
  }
};

}  // namespace

class WindowPlan {
 public:
  WindowPlan(const WindowPlans::Key& key, const WindowTask& task)
      : key_(key),
        type_(task.type),
        index_(task.index),
        shape_(pooled_shape(task)),
        bytes_(output_bytes(task, shape_)),
        axes_(bytes_ ? three_axes(task.axes) : PoolAxes()),
        lists_(lists_of(axes_)),
        job_(bytes_ ? job_without_tensors() : PoolJob()),
        ways_(bytes_ ? Ways(job_, element_size(type_)) : Ways()),
        cycles_(kCyclesPerCost * ways_.least()) {}

  bool is_for(const WindowPlans::Key& key) const {
    return key.size() == key_.size() && std::equal(key.begin(), key.end(), key_.begin());
  }

  void pool(const Run& run, const void* x) const {
    PoolJob job = job_;
    job.x = x;
    job.y = run.output(0, type_, shape_);
    job.indices = index_.present ? run.output(1, index_.type, shape_) : nullptr;
    if (bytes_ == 0) return;  // G7
    const int64_t threads = run.threads();
    job.workers = run.workers(cycles_, threads);
    const bool is_short = is_brief(cycles_, machine().cycles_worth_a_thread);
    const bool may_be_alone = job.workers > 1 && is_short && run.may_use_one_thread(threads);
    if (trials_.count_run()) fastest_.store(nullptr, std::memory_order_relaxed);
    const Way* way = fastest_.load(std::memory_order_relaxed);
    try {
      if (way && (may_be_alone || !way->is_alone)) {
        pool_by(*way, run, job);
        return;
      }
      const Trials::Turn turn = trials_.next(may_be_alone ? ways_.costs_on(job.workers) : ways_.costs,
                                             {Ways::kAlone, Trials::kOneThreadHandicap});
      way = &ways_.of[turn.way];
      // Where runs mostly may be left to one thread, one that may not is an exception, and does not decide for the
      // others.
      const bool is_like_others = job.workers == 1 || !is_short || may_be_alone;
      if (turn.is_last && is_like_others) fastest_.store(way, std::memory_order_relaxed);
      trials_.run(turn, [&] { return pool_by(*way, run, job) || is_short; });
    } catch (const NoScratch&) {
      fastest_.store(nullptr, std::memory_order_relaxed);
      trials_.rule_out(static_cast<size_t>(way - ways_.of.data()));
      pool_by(Ways::of_least_scratch(job_, element_size(type_)), run, job);
    }
  }

 private:
  // Whether all threads took part that were to.
  bool pool_by(const Way& way, const Run& run, PoolJob& job) const {
    if (way.is_alone) job.workers = 1;
    job.fetches_otherwise = way.fetches_otherwise;
    const int64_t units = job.workers == 1 ? way.units : way.kernel->units(job);
    return run.parallel(units, Sharing::in_parts, way.scratch_bytes, job.workers, cycles_,
                        [&](int64_t unit, void* scratch) { way.kernel->run(job, unit, scratch); });
  }

  PoolJob job_without_tensors() {
    PoolJob job = {nullptr,
                   nullptr,
                   index_.present ? this : nullptr,  // each run has its own
                   element_size(index_.type) == 8,
                   index_.step,
                   shape_[0] * shape_[1],
                   axes_[0],
                   axes_[1],
                   axes_[2],
                   order_of(type_)};
    make_planes_of_slices(job);
    return job;
  }

  const WindowPlans::Key key_;
  const ElementType type_;
  const IndexOutput index_;
  const Dims shape_;
  const int64_t bytes_;
  PoolAxes axes_;
  const std::vector<Window> lists_;
  const PoolJob job_;
  const Ways ways_;
  const double cycles_;  // on one thread
  mutable Trials trials_;
  // The way of runs between trials. A run that ends late may set it after others began new trials, which then wait.
  mutable std::atomic<const Way*> fastest_{nullptr};
};

WindowPlans::~WindowPlans() {
  for (const auto& known : known_) delete known.load(std::memory_order_relaxed);
}

const WindowPlan* WindowPlans::find(const Key& key) const {
  for (const auto& known : known_) {
    const WindowPlan* plan = known.load(std::memory_order_acquire);
    if (!plan || plan->is_for(key)) return plan;
  }
  return nullptr;
}

void WindowPlans::make_and_pool(const Run& run, const Key& key, const void* x, const WindowTask& task) {
  auto plan = std::make_unique<const WindowPlan>(key, task);
  plan->pool(run, x);
  for (auto& known : known_) {
    const WindowPlan* found = nullptr;
    if (known.compare_exchange_strong(found, plan.get(), std::memory_order_release, std::memory_order_acquire)) {
      plan.release();
      return;
    }
    if (found->is_for(key)) return;  // which another thread has made meanwhile
  }
}

void WindowPlans::pool_by(const WindowPlan& plan, const Run& run, const void* x) { plan.pool(run, x); }

ElementType index_type(const char* op, const Variant& variant, const Attributes& attributes) {
  const std::vector<ElementType>& known = variant.index_types;
  const std::string name = attributes.get(kIndexAttribute, std::string(spelling_of(known[0])));
  const auto quoted = [](const std::string& text) { return "\"" + text + "\""; };
  const auto refuse = [&](const std::string& expected) {
    throw Error(std::string(op) + ": " + kIndexAttribute + " is " + quoted(escaped(name)) + ", expected " + expected);
  };
  const ElementType type = spelled(name);
  if (std::find(known.begin(), known.end(), type) == known.end()) {
    std::string all;
    for (const ElementType each : known) all += (all.empty() ? "" : " or ") + quoted(spelling_of(each));
    refuse(all);
  }
  if (type != known[0] && !variant.infers_optional_outputs && attributes.has_output(1)) {
    refuse(quoted(spelling_of(known[0])) + ", as another needs ONNX Runtime " + kInfersIndexTypes.text + " or newer");
  }
  return type;
}

const char* spelling_of(ElementType index_type) {
  for (const IndexSpelling& known : kIndexSpellings) {
    if (known.type == index_type) return known.name;
  }
  return "";
}

Parameter index_parameter(const Variant& variant) { return {variant.index_type, ort::kOptional}; }

void infer_windows(const Variant& variant, const Inference& node, const std::vector<Dim>& dims) {
  node.set_output(0, node.input_type(0), dims);
  // Last: where the node leaves the output out, this throws.
  if (variant.infers_optional_outputs) node.set_output(1, inferred_index(variant, node), dims);
}

void infer_windows_of_any_rank(const Variant& variant, const Inference& node) {
  if (!variant.infers_optional_outputs) return;
  const ElementType index = inferred_index(variant, node);
  if (index == variant.index_types[0]) return;
  std::vector<Dim> dims(4);
  for (Dim& dim : dims) dim = Inference::unknown();  // each with a symbol of its own
  node.set_output(1, index, dims);
}

}  // namespace onnx_maxpool
