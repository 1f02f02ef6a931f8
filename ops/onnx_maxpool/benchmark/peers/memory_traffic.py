"""Memory traffic: every byte of the inputs read once, every byte of the outputs written once, and nothing else.

Each thread reads and writes a part of its own: NumPy folds the input with `or`, libc's memset fills the output. Both
stream where the memory is larger than the cache, and let the other threads run. With tensors that stay in the cache it
is the cache's traffic; the calls themselves cost about a microsecond. It is to compare with, and no lower limit: ROIs
need not cover the map, which is read whole here, and a kernel may read further ahead or store past the caches.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from onnx_maxpool.benchmark.peers import Call
from onnx_maxpool.benchmark.rows import GraphCase, Row, output_bytes
from onnx_maxpool.types import Array

WORD = 8


def versions() -> dict[str, str]:
    """None: it is NumPy and libc."""
    return {}


def prepare(row: Row, inputs: Mapping[str, Array], threads: int) -> Call:
    """The row's traffic on so many threads; raises ValueError for a graph, whose traffic is between its nodes too."""
    if isinstance(row.case, GraphCase):
        raise ValueError("for single operators only")
    source = np.concatenate([words(array) for array in inputs.values()])
    target = np.zeros(-(-output_bytes(row) // WORD), np.int64)
    sources, targets = np.array_split(source, threads), np.array_split(target, threads)
    parts = [reader_and_writer(*part) for part in zip(sources, targets, strict=True)]
    pool = ThreadPoolExecutor(threads)

    def repeat(count: int) -> None:
        list(pool.map(lambda part: part(count), parts))

    return Call(lambda: repeat(1), list, repeat)


def words(array: Array) -> Array:
    """The array's bytes as integers of 8 bytes, the last few left out."""
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return raw[: raw.size // WORD * WORD].view(np.int64)


def reader_and_writer(source: Array, target: Array) -> Callable[[int], None]:
    """A function that so many times reads `source` and fills `target`."""
    size = target.nbytes
    memory = (ctypes.c_char * size).from_buffer(target.data)
    read = np.bitwise_or.reduce

    def run(count: int) -> None:
        for _ in range(count):
            read(source)
            ctypes.memset(memory, 0, size)

    return run
