"""Read a model, and say what is wrong with its file before any runtime is asked."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import onnx
from google.protobuf.message import DecodeError
from onnx import TensorProto, external_data_helper

from onnx_maxpool.errors import ModelError, printable, shape
from onnx_maxpool.files import check_utf_8
from onnx_maxpool.graph.nodes import canonical_domain, model_nodes, subgraphs
from onnx_maxpool.types import dtype_of, type_name

Model = str | os.PathLike[str] | bytes | onnx.ModelProto

ExternalData = Literal["leave", "check", "load"]
"""What to do with data that lies in other files."""

PACKED = {"int4": 4, "uint4": 4, "float4e2m1": 4, "int2": 2, "uint2": 2}
"""The element types of which several share a byte, and how many bits each has."""

TYPE_ATTRIBUTES = (onnx.AttributeProto.TYPE_PROTO, onnx.AttributeProto.TYPE_PROTOS)

DIVIDE_BY_STRIDES = ("", "com.microsoft")
"""The domains whose operators do, where they have strides."""

LONGEST_SHOWN = 100
"""Characters of a location in a message."""

ORT_FORMAT_NAME = ".ort"
ORT_FORMAT_MARK = slice(4, 8), b"ORTM"
"""By these ONNX Runtime knows a model in ORT format: a file by its name's end in either case, bytes by the mark."""


def is_ort_format(model: Model) -> bool:
    """Whether ONNX Runtime takes what it is given for a model in its own format, not in ONNX's.

    Raises ModelError for a path that no model is read from.
    """
    if isinstance(model, onnx.ModelProto):
        return False
    if isinstance(model, bytes):
        return _has_ort_mark(model)
    name = _path(model)
    return len(name) > len(ORT_FORMAT_NAME) and name.lower().endswith(ORT_FORMAT_NAME)


def check_ort_file(path: str | os.PathLike[str]) -> None:
    """Raise OSError for a file that cannot be read, and ModelError for one that is not in ORT format."""
    with open(_path(path), "rb") as file:
        if not _has_ort_mark(file.read(ORT_FORMAT_MARK[0].stop)):
            raise ModelError(
                f"{os.fspath(path)} is not a model in ORT format, as which ONNX Runtime reads a file of this name: "
                "expected ORTM in bytes 4 to 7"
            )


def _path(model: str | os.PathLike[str]) -> str:
    """A model's path. Raises ModelError for one that is not UTF-8, and for a device or a pipe.

    A pipe has its bytes once, but whoever reads a model hands the path on, to be read again. Some would wait for ever.
    """
    path = os.fsdecode(model)
    check_utf_8(path, ModelError)
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise ModelError(f"{path} is a device or a pipe, expected a file")
    return path


def _has_ort_mark(content: bytes) -> bool:
    place, mark = ORT_FORMAT_MARK
    return content[place] == mark


def read_model(model: Model, external_data: ExternalData = "leave", folder: str | None = None) -> onnx.ModelProto:
    """The model that a path, serialized bytes or a ModelProto stands for; a ModelProto is given back as it is.

    Always protobuf, whatever the file's name ends in. Nothing is fetched: a URL is a path of no file. Raises OSError
    for a file that cannot be read. Raises ModelError for one that is no ONNX model, that has a standard operator with a
    stride of 0, or whose external data is not in the model's folder. A `folder` that is given takes the place of the
    model's. Bytes and a ModelProto have no other: without one it raises ModelError for all external data that it is not
    to leave, which ONNX Runtime would look for from the current folder, and before 1.24 anywhere. A model in ORT format
    holds no ONNX model: it raises ModelError for that too, and for a path that is not UTF-8, a device or a pipe.
    """
    path = None
    if isinstance(model, onnx.ModelProto):
        parsed = model
        _check_message(parsed, "the model")
    elif isinstance(model, bytes):
        parsed = _parsed(model, "the model")
    else:
        path = _path(model)
        parsed = _parsed(Path(path).read_bytes(), path)
    if external_data == "leave":
        return parsed
    for tensor in filter(external_data_helper.uses_external_data, _tensors(parsed)):
        if path is None and not folder:
            raise ModelError(f"the model: tensor '{tensor.name}' has external data, expected a model given by its path")
        file, offset, length = _checked_external_data(tensor, path, folder)
        if external_data == "load":
            _load(tensor, file, offset, length)
    return parsed


def _parsed(content: bytes, name: str) -> onnx.ModelProto:
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError:
        if _has_ort_mark(content):
            raise ModelError(
                f"{name} is in ORT format: expected the ONNX file that it was made from "
                f"(onnx_maxpool.load runs ORT format from bytes and from a file whose name ends in {ORT_FORMAT_NAME})"
            ) from None
        raise ModelError(f"{name} is not an ONNX model: expected a protobuf message of type ModelProto") from None
    _check_message(model, name)
    return model


def _check_message(model: onnx.ModelProto, name: str) -> None:
    """Raise ModelError for a message without a graph, for names that are not UTF-8, and for strides of 0.

    protobuf parses all of them. Names come as bytes, over which whoever handles the model would stumble somewhere. By
    strides ONNX before 1.22 and ONNX Runtime before 1.28 divide, which ends the process.
    """
    if not model.HasField("graph"):  # an empty file is a valid message
        raise ModelError(f"{name} is not an ONNX model: it has no graph")
    for text in names_not_utf_8(model):
        raise ModelError(f"{name} is not an ONNX model: it has the name {text!r}, expected UTF-8")
    for node in model_nodes(model):
        strides = [size for each in node.attribute if each.name == "strides" for size in each.ints]
        if 0 in strides and canonical_domain(node.domain) in DIVIDE_BY_STRIDES:
            raise ModelError(
                f"{name}: node '{node.name}' ({node.op_type}) has strides {shape(strides)}, expected none of 0"
            )


def names_not_utf_8(model: onnx.ModelProto) -> list[str]:
    """The names that protobuf gives as bytes, because they are not UTF-8."""
    return [text for text in _names(model) if text.__class__ is not str]


def has_external_data(model: onnx.ModelProto) -> bool:
    """Whether the data of any tensor, of any graph or attribute, lies in another file."""
    return any(external_data_helper.uses_external_data(tensor) for tensor in _tensors(model))


def external_files(model: onnx.ModelProto) -> list[str]:
    """The locations of a model's external data, each once."""
    external = filter(external_data_helper.uses_external_data, _tensors(model))
    entries = (entry for tensor in external for entry in tensor.external_data)
    return sorted({entry.value for entry in entries if entry.key == "location"})


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
        names += [function.name, function.domain, function.overload]
        names += [*function.input, *function.output, *function.attribute]
    graphs, nodes = _parts(model)
    for graph in graphs:
        names.append(graph.name)
        for value in (*graph.input, *graph.output, *graph.value_info):
            names.append(value.name)
            names += _type_names(value.type)
    for tensor in _tensors(model):
        names.append(tensor.name)
        names += [text for entry in tensor.external_data for text in (entry.key, entry.value)]
    for node in nodes:
        names += [node.name, node.op_type, node.domain, node.overload, *node.input, *node.output]
        for attribute in node.attribute:
            names += [attribute.name, attribute.ref_attr_name]
            if attribute.type in TYPE_ATTRIBUTES:
                for kind in (attribute.tp, *attribute.type_protos):
                    names += _type_names(kind)
    return names


def _type_names(kind: onnx.TypeProto) -> list[str]:
    """Of an opaque type and of dimensions, however deep they lie."""
    which = kind.WhichOneof("value")
    if which is None:
        return []
    held = getattr(kind, which)
    if which == "opaque_type":
        return [held.domain, held.name]
    if which in ("tensor_type", "sparse_tensor_type"):
        return [dim.dim_param for dim in held.shape.dim]
    return _type_names(held.value_type if which == "map_type" else held.elem_type)


def _tensors(model: onnx.ModelProto) -> Iterator[TensorProto]:
    """Of all graphs and attributes."""
    graphs, nodes = _parts(model)
    sparse = [tensor for graph in graphs for tensor in graph.sparse_initializer]
    for graph in graphs:
        yield from graph.initializer
    defaults = (attribute for function in model.functions for attribute in function.attribute_proto)
    for attribute in (*defaults, *(attribute for node in nodes for attribute in node.attribute)):
        yield from (attribute.t, *attribute.tensors)
        sparse += (attribute.sparse_tensor, *attribute.sparse_tensors)
    for tensor in sparse:
        yield from (tensor.values, tensor.indices)


def _checked_external_data(tensor: TensorProto, path: str | None, named: str | None) -> tuple[Path, int, int]:
    """The file of a tensor's data, and from which byte on how many are the tensor's.

    It is in the folder that is named or, without one, in that of the model's path. Raises ModelError for one whose data
    is not where the model says, or lies outside the folder.

    ONNX Runtime before 1.24 reads it wherever it lies. Newer ones and onnx reject it, each in words of its own.
    """
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    shown = printable(location if len(location) <= LONGEST_SHOWN else f"{location[:LONGEST_SHOWN]}…")
    where = f"{path or 'the model'}: tensor '{tensor.name}' has its data in '{shown}'"
    expected = f"expected a file in {named}" if named else "expected a file in the model's folder"
    folder = Path(named) if named else Path(path or "").parent
    file = folder / location
    # The links of a download cache lead from a folder of names to one of contents: the model there, and its data.
    folders = {folder.resolve()} | ({Path(path).resolve().parent} if path and not named else set())
    try:
        is_inside = not Path(location).is_absolute() and not folders.isdisjoint(file.resolve().parents)
        is_there = file.is_file()
    except (OSError, ValueError, RuntimeError):  # of a name too long, of a NUL in it, of links in a circle
        raise ModelError(f"{where}, which cannot be looked up, {expected}") from None
    if not location or not is_inside:
        raise ModelError(f"{where}, {expected}")
    if not is_there:
        raise ModelError(f"{where}, which is not there, {expected}")
    offset = _whole_number(entries.get("offset", "0"), f"{where}, its offset")
    needed = _byte_size(tensor, where)
    length = _whole_number(entries.get("length", str(needed)), f"{where}, its length")
    if length != needed:
        kind = f"{type_name(tensor.data_type)} {shape(tensor.dims)}"
        raise ModelError(f"{where}, its length is '{length}', expected {needed}, as it is {kind}")
    size = file.stat().st_size
    if offset + length > size:
        raise ModelError(f"{where}, bytes {offset} to {offset + length}, expected no more than its {size}")
    return file, offset, length


def _byte_size(tensor: TensorProto, where: str) -> int:
    """How many bytes a tensor's data has. Raises ModelError where its type has no such data, or no such shape."""
    kind = type_name(tensor.data_type)
    if kind in ("undefined", "string"):
        raise ModelError(f"{where}, its element type is {kind}, expected one of numbers")
    if any(dim < 0 for dim in tensor.dims):
        raise ModelError(f"{where}, its shape is {shape(tensor.dims)}, expected no negative dimension")
    bits = PACKED.get(kind) or 8 * dtype_of(kind).itemsize
    return (math.prod(map(int, tensor.dims)) * bits + 7) // 8


def _load(tensor: TensorProto, file: Path, offset: int, length: int) -> None:
    """Replace a tensor's external data by the data itself.

    Not by onnx, of whose versions some leave the tensor external, some read to the file's end and some follow no link.
    """
    with file.open("rb") as opened:
        opened.seek(offset)
        tensor.raw_data = opened.read(length)
    tensor.ClearField("data_location")
    del tensor.external_data[:]


def _whole_number(text: str, what: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > len(str(2**63)):
        raise ModelError(f"{what} is '{printable(text)}', expected an integer from 0 to 2^63")
    return int(text)
