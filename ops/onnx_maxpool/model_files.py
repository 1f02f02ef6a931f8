"""Read a model, and say what is wrong with its file before any runtime is asked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import onnx
from google.protobuf.message import DecodeError
from onnx import external_data_helper

from onnx_maxpool.errors import ModelError
from onnx_maxpool.model_nodes import subgraphs

Model = str | os.PathLike[str] | bytes | onnx.ModelProto

ExternalData = Literal["leave", "check", "load"]
"""What to do with data that lies in other files. Only a model from a path has a folder to find them in."""

TENSORS = (
    *(onnx.AttributeProto.TENSOR, onnx.AttributeProto.TENSORS),
    *(onnx.AttributeProto.SPARSE_TENSOR, onnx.AttributeProto.SPARSE_TENSORS),
)


def read_model(model: Model, external_data: ExternalData = "leave") -> onnx.ModelProto:
    """The model that a path, serialized bytes or a ModelProto stands for; a ModelProto is given back as it is.

    Always protobuf, whatever the file's name ends in. Nothing is fetched: a URL is a path of no file. Raises OSError
    for a file that cannot be read, and ModelError for one that is no ONNX model, or whose external data is not in the
    model's folder.
    """
    if isinstance(model, onnx.ModelProto):
        _check_message(model, "the model")
        return model
    if isinstance(model, bytes):
        return _parsed(model, "the model")
    path = os.fspath(model)
    parsed = _parsed(Path(path).read_bytes(), path)
    if external_data != "leave":
        check_external_data(parsed, path)
    if external_data == "load":
        try:
            external_data_helper.load_external_data_for_model(parsed, os.path.dirname(path))
        except (onnx.checker.ValidationError, ValueError) as error:  # of symbolic links, which ONNX Runtime may follow
            raise ModelError(f"{path}: {error}") from None
    return parsed


def _parsed(content: bytes, name: str) -> onnx.ModelProto:
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError:
        raise ModelError(f"{name} is not an ONNX model: expected a protobuf message of type ModelProto") from None
    _check_message(model, name)
    return model


def _check_message(model: onnx.ModelProto, name: str) -> None:
    """Raise ModelError for a message without a graph, and for names that are not UTF-8.

    protobuf parses both; the latter come as bytes, over which whoever handles the model would stumble somewhere.
    """
    if not model.HasField("graph"):  # an empty file is a valid message
        raise ModelError(f"{name} is not an ONNX model: it has no graph")
    for text in _names(model):
        if text.__class__ is not str:
            raise ModelError(f"{name} is not an ONNX model: it has the name {text!r}, expected UTF-8")


def _parts(model: onnx.ModelProto) -> tuple[list[onnx.GraphProto], list[onnx.NodeProto]]:
    """All graphs and all nodes, subgraphs' and functions' too."""
    graphs = [model.graph]
    nodes = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    for node in nodes:  # which grows on the way
        for _, graph in subgraphs(node):
            graphs.append(graph)
            nodes += graph.node
    return graphs, nodes


def _names(model: onnx.ModelProto) -> list[str]:
    names = [entry.domain for part in (model, *model.functions) for entry in part.opset_import]
    for function in model.functions:
        names += [function.name, function.domain, *function.input, *function.output, *function.attribute]
    graphs, nodes = _parts(model)
    for graph in graphs:
        names.append(graph.name)
        for value in (*graph.input, *graph.output, *graph.value_info):
            names.append(value.name)
            names += [dim.dim_param for dim in value.type.tensor_type.shape.dim]
        names += [tensor.name for tensor in graph.initializer]
        names += [tensor.values.name for tensor in graph.sparse_initializer]
    for node in nodes:
        names += [node.name, node.op_type, node.domain, *node.input, *node.output]
        names += [attribute.name for attribute in node.attribute]
    return names


def check_external_data(model: onnx.ModelProto, path: str) -> None:
    """Raise ModelError for a tensor whose data is not where the model says, or lies outside the model's folder.

    ONNX Runtime before 1.24 reads it wherever it lies. Newer ones and onnx refuse it, each in words of its own.
    """
    for tensor in _tensors(model):
        if external_data_helper.uses_external_data(tensor):
            _check_location(tensor, path)


def _tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Of all graphs and attributes."""
    graphs, nodes = _parts(model)
    sparse = [tensor for graph in graphs for tensor in graph.sparse_initializer]
    for graph in graphs:
        yield from graph.initializer
    for node in nodes:
        for attribute in node.attribute:
            if attribute.type in TENSORS:
                yield from (attribute.t, *attribute.tensors)
                sparse += (attribute.sparse_tensor, *attribute.sparse_tensors)
    for tensor in sparse:
        yield from (tensor.values, tensor.indices)


def _check_location(tensor: onnx.TensorProto, path: str) -> None:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    where = f"{path}: tensor '{tensor.name}' has its data in '{location}'"
    file = Path(path).parent / location
    # The links of a download cache lead from a folder of names to one of contents: the model there, and its data.
    folders = {Path(path).parent.resolve(), Path(path).resolve().parent}
    if not location or Path(location).is_absolute() or not folders.intersection(file.resolve().parents):
        raise ModelError(f"{where}, expected a file in the model's folder")
    if not file.is_file():
        raise ModelError(f"{where}, which is not there, expected a file in the model's folder")
    offset, length = (_whole_number(entries.get(key, "0"), f"{where}, its {key}") for key in ("offset", "length"))
    size = file.stat().st_size
    if offset + length > size:
        raise ModelError(f"{where}, bytes {offset} to {offset + length}, expected no more than its {size}")


def _whole_number(text: str, what: str) -> int:
    if not text.isdecimal() or len(text) > len(str(2**63)):
        raise ModelError(f"{what} is '{text}', expected an integer from 0 to 2^63")
    return int(text)
