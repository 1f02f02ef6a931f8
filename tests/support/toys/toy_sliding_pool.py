"""An operator of sliding windows, whose index counts in a channel: what its module in the package would be."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from onnx_maxpool.operators import max_pooling1
from onnx_maxpool.types import Array


def toy_sliding_pool(
    x: Array, *, index_type: np.dtype[Any] | None = None, **attributes: tuple[int, ...]
) -> tuple[Array, ...]:
    if index_type is None:
        return max_pooling1.max_pooling1(x, **attributes)
    y, index = max_pooling1.max_pooling1(x, **attributes, index_type=np.dtype(np.int64))
    return y, (index % math.prod(x.shape[2:])).astype(index_type)


OPERATOR = replace(max_pooling1.OPERATOR, evaluate=toy_sliding_pool)
