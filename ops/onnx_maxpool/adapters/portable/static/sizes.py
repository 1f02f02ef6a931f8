"""Without control flow, all shapes must be known: what a user can do where they are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnx import ModelProto

from onnx_maxpool.errors import OperatorError, shape
from onnx_maxpool.graph.dimensions import dims_in, named_dims
from onnx_maxpool.graph.sources import ancestors, sources_of
from onnx_maxpool.types import Dims

INFERRED = "unk__"
"""How the symbols begin that ONNX's inference makes up, for which nobody can give a size."""


class OpenShapesError(OperatorError):
    """The shapes of some inputs of a node are not known. The message is about the first of them."""

    def __init__(self, title: str, inputs: Mapping[str, tuple[str, Dims | None]]) -> None:
        """`inputs` have the value and what is known of its shape, by the input's name."""
        name, (_, dims) = next(iter(inputs.items()))
        super().__init__(f"{title}: {name} has {_what_is_known(dims)}, expected a known shape without control flow")
        self.shapes = dict(inputs.values())
        """By value."""


class UnknownSizesError(OperatorError):
    """Shapes of a model are not known. The message names all dimensions that need a size."""

    def __init__(self, found: str, dims: Sequence[str], undeclared: Sequence[str]) -> None:
        self.found = found
        self.dims = list(dims)
        """Of the model's inputs."""
        self.undeclared = list(undeclared)
        """Values whose shapes follow from no size of an input."""
        super().__init__(self.said(f"{', '.join(self.dims)} in dims"))

    def said(self, sizes: str) -> str:
        """The message; `sizes` is how to give them."""
        ways = [f"give {sizes}"] if self.dims else []
        if self.undeclared:
            values = " and ".join(f"'{value}'" for value in self.undeclared)
            ways.append(f"declare the shape of {values} in value_info")
        return f"{self.found}: {', and '.join(ways)}"


def unknown_sizes(model: ModelProto, found: str, shapes: Mapping[str, Dims | None]) -> UnknownSizesError:
    """What to do about `shapes`, which are not all known, by value; `found` says where the first one is.

    `model` has the types that ONNX infers.
    """
    of_inputs = {value.name: [dim.dim_param for dim in dims_in(value.type)] for value in model.graph.input}
    declared = named_dims(model.graph)
    sources = sources_of(model.graph)
    wanted: set[str | None] = set()
    undeclared = []
    for value, dims in shapes.items():
        symbols = {dim for dim in (dims or [None]) if not isinstance(dim, int)}
        if not symbols.issubset(declared):  # the size of an input may tell what ONNX does not infer
            above = ancestors([value], sources)
            symbols.update(*(names for name, names in of_inputs.items() if name in above))
            symbols.intersection_update(declared)
            if not symbols:
                undeclared.append(value)
        wanted |= symbols
    return UnknownSizesError(found, [name for name in declared if name in wanted], undeclared)


def _what_is_known(dims: Dims | None) -> str:
    if dims is None:
        return "a rank that is not known"
    return f"shape {shape(None if isinstance(dim, str) and dim.startswith(INFERRED) else dim for dim in dims)}"
