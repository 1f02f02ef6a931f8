"""How rows of a table become a model's batch: which inputs hold ROIs, and what the first axis of each value counts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import onnx
from onnx import TensorProto

from onnx_maxpool.errors import InputError, OperatorError, listing, shape
from onnx_maxpool.graph.first_column import FirstColumns
from onnx_maxpool.graph.inference import outline
from onnx_maxpool.graph.nodes import OperatorNode, operator_nodes
from onnx_maxpool.graph.sources import ancestors, sources_of
from onnx_maxpool.graph.survey import infer
from onnx_maxpool.graph.together import ROIS, gives_places_in_the_batch, pools_from_rows, types_of_batch_numbers
from onnx_maxpool.operators import operator, schemas
from onnx_maxpool.types import Dims, type_name

ROI_COLUMNS, BOX_COLUMNS = 5, 4
"""Of a ROI, and of one whose batch number the model itself adds: there it is that of the only image."""
FIRST_TRIED, APART_TRIED = 10_007, 1_000
"""Sizes that inference is asked about: primes that no model has, one for each count, and so far apart that what a model
appends to one does not make it another."""

InputKind = Literal["row", "rois", "shared"]
OutputKind = Literal["row", "roi", "whole"]
Count = tuple[OutputKind, str | None]
"""What an axis counts: rows, or the ROIs of an input."""
ROW: Count = ("row", None)
UNKNOWN: Count = ("whole", None)


@dataclass(frozen=True)
class BatchInput:
    """An input that each row of a table gives its part of."""

    name: str
    type: str
    """The element type, by ONNX's name."""
    kind: InputKind
    """`row`: the first axis counts rows. `rois`: it counts ROIs. `shared`: it has no such axis, a run has one value."""
    dims: Dims | None
    """Of one row's part; for `rois` those of the whole input. None where the model does not say."""


@dataclass(frozen=True)
class BatchOutput:
    """An output, and how it belongs to the rows."""

    name: str
    type: str
    kind: OutputKind
    """`row`: an entry per row. `roi`: an entry per ROI. `whole`: unknown, so only a run of one row can tell."""
    dims: Dims | None
    """Of one row's part, as far as the model says: `(None, 512, 7, 7)` where it has an entry per ROI."""
    rois: str | None = None
    """The input whose ROIs it has entries for, where its kind is `roi`."""


@dataclass(frozen=True)
class Batching:
    """What collates rows for a model, and splits its outputs. Plain values."""

    inputs: tuple[BatchInput, ...]
    outputs: tuple[BatchOutput, ...]
    one_row: bool
    """Whether a run takes one row only: its batch or its number of ROIs is fixed, an output has an unknown axis or an
    index that counts over the batch (P5), or ROIs are pooled from other images than one of each row."""
    number_types: tuple[str, ...]
    """The types of the batch numbers of ROIs, from an input to the operators."""

    @property
    def rois(self) -> list[BatchInput]:
        """The inputs that hold ROIs."""
        return [each for each in self.inputs if each.kind == "rois"]


def batching(model: onnx.ModelProto, rois: Collection[str] = ()) -> Batching:
    """What the axes of a model's inputs and outputs count; `rois` names inputs of ROIs where several could be it.

    An input without an initializer counts rows on its first axis, but for those of ROIs, and for those of rank 0 and
    lists of a fixed length. Raises InputError for a model that cannot run in batches, for another `rois`, for an input
    with an entry per ROI, and, without `rois`, for ROIs of an operator that may come from several inputs, whose batch
    numbers may not be the first column of the input, or that are in a local function that cannot be inlined.
    """
    inferred = infer(outline(model))
    initialized = {tensor.name for tensor in model.graph.initializer}
    declared = {value.name: value for value in model.graph.input if value.name not in initialized}
    for value in declared.values():
        if not value.type.HasField("tensor_type") or value.type.tensor_type.elem_type == TensorProto.STRING:
            raise InputError(f"input '{value.name}' is no tensor of numbers, expected one")
    found = _roi_inputs(inferred, declared, rois)
    inputs = tuple(_batch_input(value, found, inferred) for value in declared.values())
    _refuse_parts_of_rois(inputs, declared, inferred)
    fixed = _has_fixed_count(inputs, declared)
    counted = _counted(inputs)
    sizes = dict(zip(dict.fromkeys((ROW, *counted.values())), _sizes_tried(), strict=False))
    tried = _with_tried_sizes(model, counted, sizes)
    outputs = tuple(_outputs(model, inferred, tried, counted, sizes))
    one_row = (
        fixed
        or any(output.kind == "whole" for output in outputs)
        or gives_places_in_the_batch(inferred)
        or not pools_from_rows(tried, sizes[ROW])
    )
    types = {each.name: each.type for each in inputs if each.kind == "rois"}
    return Batching(inputs, outputs, one_row, types_of_batch_numbers(inferred, types))


def dims_of(value: onnx.ValueInfoProto) -> Dims | None:
    """The declared shape."""
    return schemas.dims_of(value.type.tensor_type)


def _roi_inputs(
    inferred: onnx.ModelProto, declared: Mapping[str, onnx.ValueInfoProto], named: Collection[str]
) -> set[str]:
    """The inputs whose rows are ROIs: the named ones, and those that the boxes of other ROI operators come from."""
    for name in named:
        if name not in declared:
            raise InputError(f"rois is '{name}', expected an input of the model: {listing(declared)}")
        if not _may_hold_rois(declared[name]):
            dims = dims_of(declared[name]) or ()
            raise InputError(
                f"rois is '{name}' of shape {shape(dims)}, expected one with {BOX_COLUMNS} or {ROI_COLUMNS} columns"
            )
    found = set(named)
    sources = sources_of(inferred.graph)
    columns = FirstColumns(inferred.graph, declared)
    for each in _with_rois(inferred):
        if not each.place.startswith("graph"):
            if not named:
                raise InputError(
                    f"{each.label}: ROIs may come from any input, as ONNX cannot inline the function: "
                    "give the input's name as rois"
                )
            continue
        reached = ancestors([_read(each, ROIS)], sources)
        candidates = [name for name, value in declared.items() if name in reached and _may_hold_rois(value)]
        if any(name in named for name in candidates):
            continue
        whole = [name for name in candidates if (dims_of(declared[name]) or (ROI_COLUMNS,))[-1] == ROI_COLUMNS]
        candidates = whole or candidates
        if len(candidates) > 1:
            raise InputError(
                f"ROIs may come from the inputs {listing(candidates)}, expected one: give its name as rois"
            )
        for name in candidates:
            holds_numbers = (dims_of(declared[name]) or (ROI_COLUMNS,))[-1] != BOX_COLUMNS
            if holds_numbers and columns.sources(_read(each, ROIS)) != {name}:
                raise InputError(
                    f"{each.label}: its batch numbers may not be the first column of input '{name}', expected a model "
                    "that reads them there: if yours does, give the input's name as rois"
                )
        found.update(candidates)
    return found


def _with_rois(model: onnx.ModelProto) -> Iterator[OperatorNode]:
    return (found for found in operator_nodes(model) if ROIS in operator(found.node.op_type).inputs)


def _read(found: OperatorNode, name: str) -> str:
    """The value that a node reads as its input of that name."""
    return str(found.node.input[list(operator(found.node.op_type).inputs).index(name)])


def _may_hold_rois(value: onnx.ValueInfoProto) -> bool:
    """Of shape (R, 5) or (R, 4), as far as it is declared, or (1, 1, R, 5), whose last dimension must be."""
    dims = dims_of(value)
    if dims is None:
        return True
    if len(dims) == 4:
        return dims[-1] == ROI_COLUMNS and not any(isinstance(dim, int) and dim != 1 for dim in dims[:-2])
    return len(dims) == 2 and (not isinstance(dims[-1], int) or dims[-1] in (ROI_COLUMNS, BOX_COLUMNS))


def _batch_input(value: onnx.ValueInfoProto, rois: Collection[str], inferred: onnx.ModelProto) -> BatchInput:
    dims = dims_of(value)
    kind = type_name(value.type.tensor_type.elem_type)
    if value.name in rois:
        return BatchInput(value.name, kind, "rois", dims if dims is not None else _dims_of_rois(value.name, inferred))
    if dims is not None and (len(dims) == 0 or (len(dims) == 1 and isinstance(dims[0], int))):
        return BatchInput(value.name, kind, "shared", dims)
    return BatchInput(value.name, kind, "row", None if dims is None else dims[1:])


def _refuse_parts_of_rois(
    inputs: Iterable[BatchInput], declared: Mapping[str, onnx.ValueInfoProto], inferred: onnx.ModelProto
) -> None:
    """Raise InputError for an input that has the symbol of a list of ROIs on its first axis.

    Exporters that give images and ROIs one symbol say nothing by it.
    """
    counts = {each.name: dims_of(declared[each.name]) for each in inputs}
    rows = {each.name: _first(counts[each.name]) for each in inputs if each.kind == "row"}
    rois = {(counts[each.name] or (None, None))[-2]: each.name for each in inputs if each.kind == "rois"}
    suspects = [name for name, symbol in rows.items() if isinstance(symbol, str) and symbol in rois]
    if not suspects:
        return
    images = ancestors((found.node.input[0] for found in _with_rois(inferred)), sources_of(inferred.graph))
    said = {symbol for name, symbol in rows.items() if name in images}
    for name in suspects:
        if rows[name] not in said:
            raise InputError(
                f"input '{name}' has shape {shape(counts[name] or ())}, with an entry per ROI of '{rois[rows[name]]}', "
                "expected an entry per row"
            )


def _dims_of_rois(rois: str, inferred: onnx.ModelProto) -> Dims:
    """Of an input that declares none: the shape that the operator which reads it accepts."""
    flat: Dims = (None, ROI_COLUMNS)
    for found in operator_nodes(inferred):
        definition = operator(found.node.op_type)
        if ROIS in definition.inputs and rois in found.node.input:
            try:
                definition.check_shapes([None, flat], {})
            except OperatorError:
                return (1, 1, *flat)
    return flat


def _has_fixed_count(inputs: Iterable[BatchInput], declared: Mapping[str, onnx.ValueInfoProto]) -> bool:
    """Whether the model fixes its number of rows or ROIs. Raises InputError for a batch that rows cannot fill."""
    fixed = False
    for each in inputs:
        dims = dims_of(declared[each.name])
        if each.kind == "shared" or not dims:
            continue
        count = dims[len(dims) - 2] if each.kind == "rois" else dims[0]
        if each.kind == "rois" and dims[-1] == BOX_COLUMNS:
            fixed = True
        if not isinstance(count, int):
            continue
        if each.kind == "row" and count != 1:
            raise InputError(f"input '{each.name}' has shape {shape(dims)}, expected a batch of 1 or of any size")
        fixed = True
    return fixed


def _counted(inputs: Iterable[BatchInput]) -> dict[str, Count]:
    """What the axes of the inputs count that have one."""
    return {each.name: ("roi", each.name) if each.kind == "rois" else ROW for each in inputs if each.kind != "shared"}


def _outputs(
    model: onnx.ModelProto,
    inferred: onnx.ModelProto,
    tried: onnx.ModelProto,
    counted: Mapping[str, Count],
    sizes: Mapping[Count, int],
) -> Iterator[BatchOutput]:
    """What the model's outputs count: as inference with tried sizes has it, else as their declared symbol says."""
    by_size: dict[object, Count] = {size: count for count, size in sizes.items()}
    by_symbol: dict[str, Count] = {}
    for value in model.graph.input:
        count, dims = counted.get(value.name), dims_of(value)
        symbol = dims[_axis(count, dims)] if count and dims else None
        if count and isinstance(symbol, str):
            by_symbol[symbol] = count if by_symbol.get(symbol, count) == count else UNKNOWN
    dims_tried = {value.name: dims_of(value) for value in tried.graph.output}
    for declared, value in zip(model.graph.output, inferred.graph.output, strict=True):
        dims = dims_of(value)
        count = by_size.get(_first(dims_tried[value.name]), UNKNOWN)
        for symbol in (_first(dims_of(declared)), _first(dims)):
            if count == UNKNOWN and isinstance(symbol, str):
                count = by_symbol.get(symbol, UNKNOWN)
        kind, rois = count
        type_ = type_name(value.type.tensor_type.elem_type)
        yield BatchOutput(value.name, type_, kind, _of_one_row(dims, kind), rois)


def _axis(count: Count, dims: Dims) -> int:
    """The axis that counts: of ROIs, the last but one."""
    return len(dims) - 2 if count[0] == "roi" else 0


def _sizes_tried() -> Iterator[int]:
    for least in itertools.count(FIRST_TRIED, APART_TRIED):
        yield next(n for n in itertools.count(least) if all(n % d for d in range(2, math.isqrt(n) + 1)))


def _first(dims: Dims | None) -> int | str | None:
    return dims[0] if dims else None


def _of_one_row(dims: Dims | None, kind: OutputKind) -> Dims | None:
    if dims is None or kind == "whole":
        return dims
    return dims[1:] if kind == "row" else (None, *dims[1:])


def _with_tried_sizes(
    model: onnx.ModelProto, counted: Mapping[str, Count], sizes: Mapping[Count, int]
) -> onnx.ModelProto:
    """What ONNX infers where the axes that count have the tried sizes, whatever the model declares of other values."""
    sized = outline(model)
    del sized.graph.value_info[:]
    for value in sized.graph.output:
        if value.type.HasField("tensor_type"):  # to ask for the field would make a tensor of any other
            value.type.tensor_type.ClearField("shape")
    for value in sized.graph.input:
        count, dims = counted.get(value.name), dims_of(value)
        if count and dims:
            value.type.tensor_type.shape.dim[_axis(count, dims)].dim_value = sizes[count]
    return infer(sized)
