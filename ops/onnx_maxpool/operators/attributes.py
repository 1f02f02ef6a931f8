"""A node's attributes as Python values."""

from __future__ import annotations

from typing import Any

import onnx
from onnx import helper

from onnx_maxpool.errors import OperatorError
from onnx_maxpool.operators.registry import OperatorVersion


def attribute_value(attribute: onnx.AttributeProto) -> Any:
    """A number, a list or a text; of a text that is not UTF-8, bytes that are not are escaped."""
    value = helper.get_attribute_value(attribute)
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else value


def check_kind(version: OperatorVersion, attribute: onnx.AttributeProto, expected: str) -> None:
    """Raise OperatorError for an attribute of another type than the version's, by ONNX's names."""
    found = onnx.AttributeProto.AttributeType.Name(attribute.type)
    if found != expected:
        raise OperatorError(f"{version.name}: attribute {attribute.name} is {found}, expected {expected}")
