"""opencv: reading a model with Loop ends the process

It needs onnx and opencv-python-headless. Exit code: 1 where the difference shows, 0 where it does not.
"""

import importlib.metadata
import os
import platform
import subprocess
import sys
import tempfile

import onnx

PACKAGES = ("opencv-python-headless", "onnx")

MODEL = """
<ir_version: 8, opset_import: ["": 17]>
twice (float[2,3] X) => (float[2,3] Y) {
    count = Constant <value = int64 {2}> ()
    go_on = Constant <value = bool {1}> ()
    Y = Loop (count, go_on, X) <body = doubled (int64 i, bool condition, float[2,3] x) => (bool next, float[2,3] y) {
        next = Identity (condition)
        y = Add (x, x)
    }>
}
"""


def main():
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    print(f"{versions}, Python {platform.python_version()}, {platform.platform()}")
    model = onnx.parser.parse_model(MODEL)
    onnx.checker.check_model(model, full_check=True)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        onnx.save_model(model, path)
        # The process that reads it ends, so that is another one.
        code = subprocess.run(
            [sys.executable, "-c", "import sys, cv2; cv2.dnn.readNetFromONNX(sys.argv[1])", path], timeout=60
        ).returncode
    print(f"exit code of the process that reads the model: {code}")
    print("The difference does not show." if code in (0, 1) else "The difference shows.")
    return int(code not in (0, 1))


if __name__ == "__main__":
    raise SystemExit(main())
