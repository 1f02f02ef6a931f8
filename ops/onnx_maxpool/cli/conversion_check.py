"""`convert --check`: run a model with our library and what it was converted to without, and compare all outputs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx
import onnxruntime as ort

from onnx_maxpool.adapters.arrays import run
from onnx_maxpool.adapters.onnxruntime import load
from onnx_maxpool.cli.comparison import paired, tensor_difference
from onnx_maxpool.cli.inputs import FAILURES, model_inputs, random_dimensions
from onnx_maxpool.errors import InputError, shape
from onnx_maxpool.graph.reading import Model
from onnx_maxpool.types import Array, BinEdges, element_type

FIRST_AXIS = (1, 2, 5)
"""Sizes of a run each for symbolic dimensions that count images or ROIs, as a first dimension does."""
OTHERS = (7, 16, 64, 224)
"""Sizes for all others, of which the first is taken that the model runs on; each run has one more."""


@dataclass(frozen=True)
class Check:
    """What was compared."""

    runs: int
    inputs: Mapping[str, Array]
    """Of the last run, which are the largest."""
    outputs: tuple[str, ...]
    difference: str | None
    """Which run and output differ first, and where; None if all are equal."""

    @property
    def shapes(self) -> str:
        """`X float[2,3,7,7], rois float[2,5]`."""
        return ", ".join(f"{name} {element_type(array)}{shape(array.shape)}" for name, array in self.inputs.items())


def original_session(model: Model, bin_edges: BinEdges | None) -> ort.InferenceSession:
    """The original in ONNX Runtime with our library, without graph optimizations. Raises what `load` raises."""
    return load(model, _options(), bin_edges=bin_edges)


def check_conversion(
    model: onnx.ModelProto, ours: ort.InferenceSession, converted: Path, files: Sequence[str], dims: Mapping[str, int]
) -> Check:
    """Compare the outputs of two models cell by cell (G3, G4, G6), on inputs from files and otherwise random ones.

    `model` is the original, `ours` its `original_session`; both are there before the converted model, which may take
    the original's place. That one runs without our library. Graph optimizations are off in both, so that all other
    operators compute alike. Symbolic dimensions have the sizes in `dims`; for the others there are three runs of
    different sizes, and two in which no two numbers of images or ROIs are equal, if the model runs on these. Raises
    InputError where the model runs on no size that is tried, and what `model_inputs` and the
    runs raise.
    """
    stock = ort.InferenceSession(str(converted), _options(), providers=["CPUExecutionProvider"])
    names = tuple(output.name for output in ours.get_outputs())
    inputs: dict[str, Array] = {}
    expected: list[Array]
    count = 0
    for count, (inputs, expected) in enumerate(_runs(model, ours, names, files, dims), start=1):
        for name, pair in paired(names, expected, run(stock, inputs, list(names))).items():
            difference = tensor_difference(*pair)
            if difference is not None:
                return Check(count, inputs, names, f"run {count}, output '{name}': {difference}")
    return Check(count, inputs, names, None)


def _runs(
    model: onnx.ModelProto,
    session: ort.InferenceSession,
    names: Sequence[str],
    files: Sequence[str],
    dims: Mapping[str, int],
) -> Iterator[tuple[dict[str, Array], list[Array]]]:
    """Inputs, and what the original gives for them."""
    symbols = random_dimensions(model, files)
    if symbols is None:  # files have everything
        inputs = model_inputs(model, files)
        yield inputs, run(session, inputs, list(names))
        return
    known = {symbol: size for symbol, size in dims.items() if symbol in symbols}
    wanted = [symbol for symbol in symbols if symbol not in known]
    failure = ""
    for size in OTHERS if wanted else OTHERS[:1]:
        found = []
        try:
            for seed, first in enumerate(FIRST_AXIS):
                chosen = {symbol: first if symbols[symbol] else size + seed for symbol in wanted}
                inputs = model_inputs(model, files, {**known, **chosen}, seed)
                found.append((inputs, run(session, inputs, list(names))))
        except FAILURES as error:
            failure = f": {error}"
            continue
        counts = [symbol for symbol in wanted if symbols[symbol]]
        # A runtime may take sizes for equal that are not, and give memory of one tensor to a larger or smaller one. Not
        # every model runs on unequal sizes.
        for order in (counts, counts[::-1]) if len(counts) > 1 else ():
            chosen = dict.fromkeys(wanted, size) | {symbol: 1 + i for i, symbol in enumerate(order)}
            inputs = model_inputs(model, files, {**known, **chosen}, len(FIRST_AXIS))
            with contextlib.suppress(*FAILURES):
                found.insert(0, (inputs, run(session, inputs, list(names))))
        yield from found
        return
    where = f"on no size that was tried for {', '.join(wanted)}" if wanted else "on no random input"
    raise InputError(f"--check: the model runs {where}, expected inputs with --input{failure}")


def _options() -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4  # what it logs as an error it also raises
    return options
