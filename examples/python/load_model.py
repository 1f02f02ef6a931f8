"""Run a model with MaxRoiPool in ONNX Runtime: `python load_model.py MODEL INPUTS`.

`onnx-maxpool sample fast_rcnn.onnx inputs.npz` makes the two files.
Needs this package, with the extra `cli` for that command.
"""

import sys

import numpy as np

import onnx_maxpool


def main(model: str, inputs: str) -> None:
    session = onnx_maxpool.load(model)  # an onnxruntime.InferenceSession
    outputs = session.run(None, dict(np.load(inputs)))
    for output, array in zip(session.get_outputs(), outputs, strict=True):
        print(output.name, array.dtype, array.shape)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python load_model.py MODEL INPUTS")
    main(*sys.argv[1:])
