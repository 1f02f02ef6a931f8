#pragma once

namespace onnx_maxpool {

// Keeps this library loaded until the process ends. ONNX Runtime unloads it with the last session, and what it keeps
// for the process would be lost.
void keep_loaded();

}  // namespace onnx_maxpool
