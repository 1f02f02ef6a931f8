"""Every row of the tables of bad arguments, of functions and of commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from words import bad_batches
from words.bad_arguments import BAD_ARGUMENTS, BAD_COMMANDS, BadArgument, BadCommand, write_files

from onnx_maxpool.cli.main import main

ARGUMENTS = (*BAD_ARGUMENTS, *bad_batches.BAD_ARGUMENTS)
COMMANDS = (*BAD_COMMANDS, *bad_batches.BAD_COMMANDS)


@pytest.mark.parametrize("bad", ARGUMENTS, ids=[f"{bad.function}, {bad.what}" for bad in ARGUMENTS])
def test_functions(bad: BadArgument) -> None:
    for _ in range(2):  # a refusal is not remembered as a session, and leaves nothing behind
        with pytest.raises(bad.error) as refused:
            bad.call()
        assert type(refused.value) is bad.error
        assert str(refused.value) == bad.said


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
