"""Models of one node, and the two ways to run them, for the tests of the operators that ONNX does not define."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import onnx_maxpool
from onnx_maxpool.graph.building import finished
from onnx_maxpool.operators.registry import OPERATORS, OperatorVersion, resolve, versions_of
from onnx_maxpool.types import element_type, tensor_type

Array = npt.NDArray[Any]
Run = Callable[[onnx.ModelProto, Mapping[str, Array]], list[Array]]

DOMAINS = {row.name: row.domain for row in OPERATORS}
SPELLINGS = {"i32": "int32", "i64": "int64", "u32": "uint32", "u64": "uint64"}


def data_type_of(array: Array) -> int:
    return tensor_type(element_type(array))


def version_of(name: str, opset: int) -> OperatorVersion:
    version = resolve(DOMAINS[name], name, opset)
    assert version is not None
    return version


def model(
    name: str, opset: int, feeds: Mapping[str, Array], *, with_index: bool = False, **attributes: Any
) -> onnx.ModelProto:
    """One node, named `pool`, for the feeds' types. Shapes are left open, so that wrong ones reach the operator.

    An attribute may be an AttributeProto, where its type is none of a Python value's. An empty list is of integers.
    """
    version = resolve(DOMAINS[name], name, opset) or versions_of(DOMAINS[name], name)[0]  # an opset may be too old
    inputs = [helper.make_tensor_value_info(key, data_type_of(array), None) for key, array in feeds.items()]
    outputs = [helper.make_tensor_value_info("Y", inputs[0].type.tensor_type.elem_type, None)]
    if with_index:
        index = SPELLINGS.get(attributes.get("index_element_type", ""), version.index_types[0])
        outputs.append(helper.make_tensor_value_info("Indices", tensor_type(index), None))
    node = helper.make_node(name, list(feeds), [value.name for value in outputs], name="pool", domain=version.domain)
    node.attribute.extend(attribute_of(key, value) for key, value in attributes.items())
    graph = helper.make_graph([node], "one_node", inputs, outputs)
    return finished(graph, {version.domain: opset})


def attribute_of(name: str, value: Any) -> onnx.AttributeProto:
    if isinstance(value, onnx.AttributeProto):
        return value
    return helper.make_attribute(name, value, attr_type=None if value != [] else onnx.AttributeProto.INTS)


def native(proto: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    return onnx_maxpool.run(onnx_maxpool.load(proto), feeds)


def reference(proto: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    evaluator = ReferenceEvaluator(proto, new_ops=onnx_maxpool.reference_ops())
    outputs = evaluator.run(None, dict(feeds))
    assert isinstance(outputs, list)
    return outputs


both = pytest.mark.parametrize("run", [native, reference])


def assert_same(actual: Array, expected: Array) -> None:
    """Equal in type, shape and every cell; NaN equals NaN, +0 equals -0 (G3, G4, G6)."""
    assert actual.dtype == expected.dtype
    kind = actual.dtype if actual.dtype.kind in "iu" else np.dtype(np.float64)  # widening is exact
    np.testing.assert_array_equal(actual.astype(kind), expected.astype(kind))


def mixed(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any], *, special: bool = True, nan: bool = True
) -> Array:
    """Few different values, so that windows hold equal ones.

    `special` strews ±inf, -0 and with `nan` NaN over floats, and the type's ends over integers.
    """
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        values = [0, 1, 2, 3, *((ends.min, ends.min + 1, ends.max - 1, ends.max) if special else ())]
        return rng.choice(np.array(values, dtype), shape)
    x = rng.integers(-3, 4, shape).astype(np.float64)
    if special:
        for value, share in ((-np.inf, 0.3), (np.inf, 0.03), (-0.0, 0.03), (np.nan, 0.03 if nan else 0)):
            x[rng.random(shape) < share] = value
    return x.astype(dtype)
