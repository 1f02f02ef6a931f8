"""Windows of any length along an axis, made of blocks of few lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from onnx_maxpool.adapters.portable.static.tensors import Graph, Tensor
from onnx_maxpool.types import Integers


@dataclass(frozen=True)
class Axis:
    """How windows along an axis of `size` cells are covered: each by `radix` blocks of one length.

    Blocks have lengths radix^0, radix^1 and so on; a window has those of the longest that is not longer than it. They
    lie one behind the other from its start on, and the last ends where the window ends.
    """

    size: int
    radix: int
    lengths: Sequence[int]
    """Of the windows that there may be."""

    @property
    def blocks(self) -> list[int]:
        """The lengths of blocks that occur."""
        return sorted({self.block_of(length) for length in self.lengths if length} or {1})

    def block_of(self, length: int) -> int:
        """The length of the blocks that cover a window."""
        block = 1
        while block * self.radix <= length:
            block *= self.radix
        return block

    def count(self, block: int) -> int:
        """How many blocks of a length there are."""
        return self.size - block + 1

    @property
    def total(self) -> int:
        """Blocks of all lengths."""
        return sum(map(self.count, self.blocks))

    def offsets(self, copies: int = 1) -> dict[int, int]:
        """Where those of each length begin, length by length, each as often as there are `copies`."""
        offsets, place = dict[int, int](), 0
        for block in self.blocks:
            offsets[block] = place
            place += copies * self.count(block)
        return offsets


def look_up(graph: Graph, plan: Axis, values: dict[int, int], length: Tensor) -> Tensor:
    """By windows' lengths, what `values` has for their blocks; for an empty window, that of the shortest block."""
    blocks = [plan.block_of(max(length, 1)) for length in range(plan.size + 1)]
    table = np.array([values.get(block, 0) for block in blocks], np.int64)
    return graph.gather(table, length)


def places(graph: Graph, plan: Axis, start: Tensor, end: Tensor, length: Tensor) -> list[Tensor]:
    """Where the blocks begin that cover windows."""
    block = look_up(graph, plan, {block: block for block in plan.blocks}, length)
    last = graph.elementwise("Sub", end, block)
    found = [start]
    for _ in range(plan.radix - 2):
        found.append(graph.elementwise("Min", graph.elementwise("Add", found[-1], block), last))
    return [*found, last]


def levels(graph: Graph, x: Tensor, axis: int, plan: Axis) -> list[Tensor]:
    """The maxima over all blocks along an axis of `x`, for each length of blocks."""
    found, block = list[Tensor](), 1
    step = 3 if plan.radix == 3 else 2  # by twos to any power of two
    while True:
        if block in plan.blocks:
            found.append(x)
        if block == plan.blocks[-1]:
            return found
        size = x.shape[axis] - (step - 1) * block
        x = max_of(graph, [graph.slice(x, axis, i * block, i * block + size) for i in range(step)])
        block *= step


def max_of(graph: Graph, values: Sequence[Tensor]) -> Tensor:
    """The maximum of values, cell by cell."""
    return reduce(lambda a, b: graph.elementwise("Max", a, b), values)


def flat(graph: Graph, index: Tensor) -> Tensor:
    """A tensor of indices in one row: some compilers gather by nothing else."""
    return graph.reshape(index, (int(np.prod(index.shape)),))


def arange(count: int) -> Integers:
    """0, 1 and so on."""
    return np.arange(count, dtype=np.int64)
