"""One-node models: every operator version in every type that it takes.

The registry says which there are. `EXAMPLES` adds, per operator, what a node needs besides: shapes, attributes and
sample inputs.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import onnx
from onnx import helper

from onnx_maxpool.aliases import Array
from onnx_maxpool.models.hashing import quarters
from onnx_maxpool.models.model import Model, finished, tensor_type
from onnx_maxpool.registry import OPERATORS, OperatorVersion

Types = Mapping[str, str]
"""An element type for each type variable."""


@dataclass(frozen=True)
class Port:
    """An input or output: a type variable of the registry's row (or a type's own name) and its dimensions."""

    type: str
    dims: tuple[str | int, ...]


@dataclass(frozen=True)
class Example:
    """What the registry does not say of an operator's one-node model."""

    inputs: Mapping[str, Port]
    outputs: Mapping[str, Port]
    attributes: Mapping[str, Any]
    samples: Callable[[Mapping[str, np.dtype[Any]]], dict[str, Array]]
    """Sample inputs, given the dtype of every type variable."""
    opsets: Mapping[int, int] = field(default_factory=dict)
    """The model's opset where it is not the operator's since version."""


def max_roi_pool_samples(dtypes: Mapping[str, np.dtype[Any]]) -> dict[str, Array]:
    """X (3, 4, 19, 25) with NaN and -inf cells, and ROIs of every kind that MaxRoiPool accepts.

    The spatial scale is 1/16, so the map spans 400 x 304 pixels.
    """
    x = quarters(1, (3, 4, 19, 25), dtypes["T"])
    x[0, 1, 5:9, 6] = np.nan  # G3
    x[1, :, :, 3:7] = -np.inf  # G2: whole windows of -inf
    x[2, 2, 0, 0] = np.inf
    rois = [
        [0, 0, 0, 399, 303],  # the whole map
        [0, 16, 24, 215, 167],
        [1, 40, 8, 120, 296],
        [2, 200, 100, 207, 104],  # far fewer cells than bins: bins overlap
        [2, -64, -48, 100, 90],  # beyond the upper left corner: M8, M9
        [1, 300, 200, 500, 480],  # beyond the lower right corner
        [0, 1000, 1000, 1200, 1100],  # wholly outside: zeros
        [0, 200, 150, 100, 50],  # malformed: one cell (M6)
        [1, 24, 8, 56, 8],  # halves on both axes: 1.5, 0.5, 3.5 (M5)
        [1.75, 0, 0, 128, 128],  # batch number truncated toward zero (M10)
        [-0.5, 0, 0, 128, 128],
        [2, -60000, 0, 60000, 160],  # much larger than the map
        [2, -np.inf, 16, np.inf, 240],  # saturated (M11)
    ]
    return {"X": x, "rois": np.array(rois).astype(dtypes["T"])}


EXAMPLES = {
    "MaxRoiPool": Example(
        inputs={"X": Port("T", ("N", "C", "H", "W")), "rois": Port("T", ("R", 5))},
        outputs={"Y": Port("T", ("R", "C", 7, 7))},
        attributes={"pooled_shape": [7, 7], "spatial_scale": 0.0625},
        samples=max_roi_pool_samples,
        opsets={1: 11},  # opset 1 itself predates what today's tools convert and check
    ),
}
"""By operator name."""


def single_operator_models() -> Iterator[Model]:
    """A model for every row of the registry and every combination of its types."""
    for version in OPERATORS:
        for chosen in itertools.product(*version.types.values()):
            types = dict(zip(version.types, chosen, strict=True))
            yield Model(
                name="_".join([snake_case(version.name), str(version.since_version), *chosen]),
                description=f"{version.title} on {', '.join(chosen)}",
                builder=partial(single_operator, version, types),
                inputs=partial(sample_inputs, version.name, types),
            )


def single_operator(version: OperatorVersion, types: Types) -> onnx.ModelProto:
    """A one-node model of `version`, with symbolic dimensions and an element type for each type variable."""
    example = EXAMPLES[version.name]
    opset = example.opsets.get(version.since_version, version.since_version)
    node = helper.make_node(
        version.name, list(example.inputs), list(example.outputs), domain=version.domain, **example.attributes
    )
    graph = helper.make_graph(
        [node], snake_case(version.name), value_infos(example.inputs, types), value_infos(example.outputs, types)
    )
    return finished(graph, {version.domain: opset})


def value_infos(ports: Mapping[str, Port], types: Types) -> list[onnx.ValueInfoProto]:
    """The graph's declarations of its inputs or outputs."""
    return [
        helper.make_tensor_value_info(name, tensor_type(types.get(port.type, port.type)), port.dims)
        for name, port in ports.items()
    ]


def sample_inputs(name: str, types: Types) -> dict[str, Array]:
    """The operator's sample inputs in these element types."""
    dtypes = {variable: helper.tensor_dtype_to_np_dtype(tensor_type(t)) for variable, t in types.items()}
    return EXAMPLES[name].samples(dtypes)


def snake_case(name: str) -> str:
    """`MaxRoiPool` as `max_roi_pool`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
