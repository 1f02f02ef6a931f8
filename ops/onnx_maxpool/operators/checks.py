"""Checks that several operators make."""

from __future__ import annotations

import math

from onnx_maxpool.errors import OperatorError, shape


def check_bytes(operator: str, output: str, dims: tuple[int, ...], itemsize: int) -> None:
    """An output's bytes must be countable in 63 bits, those of an empty one as if it had a cell in every direction.

    NumPy holds no others.
    """
    if math.prod(max(dim, 1) for dim in dims) * itemsize >= 2**63:
        raise OperatorError(f"{operator}: {output} would have shape {shape(dims)}, expected fewer than 2^63 bytes")


def fits(dim: int | str | None, size: int) -> bool:
    """Whether a dimension is of this size, as far as it is known."""
    return not isinstance(dim, int) or dim == size
