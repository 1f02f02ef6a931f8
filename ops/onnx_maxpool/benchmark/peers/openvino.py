"""OpenVINO's CPU plugin, computing in float32.

On processors with bfloat16 instructions it would otherwise compute in bfloat16, and round the ROIs too.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from importlib.metadata import version
from typing import Any

import numpy as np
import openvino
from openvino import opset8

from onnx_maxpool.benchmark.inputs import graph_constants
from onnx_maxpool.benchmark.peers import Call
from onnx_maxpool.benchmark.rows import AdaptiveCase, Case, GraphCase, RoiCase, Row, SlidingCase
from onnx_maxpool.types import Array


def versions() -> dict[str, str]:
    """Versions by distribution."""
    return {"openvino": version("openvino")}


def prepare(row: Row, inputs: Mapping[str, Array], threads: int) -> Call:
    """The row, ready to run on so many threads."""
    if row.type == "bfloat16":
        raise ValueError("computes in float32, which bfloat16 is converted to and from")
    parameters = [opset8.parameter(array.shape, array.dtype, name) for name, array in tensors(inputs).items()]
    outputs = node(row.case, *parameters).outputs()
    wanted = outputs if not isinstance(row.case, SlidingCase) or row.case.indices else outputs[:1]
    config = {
        "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
    }
    compiled = openvino.Core().compile_model(openvino.Model(wanted, parameters), "CPU", config)
    request = compiled.create_infer_request()
    for i, array in enumerate(tensors(inputs).values()):
        request.set_input_tensor(i, openvino.Tensor(array, shared_memory=True))
    return Call(
        run=request.infer,
        outputs=lambda: [request.get_output_tensor(i).data.copy() for i in range(len(wanted))],
        keeps=inputs,
    )


def tensors(inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The inputs that are data; the output size of adaptive pooling is a constant of the graph."""
    return {name: array for name, array in inputs.items() if name != "output_size"}


@singledispatch
def node(case: Case, *inputs: Any) -> Any:
    """The operator, in OpenVINO's own terms."""
    raise TypeError(f"no operator for {case!r}")


@node.register
def _(case: RoiCase, x: Any, rois: Any) -> Any:
    return opset8.roi_pooling(x, rois, [case.pooled, case.pooled], case.scale, "max")


@node.register
def _(case: GraphCase, x: Any, rois: Any) -> Any:
    constants = graph_constants(case, np.dtype(np.float32))
    ones, none = [1, 1], [0, 0]
    written = opset8.convolution(x, opset8.constant(constants["kernel"]), ones, none, none, ones)
    flat = opset8.reshape(node(case.pool, written, rois), opset8.constant([-1, case.pooled_cells]), False)
    return opset8.matmul(flat, opset8.constant(constants["weights"]), False, False)


@node.register
def _(case: AdaptiveCase, x: Any) -> Any:
    # The CPU plugin does not compile indices of 64 bits.
    return opset8.adaptive_max_pool(x, opset8.constant(np.array(case.output_size)), "i32")


@node.register
def _(case: SlidingCase, x: Any) -> Any:
    dilations = [1] * len(case.window)
    return opset8.max_pool(
        x,
        list(case.strides),
        dilations,
        list(case.padding),
        list(case.padding),
        list(case.window),
        index_element_type="i64",
    )
