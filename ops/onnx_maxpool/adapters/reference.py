"""The operators for `onnx.reference.ReferenceEvaluator`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import onnx
from onnx import defs

from onnx_maxpool.graph.functions import callees_first, write_defaults
from onnx_maxpool.graph.nodes import FunctionKey, called, key_of, model_nodes, write_canonical_domains
from onnx_maxpool.graph.reading import Model, read_model
from onnx_maxpool.graph.rewriting import fresh_name, rename_own_functions
from onnx_maxpool.graph.sorting import sort_nodes
from onnx_maxpool.graph.sparse_initializers import fill_sparse_initializers
from onnx_maxpool.operators import operator
from onnx_maxpool.operators.definition import too_old
from onnx_maxpool.operators.registry import OperatorVersion, newest_versions, resolve, versions_of
from onnx_maxpool.operators.schemas import check_kind, register_schemas
from onnx_maxpool.types import Array, BinEdges
from onnx_maxpool.windows import check_bin_edges

# onnx.reference takes longer to import than all of ours: those who load a model do not wait for it.
if TYPE_CHECKING:
    from onnx.reference import ReferenceEvaluator
    from onnx.reference.op_run import OpRun


def reference_ops(*, bin_edges: BinEdges | None = None) -> list[type[OpRun]]:
    """The operators as classes for `ReferenceEvaluator(model, new_ops=reference_ops())`.

    Use it for models without local functions that name the domain of ONNX's operators `""`. For all other models use
    `onnx_maxpool.reference_evaluator`: onnx does not find these classes there.

    Each class selects the version by the model's opset imports. It raises OperatorError for types that this version
    does not have, and for everything else that the operator rejects, with the message of the native library. bfloat16
    arrays have ml_dtypes' dtype. Raises ValueError for other `bin_edges`.
    """
    check_bin_edges(bin_edges)
    register_schemas()
    return [_reference_op(newest, bin_edges) for newest in newest_versions()]


def _reference_op(newest: OperatorVersion, bin_edges: BinEdges | None) -> type[OpRun]:
    from onnx.reference.op_run import OpRun

    definition = operator(newest.name)

    def _run(self: OpRun, *inputs: Array, **attributes: Any) -> tuple[Array, ...]:
        opset = self.run_params["opsets"].get(self.domain)
        version = resolve(newest.domain, newest.name, opset or 0)
        if version is None:
            raise too_old(versions_of(newest.domain, newest.name)[0], opset)
        # The evaluator adds the defaults of the newest version: an older one has its own.
        given = {attribute.name for attribute in self.onnx_node.attribute}
        known = definition.attributes_of(version)
        for attribute in self.onnx_node.attribute:
            if attribute.name in known:
                check_kind(version, attribute, known[attribute.name].kind)
        return definition.compute(
            version,
            *inputs,
            with_index=len(self.onnx_node.output) > 1 and bool(self.onnx_node.output[1]),
            bin_edges=bin_edges,
            **{name: value for name, value in attributes.items() if name in given},
        )

    # The evaluator finds a class only by its domain and name, so the version is chosen in `_run`.
    members = {
        "op_domain": newest.domain,
        "op_schema": defs.get_schema(newest.name, newest.since_version, newest.domain),
        "_run": _run,
        "__doc__": f"The reference of {newest.name}, in the version that the model's opset selects.",
    }
    return type(newest.name, (OpRun,), members)


def reference_evaluator(
    model: Model, *, bin_edges: BinEdges | None = None, new_ops: Sequence[type[OpRun]] = ()
) -> ReferenceEvaluator:
    """ONNX's reference evaluator with our operators, in subgraphs and local functions too.

    `model` is a path, whose external data is loaded, or serialized bytes or a ModelProto with all data; it is not
    changed. A local function of the model with the domain and name of one of our operators, in another domain than
    ai.onnx, runs instead of the operator. Raises OSError and ModelError if the model cannot be read.

    `new_ops` are classes for other operators, as `onnx.reference.ReferenceEvaluator` takes them. A class with the
    domain and name of one of our operators runs instead of it. Raises onnx's own error for an operator that has no
    class, such as NotImplementedError for one of a domain that onnx does not know.
    """
    from onnx.reference import ReferenceEvaluator

    whole = onnx.ModelProto()
    whole.CopyFrom(read_model(model, "load"))
    rename_own_functions(whole)
    _name_overloads(whole)
    write_defaults(whole)
    for function in whole.functions:  # the evaluator hands on only what is listed as if it had no default
        function.attribute.extend(default.name for default in function.attribute_proto)
    write_canonical_domains(whole)
    # What every runtime takes, and onnx's evaluator does not.
    sort_nodes(whole.graph)
    fill_sparse_initializers(whole)
    # Given a model, onnx's evaluator makes evaluators for its functions that do not know `new_ops`: made here instead.
    operators = [*new_ops, *reference_ops(bin_edges=bin_edges)]  # of two of one name onnx takes the first
    functions: list[ReferenceEvaluator | onnx.FunctionProto] = []
    for function in callees_first(whole.functions):
        functions.append(ReferenceEvaluator(function, functions=[*functions], new_ops=operators))
    opsets = {entry.domain: entry.version for entry in whole.opset_import}
    return ReferenceEvaluator(whole.graph, opsets=opsets, functions=functions, new_ops=operators)


def _name_overloads(model: onnx.ModelProto) -> None:
    """Give each function with an overload a name of its own: the evaluator finds functions by domain and name only."""
    taken = {(domain, name) for domain, name, _ in (*map(key_of, model.functions), *map(called, model_nodes(model)))}
    names: dict[FunctionKey, str] = {}
    for domain, name, overload in map(key_of, model.functions):
        if overload:
            in_domain = {other for of, other in taken if of == domain}
            names[domain, name, overload] = fresh_name(f"{name}_{overload}", in_domain.__contains__)
            taken.add((domain, names[domain, name, overload]))
    for function in model.functions:
        function.name = names.get(key_of(function), function.name)
    for node in model_nodes(model):
        node.op_type = names.get(called(node), node.op_type)
