"""Inputs for a model: from files, or drawn at random so that its operators accept them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import TensorProto, helper, numpy_helper

from onnx_maxpool.adapters.arrays import readable
from onnx_maxpool.adapters.onnxruntime import ORT_ERRORS
from onnx_maxpool.adapters.portable.guards import said_by_guard
from onnx_maxpool.cli.random_rois import RoiInput, nodes_planned, roi_inputs
from onnx_maxpool.errors import InputError, shape
from onnx_maxpool.graph.dimensions import set_sizes
from onnx_maxpool.graph.inference import outline
from onnx_maxpool.graph.survey import infer
from onnx_maxpool.npz import read_npz
from onnx_maxpool.operators.schemas import dims_of
from onnx_maxpool.types import LARGEST_DIM, Array, dtype_of, element_type, has_too_many_cells, type_name

FLOATS = (TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.FLOAT, TensorProto.DOUBLE)
INTEGERS = (
    *(TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64),
    *(TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64),
)
FAILURES: tuple[type[Exception], ...] = (RuntimeError, *ORT_ERRORS)
"""What a run raises."""
SMALL = 10
"""Random integers are smaller than this."""


def model_inputs(
    model: onnx.ModelProto,
    files: Sequence[str] = (),
    dims: Mapping[str, int] | None = None,
    seed: int = 0,
    other: onnx.ModelProto | None = None,
) -> dict[str, Array]:
    """An array for every input of `model` that has no initializer, and for every other that `files` names.

    Each of `files` is `NAME=FILE.npy`, `NAME=FILE.pb` (a TensorProto), `FILE.npz` (arrays by input name) or a folder of
    ONNX's test data (`input_0.pb`, ..., by the tensors' names or, without a name, their order). Inputs that they leave
    out are random, of the declared type and shape. `dims` are the sizes of symbolic dimensions by name, and
    of a dimension without a name by `INPUT.AXIS`; an array from a file settles the names in its own shape. One `seed`
    gives the same values every time.

    The ROIs of one of our operators are rows that it accepts, a batch number in range and a box inside the feature map,
    if they are an input of the model, or come from inputs as `roi_inputs` says. Other floats are normally distributed,
    integers are from 0 to 9, and those that are the output's size from 1. Nothing is known of the ROIs of others, nor
    of those of a model that `to_portable` made. Where `other` is given, a model of the same inputs, its operators
    accept them too.

    Raises InputError for whatever is missing or does not fit, and OSError for files that cannot be read.
    """
    declared = {value.name: value for value in model.graph.input}
    given = read_files(files, declared)
    needed = needed_inputs(model)
    wanted = [value for name, value in needed.items() if name not in given]
    symbols = dict.fromkeys(symbol for value in wanted for symbol in _dims(value) if isinstance(symbol, str))
    if unknown := [symbol for symbol in dims or {} if symbol not in symbols]:
        raise InputError(f"--dim {unknown[0]}: no random input has that dimension, only {', '.join(symbols) or 'none'}")
    known = {**_dims_of_files(given, declared), **(dims or {})}
    shapes = _resolved_shapes(wanted, known)
    all_shapes = {**{name: array.shape for name, array in given.items()}, **shapes}
    inferred = [_inferred(each, all_shapes, known) for each in (model, other) if each is not None]
    rois = roi_inputs(inferred, shapes.keys())
    counts = {name for each in inferred for found in nodes_planned(each, "adaptive") for name in found.node.input[1:2]}
    random = np.random.default_rng(seed)
    for value in wanted:
        data_type = value.type.tensor_type.elem_type
        least = 1 if value.name in counts else 0
        given[value.name] = _draw(random, value.name, data_type, shapes[value.name], least, rois.get(value.name))
    return {name: given[name] for name in declared if name in given}


def needed_inputs(model: onnx.ModelProto) -> dict[str, onnx.ValueInfoProto]:
    """The inputs that have no initializer, by name."""
    initialized = {tensor.name for tensor in model.graph.initializer}
    return {value.name: value for value in model.graph.input if value.name not in initialized}


@contextmanager
def random_inputs_told(model: onnx.ModelProto, files: Sequence[str]) -> Iterator[None]:
    """Raise RuntimeError that says which inputs `model_inputs` drew, and how to give others, for whatever a run raises.

    Where `files` have all inputs, the error stays as it is.
    """
    try:
        yield
    except FAILURES as error:
        given = read_files(files, {value.name: value for value in model.graph.input})
        drawn = [name for name in needed_inputs(model) if name not in given]
        if not drawn:
            raise
        said = said_by_guard(str(error)) or str(error).strip()
        options = " ".join(f"--input {name}=FILE" for name in drawn)
        raise RuntimeError(f"{said}; these inputs are random, give others with {options}") from error


def random_dimensions(model: onnx.ModelProto, files: Sequence[str] = ()) -> dict[str, bool] | None:
    """The symbolic dimensions of the inputs that `files` leave out, as `dims` names them; None if files have all.

    True where a dimension is the first one of each input that has it. Raises what `model_inputs` raises for files.
    """
    declared = {value.name: value for value in model.graph.input}
    given = read_files(files, declared)
    left = [value for name, value in needed_inputs(model).items() if name not in given]
    settled = _dims_of_files(given, declared)
    symbols: dict[str, bool] = {}
    for value in left:
        for axis, dim in enumerate(_dims(value)):
            if isinstance(dim, str) and dim not in settled:
                symbols[dim] = symbols.get(dim, True) and axis == 0
    return symbols if left else None


def has_roi_operators(model: onnx.ModelProto) -> bool:
    """Whether ROIs can be drawn for it: one of its operators says where they must lie."""
    return any(nodes_planned(model, "roi"))


def parse_dims(arguments: Iterable[str]) -> dict[str, int]:
    """Sizes by dimension name, from `NAME=SIZE`. Raises InputError for anything else, and for a name that is twice."""
    dims: dict[str, int] = {}
    for argument in arguments:
        name, _, size = argument.rpartition("=")
        if not name or not re.fullmatch("[0-9]{1,19}", size) or int(size) > LARGEST_DIM:
            raise InputError(f"--dim {argument}: expected NAME=SIZE, the size an integer from 0 to {LARGEST_DIM}")
        if name in dims:
            raise InputError(f"--dim {argument}: dimension {name!r} is given twice")
        dims[name] = int(size)
    return dims


def dim_options(names: Iterable[str]) -> str:
    """What to type for dimensions that need a size."""
    return " ".join(f"--dim {name}=SIZE" for name in names)


def read_files(arguments: Iterable[str], declared: Mapping[str, onnx.ValueInfoProto]) -> dict[str, Array]:
    """Arrays by input name, of the declared element types. Raises InputError and OSError."""
    arrays: dict[str, Array] = {}
    for argument in arguments:
        for name, array in _read(argument, list(declared)).items():
            if name not in declared:
                raise InputError(f"--input {argument}: the model has no input {name!r}, only {', '.join(declared)}")
            if name in arrays:
                raise InputError(f"--input {argument}: input {name!r} is given twice")
            arrays[name] = _typed(array, declared[name], argument)
    return arrays


def _read(argument: str, declared: Sequence[str]) -> dict[str, Array]:
    if Path(argument).is_dir():
        return _read_folder(argument, declared)
    # A file may have the sign in its path, as in day=1/inputs.npz.
    name, equals, file = (argument, "", "") if Path(argument).is_file() else argument.partition("=")
    path = Path(file if equals else argument)
    try:
        if path.suffix == ".npz" and not equals:
            return {name: array for name, array in read_npz(path).items() if array is not None}
        if path.suffix == ".npy" and equals:
            with path.open("rb") as stream:
                return {name: np.lib.format.read_array(stream, allow_pickle=False)}
        if path.suffix == ".pb" and equals:
            return {name: _tensor(path)[1]}
    except (ValueError, TypeError, DecodeError) as error:
        raise InputError(f"--input {argument}: {path} is not a readable {path.suffix} file: {error}") from None
    raise InputError(
        f"--input {argument}: expected NAME=FILE.npy, NAME=FILE.pb, FILE.npz or a folder of input_0.pb, ..."
    )


def _read_folder(argument: str, declared: Sequence[str]) -> dict[str, Array]:
    """The `input_I.pb` of a folder, which is laid out as ONNX's test data are."""
    files = {int(path.stem[len("input_") :]): path for path in Path(argument).glob("input_*.pb") if _number(path)}
    if not files:
        raise InputError(f"--input {argument}: the folder has no input_0.pb")
    arrays: dict[str, Array] = {}
    for i, path in sorted(files.items()):
        try:
            name, array = _tensor(path)
        except (ValueError, TypeError, DecodeError) as error:
            raise InputError(f"--input {argument}: {path} is not a readable .pb file: {error}") from None
        if not name and i >= len(declared):
            raise InputError(f"--input {argument}: {path.name} has no name, and the model has {len(declared)} inputs")
        name = name or declared[i]
        if name in arrays:
            raise InputError(f"--input {argument}: input {name!r} is given twice")
        arrays[name] = array
    return arrays


def _number(path: Path) -> bool:
    return re.fullmatch("input_[0-9]{1,9}", path.stem) is not None


def _tensor(path: Path) -> tuple[str, Array]:
    """The name and the array of a file that holds a TensorProto. Raises ValueError, TypeError and DecodeError."""
    tensor = onnx.load_tensor(path)
    if type_name(tensor.data_type) == "undefined":
        raise ValueError(f"its element type is {tensor.data_type}, expected one of ONNX's")
    return tensor.name, numpy_helper.to_array(tensor, str(path.parent))


def _typed(array: Array, value: onnx.ValueInfoProto, argument: str) -> Array:
    """`array` if it has the declared element type. .npy files hold bfloat16 as two bytes of no type."""
    if not value.type.HasField("tensor_type"):
        raise InputError(f"--input {argument}: input {value.name!r} is not a tensor; only tensors can be given")
    declared = value.type.tensor_type.elem_type
    if declared == TensorProto.BFLOAT16 and array.dtype == np.dtype("V2"):
        return array.view(ml_dtypes.bfloat16)
    try:
        array = readable(array)
    except ValueError as error:
        raise InputError(f"--input {argument}: input {value.name!r} is not UTF-8: {error}") from None
    if element_type(array) != type_name(declared):
        raise InputError(
            f"--input {argument}: input {value.name!r} is {element_type(array)}, expected {type_name(declared)}"
        )
    return array


def _dims(value: onnx.ValueInfoProto) -> list[int | str]:
    """An input's declared dimensions: sizes and symbols. Raises InputError where it declares none."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        raise InputError(f"input {value.name!r} has no declared shape: give it with --input")
    return [f"{value.name}.{axis}" if dim is None else dim for axis, dim in enumerate(dims_of(tensor) or ())]


def _dims_of_files(given: Mapping[str, Array], declared: Mapping[str, onnx.ValueInfoProto]) -> dict[str, int]:
    sizes = {}
    for name, array in given.items():
        if declared[name].type.tensor_type.HasField("shape"):
            pairs = zip(_dims(declared[name]), array.shape, strict=False)  # ONNX Runtime rejects another rank
            sizes.update({symbol: size for symbol, size in pairs if isinstance(symbol, str)})
    return sizes


def _resolved_shapes(values: Iterable[onnx.ValueInfoProto], sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """The inputs' shapes with every symbol replaced by its size.

    Raises InputError that names all symbols that have none, and for a shape that no array has.
    """
    declared = {value.name: _dims(value) for value in values}
    symbols = dict.fromkeys(dim for dims in declared.values() for dim in dims if isinstance(dim, str))
    if missing := [symbol for symbol in symbols if symbol not in sizes]:
        raise InputError(f"symbolic dimensions have no size, give {dim_options(missing)}")
    shapes = {
        name: tuple(sizes[dim] if isinstance(dim, str) else dim for dim in dims) for name, dims in declared.items()
    }
    for name, dims in shapes.items():
        if has_too_many_cells(dims):
            raise InputError(f"input {name!r} would have shape {shape(dims)}, expected fewer than 2^60 cells")
    return shapes


def _inferred(
    model: onnx.ModelProto, shapes: Mapping[str, tuple[int, ...]], sizes: Mapping[str, int]
) -> onnx.ModelProto:
    """The model's outline with the inputs' `shapes` and what follows from them; dimensions by name have these `sizes`.

    Inlined, so an input that is handed on to a local function has the graph's name.
    """
    sized = outline(model)
    set_sizes(sized.graph, sizes)
    for value in sized.graph.input:
        if value.name in shapes:
            tensor = value.type.tensor_type
            tensor.CopyFrom(helper.make_tensor_type_proto(tensor.elem_type, shapes[value.name]).tensor_type)
    return infer(sized)


def _draw(
    random: np.random.Generator,
    name: str,
    data_type: int,
    shape: tuple[int, ...],
    least: int,
    rois: RoiInput | None,
) -> Array:
    """`least` is the smallest integer."""
    dtype = dtype_of(type_name(data_type))
    if rois is not None and rois.fits(shape) and data_type in (*FLOATS, *INTEGERS):
        return rois.draw(random, dtype, shape)
    if data_type in FLOATS:
        return random.standard_normal(shape).astype(dtype)
    if data_type in INTEGERS:
        return random.integers(least, SMALL, shape).astype(dtype)
    if data_type == TensorProto.BOOL:
        return random.integers(0, 2, shape).astype(dtype)
    raise InputError(f"input {name!r} is {type_name(data_type)}, which has no random values: give it with --input")
