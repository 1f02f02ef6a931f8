"""Models that cannot be read, with the words that say so: a table of docs/errors.md.

Only data: test_bad_model.py takes each row through every interface.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import TensorProto, helper, numpy_helper, parser

from onnx_maxpool import ModelError

NAME = "model.onnx"


@dataclass(frozen=True)
class BadModel:
    """A model that cannot be read, from a path."""

    what: str
    error: type[Exception]
    said: str
    """The message; `{path}` stands for the model's path."""
    write: Callable[[Path], object]
    """Puts into a folder what there is of `model.onnx`."""
    name: str = NAME
    """In the folder."""
    about_data: bool = False
    """Whether the model is right but for the data of a tensor, which `onnx-maxpool inspect` does not need."""


@dataclass(frozen=True)
class BadContent:
    """A model that cannot be read, from bytes or a ModelProto, which have no path."""

    what: str
    said: str
    """The message of a ModelError."""
    content: bytes

    @property
    def proto(self) -> onnx.ModelProto | None:
        """The same as a ModelProto; None where the bytes are none."""
        proto = onnx.ModelProto()
        try:
            proto.ParseFromString(self.content)
        except DecodeError:
            return None
        return proto


def model() -> onnx.ModelProto:
    return parser.parse_model("""
        <ir_version: 10, opset_import: ["": 22]>
        g (float[N,C,H,W] X, float[R,5] rois) => (float[R,C,2,2] Y) {
            pooled = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
            Y = Add (pooled, w)
        }""")


def bytes_of(content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / NAME).write_bytes(content)


def with_data(location: str, *, kind: int = TensorProto.FLOAT, dims: tuple[int, ...] = (1,), **entries: str) -> bytes:
    """A model whose tensor `w`, of four bytes where nothing else is said, lies in another file."""
    proto = model()
    tensor = proto.graph.initializer.add(name="w", data_type=kind, dims=dims)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=value)
    return proto.SerializeToString()


def in_an_attribute(location: str) -> bytes:
    """The same in the default value of a function's attribute."""
    proto = onnx.ModelProto.FromString(with_data(location))
    tensor = proto.graph.initializer.pop()
    function = proto.functions.add(name="f", domain="local", output=["y"], opset_import=proto.opset_import)
    function.node.add(op_type="Constant", output=["y"]).attribute.add(
        name="value", ref_attr_name="value", type=onnx.AttributeProto.TENSOR
    )
    function.attribute_proto.add(name="value", t=tensor, type=onnx.AttributeProto.TENSOR)
    proto.opset_import.add(domain="local", version=1)
    proto.graph.node.add(op_type="f", domain="local", output=["w"])
    return proto.SerializeToString()


def beside_data(content: Callable[[str], bytes], location: str) -> Callable[[Path], object]:
    """Writes the model, and files of four bytes: `w.bin` in its folder, and `secret.bin` outside."""

    def write(folder: Path) -> None:
        (folder / NAME).write_bytes(content(location.format(outside=folder.parent)))
        for file in (folder / "w.bin", folder.parent / "secret.bin"):
            file.write_bytes(np.float32(5).tobytes())
        (folder / "link.bin").symlink_to(folder.parent / "secret.bin")
        (folder / "circle.bin").symlink_to(folder / "circle.bin")
        (folder / "weights").mkdir()

    return write


def external(what: str, location: str, words: str, shown: str | None = None, **changes: Any) -> BadModel:
    """`shown` is the location as the message has it, where that is another."""
    said = f"{{path}}: tensor 'w' has its data in '{shown or location}', {words}"
    write = beside_data(lambda placed: with_data(placed, **changes), location)
    return BadModel(what, ModelError, said, write, about_data=True)


def not_utf8() -> bytes:
    proto = model()
    proto.graph.node[0].name = "pool_1"
    return proto.SerializeToString().replace(b"pool_1", b"pool_\xff")


def of_an_opaque_type(name: str) -> bytes:
    proto = model()
    proto.graph.initializer.append(numpy_helper.from_array(np.zeros(1, np.float32), "w"))
    proto.graph.input.add(name="thing").type.opaque_type.name = name
    return proto.SerializeToString()


def with_strides(*strides: int) -> bytes:
    proto = model()
    node = proto.graph.node[-1]
    node.op_type, node.input[:], node.name = "MaxPool", ["pooled"], "last"
    given = {"kernel_shape": [2, 2], "strides": strides}
    node.attribute.extend(helper.make_attribute(name, value) for name, value in given.items())
    return proto.SerializeToString()


NOT_A_MODEL = "{path} is not an ONNX model"
NOT_PROTOBUF = f"{NOT_A_MODEL}: expected a protobuf message of type ModelProto"
IN_THE_FOLDER = "expected a file in the model's folder"
CANNOT_BE_LOOKED_UP = f"which cannot be looked up, {IN_THE_FOLDER}"
COMPLETE = model().SerializeToString()

BAD_MODELS = (
    BadModel("no such file", FileNotFoundError, "[Errno 2] No such file or directory: '{path}'", lambda folder: None),
    BadModel("a folder", IsADirectoryError, "[Errno 21] Is a directory: '{path}'", lambda f: (f / NAME).mkdir()),
    BadModel(
        "a pipe",
        ModelError,
        "{path} is a device or a pipe, expected a file",
        lambda folder: os.mkfifo(folder / NAME),
    ),
    BadModel(
        "a path that is not UTF-8",
        ModelError,
        "{outside}/folder/r\\udce9seau.onnx is not UTF-8, "
        "expected a path that is, as ONNX Runtime and Arrow take no other",
        lambda folder: None,
        name="r\udce9seau.onnx",
    ),
    BadModel("an empty file", ModelError, f"{NOT_A_MODEL}: it has no graph", bytes_of(b"")),
    BadModel("a text", ModelError, NOT_PROTOBUF, bytes_of(b"not a model")),
    BadModel(
        "a text with the name of one of onnx's text formats",
        ModelError,
        NOT_PROTOBUF,
        lambda folder: (folder / "model.json").write_text("{}"),
        name="model.json",
    ),
    BadModel(
        "a stride of 0, by which older runtimes divide",
        ModelError,
        "{path}: node 'last' (MaxPool) has strides [1,0], expected none of 0",
        bytes_of(with_strides(1, 0)),
    ),
    BadModel("a truncated model", ModelError, NOT_PROTOBUF, bytes_of(COMPLETE[:-7])),
    BadModel("a model with other bytes behind it", ModelError, NOT_PROTOBUF, bytes_of(COMPLETE + b"\xff\xff")),
    BadModel(
        "a tensor",
        ModelError,
        NOT_PROTOBUF,
        bytes_of(numpy_helper.from_array(np.zeros(3, np.float32), "x").SerializeToString()),
    ),
    BadModel(
        "a graph without the model around it",
        ModelError,
        f"{NOT_A_MODEL}: it has no graph",
        bytes_of(model().graph.SerializeToString()),
    ),
    BadModel(
        "a name that is not UTF-8",
        ModelError,
        f"{NOT_A_MODEL}: it has the name b'pool_\\xff', expected UTF-8",
        bytes_of(not_utf8()),
    ),
    BadModel(
        "the name of an input's opaque type that is not UTF-8",
        ModelError,
        f"{NOT_A_MODEL}: it has the name b'kind_\\xff', expected UTF-8",
        bytes_of(of_an_opaque_type("kind_1").replace(b"kind_1", b"kind_\xff")),
    ),
    BadModel(
        "a model in ORT format with the name of another",
        ModelError,
        "{path} is in ORT format: expected the ONNX file that it was made from "
        "(onnx_maxpool.load runs ORT format from bytes and from a file whose name ends in .ort)",
        bytes_of(b"\x14\0\0\0ORTM\x0c\0\x10\0\x0c\0\x08\0"),
    ),
    external("external data that is missing", "no.bin", f"which is not there, {IN_THE_FOLDER}"),
    external("external data outside the folder", "../secret.bin", IN_THE_FOLDER),
    external("external data by an absolute path", "{outside}/secret.bin", IN_THE_FOLDER),
    external("external data behind a link out of the folder", "link.bin", IN_THE_FOLDER),
    external("external data at a URL", "http://127.0.0.1/w.bin", f"which is not there, {IN_THE_FOLDER}"),
    external("external data nowhere", "", IN_THE_FOLDER),
    BadModel(
        "external data outside the folder, of a function's attribute",
        ModelError,
        f"{{path}}: tensor 'w' has its data in '../secret.bin', {IN_THE_FOLDER}",
        beside_data(in_an_attribute, "../secret.bin"),
        about_data=True,
    ),
    external("external data with a NUL in its name", "w\0.bin", CANNOT_BE_LOOKED_UP, shown="w\\x00.bin"),
    external("external data with a name too long", "w" * 5000, CANNOT_BE_LOOKED_UP, shown=f"{'w' * 100}…"),
    external("external data that is a folder", "weights", f"which is not there, {IN_THE_FOLDER}"),
    external(
        "external data that is too short",
        "w.bin",
        "bytes 2 to 6, expected no more than its 4",
        offset="2",
        length="4",
    ),
    external(
        "a negative offset of external data",
        "w.bin",
        "its offset is '-4', expected an integer from 0 to 2^63",
        offset="-4",
    ),
    external(
        "a length of external data that is no number",
        "w.bin",
        "its length is 'x', expected an integer from 0 to 2^63",
        length="x",
    ),
    external(
        "a length of external data in other digits than ASCII's",
        "w.bin",
        "its length is '٤', expected an integer from 0 to 2^63",
        length="٤",
    ),
    external(
        "a length of external data that is not its tensor's",
        "w.bin",
        "its length is '2', expected 4, as it is float [1]",
        length="2",
    ),
    external(
        "external data shorter than its tensor", "w.bin", "bytes 0 to 4000, expected no more than its 4", dims=(1000,)
    ),
    external(
        "external data shorter than its packed tensor",
        "w.bin",
        "bytes 0 to 5, expected no more than its 4",
        kind=TensorProto.INT4,
        dims=(3, 3),
    ),
    external(
        "external data of a negative shape",
        "w.bin",
        "its shape is [2,-2], expected no negative dimension",
        dims=(2, -2),
    ),
    external(
        "external data that is text",
        "w.bin",
        "its element type is string, expected one of numbers",
        kind=TensorProto.STRING,
    ),
)

ITS_PATH = "the model: tensor 'w' has external data, expected a model given by its path"

BAD_CONTENTS = (
    BadContent(
        "a stride of 0, by which older runtimes divide",
        "the model: node 'last' (MaxPool) has strides [0,2], expected none of 0",
        with_strides(0, 2),
    ),
    BadContent("no bytes", "the model is not an ONNX model: it has no graph", b""),
    BadContent(
        "a truncated model",
        "the model is not an ONNX model: expected a protobuf message of type ModelProto",
        COMPLETE[:-7],
    ),
    BadContent("external data in the current folder", ITS_PATH, with_data("w.bin")),
    BadContent("external data outside the current folder", ITS_PATH, with_data("../secret.bin")),
    BadContent("external data by an absolute path", ITS_PATH, with_data("/elsewhere/secret.bin")),
    BadContent("external data of a function's attribute", ITS_PATH, in_an_attribute("w.bin")),
)
