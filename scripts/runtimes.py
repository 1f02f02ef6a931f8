"""The runtimes that scripts/try_runtimes.py tries, with what they are known to fail in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Runtime:
    """One runtime."""

    title: str
    modules: Sequence[str]
    """That must be there."""
    backend: str
    """Its name among the conformance suite's backends, whose table says what it is installed from."""
    beside: bool = False
    """Whether the extra `runtimes` has it."""
    faults: str = ""
    """A pattern for the kinds of cases that it is known to fail in, without control flow."""
    loop_faults: str = ""
    """The same with control flow."""
    nan_faults: str = ""
    """The same where a NaN is in the inputs."""
    loses_nan: bool = False
    """Whether its Max is known to give a number in place of a NaN."""
    element_type: str = "float"
    """That every operator, rank and type of index is asked in."""
    also: Sequence[str] = ()
    """The other types that it is asked for."""
    open_shapes: bool = False
    """Whether the form with control flow declares ranks only: with sizes OpenVINO does not finish compiling it."""


TYPES = ("float16", "double", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")

RUNTIMES = {
    "onnxruntime": Runtime("ONNX Runtime", ["onnxruntime"], "onnxruntime", also=TYPES),
    "onnx_reference": Runtime("onnx.reference", ["onnx"], "onnx-reference", also=TYPES),
    "openvino": Runtime(
        "OpenVINO, f32",
        ["openvino"],
        "openvino",
        faults="double|, u?int32$|, u?int64$|, u?int(32|64), ",  # in float32 and 32 bits
        loop_faults="constant ROIs$",
        loses_nan=True,
        also=TYPES,
        open_shapes=True,
    ),
    "opencv": Runtime(
        "OpenCV",
        ["cv2", "onnx"],
        "opencv",
        beside=True,
        faults=", u?int64$|, u?int64, ",  # in 32 bits
        loop_faults=".",
        loses_nan=True,
        also=TYPES,
    ),
    "tract": Runtime(
        "tract",
        ["tract"],
        "tract",
        beside=True,
        loop_faults="^MaxRoiPool|^RoiPooling|indices int64",
        loses_nan=True,
        also=TYPES,
    ),
    "iree": Runtime(
        "IREE, llvm-cpu",
        ["iree.compiler", "iree.runtime", "onnx"],
        "iree",
        beside=True,
        loop_faults=".",
        loses_nan=True,
        also=TYPES,
    ),
    "emx_onnx_cgen": Runtime(
        "emx-onnx-cgen, cc",
        ["emx_onnx_cgen"],
        "emx",
        beside=True,
        loop_faults=".",
        loses_nan=True,
        also=TYPES,
    ),
    "onnx2torch": Runtime(
        "onnx2torch",
        ["onnx2torch"],
        "onnx2torch",
        beside=True,
        faults="indices uint",  # torch cannot add them
        loop_faults="^MaxRoiPool|^RoiPooling|indices uint",
    ),
    "onnxruntime_openvino": Runtime(
        "ONNX Runtime, OpenVINO provider",
        ["onnxruntime_openvino"],
        "onnxruntime-openvino",
        loop_faults=".",
        loses_nan=True,
    ),
    "onnxruntime_qnn": Runtime(
        "ONNX Runtime, QNN provider, simulator",
        ["onnxruntime_qnn"],
        "qnn",
        # ROIs at run time need float32, and it does not support unsigned indices.
        faults="^MaxRoiPool$|^RoiPooling$|rank 5, indices|indices uint|MaxPool with indices",
        loop_faults="^(?!AdaptiveMaxPool, rank 3)",
        nan_faults="^MaxRoiPool, (NaN in the map|bad ROIs)",
        element_type="float16",
    ),
}
