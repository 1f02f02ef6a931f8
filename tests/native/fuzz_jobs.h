// Jobs of the kernels from a fuzzer's bytes, each run on every target that this processor has and compared with
// oracle.h: what jobs of ROIs and of windows share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "byte_source.h"
#include "kernels/targets.h"
#include "oracle.h"

namespace fuzz_jobs {

using namespace onnx_maxpool;

// Jobs are drawn as they were when the committed inputs were found, so that these mean the same, or from all that plans
// may have.
enum class Reach { first, all };

// How windows are drawn: of any type, with indices or without; of numbers, which are pooled as they are; or as those of
// walks.
struct WindowDraw {
  bool numbers, are_short;
  Reach reach;
};

void fuzz_roi_kernels(ByteSource& source, Reach reach);
void fuzz_window_kernels(ByteSource& source, const WindowDraw& draw);

// An input whose search cell by cell would look at more is let go.
constexpr int64_t kMostWork = 1 << 18;

std::vector<Kernels> kernels_here();

// Ends the program: `target` did something else than what is right for the job that the words describe.
[[noreturn]] void fail(const char* target, const std::string& what, const std::string& job);

void compare(const char* target, const OrtValue& y, const std::vector<long double>& expected, const std::string& job);

int64_t cells_in(const std::vector<Window>& windows);

// Calls run(unit, scratch) for the units on so many threads, which take them in turns, last first; each has scratch of
// exactly its size.
template <class Run>
void run_units(size_t scratch_bytes, int64_t units, int threads, const Run& run) {
  const auto take = [&](int64_t thread) {
    const stand_in::Block scratch(scratch_bytes);
    for (int64_t unit = units - 1 - thread; unit >= 0; unit -= threads) run(unit, scratch.data());
  };
  std::vector<std::thread> others;
  for (int64_t thread = 1; thread < threads; ++thread) others.emplace_back(take, thread);
  take(0);
  for (std::thread& other : others) other.join();
}

}  // namespace fuzz_jobs
