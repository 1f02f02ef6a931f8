"""Compare ONNX Runtime with ONNX's reference evaluator: `python reference_evaluator.py`.

The evaluator of the package `onnx` runs our operators. Both give the same outputs, bit for bit.
Needs only this package.
"""

import numpy as np
import onnx

import onnx_maxpool

MODEL = """
<ir_version: 8, opset_import: ["": 22]>
pool (float[N,C,H,W] X, float[R,5] rois) => (float[R,C,2,2] Y) {
    Y = MaxRoiPool <pooled_shape = [2, 2], spatial_scale = 0.5> (X, rois)
}
"""


def main() -> None:
    model = onnx.parser.parse_model(MODEL)
    random = np.random.default_rng(1)
    inputs = {
        "X": random.standard_normal((1, 3, 8, 8), np.float32),
        "rois": np.array([[0, 2, 2, 11, 13], [0, 0, 0, 15, 15]], np.float32),
    }
    (expected,) = onnx_maxpool.reference_evaluator(model).run(None, inputs)
    (computed,) = onnx_maxpool.load(model).run(None, inputs)
    print("equal" if np.array_equal(expected, computed) else "different", computed.shape)


if __name__ == "__main__":
    main()
