"""Where two tensors first differ."""

from __future__ import annotations

import numpy as np

from onnx_maxpool.difference import first_difference


def test_byte_order_is_no_difference() -> None:
    """Of arrays: a tensor has none."""
    tensor = np.array([[1, 2], [3, np.nan]], np.float32)
    other_order = tensor.astype(tensor.dtype.newbyteorder())
    assert first_difference(tensor, other_order) is None
    other_order[1, 0] = 4
    assert str(first_difference(tensor, other_order)) == "1 of 4 cells differ, first at [1,0]: 4.0, expected 3.0"
