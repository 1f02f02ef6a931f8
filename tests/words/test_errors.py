"""The errors that a caller tells apart: what they are, and that they come whole from another process.

And every row of the tables of bad arguments, of functions and of commands, raises its error.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest
from words import bad_batches
from words.bad_arguments import BAD_ARGUMENTS, BadArgument
from words.bad_commands import BAD_COMMANDS, BadCommand, write_files

import onnx_maxpool
from onnx_maxpool import InputError, ModelError, OperatorError, OutputError, RowError, WorkerError
from onnx_maxpool.cli.main import main

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


ARGUMENTS = (*BAD_ARGUMENTS, *bad_batches.BAD_ARGUMENTS)
COMMANDS = (*BAD_COMMANDS, *bad_batches.BAD_COMMANDS)


@pytest.mark.parametrize("bad", ARGUMENTS, ids=[f"{bad.function}, {bad.what}" for bad in ARGUMENTS])
def test_functions(bad: BadArgument) -> None:
    for _ in range(2):  # a refusal is not remembered as a session, and leaves nothing behind
        with pytest.raises(bad.error) as refused:
            bad.call()
        assert type(refused.value) is bad.error
        assert str(refused.value) == bad.said


def test_a_module_of_ours_says_which_extra_it_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError) as missing:
        onnx_maxpool.torch_export.translation_table()
    assert str(missing.value) == 'translation_table needs torch: pip install "onnx-maxpool[torch]"'


@pytest.mark.parametrize("bad", COMMANDS, ids=[bad.command for bad in COMMANDS])
def test_commands(
    bad: BadCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line on stderr, an exit code that says whose mistake it is, and nothing else."""
    write_files(tmp_path)
    bad_batches.write_tables(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(bad.command.split())
    assert (ended.value.code, *capsys.readouterr()) == (bad.code, "", f"{bad.said}\n")
