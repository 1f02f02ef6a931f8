// What the stand-in runtime's slots work on: the types behind the library's pointers. For its own files alone.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "stand_in_runtime.h"

struct OrtApi {
  std::array<void (*)(), 420> slots;
};
struct OrtMemoryInfo {};
struct OrtAllocator {
  std::map<void*, stand_in::Block> blocks;
};
struct OrtOpAttr {
  stand_in::Attribute value;
};
struct OrtKernelInfo {
  const stand_in::Node* node;
};
struct OrtKernelContext {
  const stand_in::Node* node;
  const std::vector<const OrtValue*>* inputs;
  stand_in::Run* run;
  std::vector<stand_in::ElementType> output_types;
  std::function<void()> before_output = {};  // called once
};
struct OrtShapeInferContext {
  std::vector<OrtTensorTypeAndShapeInfo> inputs;
  std::map<std::string, OrtOpAttr> attributes;
  mutable std::vector<stand_in::KnownShape> outputs;
};

namespace stand_in {

constexpr int kFail = 1, kInvalidArgument = 2;

// The table of all slots, of which one that base/ort_abi.h does not name ends the program.
OrtApi make_api(Version version);

[[noreturn]] void die(const std::string& what);

}  // namespace stand_in
