"""The errors that a caller tells apart: what they are, and that they come whole from another process."""

from __future__ import annotations

import pickle

import pytest

import onnx_maxpool
from onnx_maxpool import InputError, ModelError, OperatorError, OutputError, RowError, WorkerError

ERRORS = {
    OperatorError: ValueError,
    ModelError: ValueError,
    InputError: ValueError,
    RowError: InputError,
    OutputError: OSError,
    WorkerError: RuntimeError,
}


def test_each_is_public_and_of_a_builtin_kind() -> None:
    for error, kind in ERRORS.items():
        assert issubclass(error, kind)
        assert error.__name__ in onnx_maxpool.__all__
        assert error.__doc__


@pytest.mark.parametrize(
    "error",
    [
        OutputError("cannot write out: No space left on device"),
        WorkerError("rows 0 to 4: 3 processes died on these rows"),
        RowError({3: "too long", 5: "too short"}),
        RowError({}, "in.parquet, row 6: too long"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_they_pickle(error: Exception) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (type(error), str(error))
    assert getattr(again, "failures", None) == getattr(error, "failures", None)


def test_rows_are_named() -> None:
    assert str(RowError({3: "too long"})) == "row 3: too long"
    assert str(RowError({3: "too long", 5: "too short"})) == "row 3: too long; rows that fail too: 5"
    assert RowError({}, "in.parquet, row 6: too long").failures == {}
