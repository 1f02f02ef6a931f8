// A fuzzer that fails on some inputs, in the way that the environment variable FAULT says.
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>

namespace {
volatile int sink = 0;
}

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string fault = std::getenv("FAULT");
  if (size < 2 || data[0] % 8 != 0) return 0;
  if (fault == "abort") std::abort();
  if (fault == "segmentation") *reinterpret_cast<volatile int*>(size) = 1;  // no page starts so low
  if (fault == "overrun") sink = data[size];
  if (fault == "overflow") sink = std::numeric_limits<int>::max() - static_cast<int>(size) + 2 * data[1] + 1000;
  if (fault == "race") {
    int cell = 0;
    std::thread other([&] { ++cell; });
    ++cell;
    other.join();
    sink = cell;
  }
  return 0;
}
