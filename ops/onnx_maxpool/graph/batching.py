"""How rows of a table become a model's batch: which input holds ROIs, and what the first axis of each value counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import onnx
from onnx import TensorProto

from onnx_maxpool.errors import InputError, OperatorError, listing, shape
from onnx_maxpool.graph.inference import outline
from onnx_maxpool.graph.nodes import operator_nodes, subgraphs
from onnx_maxpool.graph.survey import infer
from onnx_maxpool.operators import operator, schemas
from onnx_maxpool.types import Dims, type_name

ROI_COLUMNS, BOX_COLUMNS = 5, 4
"""Of a ROI, and of one whose batch number the model itself adds: there it is that of the only image."""
ROIS = "rois"
"""The name of a ROI operator's own input."""
IMAGES_TRIED, ROIS_TRIED = 10_007, 10_009
"""Sizes that inference is asked about: primes that no model has, so that a dimension of that size is that count."""

InputKind = Literal["row", "rois", "shared"]
OutputKind = Literal["row", "roi", "whole"]


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


@dataclass(frozen=True)
class Batching:
    """What collates rows for a model, and splits its outputs. Plain values."""

    inputs: tuple[BatchInput, ...]
    outputs: tuple[BatchOutput, ...]
    one_row: bool
    """Whether a run takes one row only: its batch or its number of ROIs is fixed, or an output has an unknown axis."""

    @property
    def rois(self) -> BatchInput | None:
        """The input that holds ROIs."""
        return next((each for each in self.inputs if each.kind == "rois"), None)


def batching(model: onnx.ModelProto, rois: str | None = None) -> Batching:
    """What the axes of a model's inputs and outputs count; `rois` names the input of ROIs where several could be it.

    An input without an initializer counts rows on its first axis, but for that of the ROIs, and for those of rank 0 and
    lists of a fixed length. Raises InputError for a model that cannot run in batches, for another `rois`, and, without
    it, for ROIs that may come from several inputs or are in a local function that cannot be inlined.
    """
    inferred = infer(outline(model))
    initialized = {tensor.name for tensor in model.graph.initializer}
    declared = {value.name: value for value in model.graph.input if value.name not in initialized}
    for value in declared.values():
        if not value.type.HasField("tensor_type") or value.type.tensor_type.elem_type == TensorProto.STRING:
            raise InputError(f"input '{value.name}' is no tensor of numbers, expected one")
    found = _roi_input(inferred, declared, rois)
    inputs = tuple(_batch_input(value, found, inferred) for value in declared.values())
    fixed = _has_fixed_count(inputs, declared)
    outputs = tuple(_outputs(model, inferred, {each.name: each.kind for each in inputs}))
    return Batching(inputs, outputs, fixed or any(output.kind == "whole" for output in outputs))


def dims_of(value: onnx.ValueInfoProto) -> Dims | None:
    """The declared shape."""
    return schemas.dims_of(value.type.tensor_type)


def _roi_input(inferred: onnx.ModelProto, declared: Mapping[str, onnx.ValueInfoProto], named: str | None) -> str | None:
    """The input whose rows are ROIs: the one that some ROI operator's boxes come from. None where there is none."""
    if named is not None:
        if named not in declared:
            raise InputError(f"rois is '{named}', expected an input of the model: {listing(declared)}")
        if not _may_hold_rois(declared[named]):
            dims = dims_of(declared[named]) or ()
            raise InputError(
                f"rois is '{named}' of shape {shape(dims)}, expected one with {BOX_COLUMNS} or {ROI_COLUMNS} columns"
            )
        return named
    sources = _sources(inferred.graph)
    reached: set[str] = set()
    for found in operator_nodes(inferred):
        names = list(operator(found.node.op_type).inputs)
        if ROIS not in names:
            continue
        if not found.place.startswith("graph"):
            raise InputError(
                f"{found.label}: ROIs may come from any input, as ONNX cannot inline the function: name it with rois"
            )
        reached |= _ancestors(found.node.input[names.index(ROIS)], sources)
    candidates = [name for name, value in declared.items() if name in reached and _may_hold_rois(value)]
    whole = [name for name in candidates if (dims_of(declared[name]) or (ROI_COLUMNS,))[-1] == ROI_COLUMNS]
    candidates = whole or candidates
    if len(candidates) > 1:
        raise InputError(f"ROIs may come from the inputs {listing(candidates)}, expected one: name it with rois")
    return candidates[0] if candidates else None


def _may_hold_rois(value: onnx.ValueInfoProto) -> bool:
    """Of shape (R, 5) or (R, 4), as far as it is declared, or (1, 1, R, 5), whose last dimension must be."""
    dims = dims_of(value)
    if dims is None:
        return True
    if len(dims) == 4:
        return dims[-1] == ROI_COLUMNS and not any(isinstance(dim, int) and dim != 1 for dim in dims[:-2])
    return len(dims) == 2 and (not isinstance(dims[-1], int) or dims[-1] in (ROI_COLUMNS, BOX_COLUMNS))


def _sources(graph: onnx.GraphProto) -> dict[str, set[str]]:
    """For each value, the values that it is computed from, subgraphs included.

    What flows in and out of a subgraph is not told apart, so there may be too many, but never too few.
    """
    sources: dict[str, set[str]] = defaultdict(set)
    for node in graph.node:
        inside: set[str] = set()
        for _, subgraph in subgraphs(node):
            inside |= {value.name for value in subgraph.output}
            for name, values in _sources(subgraph).items():
                sources[name] |= values
            for value in subgraph.input:
                sources[value.name] |= set(node.input)
        for name in node.output:
            sources[name] |= {*node.input, *inside}
    return sources


def _ancestors(name: str, sources: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        value = waiting.pop()
        if value not in found:
            found.add(value)
            waiting.extend(sources.get(value, ()))
    return found


def _batch_input(value: onnx.ValueInfoProto, rois: str | None, inferred: onnx.ModelProto) -> BatchInput:
    dims = dims_of(value)
    kind = type_name(value.type.tensor_type.elem_type)
    if value.name == rois:
        return BatchInput(value.name, kind, "rois", dims if dims is not None else _dims_of_rois(rois, inferred))
    if dims is not None and (len(dims) == 0 or (len(dims) == 1 and isinstance(dims[0], int))):
        return BatchInput(value.name, kind, "shared", dims)
    return BatchInput(value.name, kind, "row", None if dims is None else dims[1:])


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


def _outputs(
    model: onnx.ModelProto, inferred: onnx.ModelProto, kinds: Mapping[str, InputKind]
) -> Iterator[BatchOutput]:
    """What the model's outputs count: as inference with tried sizes has it, else as their declared symbol says."""
    symbols: dict[object, OutputKind] = {}
    for value in model.graph.input:
        dims = dims_of(value)
        if dims and kinds.get(value.name) == "row":
            symbols[dims[0]] = "row"
        elif dims and kinds.get(value.name) == "rois":
            symbols[dims[-2]] = "roi"
    counts: dict[object, OutputKind] = {IMAGES_TRIED: "row", ROIS_TRIED: "roi"}
    tried = {value.name: dims_of(value) for value in _with_tried_sizes(model, kinds).graph.output}
    for declared, value in zip(model.graph.output, inferred.graph.output, strict=True):
        dims = dims_of(value)
        kind = counts.get(_first(tried[value.name]), "whole")
        for symbol in (_first(dims_of(declared)), _first(dims)):
            if kind == "whole" and isinstance(symbol, str):
                kind = symbols.get(symbol, "whole")
        yield BatchOutput(value.name, type_name(value.type.tensor_type.elem_type), kind, _of_one_row(dims, kind))


def _first(dims: Dims | None) -> int | str | None:
    return dims[0] if dims else None


def _of_one_row(dims: Dims | None, kind: OutputKind) -> Dims | None:
    if dims is None or kind == "whole":
        return dims
    return dims[1:] if kind == "row" else (None, *dims[1:])


def _with_tried_sizes(model: onnx.ModelProto, kinds: Mapping[str, InputKind]) -> onnx.ModelProto:
    """What ONNX infers where the first axes have the tried sizes, whatever the model declares of its other values."""
    sized = outline(model)
    del sized.graph.value_info[:]
    for value in sized.graph.output:
        if value.type.HasField("tensor_type"):  # to ask for the field would make a tensor of any other
            value.type.tensor_type.ClearField("shape")
    for value in sized.graph.input:
        dim = value.type.tensor_type.shape.dim
        if len(dim) and kinds.get(value.name) == "row":
            dim[0].dim_value = IMAGES_TRIED
        elif len(dim) and kinds.get(value.name) == "rois":
            dim[len(dim) - 2].dim_value = ROIS_TRIED
    return infer(sized)
