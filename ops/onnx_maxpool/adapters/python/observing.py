"""What each of our nodes gets and gives while a model runs: a Python operator behind the node sees both.

The node itself stays, native and in its place, so that what is seen is what it computed from its own inputs.
"""

from __future__ import annotations

import functools
import itertools
import json
import traceback
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from typing import NamedTuple

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

from onnx_maxpool.adapters.onnxruntime import load
from onnx_maxpool.adapters.python.calls import Call
from onnx_maxpool.adapters.python.declaring import Declaration, Signature, declare, python_name
from onnx_maxpool.adapters.python.rewriting import (
    PythonRewriter,
    import_domains,
    output_dims,
    register_python_ops,
    wanted_index,
)
from onnx_maxpool.errors import ModelError, OperatorError
from onnx_maxpool.graph.checking import check_model
from onnx_maxpool.graph.inlining import inline_functions
from onnx_maxpool.graph.nodes import OperatorNode, operator_nodes
from onnx_maxpool.graph.reading import Model, read_model
from onnx_maxpool.graph.rewriting import rename_own_functions
from onnx_maxpool.graph.scopes import Scope
from onnx_maxpool.graph.survey import Survey
from onnx_maxpool.operators.registry import newest_versions
from onnx_maxpool.types import Array, BinEdges, dtype_of

DOMAIN = "onnx_maxpool.observing"
"""The domain of the Python operators that observe; not that of the others, for the reason that `calls.DOMAIN` gives."""

Observer = Callable[[int, Call, Sequence[Array], Sequence[Array]], None]
"""`observer(node, call, inputs, outputs)`, each time that a node ran: its number in `Observed.nodes`, the call with
its attributes, and copies of its arrays. What it raises fails the run, with the traceback in the message."""


class ObservedNode(NamedTuple):
    """One of our nodes as it stands in the model; a function's once."""

    label: str
    """Its name and place, as messages have it."""
    operator: str
    """With its version, `MaxRoiPool-22`."""


class Observed(NamedTuple):
    """A session whose nodes are observed."""

    session: ort.InferenceSession
    nodes: list[ObservedNode]
    unobserved: dict[int, str]
    """Which of the nodes cannot be observed, by their numbers, and why."""


def observed_session(
    model: Model,
    observer: Observer,
    sess_options: ort.SessionOptions | None = None,
    *,
    bin_edges: BinEdges | None = None,
) -> Observed:
    """A session that runs `model` with the native library and shows `observer` what each of our nodes got and gave.

    Nodes of subgraphs are observed in each iteration, and those of local functions in each call, for which functions
    that hold our operators are inlined. Where ONNX's inliner fails, or its inference does not find the type of an
    input, a node is not observed. `sess_options` must be new ones; raises what `load` raises.
    """
    whole = _own(model)
    survey = Survey(whole)
    check_model(survey)
    nodes = []
    for i, found in enumerate(survey.nodes):
        nodes.append(ObservedNode(found.label, found.version.title if found.version else found.node.op_type))
        found.node.doc_string = str(i)  # inlining renames what it copies: a mark leads back
    rename_own_functions(whole)
    unobserved: dict[int, str] = {}
    rewritten = _inlined(whole, unobserved)
    rewriter = _ObservingRewriter(rewritten, bin_edges, observer, unobserved)
    options = sess_options if sess_options is not None else ort.SessionOptions()
    try:
        rewriter.rewrite()
        import_domains(rewritten, DOMAIN)
        declare(DOMAIN, _declaration)
        register_python_ops(options, bin_edges=bin_edges)
        session = load(rewritten, options, bin_edges=bin_edges, check=False)
    except BaseException:
        _forget(rewriter.keys)
        raise
    weakref.finalize(session, _forget, rewriter.keys)
    return Observed(session, nodes, unobserved)


def _own(model: Model) -> onnx.ModelProto:
    """The model as a message that nobody else has; it may be large, so that one copy less counts."""
    parsed = read_model(model, "load")
    if parsed is not model:
        return parsed
    copy = onnx.ModelProto()
    copy.CopyFrom(parsed)
    return copy


def _inlined(model: onnx.ModelProto, unobserved: dict[int, str]) -> onnx.ModelProto:
    """The model without the functions that hold our operators; with all of them where one cannot be inlined."""
    within = [found for found in operator_nodes(model) if found.place.startswith("function")]
    if not within:
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    try:
        inline_functions(copy, {row.name for row in newest_versions()})
    except (ModelError, OperatorError) as error:
        unobserved.update((int(found.node.doc_string), str(error)) for found in within)
        return model
    return copy


class _ObservingRewriter(PythonRewriter):
    """Puts an observing operator behind each node."""

    def __init__(
        self, model: onnx.ModelProto, bin_edges: BinEdges | None, observer: Observer, unobserved: dict[int, str]
    ) -> None:
        super().__init__(model, {row.name: None for row in newest_versions()}, bin_edges)
        self.observer = observer
        self.unobserved = unobserved
        self.keys: list[int] = []

    def operator_replacement(self, found: OperatorNode, scope: Scope) -> list[onnx.NodeProto] | None:
        """The node, the operator that observes it, and its outputs, which wait until they were seen."""
        number = int(found.node.doc_string)
        try:
            call = self.call(found, scope)
        except OperatorError as error:
            self.unobserved[number] = str(error)
            return None
        call = replace(call, function=_keep(functools.partial(self.observer, number)))
        self.keys.append(call.function)  # type: ignore[arg-type] # which it has, from the line before
        index = wanted_index(found.node, call)
        results = list(zip(found.node.output, (call.types[0], index), strict=False))[: 2 if index else 1]
        node = onnx.NodeProto()
        node.CopyFrom(found.node)
        nodes = [node]
        inputs = [self.carried(nodes, value, kind) for value, kind in zip(node.input, call.types, strict=True)]
        raw = []
        for i, (result, kind) in enumerate(results):
            assert kind is not None  # an index that is not wanted is not among them
            node.output[i] = self.fresh(f"{result}_unseen")
            raw.append(self.carried(nodes, node.output[i], kind))
        message = self.fresh(f"{results[0][0]}_message")
        attributes = {"call": json.dumps(asdict(call))}
        name = self.node_name(node.name, "observed")
        nodes.append(
            helper.make_node(
                python_name(call.operator, index), [*inputs, *raw], [message], name, domain=DOMAIN, **attributes
            )
        )
        dims = output_dims(call, found.node, scope)
        for value, (result, kind) in zip(raw, results, strict=True):
            name = self.node_name(node.name, "seen")
            message = self.checked(nodes, dims, name, value, message, result, str(kind))
        return nodes


_observers: dict[int, Callable[[Call, Sequence[Array], Sequence[Array]], None]] = {}
"""By the key in their nodes."""
_keys = itertools.count()


def _keep(observer: Callable[[Call, Sequence[Array], Sequence[Array]], None]) -> int:
    key = next(_keys)
    _observers[key] = observer
    return key


def _forget(keys: Iterable[int]) -> None:
    for key in keys:
        del _observers[key]


def _declaration(signature: Signature) -> Declaration:
    index_types = [signature.index_type] if signature.index_type else []
    return Declaration([*signature.inputs, signature.result, *index_types], ["uint8"], _observe)


def _observe(*values: Array, call: str) -> Array:
    """The bytes of an error message, none if there was no error: see `calls._answer`."""
    try:
        node = Call(**json.loads(call))
        count = len(node.types)
        outputs = values[count:]
        inputs = [_typed(x, name) for x, name in zip(values[:count], node.types, strict=True)]
        given = [_typed(outputs[0], node.types[0]), *(np.array(index) for index in outputs[1:])]
        assert node.function is not None  # every node of this domain has one
        _observers[node.function](node, inputs, given)
        message = ""
    except BaseException:  # KeyboardInterrupt too must not pass
        message = f"onnx_maxpool: an observer failed\n{traceback.format_exc()}"
    return np.frombuffer(message.encode(errors="backslashreplace"), np.uint8)


def _typed(array: Array, name: str) -> Array:
    """A copy in the type that the value has in the model."""
    return array.astype(dtype_of(name))
