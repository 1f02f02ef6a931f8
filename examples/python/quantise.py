"""Quantise a model that has MaxRoiPool, with ONNX Runtime's own tools: `python quantise.py MODEL INPUTS OUT`.

`quantize_static` makes its own session for the calibration, and has no argument for a library of custom operators. So
ONNX Runtime rejects MaxRoiPool. Here the calibrator gets a session of ours; everything else is ONNX Runtime's.
docs/guides/quantisation.md explains it.
`onnx-maxpool sample fast_rcnn.onnx` and `onnx-maxpool sample inputs.npz` make the two files.
Needs this package, with the extra `cli` for these commands.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime as ort
from onnxruntime.quantization import CalibrationDataReader, QuantType
from onnxruntime.quantization.calibrate import MinMaxCalibrater
from onnxruntime.quantization.qdq_quantizer import QDQQuantizer
from onnxruntime.quantization.quant_utils import load_model_with_shape_infer

import onnx_maxpool

QUANTISED = ["MatMul", "Gemm"]


class Calibrater(MinMaxCalibrater):
    """Observes the tensors in a session that knows our operators."""

    def create_inference_session(self) -> None:
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.infer_session = onnx_maxpool.load(self.augmented_model_path, options)


class Reader(CalibrationDataReader):
    """Gives the calibrator one batch of inputs after the other, then None."""

    def __init__(self, batches: list[dict[str, np.ndarray]]) -> None:
        self.batches = iter(batches)

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self.batches, None)


def main(model: str, inputs: str, out: str) -> None:
    batch = dict(np.load(inputs))
    with tempfile.TemporaryDirectory() as folder:
        augmented = str(Path(folder) / "augmented.onnx")
        calibrater = Calibrater(model, QUANTISED, augmented_model_path=augmented)
        calibrater.augment_graph()
        calibrater.create_inference_session()
        calibrater.collect_data(Reader([batch]))
        ranges = calibrater.compute_data()
    quantizer = QDQQuantizer(
        load_model_with_shape_infer(Path(model)),
        per_channel=False,
        reduce_range=False,
        weight_qType=QuantType.QInt8,
        activation_qType=QuantType.QUInt8,
        tensors_range=ranges,
        nodes_to_quantize=[],
        nodes_to_exclude=[],
        op_types_to_quantize=QUANTISED,
        extra_options={},
    )
    quantizer.quantize_model()
    quantizer.model.save_model_to_file(out)

    before, after = (onnx_maxpool.load(path).run(["cls_score"], batch)[0] for path in (model, out))
    same = np.mean(before.argmax(-1) == after.argmax(-1))
    print(
        f"{Path(model).stat().st_size} bytes became {Path(out).stat().st_size}; {same:.0%} of the ROIs keep their class"
    )


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: python quantise.py MODEL INPUTS OUT")
    main(*sys.argv[1:])
