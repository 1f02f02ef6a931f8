"""Models whose operators of ours are replaced by standard ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from onnx import (
    GraphProto,
    ModelProto,
    NodeProto,
    TensorShapeProto,
    TypeProto,
    ValueInfoProto,
    helper,
)

from onnx_maxpool.adapters.portable.constants import initializers, with_nodes
from onnx_maxpool.adapters.portable.guards import name_guards
from onnx_maxpool.adapters.portable.library import DOMAIN, function_library, inline
from onnx_maxpool.adapters.portable.static.sizes import OpenShapesError, unknown_sizes
from onnx_maxpool.adapters.portable.static.translation import check_opset, has_index, translate, translate_max_pool
from onnx_maxpool.errors import OperatorError, listing, shape
from onnx_maxpool.facts import INDEX_ATTRIBUTE
from onnx_maxpool.graph.checking import check_model, node_attributes
from onnx_maxpool.graph.dimensions import declared_values, dims_in, named_dims, set_sizes, unnamed_dims
from onnx_maxpool.graph.functions import inlined
from onnx_maxpool.graph.inference import drop_contradictions, infer_types, outline
from onnx_maxpool.graph.inlining import inline_functions
from onnx_maxpool.graph.nodes import OperatorNode, canonical_domain, every_node, operator_nodes
from onnx_maxpool.graph.reading import Model, read_model
from onnx_maxpool.graph.rewriting import Rewriter, rename_own_functions, restore_own_functions
from onnx_maxpool.graph.scopes import Scope
from onnx_maxpool.graph.survey import Survey
from onnx_maxpool.operators import operator
from onnx_maxpool.operators.definition import index_type
from onnx_maxpool.operators.registry import OperatorVersion, newest_versions
from onnx_maxpool.operators.schemas import dims_of, forget_negative_sizes
from onnx_maxpool.types import (
    LARGEST_DIM,
    Array,
    BinEdges,
    Dims,
    has_too_many_cells,
    tensor_type,
    type_name,
    whole_number,
)
from onnx_maxpool.windows import check_bin_edges

OPSET = 18
"""Of ai.onnx, for models that import none."""

Types = Mapping[str, "TypeProto.Tensor"]
"""Values' types by name, as far as they are known."""


def to_portable(
    model: Model,
    *,
    only: str | Iterable[str] | None = None,
    bin_edges: BinEdges | None = None,
    control_flow: bool = True,
    dims: Mapping[str, int] | None = None,
    max_pool_indices: bool = False,
) -> ModelProto:
    """Copy the model with our operators replaced by standard ones, which every runtime has.

    `model` is a path, whose external data is loaded, serialized bytes or a ModelProto. `only` names one or several
    operators to replace; by default all are. They are replaced everywhere, in subgraphs too, and local functions that
    contain them are inlined. All other nodes, and the graph's inputs, outputs and weights, stay, but ai.onnx is `""`
    everywhere, and shapes of inner values that contradict the inputs' are no longer declared. A local function of
    the model with the domain and name of one of our operators, in another domain than ai.onnx, counts instead of the
    operator, and stays. `bin_edges` (M7) is as in `register`.

    With `control_flow=False` the result contains no Loop, no If, and no shape that depends on data: for compilers, and
    for runtimes that lack these. Then all shapes must be known; `dims` gives sizes to the symbolic dimensions of the
    graph's inputs, and to those without a name as `INPUT.AXIS`. If ONNX cannot infer a shape from these, the graph's
    value_info must declare it. ROIs and output sizes that are constant in the model are computed during the conversion.
    An ROI with a NaN or a bad batch number gives NaN; with control flow, the run fails. All local functions are
    inlined. `max_pool_indices` also replaces each MaxPool of ai.onnx whose indices the model uses, if shapes are known.

    Raises OSError and ModelError if the model cannot be read. Raises OperatorError for an unknown name, for nodes that
    the model check rejects, for shapes that an operator rejects, for an operator whose types or rank ONNX cannot infer,
    for an opset of ai.onnx older than 11, and for an operator of ours in the model's training_info, which is not
    converted. Raises ValueError for other `bin_edges`. Without control flow it also
    raises OperatorError for an opset older than 13, for unknown shapes and output sizes, and for `dims` that no input
    declares, that are no sizes, or that make an input too large.
    """
    check_bin_edges(bin_edges)
    chosen = _chosen(only)
    converted = ModelProto()
    converted.CopyFrom(read_model(model, "load"))
    fix_dims(converted, dims or {})
    _refuse_training(converted, chosen)
    survey = Survey(converted)
    check_model(survey)
    if not max_pool_indices and not any(found.node.op_type in chosen for found in survey.nodes):
        return converted

    own_names = rename_own_functions(converted)
    inline_functions(converted, chosen)
    small = outline(converted)
    if converted.functions and (max_pool_indices or not control_flow):
        small = inlined(small)
        converted.ClearField("functions")
        converted.functions.extend(small.functions)
    contradicted = drop_contradictions(small)
    if not control_flow:  # what inference hands on, messages name
        for name, dim in unnamed_dims(small.graph).items():
            dim.dim_param = name
    small = infer_types(small, follow_shapes=not control_flow)
    if not any(canonical_domain(entry.domain) == "" for entry in small.opset_import):
        small.opset_import.append(helper.make_opsetid("", OPSET))
    form = _Form(bin_edges, control_flow, max_pool_indices)
    rewriter = _PortableRewriter(small, chosen, form, converted)
    rewriter.rewrite()
    rewriter.refuse_open_shapes()

    del converted.graph.node[:], converted.opset_import[:]
    converted.graph.node.extend(small.graph.node)
    used = {
        "",
        *_domains(small.graph.node),
        *(domain for function in converted.functions for domain in _domains(function.node)),
    }
    ours = {version.domain for version in newest_versions()}
    converted.opset_import.extend(
        entry for entry in small.opset_import if canonical_domain(entry.domain) in used or entry.domain not in ours
    )
    restore_own_functions(converted, own_names)
    kept = GraphProto(value_info=(each for each in converted.graph.value_info if each.name not in contradicted))
    converted.graph.ClearField("value_info")
    converted.graph.value_info.extend(kept.value_info)
    if not control_flow:
        declare_shapes(converted)
    return converted


def _chosen(only: str | Iterable[str] | None) -> frozenset[str]:
    """The operators to replace. Raises OperatorError for an unknown name."""
    known = [version.name for version in newest_versions()]
    if only is None:
        return frozenset(known)
    wanted = [only] if isinstance(only, str) else list(only)
    for name in wanted:
        if name not in known:
            raise OperatorError(f"to_portable: operator {name}, expected {listing(known)}")
    return frozenset(wanted)


def _refuse_training(model: ModelProto, chosen: Collection[str]) -> None:
    """Raise OperatorError for an operator to replace in a graph of training."""
    for info in model.training_info:
        for graph in (info.initialization, info.algorithm):
            part = ModelProto(opset_import=model.opset_import, functions=model.functions, graph=graph)
            for found in operator_nodes(part):
                if found.node.op_type in chosen and found.place.startswith("graph"):
                    name = found.node.name or found.node.output[0]
                    raise OperatorError(
                        f"{found.node.op_type}: node '{name}' stands in training_info, which is not converted, "
                        "expected a model without it: clear the field first"
                    )


def _domains(nodes: Iterable[NodeProto]) -> set[str]:
    return {canonical_domain(node.domain) for node in every_node(nodes)}


@dataclass(frozen=True)
class _Form:
    """What is to be written."""

    bin_edges: BinEdges | None
    control_flow: bool
    max_pool_indices: bool
    """Whether MaxPool with an index is replaced too."""


class _PortableRewriter(Rewriter):
    """Replaces the chosen operators in a model, the outline of `whole`."""

    def __init__(self, model: ModelProto, chosen: Collection[str], form: _Form, whole: ModelProto) -> None:
        super().__init__(model)
        self.chosen = chosen
        self.form = form
        self.whole = whole
        self.open_shapes: dict[str, Dims | None] = {}
        """What is known of shapes that are not all known, by value."""
        self.first_open = ""
        """What is to be said of the first one."""

    @cached_property
    def outermost(self) -> Mapping[str, Array]:
        """The constants of the outermost graph, which those in it see."""
        return with_nodes(initializers(self.whole.graph, self.whole.ir_version), self.model.graph)

    def constants(self, scope: Scope) -> Mapping[str, Array]:
        """The constants that a graph sees."""
        if scope.outer is None:
            return self.outermost
        inputs = {value.name for value in scope.graph.input}
        seen = {name: value for name, value in self.constants(scope.outer).items() if name not in inputs}
        return with_nodes(seen | initializers(scope.graph, self.whole.ir_version), scope.graph)

    def replacement(self, node: NodeProto, scope: Scope) -> Iterable[NodeProto] | None:
        if self.form.max_pool_indices and has_index(node):
            return self.max_pool(node, scope)
        return super().replacement(node, scope)

    def operator_replacement(self, found: OperatorNode, scope: Scope) -> Iterable[NodeProto] | None:
        node, version = found.node, found.version
        if node.op_type not in self.chosen:
            return None
        assert version is not None  # the model check has seen to it
        bin_edges = version.bin_edges and (self.form.bin_edges or version.bin_edges)
        opset = self.resolver.opsets[""]
        try:
            if not self.form.control_flow:
                check_opset(opset)
                prefix = self.fresh_prefix(node.output[0])
                return translate(node, version, scope.types, self.constants(scope), bin_edges, prefix)
            call, element_type = _call(found, version, scope.types)
            library = function_library(element_type, opset, bin_edges)
        except OpenShapesError as error:
            self.keep_open(found.label, error)
            return None
        except OperatorError as error:
            raise OperatorError(f"{found.label}: {error}") from None
        prefix = self.fresh_prefix(node.output[0])
        nodes = list(inline(call, library, DOMAIN, prefix))
        name_guards(nodes, version.name, prefix)
        return nodes

    def max_pool(self, node: NodeProto, scope: Scope) -> Iterable[NodeProto] | None:
        """What stands for a MaxPool with its index; None where the shape of X is not known."""
        opset = self.resolver.opsets[""]
        label = OperatorNode(node, scope.place, opset, None).label
        try:
            check_opset(opset)
            return translate_max_pool(node, scope.types, self.fresh_prefix(node.output[0] or node.output[1]))
        except OpenShapesError as error:
            self.keep_open(label, error)
            return None
        except OperatorError as error:
            raise OperatorError(f"{label}: {error}") from None

    def keep_open(self, label: str, error: OpenShapesError) -> None:
        """Remember a node that lacks shapes: one message is to name the sizes that all nodes need."""
        self.first_open = self.first_open or f"{label}: {error}"
        self.open_shapes |= error.shapes

    def refuse_open_shapes(self) -> None:
        """Raise OperatorError, with an UnknownSizesError as its cause, if a node lacks shapes."""
        if self.open_shapes:
            unknown = unknown_sizes(self.model, self.first_open, self.open_shapes)
            raise OperatorError(str(unknown)) from unknown


def _call(found: OperatorNode, version: OperatorVersion, types: Types) -> tuple[NodeProto, str]:
    """The call of a portable function that stands for a node, and the element type that it works on."""
    node = found.node
    x = types.get(node.input[0])
    if x is None or not x.elem_type:
        raise OperatorError(
            f"{version.title}: the type of X is not known, expected one that ONNX infers or value_info declares"
        )
    definition = operator(version.name)
    attributes = definition.complete(version, node_attributes(node, version))
    outputs = list(node.output)
    name = version.name
    shapes = [dims_of(types[value]) if value in types else None for value in node.input]
    if version.index_types and shapes[0] is None:
        shapes[0] = (None,) * (2 + _spatial_rank(found, types, attributes))
    definition.check_shapes(shapes, attributes)
    if version.index_types:
        wants_index = len(outputs) > 1 and bool(outputs[1])
        name += f"_{len(shapes[0] or ()) - 2}{'_indexed' if wants_index else ''}"
        chosen_type = index_type(version, attributes)
        attributes.pop(INDEX_ATTRIBUTE, None)
        if wants_index:
            attributes["index_type"] = tensor_type(chosen_type)
    call = helper.make_node(name, list(node.input), outputs, domain=DOMAIN, **attributes)
    return call, type_name(x.elem_type)


def _spatial_rank(found: OperatorNode, types: Types, attributes: Mapping[str, object]) -> int:
    """The number of spatial dimensions where X does not say it: from the attributes, an output or the sizes' shape."""
    window_size = attributes.get("window_size")
    if isinstance(window_size, (list, tuple)):
        return len(window_size)
    node = found.node
    for name in node.output:
        if name in types and types[name].HasField("shape"):
            return len(types[name].shape.dim) - 2
    sizes = dims_of(types[node.input[1]]) if node.input[1] in types else None
    if sizes and isinstance(sizes[0], int):
        return sizes[0]
    raise OperatorError(
        f"{node.op_type}: the rank of X is not known, expected one that ONNX infers or value_info declares"
    )


def fix_dims(model: ModelProto, dims: Mapping[str, int]) -> None:
    """Put sizes in the place of symbolic dimensions, wherever they are declared.

    A dimension of an input that has no name is `INPUT.AXIS`. Dimensions of negative size become unknown. Raises
    OperatorError for a name that no input declares, for a size that is no integer from 0, and for sizes that make an
    input too large.
    """
    forget_negative_sizes(declared_values(model.graph))
    unnamed = unnamed_dims(model.graph)
    symbols = named_dims(model.graph)
    known = [*symbols, *unnamed]
    sizes: dict[str, int] = {}
    for name, size in dims.items():
        if name not in known:
            expected = listing(known) if known else "none, as every dimension of the inputs has a size"
            raise OperatorError(f"to_portable: dims has {name}, expected {expected}")
        sizes[name] = _size(name, size)
    changed = [
        value
        for value in model.graph.input
        if any(dim.dim_param in sizes for dim in dims_in(value.type))
        or any(name in sizes and name.startswith(f"{value.name}.") for name in unnamed)
    ]
    set_sizes(model.graph, {name: size for name, size in sizes.items() if name in symbols})
    for name, dim in unnamed.items():
        if name in sizes:
            dim.dim_value = sizes[name]
    for value in changed:
        found = dims_of(value.type.tensor_type) or ()
        if has_too_many_cells(found):
            raise OperatorError(
                f"to_portable: with dims input '{value.name}' has shape {shape(found)}, expected fewer than 2^60 cells"
            )


def _size(name: str, size: object) -> int:
    """One of `dims`, as Python's int."""
    found = whole_number(size)
    if found is None or not 0 <= found <= LARGEST_DIM:
        raise OperatorError(f"to_portable: dims has {name} of {size!r}, expected an integer from 0 to {LARGEST_DIM}")
    return found


def declare_shapes(model: ModelProto) -> None:
    """Give the graph's outputs the types and shapes that ONNX infers; leave out other declared shapes with symbols."""
    small = outline(model)
    for value in small.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    del small.graph.value_info[:]
    inferred = {value.name: value for value in infer_types(small, follow_shapes=True).graph.output}
    for value in model.graph.output:
        found = inferred[value.name].type.tensor_type
        if found.HasField("shape") and all(dim.HasField("dim_value") for dim in found.shape.dim):
            value.type.tensor_type.CopyFrom(found)
    kept = [
        value
        for value in model.graph.value_info
        if all(dim.HasField("dim_value") for dim in _declared_shape(value).dim)
    ]
    known = GraphProto(value_info=kept)  # copies: what is cleared may not be read again
    del model.graph.value_info[:]
    model.graph.value_info.extend(known.value_info)


def _declared_shape(value: ValueInfoProto) -> TensorShapeProto:
    return value.type.tensor_type.shape
