"""The values of a graph that are constants of the model, also after a Cast or a Concat of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, helper, numpy_helper

from onnx_maxpool.graph.nodes import canonical_domain
from onnx_maxpool.types import Array

LARGEST_FOLDED = 2**16
"""Values of a tensor that is computed here: enough for ROIs, too few to cast a model's weights."""

OLDEST_IR_OF_DEFAULTS = 4
"""Before it each initializer has an input of its name, which is no more than a rule of the format."""

DTYPES = {
    AttributeProto.FLOAT: np.float32,
    AttributeProto.FLOATS: np.float32,
    AttributeProto.INT: np.int64,
    AttributeProto.INTS: np.int64,
}
"""Of the attributes of Constant that are numbers."""


def initializers(graph: GraphProto, ir_version: int) -> dict[str, Array]:
    """A graph's initializers whose data is in the model; a default of an input is none."""
    inputs = {value.name for value in graph.input} if ir_version >= OLDEST_IR_OF_DEFAULTS else set()
    kept = (tensor for tensor in graph.initializer if tensor.name not in inputs and not tensor.external_data)
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in kept}


def with_nodes(known: Mapping[str, Array], graph: GraphProto) -> dict[str, Array]:
    """The `known` constants, and those that a graph's nodes make of them."""
    found = dict(known)
    for node in graph.node:
        value = _value(node, found)
        for name in node.output:
            found.pop(name, None)  # a graph around this one may have that name too
        if value is not None:
            found[node.output[0]] = value
    return found


def _value(node: NodeProto, known: Mapping[str, Array]) -> Array | None:
    if canonical_domain(node.domain) != "" or not node.output or not all(name in known for name in node.input):
        return None
    compute = COMPUTED.get(node.op_type)
    inputs = [known[name] for name in node.input]
    if compute is None or len(inputs) != INPUTS.get(node.op_type, len(inputs)):
        return None
    if sum(x.size for x in inputs) > LARGEST_FOLDED:
        return None
    return compute({attribute.name: attribute for attribute in node.attribute}, inputs)


def _constant(attributes: Mapping[str, AttributeProto], inputs: Sequence[Array]) -> Array | None:
    (attribute,) = attributes.values() if len(attributes) == 1 else (AttributeProto(),)
    if attribute.type == AttributeProto.TENSOR and not attribute.t.external_data:
        return numpy_helper.to_array(attribute.t)
    if attribute.type not in DTYPES:
        return None  # of text, and of a sparse tensor, which no operator has as its size
    return np.array(helper.get_attribute_value(attribute), DTYPES[attribute.type])


def _identity(attributes: Mapping[str, AttributeProto], inputs: Sequence[Array]) -> Array | None:
    return inputs[0]


def _cast(attributes: Mapping[str, AttributeProto], inputs: Sequence[Array]) -> Array | None:
    """None for a cast that runtimes do in different ways."""
    (x,) = inputs
    try:
        to = np.dtype(helper.tensor_dtype_to_np_dtype(attributes["to"].i))
    except KeyError:  # without a type, or one of a newer onnx
        return None
    if not {x.dtype.name, to.name} <= CAST or (x.dtype.name, to.name) == ("float64", "float16"):
        return None
    if x.dtype.kind == "f" and to.kind in "iu" and not _is_within(x, to):
        return None
    with np.errstate(over="ignore"):
        return x.astype(to)


def _is_within(x: Array, to: np.dtype[np.integer]) -> bool:
    """Whether all numbers are in the range of an integer type; NaN is not."""
    limits, wide = np.iinfo(to), x.astype(np.float64)
    return bool(((wide >= float(limits.min)) & (wide < float(limits.max) + 1)).all())


def _concat(attributes: Mapping[str, AttributeProto], inputs: Sequence[Array]) -> Array | None:
    if len({x.dtype for x in inputs}) != 1 or "axis" not in attributes:
        return None
    try:
        return np.concatenate(list(inputs), attributes["axis"].i)
    except ValueError:  # of shapes that do not fit, which is for a runtime to say
        return None


CAST = {np.dtype(kind).name for kind in "?bhilqBHILQefd"}
"""NumPy's own types, whose casts are as in runtimes: those of 8-bit floats saturate."""

INPUTS = {"Constant": 0, "Identity": 1, "Cast": 1}
"""How many a node has, if it is not malformed."""

COMPUTED: Mapping[str, Callable[[Mapping[str, AttributeProto], Sequence[Array]], Array | None]] = {
    "Constant": _constant,
    "Identity": _identity,
    "Cast": _cast,
    "Concat": _concat,
}
"""The nodes that make constants."""
