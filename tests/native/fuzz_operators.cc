// Fuzzes the operators from RegisterCustomOps to their outputs: a node for each input, compared with oracle.h,
// some of them in many runs.
#include <cstdio>
#include <cstdlib>

#include "operator_case.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  require_target();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const OperatorCase operator_case = decode_operator_case(ByteSource(data, size));
  naive::most_work = int64_t{1} << (operator_case.is_large ? 19 : 17);
  // Enough for all threads' scratch of as many outputs.
  stand_in::largest_allocation = size_t{1} << (operator_case.is_large ? 25 : 23);
  static const bool show = std::getenv("ONNX_MAXPOOL_SHOW_CASE") != nullptr;
  if (show) std::fprintf(stderr, "%s", described(operator_case).c_str());
  const std::string wrong = difference(operator_case);
  if (wrong.empty()) return 0;
  std::fprintf(stderr, "%s\n%s", wrong.c_str(), described(operator_case).c_str());
  std::abort();
}
