// The library's exports: one puts the operators into a session's options, the other tells of the instruction sets.
#include <cstdio>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "facts.h"
#include "kernels/targets.h"
#include "operators/python_result.h"
#include "runtime/custom_op.h"
#include "runtime/handles.h"

#if defined(_WIN32)
#define ONNX_MAXPOOL_EXPORT __declspec(dllexport)
#else
#define ONNX_MAXPOOL_EXPORT __attribute__((visibility("default")))
#endif

namespace onnx_maxpool {

// The table is generated from registry.py.
#define OPERATOR(domain, name, ...) extern const Operator k##name;
#include "operators.inc"
#undef OPERATOR

namespace {

struct Row {
  const Operator& op;
  Variant variant;
};

std::vector<Row> table(BinEdges bin_edges, bool infers_optional_outputs) {
  std::vector<Row> rows;
  // Of overloads the runtime takes the first whose inputs' types fit, and expects the index to be of its type, unless
  // inference says another. An index type that the operator does not have has overloads too, so that the kernel says
  // what is wrong, and not the runtime.
  const auto add = [&](const Operator& op, Variant variant) {
    if (bin_edges != BinEdges::unset) variant.bin_edges = bin_edges;
    variant.infers_optional_outputs = infers_optional_outputs;
    rows.push_back({op, variant});
    if (!infers_optional_outputs || variant.index_types.empty()) return;
    for (const IndexSpelling& other : kIndexSpellings) {
      if (other.type == variant.index_types[0]) continue;
      rows.push_back({op, variant});
      rows.back().variant.index_type = other.type;
    }
  };
  const auto variant = [](const char* domain, int since_version, std::vector<ElementType> types,
                          std::vector<ElementType> index_types, BinEdges default_edges, const char* size_attribute) {
    const ElementType first = index_types.empty() ? ElementType::undefined_ : index_types[0];
    return Variant{domain, since_version, std::move(types), std::move(index_types),
                   first,  default_edges, size_attribute,   {}};
  };
#define TYPES(...) {__VA_ARGS__}
#define OPERATOR(domain, name, since_version, types, index_types, default_edges, size_attribute) \
  add(k##name, variant(domain, since_version, TYPES types, TYPES index_types, default_edges, size_attribute));
#include "operators.inc"
#undef OPERATOR
#undef TYPES
  for (const PythonResultOp& result : python_results()) {
    add(result.op, variant("onnx_maxpool", 1, {result.type}, {}, BinEdges::unset, nullptr));
  }
  return rows;
}

bool is_at_least(const char* version, RuntimeVersion least) {
  int found_major = 0, found_minor = 0;
  std::sscanf(version, "%d.%d", &found_major, &found_minor);
  return found_major != least.major ? found_major > least.major : found_minor >= least.minor;
}

// The value of a session config entry, or an empty string where it is not set.
std::string config_entry(const OrtApi* api, const OrtSessionOptions* options, const char* key) {
  int found = 0;
  check(api, ort::HasSessionConfigEntry::of(api)(options, key, &found));
  if (!found) return "";
  size_t size = 0;  // the terminating NUL included
  check(api, ort::GetSessionConfigEntry::of(api)(options, key, nullptr, &size));
  std::string value(size, '\0');
  check(api, ort::GetSessionConfigEntry::of(api)(options, key, value.data(), &size));
  value.resize(size - 1);
  return value;
}

BinEdges parse_bin_edges(const std::string& name) {
  if (name.empty()) return BinEdges::unset;
  std::string expected;
  for (const BinEdgesName& known : kBinEdgesNames) {
    if (name == known.name) return known.edges;
    const bool last = &known + 1 == std::end(kBinEdgesNames);
    expected += std::string(expected.empty() ? "" : last ? " or " : ", ") + "'" + known.name + "'";
  }
  throw Error("onnx_maxpool: session config entry " + std::string(kBinEdgesEntry) + " is '" + escaped(name) +
              "', expected " + expected);
}

// The domains of one setting, for one runtime. They and their operators are never freed: sessions may outlive
// whatever registered them, and a process may hold more than one runtime.
const std::map<std::string, OrtCustomOpDomain*>& domains(const Host& host, BinEdges bin_edges,
                                                         bool infers_optional_outputs) {
  struct Made {
    std::map<std::string, OrtCustomOpDomain*> domains;
    size_t rows = 0;  // of the table: where one failed, the next call goes on
  };
  static std::mutex mutex;
  static auto& made = *new std::map<std::pair<const OrtApi*, BinEdges>, Made>;
  static auto& ops = *new std::deque<CustomOp>;
  const std::lock_guard<std::mutex> lock(mutex);
  auto& [domains, rows] = made[{host.api, bin_edges}];
  for (const std::vector<Row> all = table(bin_edges, infers_optional_outputs); rows < all.size(); ++rows) {
    const Row& row = all[rows];
    OrtCustomOpDomain*& domain = domains[row.variant.domain];
    if (!domain) check(host.api, ort::CreateCustomOpDomain::of(host.api)(row.variant.domain, &domain));
    check(host.api, ort::CustomOpDomainAdd::of(host.api)(domain, &ops.emplace_back(host, row.op, row.variant)));
  }
  return domains;
}

void register_in(const Host& host, OrtSessionOptions* options, bool infers_optional_outputs) {
  const OrtApi* api = host.api;
  keep_loaded();
  kernels();  // rejects an unknown ONNX_MAXPOOL_TARGET
  const std::string name = config_entry(api, options, kBinEdgesEntry);
  const BinEdges bin_edges = parse_bin_edges(name);
  const std::string setting = name.empty() ? kDefaultEdges : name;
  const std::string registered = config_entry(api, options, kRegisteredEntry);
  if (registered == setting) return;
  if (!registered.empty()) {
    throw Error("onnx_maxpool: these session options are registered with bin_edges '" + registered +
                "', expected other options for '" + setting + "'");
  }
  for (const auto& [domain, pointer] : domains(host, bin_edges, infers_optional_outputs)) {
    check(api, ort::AddCustomOpDomain::of(api)(options, pointer));
  }
  check(api, ort::AddSessionConfigEntry::of(api)(options, kRegisteredEntry, setting.c_str()));
}

}  // namespace
}  // namespace onnx_maxpool

extern "C" ONNX_MAXPOOL_EXPORT OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
  using namespace onnx_maxpool;
  // By the version, not by asking for its interface: a runtime that lacks that prints lines of its own.
  if (!is_at_least(base->GetVersionString(), kOldestRuntime)) {
    return guarded(base->GetApi(1), [&] {
      throw Error("onnx_maxpool: ONNX Runtime is " + std::string(base->GetVersionString()) + ", expected " +
                      kOldestRuntime.text + " or newer",
                  ort::kFail);
    });
  }
  const char* version = base->GetVersionString();
  const Host host = {base->GetApi(ort::kApiVersion), is_at_least(version, kLendsShapes)};
  return guarded(host.api, [&] { register_in(host, options, is_at_least(version, kInfersIndexTypes)); });
}

// A target as the library tells of it: its name, and whether this processor runs it and operators use it: 1 or 0. None
// is used where ONNX_MAXPOOL_TARGET names none that runs.
struct OnnxMaxpoolTarget {
  const char* name;
  int32_t runs_here, chosen;
};

// Writes the targets that were compiled, worst first, to an array with room for so many. Returns how many there are, or
// 0 where memory is at an end.
extern "C" ONNX_MAXPOOL_EXPORT size_t onnx_maxpool_targets(OnnxMaxpoolTarget* out, size_t room) {
  using namespace onnx_maxpool;
  const auto chosen = []() -> std::string {
    try {
      return kernels().target;
    } catch (const Error&) {
      return "";
    }
  };
  try {
    const std::vector<Target> all = targets();
    const std::string used = chosen();
    for (size_t i = 0; i < all.size() && i < room; ++i) {
      out[i] = {all[i].kernels.target, all[i].runs_here, used == all[i].kernels.target};
    }
    return all.size();
  } catch (...) {
    return 0;
  }
}
