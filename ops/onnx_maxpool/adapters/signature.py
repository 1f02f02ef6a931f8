"""What a session's model takes and gives, as a graph without nodes: all that ONNX Runtime tells of ORT format."""

from __future__ import annotations

import re
from collections.abc import Iterable

import onnx
import onnxruntime as ort
from onnx import helper

from onnx_maxpool.errors import InputError, listing
from onnx_maxpool.graph.batching import ROI_COLUMNS, dims_of
from onnx_maxpool.types import tensor_type


def signature(session: ort.InferenceSession) -> onnx.ModelProto:
    """A model with the session's inputs and outputs and no nodes. Raises InputError for what is not a tensor."""
    inputs, outputs = _values("input", session.get_inputs()), _values("output", session.get_outputs())
    return helper.make_model(helper.make_graph([], "signature", inputs, outputs))


def check_rois_are_named(model: onnx.ModelProto, rois: str | None) -> None:
    """Raise InputError for a signature with an input that may hold ROIs, where no input is named.

    Its nodes are not known, so nothing else says whether it does.
    """
    shapes = {value.name: dims_of(value) for value in model.graph.input}
    found = [name for name, dims in shapes.items() if dims and len(dims) in (2, 4) and dims[-1] == ROI_COLUMNS]
    if rois is None and found:
        raise InputError(f"a model in ORT format does not say whether {listing(found)} holds ROIs: name it with rois")


def _values(what: str, values: Iterable[ort.NodeArg]) -> list[onnx.ValueInfoProto]:
    made = []
    for value in values:
        kind = re.fullmatch(r"tensor\((\w+)\)", value.type)
        if kind is None:
            raise InputError(f"{what} '{value.name}' is {value.type}, expected a tensor")
        # ONNX Runtime has an empty shape for a scalar, and for a value whose rank it does not know.
        dims = [dim if isinstance(dim, (int, str)) else None for dim in value.shape]
        made.append(helper.make_tensor_value_info(value.name, tensor_type(kind[1]), dims))
    return made
