// How much stack a thread has left: programs may give their threads little of it.
#pragma once

#include <cstddef>

namespace onnx_maxpool {

// Bytes of this thread's stack below the caller's frame; 0 where that is not known, as of a fiber's stack.
size_t stack_left();

}  // namespace onnx_maxpool
