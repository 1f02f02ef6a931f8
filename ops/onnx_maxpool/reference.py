"""The operators for `onnx.reference.ReferenceEvaluator`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx import defs

from onnx_maxpool.aliases import Array, BinEdges
from onnx_maxpool.attribute_values import check_kind
from onnx_maxpool.operators import operator
from onnx_maxpool.operators.operator import too_old
from onnx_maxpool.registry import OperatorVersion, newest_versions, resolve, versions_of
from onnx_maxpool.schemas import register_schemas
from onnx_maxpool.windows import check_bin_edges

if TYPE_CHECKING:
    from onnx.reference.op_run import OpRun


def reference_ops(*, bin_edges: BinEdges = "exact") -> list[type[OpRun]]:
    """The operators as classes for `ReferenceEvaluator(model, new_ops=reference_ops())`.

    For models without local functions, in which they would not be found, and with ai.onnx spelled `""`:
    `onnx_maxpool.reference_evaluator` takes all others too.

    Each class takes the version that the model's opset imports select and holds to that version's types: it raises
    OperatorError where they are not met, and wherever the operator refuses its input, in the native library's words.
    bfloat16 arrays are ml_dtypes'. Raises ValueError for other `bin_edges`.
    """
    check_bin_edges(bin_edges)
    register_schemas()
    return [_reference_op(newest, bin_edges) for newest in newest_versions()]


def _reference_op(newest: OperatorVersion, bin_edges: BinEdges) -> type[OpRun]:
    from onnx.reference.op_run import OpRun  # it takes longer to import than all of ours: those who load a model wait

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
        return definition.run(
            version,
            *inputs,
            with_index=len(self.onnx_node.output) > 1 and bool(self.onnx_node.output[1]),
            bin_edges=bin_edges,
            **{name: value for name, value in attributes.items() if name in given},
        )

    # The evaluator finds a class by its domain and name alone, so the version is chosen in `_run`.
    members = {
        "op_domain": newest.domain,
        "op_schema": defs.get_schema(newest.name, newest.since_version, newest.domain),
        "_run": _run,
        "__doc__": f"The reference of {newest.name}, in the version that the model's opset selects.",
    }
    return type(newest.name, (OpRun,), members)
