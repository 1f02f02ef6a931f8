"""The operators as ONNX Runtime Python operators: the reference, or a function of yours, inside a session."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict

import onnx
import onnxruntime as ort
from onnx import helper

from onnx_maxpool.adapters.python.calls import DOMAIN, Call, declare_operators
from onnx_maxpool.adapters.python.declaring import CARRIERS, python_name
from onnx_maxpool.adapters.python.extensions import extensions
from onnx_maxpool.adapters.registration import config_entry, register
from onnx_maxpool.errors import OperatorError
from onnx_maxpool.graph.checking import check_node, node_attributes
from onnx_maxpool.graph.inference import infer_types, outline
from onnx_maxpool.graph.inlining import inline_functions
from onnx_maxpool.graph.nodes import OperatorNode, operator_nodes
from onnx_maxpool.graph.rewriting import Rewriter, rename_own_functions
from onnx_maxpool.graph.scopes import Scope
from onnx_maxpool.operators import operator
from onnx_maxpool.operators.definition import index_type
from onnx_maxpool.operators.registry import newest_versions
from onnx_maxpool.operators.schemas import dims_of
from onnx_maxpool.types import BinEdges, tensor_type, type_name
from onnx_maxpool.windows import check_bin_edges

RESULT_DOMAIN = "onnx_maxpool"
"""The domain of `PythonResult_float` and its like, the native library's nodes behind the Python ones."""

REGISTERED_ENTRY = "onnx_maxpool.python_registered"
"""The session config entry that notes that `register_python_ops` was here."""


def register_python_ops(session_options: ort.SessionOptions, *, bin_edges: BinEdges | None = None) -> None:
    """Make sessions with these options run models of `to_python_ops`, and our operators in the native library too.

    This also registers the library of onnxruntime-extensions. One SessionOptions accepts that library only once: do not
    register it yourself. You may call this function twice. `bin_edges` is as in `register`, with the same errors.
    Raises ModuleNotFoundError without onnxruntime-extensions.
    """
    register(session_options, bin_edges=bin_edges)
    if config_entry(session_options, REGISTERED_ENTRY) is not None:
        return
    library = extensions().get_library_path()
    declare_operators()
    session_options.register_custom_ops_library(library)
    session_options.add_session_config_entry(REGISTERED_ENTRY, "yes")


def to_python_ops(model: onnx.ModelProto, *, bin_edges: BinEdges | None = None) -> onnx.ModelProto:
    """Copy the model with the NumPy reference instead of our operators, in subgraphs too.

    The graph's inputs and outputs stay the same. Local functions that contain our operators are inlined, because their
    attributes and types are known only where they are called. A local function with the domain and name of one of our
    operators, in another domain than ai.onnx, counts instead of the operator, and gets another name.

    Sessions of the copy need `register_python_ops`. Unlike sessions of `load`, they raise a KeyboardInterrupt in an
    operator as InvalidArgument. Raises OperatorError with the node's name if a version rejects its types or attributes.

    Also raises OperatorError for an input whose type ONNX cannot infer: declare it in the graph's `value_info`.
    """
    return with_python_ops(model, {row.name: None for row in newest_versions()}, bin_edges)


def with_python_ops(
    model: onnx.ModelProto, functions: Mapping[str, int | None], bin_edges: BinEdges | None
) -> onnx.ModelProto:
    """`to_python_ops` for the operators in `functions`, by the function of that key, or by the reference for None."""
    check_bin_edges(bin_edges)
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    rename_own_functions(copy)
    if not any(found.node.op_type in functions for found in operator_nodes(copy)):
        return copy
    inline_functions(copy, functions)
    PythonRewriter(copy, functions, bin_edges).rewrite()
    import_domains(copy, DOMAIN)
    return copy


def import_domains(model: onnx.ModelProto, domain: str) -> None:
    """What the replacements are of: `domain`, that of the results, and ai.onnx for casts."""
    for name in (domain, RESULT_DOMAIN):
        model.opset_import.append(helper.make_opsetid(name, 1))
    if not any(entry.domain in ("", "ai.onnx") for entry in model.opset_import):
        model.opset_import.append(helper.make_opsetid("", CAST_OPSET))


OLDEST_CAST_OPSET = 6
"""The first with a Cast whose output has a type for ONNX Runtime."""
CAST_OPSET = 13
"""The first with a Cast for bfloat16."""


class PythonRewriter(Rewriter):
    """Puts Python operators in the place of ours."""

    def __init__(self, model: onnx.ModelProto, functions: Mapping[str, int | None], bin_edges: BinEdges | None) -> None:
        super().__init__(model)
        self.functions = functions
        self.bin_edges = bin_edges

    def rewrite(self) -> None:
        """Change the model. Its nodes become those of an outline, whose graphs declare what ONNX infers."""
        typed = infer_types(outline(self.model))
        self.rewrite_graph(Scope(typed.graph))
        self.model.graph.ClearField("node")
        self.model.graph.node.extend(typed.graph.node)

    def operator_replacement(self, found: OperatorNode, scope: Scope) -> list[onnx.NodeProto] | None:
        """Casts of inputs, the Python operator, and for each output `PythonResult` and a cast."""
        if found.node.op_type not in self.functions:
            return None
        try:
            call = self.call(found, scope)
        except OperatorError as error:
            raise OperatorError(f"{found.label}: {error}") from None
        node = found.node
        index = wanted_index(node, call)
        nodes: list[onnx.NodeProto] = []
        inputs = [self.carried(nodes, value, kind) for value, kind in zip(node.input, call.types, strict=True)]
        raw = [self.fresh(f"{node.output[0]}_python") for _ in range(2 if index else 1)]
        message = self.fresh(f"{node.output[0]}_message")
        nodes.append(
            helper.make_node(
                python_name(call.operator, index),
                inputs,
                [*raw, message],
                name=self.node_name(node.name, "python"),
                domain=DOMAIN,
                call=json.dumps(asdict(call)),
            )
        )
        dims = output_dims(call, node, scope)
        passed = self.checked(nodes, dims, node.name, raw[0], message, node.output[0], call.types[0])
        if index:
            name = self.node_name(node.name, "index")
            self.checked(nodes, dims, name, raw[1], passed, node.output[1], index)
        return nodes

    def call(self, found: OperatorNode, scope: Scope) -> Call:
        """Raises OperatorError for what the version rejects."""
        types = {name: type_name(scope.types[name].elem_type) for name in found.node.input if name in scope.types}
        check_node(found, types)
        assert found.version is not None  # check_node rejects a node without one
        node, version = found.node, found.version
        for name, value in zip(operator(version.name).inputs, node.input, strict=True):
            if value not in types:
                raise OperatorError(
                    f"{version.title}: the element type of {name} '{value}' is not known, "
                    "expected one that ONNX infers or value_info declares"
                )
        opset = self.resolver.opsets.get("", CAST_OPSET)
        carried = [kind for kind in types.values() if kind in CARRIERS]
        if carried and opset < OLDEST_CAST_OPSET:
            raise OperatorError(
                f"{version.title}: opset of ai.onnx is {opset}, expected {OLDEST_CAST_OPSET} or newer "
                f"for {carried[0]} in Python"
            )
        return Call(
            domain=version.domain,
            operator=version.name,
            since_version=version.since_version,
            types=[types[value] for value in node.input],
            attributes=node_attributes(node, version),
            bin_edges=version.bin_edges and (self.bin_edges or version.bin_edges),
            function=self.functions[version.name],
        )

    def carried(self, nodes: list[onnx.NodeProto], value: str, kind: str) -> str:
        """The value in a type that onnxruntime-extensions takes."""
        if kind not in CARRIERS:
            return value
        carrier = self.fresh(f"{value}_{CARRIERS[kind]}")
        nodes.append(_cast(value, carrier, CARRIERS[kind]))
        return carrier

    def checked(
        self, nodes: list[onnx.NodeProto], dims: list[int], name: str, value: str, message: str, result: str, kind: str
    ) -> str:
        """Make the value `result`, of type `kind`, unless there is a message; returns the message that there is not.

        Whatever takes that runs behind the node `name`, which so is the one that fails. `dims` come from `output_dims`.
        """
        carrier = CARRIERS.get(kind, kind)
        checked = self.fresh(f"{result}_checked") if kind in CARRIERS else result
        passed = self.fresh(f"{message}_passed")
        checking = helper.make_node(
            f"PythonResult_{carrier}", [value, message], [checked, passed], name, domain=RESULT_DOMAIN
        )
        if dims:
            checking.attribute.append(helper.make_attribute("dims", dims))
        nodes.append(checking)
        if kind in CARRIERS:
            nodes.append(_cast(checked, result, kind))
        return passed

    def node_name(self, original: str, suffix: str) -> str:
        """A name for another node; ONNX Runtime wants them to differ, but for nodes without a name."""
        return self.fresh(f"{original}_{suffix}") if original else ""


def wanted_index(node: onnx.NodeProto, call: Call) -> str | None:
    """The element type of the node's index; None where it has none."""
    if len(node.output) < 2 or not node.output[1]:
        return None
    return index_type(call.version, operator(call.operator).complete(call.version, call.attributes))


def output_dims(call: Call, node: onnx.NodeProto, scope: Scope) -> list[int]:
    """What is known of the outputs' shape before a run, -1 for an unknown size; empty if the rank is not known.

    ONNX's inference needs the inputs' shapes, and the operator does not always: a ROI operator's output has rank 4. A
    Scan does not run in ONNX Runtime without the rank.
    """
    known = {name: dims_of(scope.types[name]) for name in (*node.input, *node.output) if name in scope.types}
    dims = known.get(node.output[0])
    if not dims:
        definition = operator(call.operator)
        attributes = definition.complete(call.version, call.attributes)
        shapes = [known.get(name) for name in node.input]
        try:
            definition.check_shapes(shapes, attributes)
        except OperatorError:  # the run says so
            return []
        dims = definition.infer_shape(shapes, [None] * len(shapes), attributes)
    return [dim if isinstance(dim, int) else -1 for dim in dims or ()]


def _cast(value: str, result: str, kind: str) -> onnx.NodeProto:
    return helper.make_node("Cast", [value], [result], to=tensor_type(kind))
