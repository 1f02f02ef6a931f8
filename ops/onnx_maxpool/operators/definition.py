"""What an operator's module offers to the adapters, and checks that several operators make."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from onnx_maxpool.errors import OperatorError, escaped, listing, shape
from onnx_maxpool.facts import INDEX_ATTRIBUTE, INDEX_SPELLINGS
from onnx_maxpool.operators.registry import OperatorVersion
from onnx_maxpool.types import Array, Attributes, BinEdges, Dims, element_type


@dataclass(frozen=True)
class Attribute:
    """One attribute."""

    kind: Literal["FLOAT", "INT", "INTS", "STRING"]
    """Its type, by ONNX's name."""
    default: Any = None
    """Its value where a node leaves it out; or a function that gives it, from the attributes before it."""
    required: bool = False

    def value(self, earlier: Attributes) -> Any:
        """The value that it takes where a node leaves it out."""
        return self.default(earlier) if callable(self.default) else self.default


@dataclass(frozen=True)
class Schema:
    """What the schema of an operator that ONNX does not define says beyond types and attributes."""

    doc: str
    """Of the operator, in Markdown."""
    docs: Mapping[str, str]
    """Of every input, output, type variable and attribute, by its name."""


@dataclass(frozen=True)
class Operator:
    """One operator, in all its versions."""

    inputs: Mapping[str, str]
    """The inputs' names, in order, with their type variables in the registry's rows."""
    outputs: tuple[str, ...]
    """The outputs' names: values of the first input's type, then an index where the registry's rows have its types."""
    attributes: Mapping[str, Attribute]
    """By name; without the index's type, which the registry's rows describe."""
    check_attributes: Callable[[Attributes], None]
    """Raises OperatorError on values that no version accepts. All `attributes` are there, of their types."""
    check_shapes: Callable[[Sequence[Dims | None], Attributes], None]
    """Raises OperatorError for inputs' shapes that it rejects, as far as they are known; None is an unknown rank.

    The attributes are complete and checked.
    """
    infer_shape: Callable[[Sequence[Dims | None], Sequence[Dims | None], Attributes], Dims | None]
    """`infer_shape(shapes, values, attributes)`: the shape of every output, None where not even its rank is known.

    `shapes` are the inputs', None where the rank is not known; `values` what is known of inputs that are lists of
    integers; `attributes` are complete and checked, and so are the shapes. Raises OperatorError for values that the
    operator rejects.
    """
    evaluate: Callable[..., tuple[Array, ...]]
    """`evaluate(*inputs, **attributes)`: the outputs, in NumPy. Types and attributes are checked before.

    An operator with an index takes `index_type` too: its dtype, or None where the index is not wanted. One that cuts
    bins takes `bin_edges`.
    """
    schema: Schema | None = None
    """None where onnx.defs has the schema."""

    def check_types(self, version: OperatorVersion, types: Mapping[str, str]) -> None:
        """Hold inputs' element types, by ONNX's names, to a version.

        Raises OperatorError where a type is not the version's, or where two inputs of one type variable differ.
        Inputs that are not in `types` are not looked at.
        """
        bound: dict[str, str] = {}
        for name, variable in self.inputs.items():
            if name not in types:
                continue
            allowed = version.types[variable]
            if types[name] not in allowed:
                raise OperatorError(f"{version.title}: {name} is {types[name]}, expected {listing(allowed)}")
            first = bound.setdefault(variable, name)
            if types[name] != types[first]:
                raise OperatorError(f"{version.title}: {name} is {types[name]}, expected {types[first]} as {first} is")

    def attributes_of(self, version: OperatorVersion) -> dict[str, Attribute]:
        """Every attribute of a version, the index's type included where there is a choice."""
        attributes = dict(self.attributes)
        if len(version.index_types) > 1:
            attributes[INDEX_ATTRIBUTE] = Attribute("STRING", INDEX_SPELLINGS[version.index_types[0]])
        return attributes

    def check_names(self, version: OperatorVersion, given: Collection[str]) -> None:
        """Raise OperatorError for an attribute that the version does not have, and a required one that is missing."""
        known = self.attributes_of(version)
        for name in given:
            if name not in known:
                raise OperatorError(f"{version.title}: attribute {name}, expected {listing(sorted(known))}")
        for name, attribute in known.items():
            if attribute.required and name not in given:
                raise OperatorError(f"{version.name}: the required attribute {name} is missing")

    def complete(self, version: OperatorVersion, given: Attributes) -> dict[str, Any]:
        """A node's attributes with the defaults of those that it leaves out.

        Raises what `check_names` raises, and OperatorError for values that the operator rejects.
        """
        self.check_names(version, given)
        attributes: dict[str, Any] = {}
        for name, attribute in self.attributes_of(version).items():
            attributes[name] = given[name] if name in given else attribute.value(attributes)
        self.check_attributes(attributes)
        spellings = [INDEX_SPELLINGS[name] for name in version.index_types]
        chosen = attributes.get(INDEX_ATTRIBUTE)
        if chosen is not None and chosen not in spellings:
            expected = listing(f'"{spelling}"' for spelling in spellings)
            raise OperatorError(f'{version.name}: {INDEX_ATTRIBUTE} is "{escaped(chosen)}", expected {expected}')
        return attributes

    def compute(
        self,
        version: OperatorVersion,
        *inputs: Array,
        with_index: bool = False,
        bin_edges: BinEdges | None = None,
        **attributes: object,
    ) -> tuple[Array, ...]:
        """The outputs of one version of the operator for these inputs and attributes.

        The index is among them if it is asked for. Raises OperatorError for types that are not the version's, and for
        whatever else the operator rejects, and MemoryError where NumPy does.
        """
        self.check_types(version, {name: element_type(x) for name, x in zip(self.inputs, inputs, strict=True)})
        settings = self.complete(version, attributes)
        if version.index_types:
            chosen = index_type(version, settings)
            settings.pop(INDEX_ATTRIBUTE, None)
            settings["index_type"] = np.dtype(chosen) if with_index else None
        if version.bin_edges:
            settings["bin_edges"] = bin_edges or version.bin_edges
        try:
            return self.evaluate(*inputs, **settings)
        except MemoryError as error:
            raise MemoryError(f"{version.name}: {error}") from None


def too_old(oldest: OperatorVersion, opset: int | None) -> OperatorError:
    """What is wrong with an import of the operator's domain that selects no version; `opset` is None where it lacks."""
    what = f"no opset of {oldest.domain or 'ai.onnx'} is imported" if opset is None else f"opset is {opset}"
    return OperatorError(f"{oldest.name}: {what}, expected {oldest.since_version} or newer")


def index_type(version: OperatorVersion, attributes: Attributes) -> str:
    """The index's element type that complete attributes choose, by ONNX's name; NumPy has the same names."""
    by_spelling = {INDEX_SPELLINGS[name]: name for name in version.index_types}
    return by_spelling[attributes[INDEX_ATTRIBUTE]] if INDEX_ATTRIBUTE in attributes else version.index_types[0]


def check_bytes(operator: str, output: str, dims: tuple[int, ...], itemsize: int) -> None:
    """An output's bytes must be countable in 63 bits, those of an empty one as if it had a cell in every direction.

    NumPy holds no others.
    """
    if math.prod(max(dim, 1) for dim in dims) * itemsize >= 2**63:
        raise OperatorError(f"{operator}: {output} would have shape {shape(dims)}, expected fewer than 2^63 bytes")


def fits(dim: int | str | None, size: int) -> bool:
    """Whether a dimension is of this size, as far as it is known."""
    return not isinstance(dim, int) or dim == size
