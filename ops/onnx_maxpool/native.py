"""The native library in ONNX Runtime: one line, and an unmodified model runs."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
import onnxruntime as ort

from onnx_maxpool.aliases import BinEdges
from onnx_maxpool.errors import OperatorError
from onnx_maxpool.model_check import check_model
from onnx_maxpool.model_nodes import operator_nodes
from onnx_maxpool.operators.operator import INDEX_ATTRIBUTE
from onnx_maxpool.registry import INDEX_SPELLINGS
from onnx_maxpool.windows import BIN_EDGES

BIN_EDGES_ENTRY = "onnx_maxpool.bin_edges"
"""The session config entry that the library reads when it is registered; for C, C++, C# and Java too."""

REGISTERED_ENTRY = "onnx_maxpool.registered"
"""The session config entry in which the library notes that it is registered, and with which bin edges."""

LIBRARY_NAMES = {"win32": "onnx_maxpool.dll", "darwin": "libonnx_maxpool.dylib"}

INFERS_INDEX_TYPES = (1, 28)
"""The first ONNX Runtime in which an attribute may choose the type of an output that a node may leave out."""

PROTOBUF_LIMIT = 2**31 - 1


def library_path() -> str:
    """The path of the native library, for `register_custom_ops_library` of any ONNX Runtime language binding.

    Raises FileNotFoundError if the package was installed without it.
    """
    path = Path(__file__).with_name(LIBRARY_NAMES.get(sys.platform, "libonnx_maxpool.so"))
    if not path.exists():
        raise FileNotFoundError(f"onnx_maxpool: {path} is missing, expected the library that `pip install` builds")
    return str(path)


def register(session_options: ort.SessionOptions, *, bin_edges: BinEdges = "exact") -> None:
    """Make sessions with these options run our operators.

    `bin_edges="float32"` cuts ROI bins as ONNX Runtime's own MaxRoiPool does (M12). Registering twice on one
    SessionOptions is harmless. Raises ValueError for another value, and where the options are registered with the other
    one.
    """
    if bin_edges not in BIN_EDGES:
        raise ValueError(f"onnx_maxpool: bin_edges is {bin_edges!r}, expected {' or '.join(map(repr, BIN_EDGES))}")
    registered = _config_entry(session_options, REGISTERED_ENTRY)
    if registered == bin_edges:
        return
    if registered is not None:
        raise ValueError(
            f"onnx_maxpool: these session options are registered with bin_edges {registered!r}, "
            f"expected other options for {bin_edges!r}"
        )
    session_options.add_session_config_entry(BIN_EDGES_ENTRY, bin_edges)
    session_options.register_custom_ops_library(library_path())


def _config_entry(session_options: ort.SessionOptions, key: str) -> str | None:
    try:
        return str(session_options.get_session_config_entry(key))
    except RuntimeError:  # ONNX Runtime's way to say that there is none
        return None


def load(
    model: str | os.PathLike[str] | bytes | onnx.ModelProto,
    sess_options: ort.SessionOptions | None = None,
    providers: Sequence[str | tuple[str, dict[Any, Any]]] | None = None,
    *,
    bin_edges: BinEdges = "exact",
    check: bool = True,
) -> ort.InferenceSession:
    """An ONNX Runtime session for a model that contains our operators, the model unmodified.

    `model` is a path (external data is found beside it), serialized bytes or a ModelProto. `sess_options` are the
    caller's own, registered on here; the default providers are ONNX Runtime's CPU provider alone, and with others
    our operators still run on the CPU.

    With `check`, the model's operators are held to their version's types and attributes first: raises OperatorError
    that names the node. Whatever else ONNX Runtime refuses, it refuses in its own words.
    """
    options = sess_options if sess_options is not None else ort.SessionOptions()
    register(options, bin_edges=bin_edges)
    chosen = list(providers) if providers is not None else ["CPUExecutionProvider"]
    if check:
        parsed = parse(model)
        check_model(parsed)
        _check_index_types(parsed)
    if not isinstance(model, onnx.ModelProto):
        source = model if isinstance(model, bytes) else os.fspath(model)
        return ort.InferenceSession(source, options, chosen)
    if model.ByteSize() <= PROTOBUF_LIMIT:
        return ort.InferenceSession(model.SerializeToString(), options, chosen)
    # Protobuf cannot serialize this much in one piece: ONNX Runtime gets the weights as a file of external data.
    with tempfile.TemporaryDirectory(prefix="onnx_maxpool_") as folder:
        path = os.path.join(folder, "model.onnx")
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        onnx.save_model(copy, path, save_as_external_data=True, location="weights", convert_attribute=True)
        return ort.InferenceSession(path, options, chosen)


def _check_index_types(model: onnx.ModelProto) -> None:
    """Refuse what the library cannot infer in older runtimes; these would complain of a type in words of their own."""
    if tuple(int(part) for part in ort.__version__.split(".")[:2]) >= INFERS_INDEX_TYPES:
        return
    for found in operator_nodes(model):
        if not found.version or not found.version.index_types:
            continue
        default, *others = (INDEX_SPELLINGS[name] for name in found.version.index_types)
        given = next((a.s.decode() for a in found.node.attribute if a.name == INDEX_ATTRIBUTE), default)
        if given in others and len(found.node.output) > 1 and found.node.output[1]:
            raise OperatorError(
                f'{found.label}: {found.node.op_type}: {INDEX_ATTRIBUTE} is "{given}", expected "{default}", '
                f"as another needs ONNX Runtime {'.'.join(map(str, INFERS_INDEX_TYPES))} or newer"
            )


def parse(model: str | os.PathLike[str] | bytes | onnx.ModelProto) -> onnx.ModelProto:
    """The model as a ModelProto, external data left where it is."""
    if isinstance(model, onnx.ModelProto):
        return model
    if isinstance(model, bytes):
        return onnx.load_model_from_string(model)
    return onnx.load_model(os.fspath(model), load_external_data=False)
