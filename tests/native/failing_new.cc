// Counts allocations of the library's own, and lets one fail: see stand_in_runtime.h.
#include <cstdlib>
#include <new>

#include "stand_in_runtime.h"

void* operator new(size_t bytes) {
  if (stand_in::failing_allocation_here >= 0) {
    if (stand_in::failing_allocation_here-- == 0) throw std::bad_alloc();
    stand_in::library_bytes += bytes;
  }
  void* memory = std::malloc(bytes ? bytes : 1);
  if (!memory) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
