#include "base/stack.h"

#include <cstdint>

#if defined(_WIN32)
#include <windows.h>
#elif defined(__linux__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace onnx_maxpool {
namespace {

// All that a thread has, from `begin` to `end`; none where it is not known.
struct Stack {
  uintptr_t begin = 0, end = 0;
};

Stack stack_of_thread() {
  Stack stack;
#if defined(_WIN32)
  ULONG_PTR begin = 0, end = 0;
  GetCurrentThreadStackLimits(&begin, &end);
  stack = {begin, end};
#elif defined(__APPLE__)
  stack.end = reinterpret_cast<uintptr_t>(pthread_get_stackaddr_np(pthread_self()));
  stack.begin = stack.end - pthread_get_stacksize_np(pthread_self());
#elif defined(__linux__)
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return stack;
  void* begin = nullptr;
  size_t bytes = 0;
  if (pthread_attr_getstack(&attributes, &begin, &bytes) == 0) {
    stack = {reinterpret_cast<uintptr_t>(begin), reinterpret_cast<uintptr_t>(begin) + bytes};
  }
  pthread_attr_destroy(&attributes);
#endif
  return stack;
}

}  // namespace

size_t stack_left() {
  // Asked once in a thread: of a program's first one, libc opens a file for it.
  thread_local const Stack stack = stack_of_thread();
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return stack.begin < here && here < stack.end ? here - stack.begin : 0;
}

}  // namespace onnx_maxpool
