"""What the runtimes that scripts/try_runtimes.py tries give, each in a process of its own, and what is wrong in it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from onnx_maxpool.difference import first_difference

WORKER = Path(__file__).with_name("runtime_worker.py")
LIMIT_S = 1800
"""For all jobs of a runtime."""
LOST = "are lost"
STOPPED = threading.Event()
"""Set where all workers are to end: Ctrl-C comes to the main thread only, and not to processes of other sessions."""


@dataclass(frozen=True)
class Job:
    """One case in one form."""

    kind: str
    form: str
    inputs: Mapping[str, Any]
    model: onnx.ModelProto
    expected: Sequence[Any]


def answers(name: str, python: str, todo: Sequence[Job], folder: Path) -> list[str | list[Any]]:
    """What the runtime gives for each job: outputs, or words.

    Raises SystemExit where the worker ends before it begins a job.
    """
    shutil.rmtree(folder, ignore_errors=True)
    for number, job in enumerate(todo):
        place = _place(folder, number)
        place.mkdir(parents=True)
        onnx.save_model(job.model, place / "model.onnx")
        np.savez(place / "inputs.npz", **job.inputs)
    end, first = time.monotonic() + LIMIT_S, 0
    while first < len(todo):
        code, said = _run([python, str(WORKER), name, str(folder), str(first)], end - time.monotonic())
        begun = sum((_place(folder, number) / "started").exists() for number in range(len(todo)))
        if code is not None and begun == first:
            raise SystemExit(f"{name}: {_ending(code)} before it begins job {first}: {said}")
        last = _place(folder, max(begun - 1, 0))
        if begun > first and not _is_done(last):
            (last / "error.txt").write_text(_ending(code))
        elif code:  # what has its answer keeps it
            print(f"{name}: {_ending(code)} after job {begun - 1}: {said[-300:]}", file=sys.stderr)
        if code is None:
            break
        first = begun
    return [_answer(_place(folder, number)) for number in range(len(todo))]


def _run(command: Sequence[str], seconds: float) -> tuple[int | None, str]:
    """A worker's exit code, None where it took longer, and what it said on stderr. What it began ends with it."""
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True
    ) as process:
        end = time.monotonic() + seconds
        while not STOPPED.is_set():
            try:
                _, said = process.communicate(timeout=min(max(end - time.monotonic(), 0), 1))
                return process.returncode, said
            except subprocess.TimeoutExpired:
                if time.monotonic() >= end:
                    break
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        os.killpg(process.pid, signal.SIGKILL)
        said = process.communicate()[1]
    if STOPPED.is_set():
        raise SystemExit("stopped")
    return None, said


def _ending(code: int | None) -> str:
    return f"the process ends with {code}" if code is not None else f"the jobs took longer than {LIMIT_S} s in all"


def _place(folder: Path, number: int) -> Path:
    return folder / f"{number:04}"


def _is_done(place: Path) -> bool:
    return (place / "outputs.npz").exists() or (place / "error.txt").exists()


def _answer(place: Path) -> str | list[Any]:
    if (place / "error.txt").exists():
        return (place / "error.txt").read_text()
    if not (place / "outputs.npz").exists():
        return f"not asked: the jobs before took longer than {LIMIT_S} s"
    with np.load(place / "outputs.npz") as file:
        return [file[key] for key in file.files]


def difference(given: str | list[Any], expected: Sequence[Any]) -> str:
    """What is wrong, in the runtime's words where it has any; nothing if all is right.

    A runtime may have an output in another type, if each value in it is right: OpenCV has float for float16, and
    IREE's integers have no sign.
    """
    if isinstance(given, str):
        return given
    if len(given) != len(expected):
        return f"{len(given)} outputs, expected {len(expected)}"
    for actual, right in zip(given, expected, strict=True):
        same_kind = right.dtype.kind in "iu" and actual.dtype.kind in "iu" and actual.itemsize == right.itemsize
        with np.errstate(all="ignore"):
            typed = actual.view(right.dtype) if same_kind and actual.shape else actual.astype(right.dtype)
            back = typed.astype(actual.dtype)
        if not same_kind and not np.array_equal(back, actual, equal_nan=True):
            return f"an output is {actual.dtype}, and has values that {right.dtype} does not have"
        found = first_difference(right, typed)
        if found is not None:
            return str(found)
    return ""


def what_a_nan_gives(given: str | list[Any], expected: Sequence[Any]) -> str:
    """Whether outputs are NaN where they should be, in a few words, or in the runtime's."""
    if isinstance(given, str):
        return f"`{short(given)}`"
    if len(given) != len(expected):
        return f"{len(given)} outputs, expected {len(expected)}"
    if given[0].shape != expected[0].shape:
        return f"shape {list(given[0].shape)}, expected {list(expected[0].shape)}"
    y, right = given[0].astype(np.float64), expected[0].astype(np.float64)
    due, wrong = np.isnan(right), (y != right) & ~(np.isnan(y) & np.isnan(right))
    if (wrong & ~due).any():
        return f"{(wrong & ~due).sum()} of {(~due).sum()} other cells differ"
    lost = (wrong & due).sum()
    return f"{lost} of {due.sum()} {LOST}" if lost else "NaN"


def short(words: str) -> str:
    """The line that says something, without places on this machine."""
    lines = [line for line in words.splitlines() if line.strip() and "Exception from" not in line]
    line = lines[0] if lines else ""
    if "Traceback" in line:
        line = next(
            (line for line in lines if re.match(r"\w[\w.]*(Error|Exception):", line) and line != lines[0]), line
        )
    line = re.sub(r"(/[\w.+-]+){2,}/?(:\d+)*:? ?", "", line)
    return line if len(line) <= 160 else f"{line[:157]}..."
