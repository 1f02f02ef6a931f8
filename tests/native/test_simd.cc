// Every vector operation of kernels/simd/ against a scalar loop, for each width of keys and of vectors, on the target
// that ONNX_MAXPOOL_TARGET names. Skips a target that this processor does not run.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernels/targets.h"
#include "oracle.h"
#include "require.h"

#define TARGET(name, options)    \
  namespace onnx_maxpool::name { \
  void test_vector();            \
  void test_order();             \
  void test_shuffle();           \
  void test_transpose();         \
  void test_streamed_copy();     \
  }
#include "compiled_targets.inc"
#undef TARGET

namespace test_simd {

[[noreturn]] void differ(const char* operation, int key_bytes, int vector_bytes, int64_t place, int64_t found,
                         int64_t expected) {
  std::fprintf(stderr, "%s of keys of %d bytes in vectors of %d: place %lld has %lld, expected %lld\n", operation,
               key_bytes, vector_bytes, static_cast<long long>(place), static_cast<long long>(found),
               static_cast<long long>(expected));
  std::abort();
}

size_t page_size() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

// A page that may be used, between two that may not.
void* start_of_memory() {
  static void* const start = [] {
    const size_t page = page_size();
    void* const pages = mmap(nullptr, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(pages != MAP_FAILED, "no memory");
    void* const second = static_cast<char*>(pages) + page;
    require(mprotect(second, page, PROT_READ | PROT_WRITE) == 0, "a page cannot be used");
    return second;
  }();
  return start;
}
void* end_of_memory() { return static_cast<char*>(start_of_memory()) + page_size(); }

long double number(onnx_maxpool::ElementType type, const void* cell) { return naive::number(type, cell, 0); }

}  // namespace test_simd

int main() {
  constexpr int kSkipped = 77;
  const char* const wanted = std::getenv("ONNX_MAXPOOL_TARGET");
  require(wanted, "ONNX_MAXPOOL_TARGET names no target");
  for (const onnx_maxpool::Target& target : onnx_maxpool::targets()) {
    if (std::strcmp(target.kernels.target, wanted) != 0 || target.runs_here) continue;
    std::fprintf(stderr, "skipped: this processor does not run %s\n", wanted);
    return kSkipped;
  }
  bool tested = false;
#define TARGET(name, options)                 \
  if (std::strcmp(wanted, #name) == 0) {      \
    onnx_maxpool::name::test_vector();        \
    onnx_maxpool::name::test_order();         \
    onnx_maxpool::name::test_shuffle();       \
    onnx_maxpool::name::test_transpose();     \
    onnx_maxpool::name::test_streamed_copy(); \
    tested = true;                            \
  }
#include "compiled_targets.inc"
#undef TARGET
  require(tested, std::string("no target has the name ") + wanted);
  std::puts("all is well");
  return 0;
}
