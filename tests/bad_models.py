"""Model files that cannot be read, with the words that say so: the second table of docs/errors.md.

Data alone: test_bad_model.py takes each row through every door.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper, parser

from onnx_maxpool import ModelError

NAME = "model.onnx"


@dataclass(frozen=True)
class BadModel:
    """A path that does not lead to a model."""

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


def model() -> onnx.ModelProto:
    return parser.parse_model("""
        <ir_version: 10, opset_import: ["": 22]>
        g (float[N,C,H,W] X, float[R,5] rois) => (float[R,C,2,2] Y) {
            pooled = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
            Y = Add (pooled, w)
        }""")


def bytes_of(content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / NAME).write_bytes(content)


def with_data(location: str, **entries: str) -> Callable[[Path], object]:
    """A model whose tensor `w` of four bytes lies in another file: `w.bin` is in its folder, `secret.bin` outside."""

    def write(folder: Path) -> None:
        proto = model()
        tensor = proto.graph.initializer.add(name="w", data_type=onnx.TensorProto.FLOAT, dims=[1])
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in {"location": location.format(outside=folder.parent), **entries}.items():
            tensor.external_data.add(key=key, value=value)
        onnx.save_model(proto, folder / NAME)
        for file in (folder / "w.bin", folder.parent / "secret.bin"):
            file.write_bytes(np.float32(5).tobytes())
        (folder / "link.bin").symlink_to(folder.parent / "secret.bin")
        (folder / "weights").mkdir()

    return write


def external(what: str, location: str, words: str, **entries: str) -> BadModel:
    said = f"{{path}}: tensor 'w' has its data in '{location}', {words}"
    return BadModel(what, ModelError, said, with_data(location, **entries), about_data=True)


def not_utf8() -> bytes:
    proto = model()
    proto.graph.node[0].name = "pool_1"
    return proto.SerializeToString().replace(b"pool_1", b"pool_\xff")


NOT_A_MODEL = "{path} is not an ONNX model"
NOT_PROTOBUF = f"{NOT_A_MODEL}: expected a protobuf message of type ModelProto"
IN_THE_FOLDER = "expected a file in the model's folder"
COMPLETE = model().SerializeToString()

BAD_MODELS = (
    BadModel("no such file", FileNotFoundError, "[Errno 2] No such file or directory: '{path}'", lambda folder: None),
    BadModel("a folder", IsADirectoryError, "[Errno 21] Is a directory: '{path}'", lambda f: (f / NAME).mkdir()),
    BadModel("an empty file", ModelError, f"{NOT_A_MODEL}: it has no graph", bytes_of(b"")),
    BadModel("a text", ModelError, NOT_PROTOBUF, bytes_of(b"not a model")),
    BadModel(
        "a text with the name of one of onnx's text formats",
        ModelError,
        NOT_PROTOBUF,
        lambda folder: (folder / "model.json").write_text("{}"),
        name="model.json",
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
    external("external data that is missing", "no.bin", f"which is not there, {IN_THE_FOLDER}"),
    external("external data outside the folder", "../secret.bin", IN_THE_FOLDER),
    external("external data by an absolute path", "{outside}/secret.bin", IN_THE_FOLDER),
    external("external data behind a link out of the folder", "link.bin", IN_THE_FOLDER),
    external("external data at a URL", "http://127.0.0.1/w.bin", f"which is not there, {IN_THE_FOLDER}"),
    external("external data nowhere", "", IN_THE_FOLDER),
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
)
