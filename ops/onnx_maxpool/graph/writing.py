"""Write a model whose large tensors lie in a file beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx
from onnx import TensorProto, external_data_helper, helper, numpy_helper

from onnx_maxpool.graph.nodes import model_nodes, subgraphs

LEAST_BYTES = 1024
"""Of a tensor that goes to the other file."""


def write_with_data(model: onnx.ModelProto, path: Path, data: str) -> None:
    """Write `model` to `path`, and its large tensors to a new file of the name `data` in the same folder.

    `model` is changed. onnx.save_model does not do it: it rejects a name that a file in the current folder has,
    wherever it is to write.
    """
    large = [tensor for tensor in _tensors(model) if _as_bytes(tensor) >= LEAST_BYTES]
    if large:
        path.with_name(data).touch()  # onnx makes a file that only its owner may read
    for tensor in large:
        external_data_helper.set_external_data(tensor, data)
        external_data_helper.save_external_data(tensor, str(path.parent))
        tensor.ClearField("raw_data")
    path.write_bytes(model.SerializeToString())


NUMBERS: dict[int, str] = {
    kind: helper.tensor_dtype_to_field(kind)
    for kind in (
        *(TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.BOOL),
        *(TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64),
        *(TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64),
    )
}
"""Where a tensor of that type has its numbers, if it has them as numbers and not as bytes."""


def _as_bytes(tensor: TensorProto) -> int:
    """Give a large tensor its numbers as bytes, which alone can stand in another file; how many bytes it has."""
    field = NUMBERS.get(tensor.data_type)
    if field and len(getattr(tensor, field)) >= LEAST_BYTES // 4:
        tensor.raw_data = numpy_helper.from_array(numpy_helper.to_array(tensor)).raw_data
        tensor.ClearField(field)
    return len(tensor.raw_data)


def _tensors(model: onnx.ModelProto) -> Iterator[TensorProto]:
    """Those that every runtime reads from another file: initializers and attributes, but no sparse tensors."""
    nodes = [*model_nodes(model)]
    graphs = [model.graph, *(graph for node in nodes for _, graph in subgraphs(node))]
    for graph in graphs:
        yield from graph.initializer
    for node in nodes:
        for attribute in node.attribute:
            yield from (attribute.t, *attribute.tensors)
