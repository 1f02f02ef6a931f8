"""The Python side of the operators: what onnxruntime-extensions calls when a node of `DOMAIN` runs.

A KeyboardInterrupt in it passes ONNX Runtime: whoever runs a `PythonSession` gets it.
"""

from __future__ import annotations

import functools
import itertools
import json
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnxruntime as ort

from onnx_maxpool.adapters.python.declaring import Declaration, Signature, declare
from onnx_maxpool.errors import OperatorError, shape
from onnx_maxpool.operators import operator
from onnx_maxpool.operators.definition import Operator
from onnx_maxpool.operators.registry import OperatorVersion, versions_of
from onnx_maxpool.types import Array, Attributes, BinEdges, PythonFunction, dtype_of, element_type

DOMAIN = "onnx_maxpool.python"
"""The domain of the Python operators.

It is not onnxruntime-extensions' own, `ai.onnx.contrib`: an operator that joins a domain moves the others of it in
memory, and sessions that were made before then call what is no longer there.
"""


@dataclass(frozen=True)
class Call:
    """All that a Python operator's node knows of the node that it stands for. As JSON it is the node's attribute.

    One string, because onnxruntime-extensions takes no lists, and of a float only six digits.
    """

    domain: str
    operator: str
    since_version: int
    types: Sequence[str]
    """The inputs' element types."""
    attributes: Attributes
    bin_edges: BinEdges | None
    """None where the operator has no bins."""
    function: int | None = None
    """The key of the function that stands in for the reference; of this process."""

    @property
    def version(self) -> OperatorVersion:
        """The registry's row."""
        rows = versions_of(self.domain, self.operator)
        return next(row for row in rows if row.since_version == self.since_version)


functions: dict[int, PythonFunction] = {}
"""The functions of sessions, by the key in their nodes."""
_keys = itertools.count()


def keep(function: PythonFunction) -> int:
    """Make a function known to nodes; returns its key for `Call.function`."""
    key = next(_keys)
    functions[key] = function
    return key


def forget(keys: Iterable[int]) -> None:
    """The functions' sessions are gone."""
    for key in keys:
        del functions[key]


def declare_operators() -> None:
    """Make the Python operators known to onnxruntime-extensions."""
    declare(DOMAIN, _declaration)


def _declaration(signature: Signature) -> Declaration:
    index_types = [signature.index_type] if signature.index_type else []
    answer = functools.partial(_answer, np.dtype(signature.index_type) if signature.index_type else None)
    return Declaration(signature.inputs, [signature.result, *index_types, "uint8"], answer)


def _answer(index_type: np.dtype[Any] | None, *inputs: Array, call: str) -> tuple[_Exact, ...]:
    """The outputs, an index where it has a type, and the bytes of an error message, none if there was no error.

    Nothing is raised: an exception that reached onnxruntime-extensions would end the process. The node
    `PythonResult_...`, behind this one, fails with the message.
    """
    try:
        outputs, message = evaluate(Call(**json.loads(call)), index_type, inputs), ""
    except BaseException as error:  # KeyboardInterrupt too must not pass
        if not isinstance(error, Exception):
            note(error)
        outputs = tuple(np.empty(0, dtype) for dtype in (inputs[0].dtype, index_type) if dtype is not None)
        is_complete = isinstance(error, OperatorError | MemoryError | _FunctionError)
        message = (is_complete and str(error)) or _failure()
    said = np.frombuffer(message.encode(errors="backslashreplace"), np.uint8)
    return tuple(map(_Exact, (*outputs, said)))


class _FunctionError(Exception):
    """A user's function ran out of memory. The message is the run's: the reference has no traceback there."""


def _failure() -> str:
    """What is said of the exception that is being handled."""
    return f"onnx_maxpool: a Python function failed\n{traceback.format_exc()}"


def evaluate(call: Call, index_type: np.dtype[Any] | None, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """The outputs of the node that `call` describes, in the types in which they travel; an index if it has a type.

    Raises OperatorError where the operator rejects, and where a user's function gives other than the operator's
    outputs; and whatever that function raises.
    """
    definition = operator(call.operator)
    arrays = [x.astype(dtype_of(name), copy=False) for x, name in zip(inputs, call.types, strict=True)]
    index_types = [] if index_type is None else [index_type]
    if call.function is not None:
        dtypes = [arrays[0].dtype, *index_types]
        evaluate_it = functools.partial(_checked, call.operator, definition, functions[call.function], dtypes)
        definition = replace(definition, evaluate=evaluate_it)
    outputs = definition.compute(
        call.version, *arrays, with_index=index_type is not None, bin_edges=call.bin_edges, **call.attributes
    )
    travelling = [inputs[0].dtype, *index_types]
    return tuple(y.astype(dtype, copy=False) for y, dtype in zip(outputs, travelling, strict=True))


def _checked(
    name: str,
    definition: Operator,
    function: PythonFunction,
    dtypes: Sequence[np.dtype[Any]],
    *inputs: Array,
    **attributes: Any,
) -> tuple[Array, ...]:
    """What a user's function gives, if these are the operator's outputs: arrays of these types, of the right shape.

    Inputs of shapes that the operator rejects do not get as far as the function.
    """
    shapes = [x.shape for x in inputs]
    definition.check_shapes(shapes, attributes)
    values = [tuple(map(int, x)) if x.ndim == 1 and x.dtype.kind == "i" else None for x in inputs]
    dims = definition.infer_shape(shapes, values, attributes)
    try:
        outputs: Any = function(*inputs, **attributes)
    except MemoryError:
        raise _FunctionError(_failure()) from None
    given = outputs if isinstance(outputs, tuple) else (outputs,)
    said = f"{name}: the Python function gave"
    if len(given) != len(dtypes) or not all(isinstance(y, np.ndarray) for y in given):
        kinds = ", ".join(type(y).__name__ for y in given)
        wanted = f"{len(dtypes)} NumPy array{'s' * (len(dtypes) > 1)}"
        raise OperatorError(f"{said} {kinds}, expected {wanted}")
    for output, dtype, y in zip(definition.outputs, dtypes, given, strict=False):
        if y.dtype != dtype:
            raise OperatorError(f"{said} {output} as {_kind(y)}, expected {element_type(np.empty(0, dtype))}")
        if y.shape != dims:
            raise OperatorError(f"{said} {output} of shape {shape(y.shape)}, expected {shape(dims or ())}")
    return given


def _kind(y: Array) -> str:
    """What an array's elements are, of whatever type."""
    if y.dtype.kind == "O":
        return "object"
    if y.dtype.isnative:
        return element_type(y)
    return f"{'big' if sys.byteorder == 'little' else 'little'}-endian {element_type(y)}"


class _Exact:
    """An array on its way to onnxruntime-extensions, which asks for `shape` and `flatten().tolist()`.

    A list would be slow, and wrong: without a type, uint64 values beyond int64's become floats. An array is taken as
    it is.
    """

    def __init__(self, array: Array) -> None:
        self.shape = array.shape
        self._flat = np.ascontiguousarray(array).reshape(-1)

    def flatten(self) -> _Exact:
        return self

    def tolist(self) -> Array:
        return self._flat


_thread = threading.local()


def note(error: BaseException) -> None:
    """An operator failed on this thread by something that is no Exception; a `PythonSession` raises it."""
    _thread.error = error


@contextmanager
def _raising_what_is_noted() -> Iterator[None]:
    """ONNX Runtime runs Python operators on the thread that runs the session, where Ctrl-C is raised too."""
    _thread.error = None
    try:
        yield
    finally:
        error, _thread.error = _thread.error, None
        if error is not None:
            raise error


class PythonSession(ort.InferenceSession):  # type: ignore[misc]
    """A session whose runs raise the KeyboardInterrupt, or SystemExit, that one of its Python operators raised.

    ONNX Runtime makes an InvalidArgument of it.
    """

    def run(self, *arguments: Any, **options: Any) -> Any:
        """As ONNX Runtime's."""
        with _raising_what_is_noted():
            return super().run(*arguments, **options)

    def run_with_ort_values(self, *arguments: Any, **options: Any) -> Any:
        """As ONNX Runtime's."""
        with _raising_what_is_noted():
            return super().run_with_ort_values(*arguments, **options)

    def run_with_iobinding(self, *arguments: Any, **options: Any) -> Any:
        """As ONNX Runtime's."""
        with _raising_what_is_noted():
            return super().run_with_iobinding(*arguments, **options)

    def run_with_ortvaluevector(self, *arguments: Any, **options: Any) -> Any:
        """As ONNX Runtime's."""
        with _raising_what_is_noted():
            return super().run_with_ortvaluevector(*arguments, **options)
