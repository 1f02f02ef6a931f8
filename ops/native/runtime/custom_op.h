// An operator as its file defines it, and as the runtime sees it.
#pragma once

#include <memory>
#include <vector>

#include "base/element_type.h"
#include "base/ort_abi.h"
#include "base/window.h"
#include "runtime/attributes.h"
#include "runtime/inference.h"
#include "runtime/run.h"

namespace onnx_maxpool {

// An operator's node, ready to run.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void compute(const Run& run) const = 0;
};

// An operator for one combination of element types, its index's included, in one compatibility setting.
struct Variant {
  const char* domain;
  int since_version;
  std::vector<ElementType> types;        // of the type variables, in the registry's order
  std::vector<ElementType> index_types;  // that an index output may have, the default first; none without one
  ElementType index_type;                // this variant's
  BinEdges bin_edges;                    // the setting's, or the operator's own default; unset without bins
  const char* size_attribute;            // of the output's height and width; null where there is none
  // Whether shape inference may set an optional output's type: in ONNX Runtime before 1.28 that ends the process
  // where a node leaves the output out, and inference cannot tell. There are then no variants but the default's.
  bool infers_optional_outputs;
};

// A formal input or output.
struct Parameter {
  ElementType type;
  ort::Characteristic characteristic = ort::kRequired;
};

// An operator, as its file defines it.
struct Operator {
  const char* name;
  std::vector<Parameter> (*inputs)(const Variant&);
  std::vector<Parameter> (*outputs)(const Variant&);
  std::unique_ptr<Kernel> (*create)(const Variant&, const Attributes&);
  void (*infer)(const Variant&, const Inference&);
};

// The runtime's view of an operator's variant. It lives as long as the process: sessions keep pointers to it.
class CustomOp : public OrtCustomOp {
 public:
  CustomOp(const Host& host, const Operator& op, Variant variant);

 private:
  static const CustomOp& self(const OrtCustomOp* op) { return *static_cast<const CustomOp*>(op); }
  const Host host_;
  const Operator& operator_;
  const Variant variant_;
  const std::vector<Parameter> inputs_, outputs_;
};

// Keeps this library loaded until the process ends. ONNX Runtime unloads it with the last session, and what it keeps
// for the process would be lost.
void keep_loaded();

}  // namespace onnx_maxpool
