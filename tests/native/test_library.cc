// The library against the stand-in runtime: what fuzzing does not reach by chance. Registration, each operator's
// signature, extremes, the messages about attributes, failures of every call and of every allocation, large outputs,
// and threads.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/targets.h"
#include "operator_case.h"
#include "require.h"

namespace {

using naive::BinEdges;
using onnx_maxpool::ElementType;
using onnx_maxpool::Shape;
using stand_in::Version;

constexpr BinEdges kEverySetting[] = {BinEdges::unset, BinEdges::onnx_, BinEdges::exact_, BinEdges::double_};
constexpr int64_t kMost = (int64_t{1} << 31) - 1;

void registers_operators() {
  for (Version version : {Version::oldest, Version::newest}) {
    for (BinEdges edges : kEverySetting) {
      const OrtSessionOptions& options = session_options(edges, version);
      size_t count = 0;
      for (const OrtCustomOpDomain* domain : options.domains) {
        for (const OrtCustomOp* op : domain->ops) {
          ++count;
          require(op->version == 17, "an operator has another version");
          require(op->GetStartVersion(op) <= op->GetEndVersion(op), "an operator has no opset");
          require(!op->GetExecutionProviderType(op), "an operator is not the CPU's");
          for (size_t i = 0; i < op->GetInputTypeCount(op); ++i) {
            require(op->GetInputType(op, i) && !op->GetInputCharacteristic(op, i) && !op->GetInputMemoryType(op, i),
                    "an input is not required, or not in usual memory");
          }
          for (size_t i = 0; i < op->GetOutputTypeCount(op); ++i) {
            require(op->GetOutputType(op, i), "an output has no type");
            const bool may_be_left_out = i == 1 && domain->name != "onnx_maxpool";
            require(op->GetOutputCharacteristic(op, i) == may_be_left_out, "an output may be left out, or may not");
          }
        }
      }
      // Where inference may choose the type of an index, there are operators for each of the four.
      const size_t indices = version == Version::newest ? 4 : 1;
      require(count == 4 + 2 + (10 + 8) * indices + 10, "there are " + std::to_string(count) + " operators");
    }
  }
  OrtSessionOptions twice;
  require(!stand_in::register_operators(twice, Version::newest).code, "cannot register");
  require(!stand_in::register_operators(twice, Version::newest).code, "cannot register again");
  require(twice.domains.size() == 4, "there are other domains");
  twice.entries["onnx_maxpool.bin_edges"] = "onnx";
  require(stand_in::register_operators(twice, Version::newest).code == 2, "another setting was not refused");
  OrtSessionOptions wrong;
  wrong.entries["onnx_maxpool.bin_edges"] = "none";
  require(stand_in::register_operators(wrong, Version::newest).code == 2, "an unknown setting was not refused");
  const stand_in::Outcome old = stand_in::register_operators(wrong, Version::too_old);
  require(old.message == "onnx_maxpool: ONNX Runtime is 1.16.3, expected 1.23 or newer", old.message);
}

// Values at the ends of what is allowed, and beyond.
void takes_extremes() {
  const std::vector<long double> roi = {0, 0, 0, 2, 2};
  const long double inf = std::numeric_limits<long double>::infinity(),
                    nan = std::numeric_limits<long double>::quiet_NaN();
  for (ElementType type : {ElementType::float_, ElementType::float16_, ElementType::double_, ElementType::bfloat16_}) {
    for (BinEdges edges : kEverySetting) {
      const auto both = [&](OperatorCase c) {
        c.bin_edges = edges;
        check(c);
      };
      for (const Shape& pooled : std::vector<Shape>{{kMost, kMost},
                                                    {kMost, 1},
                                                    {1, kMost},
                                                    {46341, 46341},
                                                    {0, 1},
                                                    {-1, 1},
                                                    {kMost + 1, 1},
                                                    {std::numeric_limits<int64_t>::min(), 1},
                                                    {2},
                                                    {},
                                                    {1, 2, 3},
                                                    {1, 300},
                                                    {300, 1}}) {
        both(max_roi_pool(type, {1, 1, 3, 3}, roi, pooled));
        both(max_roi_pool(type, {1, 0, 3, 3}, roi, pooled));
        both(max_roi_pool(type, {1, 1, 3, 3}, {}, pooled));
      }
      for (long double a : {inf, -inf, nan, 3e38l, -3e38l, 65504.0l, 0.5l, 2.5l, -0.5l}) {
        for (int column = 0; column < 5; ++column) {
          std::vector<long double> bad = roi;
          bad[static_cast<size_t>(column)] = a;
          both(max_roi_pool(type, {1, 17, 3, 3}, bad, {3, 2}));
        }
        both(max_roi_pool(type, {1, 1, 3, 3}, {0, -a, -a, a, a}, {7, 5}));
      }
      for (const Shape& x : std::vector<Shape>{{0, 3, 4, 4}, {2, 0, 4, 4}, {2, 3, 0, 4}, {2, 3, 4, 0}, {1, 1, 1, 1}}) {
        both(max_roi_pool(type, x, roi, {2, 2}));
        both(max_roi_pool(type, x, {-0.5l, 0, 0, 2, 2}, {2, 2}));
        both(max_roi_pool(type, x, {}, {2, 2}));
      }
    }
    for (const Shape& x :
         std::vector<Shape>{{0, kMost, 1}, {1, 1, 1}, {1, 1, 0}, {3, 0, 5}, {0, kMost << 31, kMost << 31}}) {
      for (long double size : {1.0l, 3.0l, 0.0l, -1.0l, static_cast<long double>(kMost), 2147483648.0l}) {
        check(adaptive_max_pool(type, x, {size}));
      }
    }
    check(adaptive_max_pool(type, {1, 1, 2, 2, 2}, {kMost, kMost, kMost}));
    check(adaptive_max_pool(type, {1, 0, 2, 2, 2}, {kMost, kMost, kMost}));
  }
  for (ElementType type : {ElementType::float_, ElementType::uint8_, ElementType::int64_}) {
    for (int64_t window : {int64_t{1}, int64_t{2}, int64_t{1000}, kMost, kMost + 1}) {
      for (int64_t stride : {int64_t{1}, int64_t{2}, int64_t{3}, kMost, kMost + 1}) {
        for (int64_t start : {int64_t{0}, window - 1, window - 2, window}) {
          for (int64_t end : {int64_t{0}, window - 1, window / 2}) {
            check(max_pooling1(type, {2, 1, 3, 5}, {window, 1}, {stride, 1}, {start, 0}, {end, 0}));
            check(max_pooling1(type, {2, 1, 3, 5}, {2, window}, {1, stride}, {1, start}, {0, end}));
            check(max_pooling1(type, {0, 1, int64_t{1} << 62, int64_t{1} << 62}, {1, window}, {1, stride}, {0, start},
                               {0, end}));
          }
        }
      }
    }
  }
  // As many windows as 63 bits number, and more.
  for (ElementType type : {ElementType::int8_, ElementType::uint8_}) {
    for (int64_t window : {int64_t{1}, int64_t{2}, kMost}) {
      constexpr int64_t size = std::numeric_limits<int64_t>::max();
      for (const Shape& x : std::vector<Shape>{{0, 1, size, 1}, {0, 1, 1, size}, {1, 0, 1, size}}) {
        const Shape paddings = {x[2] == 1 ? 0 : window - 1, x[3] == 1 ? 0 : window - 1};
        OperatorCase c =
            max_pooling1(type, x, {x[2] == 1 ? 1 : window, x[3] == 1 ? 1 : window}, {1, 1}, paddings, paddings);
        c.node.outputs = {"Y"};
        c.node.before_the_run = {{0, {{x[0], ""}, {x[1], ""}, {x[2], ""}, {x[3], ""}}}};
        check(c);
      }
    }
  }
}

// The status with which a kernel is not made, by name and value of an attribute.
void refuses_attributes() {
  const auto says = [](OperatorCase c, const char* name, const stand_in::Attribute& value, const std::string& words) {
    c.node.attributes[name] = value;
    const auto inputs = c.input_values();
    const OrtCustomOp& op = *stand_in::find(session_options(c.bin_edges, c.version), c.node, inputs);
    const stand_in::Outcome outcome = stand_in::run(op, c.node, inputs, c.version).created;
    require(outcome.code == 2 && outcome.message == c.node.op + ": " + words, outcome.message);
  };
  const auto roi = [] { return max_roi_pool(ElementType::float_, {1, 1, 3, 3}, {0, 0, 0, 2, 2}, {2, 2}); };
  const auto window = [] { return max_pooling1(ElementType::float_, {1, 1, 3, 3}, {2, 2}, {1, 1}, {0, 0}, {0, 0}); };
  const Shape ints = {1, 2}, no_ints;
  const std::vector<float> floats = {1}, no_floats;
  for (const auto& [value, type] : std::vector<std::pair<stand_in::Attribute, std::string>>{
           {1.0f, "FLOAT"},
           {int64_t{2}, "INT"},
           {std::string("u32"), "STRING"},
           {floats, "FLOATS"},
           {ints, "INTS"},
           {no_floats, "empty or of another type"},
           {no_ints, "empty or of another type"},
           {stand_in::OtherType{}, "empty or of another type"},
       }) {
    const auto words = [type = type](const std::string& name, const std::string& expected) {
      return "attribute " + name + " is " + type + ", expected " + expected;
    };
    if (type != "FLOAT") says(roi(), "spatial_scale", value, words("spatial_scale", "FLOAT"));
    if (type != "INTS") says(roi(), "pooled_shape", value, words("pooled_shape", "INTS"));
    if (type != "INTS") says(window(), "end_padding", value, words("end_padding", "INTS"));
    if (type != "STRING") says(window(), "index_element_type", value, words("index_element_type", "STRING"));
  }
  const std::string any = std::string("u32\0\xff\n\x1b\x7f", 8) + "\xc3\xbc \\~";
  says(window(), "index_element_type", any,
       "index_element_type is \"u32\\x00\\xff\\x0a\\x1b\\x7f\\xc3\\xbc \\~\", expected \"u32\" or \"u64\"");
  using Limits = std::numeric_limits<float>;
  for (const auto& [value, text] : std::vector<std::pair<float, std::string>>{{-Limits::denorm_min(), "-1e-45"},
                                                                              {-Limits::min(), "-1.1754944e-38"},
                                                                              {-Limits::max(), "-3.4028235e+38"},
                                                                              {-0.1f, "-0.1"},
                                                                              {-16777216.0f, "-16777216"}}) {
    says(roi(), "spatial_scale", value, "spatial_scale is " + text + ", expected a finite number greater than 0");
  }
}

// A saved graph may say what it likes: nothing may be written beyond an output of another type.
void refuses_outputs_of_other_types() {
  const auto refusal = [](OperatorCase c, std::vector<ElementType> types) {
    c.node.saved_types = std::move(types);
    const auto inputs = c.input_values();
    const OrtCustomOp& op = *stand_in::find(session_options(c.bin_edges, c.version), c.node, inputs);
    const stand_in::Outcome outcome = stand_in::run(op, c.node, inputs, c.version).computed;
    require(outcome.code == 2, "an output of another type was not refused");
    return outcome.message;
  };
  const std::string words =
      refusal(adaptive_max_pool(ElementType::float_, {1, 2, 8}, {3}), {ElementType::float_, ElementType::int32_});
  require(words == "onnx_maxpool: output 1 is of element type 6 in the graph, expected 7", words);
  refusal(max_pooling1(ElementType::int64_, {1, 2, 8, 9}, {3, 3}, {1, 1}, {0, 0}, {0, 0}),
          {ElementType::float_, ElementType::uint32_});
  refusal(max_roi_pool(ElementType::float_, {1, 2, 8, 9}, {0, 0, 0, 3, 3}, {3, 3}), {ElementType::float16_});
}

// Outputs that are stored past the caches, by the operator's own choice: from whole lines to pieces that hold none, and
// channels that begin with a line of a buffer.
void streams_large_outputs() {
  const auto stream = [](ElementType type, int64_t channels, const Shape& pooled) {
    for (size_t threads : {1, 2, 3}) {
      OperatorCase c = max_roi_pool(type, {2, channels, 5, 6}, some_rois(300 / channels + 5, 2, 5, 6), pooled);
      c.node.threads = threads;
      c.node.output_offset = 3;
      check(c);
    }
  };
  for (const Shape& pooled : std::vector<Shape>{{1, 5}, {5, 5}, {7, 7}, {9, 9}, {30, 20}}) {
    for (int64_t channels : {1, 3, 17, 70}) stream(ElementType::float_, channels, pooled);
  }
  for (ElementType type : {ElementType::float16_, ElementType::double_}) {
    for (int64_t channels : {1, 17, 70}) stream(type, channels, {9, 9});
  }
}

// Ways to pool need more scratch or less, and the runtime may have little: then a run goes another way, and none of
// them fails.
void pools_with_little_scratch() {
  // With a byte less than was asked for, and with a quarter as much each time.
  const auto pool = [](OperatorCase c, int limits) {
    for (size_t threads : {1, 3}) {
      c.node.threads = threads;
      c.node.runs = 30;
      const auto inputs = c.input_values();
      const OrtCustomOp& op = *stand_in::find(session_options(c.bin_edges, c.version), c.node, inputs);
      stand_in::most_scratch = 0;
      const stand_in::Run right = stand_in::run(op, c.node, inputs, c.version);
      require(stand_in::most_scratch > 0, "no way needs scratch");
      const size_t kept = std::exchange(stand_in::largest_scratch, stand_in::most_scratch - 1);
      for (int i = 0; i < limits; ++i) {
        const stand_in::Run run = stand_in::run(op, c.node, inputs, c.version);
        require(!run.computed.code, "run " + std::to_string(run.on_threads.size()) + ": " + run.computed.message);
        require(stand_in::same(run.outputs, right.outputs), "another way gives another output");
        stand_in::largest_scratch /= 4;
      }
      stand_in::largest_scratch = kept;
    }
  };
  pool(max_roi_pool(ElementType::float_, {1, 32, 60, 100}, some_rois(40, 1, 60, 100), {7, 7}), 8);
  pool(max_roi_pool(ElementType::float_, {1, 16, 3, 4000}, some_rois(30, 1, 3, 4000), {2, 2}), 8);
  pool(max_pooling1(ElementType::float_, {1, 8, 100, 100}, {5, 5}, {2, 2}, {2, 2}, {2, 2}), 1);
}

// Threads that take longer to wake than they save are left asleep, once runs have shown it, but for the runs that ask
// whether there are more threads.
void leaves_threads_asleep(size_t threads) {
  int asleep = 0;
  for (int64_t channels = 1; channels <= 256; channels *= 2) {
    OperatorCase c = max_pooling1(ElementType::float_, {1, channels, 9, 11}, {3, 3}, {1, 1}, {0, 0}, {0, 0});
    c.node.threads = threads;
    c.node.wake = std::chrono::milliseconds(1);
    c.node.runs = 255;
    const auto inputs = c.input_values();
    const OrtCustomOp& op = *stand_in::find(session_options(c.bin_edges, c.version), c.node, inputs);
    const std::vector<size_t> runs = stand_in::run(op, c.node, inputs, c.version).on_threads;
    if (runs.at(0) == 0) continue;  // too little work for two
    const auto of_one_thread = std::count(runs.end() - 60, runs.end(), 0);
    asleep += of_one_thread > 55;
  }
  require(asleep > 0, "threads are woken for nothing");
}

// Lets the first call or allocation fail that `countdown` counts, then the second, until `call` needs no more of them.
// `call` gives the status, and may look at what came of it.
template <class Countdown>
void with_every_failure(Countdown& countdown, const std::function<stand_in::Outcome()>& call) {
  for (int64_t i = 0;; ++i) {
    require(i < 100'000, "there is no end of failures");
    countdown = i;
    const stand_in::Outcome outcome = call();
    const bool failed = countdown < 0;
    countdown = -1;
    if (!failed) return;
    require(outcome.code >= 0 && outcome.code <= 2, "a failure gave the status " + std::to_string(outcome.code));
  }
}

// A failure is a status, or it changes nothing: inference, to which the runtime does not listen, or freeing. Attributes
// have their defaults, since one that cannot be read is one that the node does not have.
template <class Countdown>
void survives_failures(Countdown& countdown) {
  for (const OperatorCase& c : one_of_each()) {
    const auto inputs = c.input_values();
    const OrtCustomOp& op = *stand_in::find(session_options(c.bin_edges, c.version), c.node, inputs);
    const stand_in::Run right = stand_in::run(op, c.node, inputs, c.version);
    with_every_failure(countdown, [&] {
      const stand_in::Run run = stand_in::run(op, c.node, inputs, c.version);
      const bool bad = run.created.code || run.computed.code;
      require(bad || stand_in::same(run.outputs, right.outputs),
              "a failure went unseen and changed an output\n" + described(c));
      return run.created.code ? run.created : run.computed;
    });
    check(c);
  }
}

// The operators of a setting are made once: `bin_edges` has to be one that nobody has registered for that version.
template <class Countdown>
void registration_survives_failures(Countdown& countdown, const char* bin_edges) {
  for (Version version : {Version::too_old, Version::oldest}) {
    with_every_failure(countdown, [&] {
      OrtSessionOptions options;
      options.entries["onnx_maxpool.bin_edges"] = bin_edges;
      return stand_in::register_operators(options, version);
    });
  }
}

// Registers and runs on threads at once; each run has threads of the runtime, too. The setting is one that nobody has
// registered yet, as the library makes its operators when it is asked for the first time.
void runs_on_threads() {
  std::vector<OperatorCase> cases = one_of_each();
  cases.push_back(max_roi_pool(ElementType::float_, {2, 70, 20, 30}, some_rois(40, 2, 20, 30), {7, 7}));
  cases.push_back(max_pooling1(ElementType::float_, {2, 30, 40, 50}, {3, 3}, {2, 2}, {1, 1}, {1, 1}));
  cases.push_back(adaptive_max_pool(ElementType::float_, {2, 30, 40, 50}, {6, 7}));
  for (OperatorCase& c : cases) {
    c.node.threads = 3;
    c.bin_edges = BinEdges::double_;
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      OrtSessionOptions options;
      options.entries["onnx_maxpool.bin_edges"] = "double";
      require(!stand_in::register_operators(options, Version::newest).code, "cannot register on a thread");
      for (const OperatorCase& c : cases) check(c);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The variable names the target of all work, little or not.
void little_work_has_the_named_target() {
  const char* named = std::getenv("ONNX_MAXPOOL_TARGET");
  if (named) {
    require(std::string(named) == onnx_maxpool::kernels().target, "another target than the one that is named");
    require(std::string(named) == onnx_maxpool::kernels_for_little().target,
            "little work has another target than the one named");
  } else {
    require(onnx_maxpool::kernels_for_little().roi(sizeof(float), 1).line_bytes <= 32,
            "little work has the widest vectors");
  }
}

}  // namespace

int main() {
  require_target();
  little_work_has_the_named_target();
  runs_on_threads();
  registration_survives_failures(stand_in::failing_call, "exact");
  registration_survives_failures(stand_in::failing_allocation, "onnx");
  registers_operators();
  takes_extremes();
  refuses_attributes();
  refuses_outputs_of_other_types();
  streams_large_outputs();
  pools_with_little_scratch();
  leaves_threads_asleep(3);
  leaves_threads_asleep(2);  // fewer than processors
  survives_failures(stand_in::failing_call);
  survives_failures(stand_in::failing_allocation);
  std::puts("all is well");
  return 0;
}
