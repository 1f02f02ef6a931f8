"""ONNX Runtime sessions: one line, and an unmodified model runs."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import onnx
import onnxruntime as ort

from onnx_maxpool.adapters.registration import register
from onnx_maxpool.errors import OperatorError
from onnx_maxpool.facts import INDEX_ATTRIBUTE, INDEX_SPELLINGS, INFERS_INDEX_TYPES
from onnx_maxpool.graph.check import check_model
from onnx_maxpool.graph.nodes import operator_nodes
from onnx_maxpool.graph.reading import Model, read_model
from onnx_maxpool.operators.attributes import attribute_value
from onnx_maxpool.operators.registry import newest_versions
from onnx_maxpool.types import BinEdges, PythonFunction

PROTOBUF_LIMIT = 2**31 - 1

Providers = Sequence[str | tuple[str, dict[Any, Any]]]
Implementation = Literal["native", "python"] | Mapping[str, PythonFunction]


def load(
    model: Model,
    sess_options: ort.SessionOptions | None = None,
    providers: Providers | None = None,
    *,
    bin_edges: BinEdges = "exact",
    check: bool = True,
    implementation: Implementation = "native",
) -> ort.InferenceSession:
    """An ONNX Runtime session for a model that contains our operators, the model unmodified.

    `model` is a path (external data is found beside it), serialized bytes or a ModelProto (either holds all its data).
    `sess_options` are the caller's own, registered on here; the default providers are ONNX Runtime's CPU provider
    alone, and with others our operators still run on the CPU.

    With `check`, the model is read here first: raises OSError and ModelError for what is no model, or lacks its
    external data, and OperatorError that names the node where an operator's version refuses its types or attributes.
    Whatever else ONNX Runtime refuses, it refuses in its own words.

    `implementation="python"` runs the NumPy reference in the place of the native library. A mapping from operators'
    names runs functions of the caller's in their place, and the native library in that of the others. Each is called as
    `function(*inputs, **attributes)` with NumPy arrays and complete attributes, and gives the output array, or a tuple
    of the operator's outputs. For an operator that cuts bins `bin_edges` is among the attributes; for one with an index
    `index_type` is, its dtype, or None where the index is not wanted. What a function raises fails the run, with the
    traceback in the message. Raises ValueError for another implementation.
    """
    options = sess_options if sess_options is not None else ort.SessionOptions()
    chosen = list(providers) if providers is not None else ["CPUExecutionProvider"]
    functions = _functions(implementation)
    if functions is None:
        register(options, bin_edges=bin_edges)
        if check:
            parsed = read_model(model, "check")
            check_model(parsed)
            check_index_types(parsed)
        return _session(model, options, chosen)
    # Not before it is needed: everybody else would wait for it when they import the package.
    from onnx_maxpool.adapters.python.calls import forget, keep
    from onnx_maxpool.adapters.python.rewriting import register_python_ops, with_python_ops

    register_python_ops(options, bin_edges=bin_edges)
    whole = read_model(model, "load")
    if check:
        check_model(whole)
    keys = {name: None if function is None else keep(function) for name, function in functions.items()}
    kept = [key for key in keys.values() if key is not None]
    try:
        rewritten = with_python_ops(whole, keys, bin_edges)
        if check:
            check_index_types(rewritten)
        session = _session(rewritten, options, chosen)
    except BaseException:
        forget(kept)
        raise
    weakref.finalize(session, forget, kept)
    return session


def _functions(implementation: Implementation) -> dict[str, PythonFunction | None] | None:
    """The operators that run in Python, by the function or, for None, by the reference; None where none does."""
    names = [row.name for row in newest_versions()]
    if isinstance(implementation, Mapping):
        for name, function in implementation.items():
            if name not in names:
                raise ValueError(f"onnx_maxpool: implementation names {name!r}, expected {' or '.join(names)}")
            if not callable(function):
                raise ValueError(f"onnx_maxpool: implementation has {function!r} for {name}, expected a function")
        return dict(implementation)
    if implementation not in ("native", "python"):
        raise ValueError(
            f"onnx_maxpool: implementation is {implementation!r}, expected 'native', 'python' or functions by name"
        )
    return dict.fromkeys(names) if implementation == "python" else None


def _session(model: Model, options: ort.SessionOptions, providers: Providers) -> ort.InferenceSession:
    if not isinstance(model, onnx.ModelProto):
        source = model if isinstance(model, bytes) else os.fspath(model)
        return ort.InferenceSession(source, options, providers)
    if model.ByteSize() <= PROTOBUF_LIMIT:
        return ort.InferenceSession(model.SerializeToString(), options, providers)
    # Protobuf cannot serialize this much in one piece: ONNX Runtime gets the weights as a file of external data.
    with tempfile.TemporaryDirectory(prefix="onnx_maxpool_") as folder:
        path = os.path.join(folder, "model.onnx")
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        onnx.save_model(copy, path, save_as_external_data=True, location="weights", convert_attribute=True)
        return ort.InferenceSession(path, options, providers)


def check_index_types(model: onnx.ModelProto) -> None:
    """Refuse what the library cannot infer in older runtimes; these would complain of a type in words of their own.

    Raises OperatorError that names the node. Python operators are not concerned.
    """
    if tuple(int(part) for part in ort.__version__.split(".")[:2]) >= INFERS_INDEX_TYPES:
        return
    for found in operator_nodes(model):
        if not found.version or not found.version.index_types:
            continue
        default, *others = (INDEX_SPELLINGS[name] for name in found.version.index_types)
        given = next((attribute_value(a) for a in found.node.attribute if a.name == INDEX_ATTRIBUTE), default)
        if given in others and len(found.node.output) > 1 and found.node.output[1]:
            raise OperatorError(
                f'{found.label}: {found.node.op_type}: {INDEX_ATTRIBUTE} is "{given}", expected "{default}", '
                f"as another needs ONNX Runtime {'.'.join(map(str, INFERS_INDEX_TYPES))} or newer"
            )
