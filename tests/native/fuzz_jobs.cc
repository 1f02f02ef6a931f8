#include "fuzz_jobs.h"

#include <cstdio>
#include <cstdlib>

namespace fuzz_jobs {

std::vector<Kernels> kernels_here() {
  std::vector<Kernels> here;
  for (const Target& target : targets()) {
    if (target.runs_here) here.push_back(target.kernels);
  }
  return here;
}

void fail(const char* target, const std::string& what, const std::string& job) {
  std::fprintf(stderr, "%s: %s\n%s\n", target, what.c_str(), job.c_str());
  std::abort();
}

void compare(const char* target, const OrtValue& y, const std::vector<long double>& expected, const std::string& job) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const long double value = naive::number(y.type, y.block.data(), static_cast<int64_t>(i));
    if (naive::same(value, expected[i])) continue;
    fail(target,
         "cell " + std::to_string(i) + " is " + std::to_string(value) + ", expected " + std::to_string(expected[i]),
         job);
  }
}

int64_t cells_in(const std::vector<Window>& windows) {
  int64_t cells = 0;
  for (const Window& window : windows) cells += std::max<int64_t>(window.end - window.start, 0);
  return cells;
}

}  // namespace fuzz_jobs
