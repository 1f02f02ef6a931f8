"""One operator as an ONNX Runtime session of its own, made once per setting and kept."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import onnxruntime as ort
from onnx import helper
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

from onnx_maxpool.adapters.arrays import run_quickly
from onnx_maxpool.adapters.onnxruntime import CPU, check_index_types, with_threads
from onnx_maxpool.adapters.registration import register
from onnx_maxpool.errors import OperatorError
from onnx_maxpool.graph.building import Declared, one_node
from onnx_maxpool.graph.nodes import operator_nodes
from onnx_maxpool.operators import operator
from onnx_maxpool.operators.registry import newest_versions
from onnx_maxpool.types import Array, BinEdges, element_type

CACHE_SIZE = 32
"""Sessions kept; the least recently used one goes first. Each has its own threads, as ONNX Runtime has it."""

NEWEST = {row.name: row for row in newest_versions()}


class Setting(NamedTuple):
    """What decides about a one-node session. A tuple, as one is made and hashed per call."""

    name: str
    """The operator's; in its newest version, which has the types of all the others."""
    dtypes: tuple[np.dtype[Any], ...]
    """Of the inputs."""
    attributes: tuple[tuple[str, Any], ...]
    """Names and values, lists as tuples."""
    with_index: bool = False
    bin_edges: BinEdges | None = None


def run_one_node(setting: Setting, *inputs: Array) -> list[Array]:
    """The operator's outputs for these inputs, which are of the setting's dtypes.

    Raises OperatorError for whatever the operator rejects, and for the rest what ONNX Runtime raises.
    """
    entry = sessions(setting)
    feeds = dict(zip(entry.inputs, inputs, strict=True))
    try:
        if entry.has_bfloat16:
            return run_quickly(entry.session, feeds, entry.outputs)
        outputs: list[Array] = entry.session.run(entry.outputs, feeds)
        return outputs
    except (InvalidArgument, RuntimeError) as error:
        refusal = _refusal(setting.name, str(error))
        if refusal is None:
            raise
        raise OperatorError(refusal) from None


def _refusal(name: str, message: str) -> str | None:
    """The operator's own words in an ONNX Runtime message; None if it has none."""
    _, found, words = message.partition(f"Status Message: {name}: ")
    return f"{name}: {words}" if found else None


class Entry(NamedTuple):
    """A session and what its runs need to know."""

    session: ort.InferenceSession
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    has_bfloat16: bool
    """`session.run` neither takes it nor gives it."""


def _make(setting: Setting) -> Entry:
    """Raises OperatorError for types and attributes that the operator rejects."""
    version = NEWEST[setting.name]
    definition = operator(setting.name)
    types = [element_type(dtype) for dtype in setting.dtypes]
    definition.check_types(version, dict(zip(definition.inputs, types, strict=True)))
    attributes = dict(setting.attributes)
    with np.errstate(over="ignore"):  # a spatial_scale beyond float32 is infinite, and rejected as such
        definition.complete(version, attributes)

    outputs = definition.outputs if setting.with_index else definition.outputs[:1]
    node = helper.make_node(version.name, list(definition.inputs), list(outputs), domain=version.domain, **attributes)
    # No shapes and no types of outputs: the operator itself rejects what does not fit, in its own words.
    given = {name: Declared(kind) for name, kind in zip(definition.inputs, types, strict=True)}
    model = one_node(node, given, {version.domain: version.since_version}, name=version.name)

    check_index_types(operator_nodes(model))

    options = ort.SessionOptions()
    options.log_severity_level = 4  # what it logs as an error it also raises
    # Threads that wait by spinning would take the processors from whatever the caller does between two calls.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    register(options, bin_edges=setting.bin_edges)
    content = model.SerializeToString()
    session = with_threads(options, lambda: ort.InferenceSession(content, options, [CPU], enable_fallback=False))
    return Entry(session, tuple(definition.inputs), outputs, "bfloat16" in types)


sessions = lru_cache(CACHE_SIZE)(_make)
"""The session of a setting. Thread-safe; two threads that ask for a new one at once may each make it."""

_inherited: list[object] = []
"""A parent process's sessions. Their threads did not come along, and ONNX Runtime would crash if it waited for them,
so they are kept and never used."""


def start_anew() -> None:
    """Leave all sessions as they are and make new ones from here on."""
    global sessions
    _inherited.append(sessions)
    sessions = lru_cache(CACHE_SIZE)(_make)


if hasattr(os, "register_at_fork"):  # there is no fork on Windows
    os.register_at_fork(after_in_child=start_anew)
