"""The cases of the toy of sliding windows: what its module of cases would be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.cases._building import both, make
from onnx_maxpool.operators.registry import versions_of


def cases() -> Iterator[Case]:
    (version,) = versions_of("toy", "ToySlidingPool")
    x = np.concatenate([both(5, 6), both(5, 6)])
    attributes = {"window_size": [2, 3], "strides": [2, 1], "start_padding": [1, 0], "index_element_type": "u64"}
    yield make(
        version,
        "index",
        "Is the index one into the channel?",
        "P4, P5",
        attributes=attributes,
        inputs={"X": x},
        outputs=("Y", "Indices"),
        asks="index scope, tie, padding",
    )
