"""What an operator's module offers to the adapters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from onnx_maxpool.aliases import Array, Attributes
from onnx_maxpool.errors import OperatorError, element_type, listing
from onnx_maxpool.registry import OperatorVersion


@dataclass(frozen=True)
class Operator:
    """One operator, in all its versions."""

    inputs: Mapping[str, str]
    """The inputs' names, in order, with their type variables in the registry's rows."""
    defaults: Attributes
    """The values of optional attributes that a node leaves out."""
    check_attributes: Callable[[Attributes], None]
    """Raises OperatorError on values that no version accepts. All attributes are there, of the schema's types."""
    evaluate: Callable[..., tuple[Array, ...]]
    """`evaluate(*inputs, **attributes)`: the outputs, in NumPy. Types and attributes are checked before."""

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

    def run(self, version: OperatorVersion, *inputs: Array, **attributes: object) -> tuple[Array, ...]:
        """The outputs of one version of the operator for these inputs and attributes.

        Raises OperatorError for types that are not the version's, and for whatever else the operator refuses.
        """
        self.check_types(version, {name: element_type(x) for name, x in zip(self.inputs, inputs, strict=True)})
        attributes = {**self.defaults, **attributes}
        self.check_attributes(attributes)
        return self.evaluate(*inputs, **attributes)
