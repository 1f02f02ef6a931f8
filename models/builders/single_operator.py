"""One-node models: every operator version in every type that it takes.

The registry says which there are. `EXAMPLES` adds, per operator version, what a node needs besides: shapes, attributes
and sample inputs. Where there are several examples the types take turns, so that together they show every rank, and the
index in each of its types and left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import onnx
from onnx import helper

from builders.model import Model
from onnx_maxpool.graph.building import Declared, one_node
from onnx_maxpool.hashing import integers, quarters
from onnx_maxpool.operators.registry import OPERATORS, OperatorVersion, snake_case
from onnx_maxpool.types import Array, dtype_of

Types = Mapping[str, str]
"""An element type for each type variable."""

Dtypes = Mapping[str, np.dtype[Any]]
"""The same as dtypes."""


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
    samples: Callable[[Dtypes], dict[str, Array]]
    """Sample inputs, given the dtype of every type variable."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    opset: int | None = None
    """The model's opset where it is not the operator's since version."""


def roi_samples(dtypes: Dtypes, leading: tuple[int, ...] = ()) -> dict[str, Array]:
    """X (3, 4, 19, 25) with NaN and -inf cells, and ROIs (*leading, 13, 5) of every kind that a ROI operator accepts.

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
    return {"X": x, "rois": np.array(rois).astype(dtypes["T"]).reshape(*leading, len(rois), 5)}


def roi_example(size: str, leading: tuple[int, ...] = (), opset: int | None = None) -> Example:
    """A ROI operator whose output size is in the attribute `size`."""
    return Example(
        inputs={"X": Port("T", ("N", "C", "H", "W")), "rois": Port("T", (*leading, "R", 5))},
        outputs={"Y": Port("T", ("R", "C", 7, 7))},
        attributes={size: [7, 7], "spatial_scale": 0.0625},
        samples=partial(roi_samples, leading=leading),
        opset=opset,
    )


def cells(seed: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Few different values, so that windows hold equal ones (G5).

    Of an integer type its ends are among them; of a float type NaN (G3), infinities (G2) and both zeros (G4).
    """
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        values = np.array([ends.min, ends.min + 1, 0, 1, 2, 3, ends.max - 1, ends.max], dtype)
        return values[integers(seed, shape, 0, len(values))]
    x = (integers(seed, shape, -4, 5) / 4).astype(dtype)
    drawn = integers(seed + 1, shape, 0, 64)
    for i, value in enumerate((np.nan, np.inf, -0.0)):
        x[drawn == i] = value
    x[:, :1, ..., :3] = -np.inf
    return x


SPATIAL = ("D", "H", "W")


def max_pooling_example(indices: str | None, **attributes: Any) -> Example:
    """X (2, 3, spatial...) and the output `Indices` of a type, or none."""
    rank = len(attributes["window_size"])
    spatial = (5, 9, 12)[-rank:]
    outputs = {"Y": "T"} if indices is None else {"Y": "T", "Indices": indices}
    return Example(
        inputs={"X": Port("T", ("N", "C", *SPATIAL[-rank:]))},
        outputs={
            name: Port(variable, ("N", "C", *(f"{axis}out" for axis in SPATIAL[-rank:])))
            for name, variable in outputs.items()
        },
        samples=lambda dtypes: {"X": cells(2, (2, 3, *spatial), dtypes["T"])},
        attributes=attributes,
    )


def max_pooling_examples(volume: str, **index: str) -> tuple[Example, ...]:
    """Images with indices, volumes with indices of the type `volume`, which the attributes `index` choose, and none."""
    return (
        max_pooling_example("uint32", window_size=[3, 3], strides=[2, 2], start_padding=[1, 1], end_padding=[1, 1]),
        max_pooling_example(
            volume, window_size=[2, 3, 4], strides=[1, 2, 3], start_padding=[1, 0, 3], end_padding=[0, 2, 1], **index
        ),
        max_pooling_example(None, window_size=[2, 5]),
    )


def adaptive_example(sizes: tuple[int, ...], indices: str | None, **attributes: Any) -> Example:
    """X (2, 3, spatial...), the output size an input, and the output `Indices` of a type, or none."""
    rank = len(sizes)
    spatial = (6, 11, 17)[-rank:]
    outputs = {"Y": "T"} if indices is None else {"Y": "T", "Indices": indices}
    out_dims = ("N", "C", *(f"{axis}out" for axis in SPATIAL[-rank:]))
    return Example(
        inputs={"X": Port("T", ("N", "C", *SPATIAL[-rank:])), "output_size": Port("TShape", (rank,))},
        outputs={name: Port(variable, out_dims) for name, variable in outputs.items()},
        samples=lambda dtypes: {
            "X": cells(4, (2, 3, *spatial), dtypes["T"]),
            "output_size": np.array(sizes, dtypes["TShape"]),
        },
        attributes=attributes,
    )


EXAMPLES = {
    "MaxRoiPool-1": (roi_example("pooled_shape", opset=11),),  # opset 1 predates what today's tools convert and check
    "MaxRoiPool-22": (roi_example("pooled_shape"),),
    "RoiPooling-1": (roi_example("pooled_size", (1, 1)),),
    "MaxPooling1-2": max_pooling_examples("uint32"),
    "MaxPooling1-3": max_pooling_examples("uint32"),
    "MaxPooling1-5": max_pooling_examples("uint64", index_element_type="u64"),
    "AdaptiveMaxPool-8": (
        adaptive_example((7,), "int64"),
        adaptive_example((4, 20), "int32", index_element_type="i32"),  # more windows than cells
        adaptive_example((6, 1, 5), None),
    ),
}
"""By operator version."""


def single_operator_models() -> Iterator[Model]:
    """A model for every row of the registry and every combination of its types."""
    for version in OPERATORS:
        combinations = itertools.product(*version.types.values())
        for chosen, example in zip(combinations, itertools.cycle(EXAMPLES[version.title]), strict=False):
            types = dict(zip(version.types, chosen, strict=True))
            yield Model(
                name="_".join([snake_case(version.name), str(version.since_version), *chosen]),
                description=f"{version.title} on {', '.join(chosen)}",
                builder=partial(single_operator, version, example, types),
                inputs=partial(sample_inputs, example, types),
            )


def single_operator(version: OperatorVersion, example: Example, types: Types) -> onnx.ModelProto:
    """A one-node model of `version`, with symbolic dimensions and an element type for each type variable."""
    node = helper.make_node(
        version.name, list(example.inputs), list(example.outputs), domain=version.domain, **example.attributes
    )
    ports = {**example.inputs, **example.outputs}
    values = {name: Declared(types.get(port.type, port.type), port.dims) for name, port in ports.items()}
    opsets = {version.domain: example.opset or version.since_version}
    return one_node(node, values, opsets, name=snake_case(version.name))


def sample_inputs(example: Example, types: Types) -> dict[str, Array]:
    """The example's sample inputs in these element types."""
    dtypes = {variable: dtype_of(t) for variable, t in types.items()}
    return example.samples(dtypes)
