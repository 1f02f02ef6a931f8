"""One batch run: what is in the output's folder before it, the parts, and what is there after it."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from onnx_maxpool.adapters.predictor import Predictor
from onnx_maxpool.batch.compute import FAILED_FOLDER, Computer, OnError, PartResult, check_columns, writing
from onnx_maxpool.batch.inputs import RUN_FILE, Part, find_input
from onnx_maxpool.errors import ModelError, OutputError, RowError, WorkerError
from onnx_maxpool.files import check_utf_8
from onnx_maxpool.graph.reading import external_files, is_ort_format, read_model
from onnx_maxpool.types import BinEdges

Existing = Literal["refuse", "resume", "overwrite"]
Engine = Callable[[Computer, Sequence[Part]], Generator[PartResult, None, None]]

UNFINISHED_RUN_FILE = f".{RUN_FILE}.*"
FAILED_FILE = "_failed.jsonl"
"""All failed rows, a line each."""


@dataclass
class Summary:
    """What a run did."""

    total: int
    """Rows of the input."""
    parts: int
    parts_before: int = 0
    """Of these, how many were there from a run before."""
    rows_before: int = 0
    written: int = 0
    """Rows in the output, those from before included."""
    failed: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Job:
    """What is to be computed."""

    model: Path
    input: Path
    output: Path
    threads: int = 1
    rois: tuple[str, ...] = ()
    bin_edges: BinEdges | None = None
    batch_size: int = 8
    part_rows: int = 512
    on_error: OnError = "fail"
    existing: Existing = "refuse"


def run_job(job: Job, engine: Engine, progress: Callable[[Summary], None]) -> Summary:
    """Compute what a job lacks. `progress` is called before the first part and after each.

    Raises InputError for an input that does not fit and OutputError for an output that cannot be written, both before
    anything is computed. Then RowError at the first row that fails, unless those are skipped, OutputError at the first
    file that cannot be written, ModelError where a process cannot load the model, and WorkerError where processes die
    again and again on the same rows. What is finished by then stays, for `resume`.
    """
    predictor = Predictor(job.model, threads=job.threads, rois=job.rois, bin_edges=job.bin_edges)
    check_columns(predictor.batching)
    found = find_input(job.input, predictor.batching, job.part_rows)
    prepare_folder(job, found.digest)
    computer = Computer(predictor, str(job.output.absolute()), found.others, job.batch_size, job.on_error)
    summary = Summary(found.rows, len(found.parts))
    missing: list[Part] = []
    for part in found.parts:
        done = computer.finished(part)
        if done is None:
            missing.append(part)
            continue
        summary.parts_before += 1
        summary.rows_before += done.rows + done.failed
        _add(summary, done)
    started = time.perf_counter()
    progress(summary)
    try:
        with closing(engine(computer, missing)) as results:
            for result in results:
                if result.error is not None:
                    raise failure(result, result.error)
                _add(summary, result)
                summary.seconds = time.perf_counter() - started
                progress(summary)
    finally:
        remove_unfinished(job.output)
    with writing(job.output / FAILED_FILE):
        gather_failures(job.output, found.parts)
    _check(computer, found.parts, summary)
    return summary


def failure(result: PartResult, message: str) -> Exception:
    """What a run raises for a part that failed."""
    if result.cause == "row":
        return RowError({}, message)
    if result.cause == "model":
        return ModelError(message)
    return OutputError(message) if result.cause == "output" else WorkerError(message)


def _add(summary: Summary, result: PartResult) -> None:
    summary.written += result.rows
    summary.failed += result.failed


def _check(computer: Computer, parts: Iterable[Part], summary: Summary) -> None:
    """Raise OutputError unless every row is in a part's file or among the failed ones, once."""
    held = [(part, computer.finished(part)) for part in parts]
    for part, result in held:
        if result is None:
            raise OutputError(f"{part.place}: {part.name} is not there or not whole, expected it after the run")
    rows = sum(result.rows + result.failed for _, result in held if result is not None)
    if rows != summary.total or summary.written + summary.failed != summary.total:
        raise OutputError(f"{rows} rows came out of {summary.total}, expected each once")


def prepare_folder(job: Job, input_digest: str) -> None:
    """Make the output's folder, or make sure that what is in it is of the same run. Else raises OutputError."""
    folder = job.output
    check_utf_8(folder.absolute(), OutputError)
    run_file = folder / RUN_FILE
    said = {
        "the model": model_digest(job.model),
        "rois": sorted(job.rois) or None,
        "bin edges": job.bin_edges,
        "the input": str(job.input.absolute()),
        "what is in the input": input_digest,
        "the batch size": job.batch_size,
        "the rows of a part": job.part_rows,
    }
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file, expected a folder")
    if folder.is_dir() and not all(map(_is_left_over, folder.iterdir())):
        if not run_file.is_file():
            raise OutputError(f"{folder} has files that batch did not write, expected an empty folder")
        if job.existing == "refuse":
            raise OutputError(f"{folder} has the output of a run, expected none: give --resume or --overwrite")
        if job.existing == "overwrite":
            clear(folder)
        elif (before := _run_before(run_file)) != said:
            other = next((name for name in said if before.get(name) != said[name]), "something")
            raise OutputError(f"{folder} is of a run where {other} differs, expected the same run for --resume")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        remove_unfinished(folder)
        write_whole(run_file, json.dumps(said, indent=2))  # first, as it tells whose the rest is
        (folder / FAILED_FOLDER).mkdir(exist_ok=True)


def _is_left_over(entry: Path) -> bool:
    """Whether a run that ended before it wrote RUN_FILE, or while it was cleared, may have left this."""
    if entry.name == FAILED_FOLDER and entry.is_dir():
        return not any(entry.iterdir())
    return entry.match(UNFINISHED_RUN_FILE)


def _run_before(run_file: Path) -> dict[str, object]:
    """What a run said of itself. Raises OutputError for a file that is damaged."""
    try:
        said = json.loads(run_file.read_text())
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise OutputError(f"{run_file} is damaged, expected what a run wrote: give --overwrite")
    return said


def remove_unfinished(folder: Path) -> None:
    """Remove the files that processes were writing when they were killed."""
    unfinished = (".part-*", f"{FAILED_FOLDER}/.part-*", UNFINISHED_RUN_FILE, f".{FAILED_FILE}.*")
    for file in (file for pattern in unfinished for file in folder.glob(pattern)):
        file.unlink(missing_ok=True)


def clear(folder: Path) -> None:
    """Remove what `batch` wrote, and nothing else; last the file that says that it did."""
    failed = (f"{FAILED_FOLDER}/part-*", f"{FAILED_FOLDER}/.part-*", FAILED_FILE)
    for pattern in ("part-*.parquet", ".part-*", *failed, RUN_FILE):
        for file in folder.glob(pattern):
            file.unlink()


def gather_failures(folder: Path, parts: Iterable[Part]) -> None:
    """Put the parts' failed rows into one file; without any, there is none."""
    files = [folder / FAILED_FOLDER / f"{part.name}.jsonl" for part in parts]
    lines = "".join(file.read_text() for file in files if file.exists())
    if lines:
        write_whole(folder / FAILED_FILE, lines)
    else:
        (folder / FAILED_FILE).unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a file: the whole of it, or nothing."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    with unfinished.open("w") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    unfinished.replace(path)


def model_digest(path: Path) -> str:
    """Changes when the model does: its content, and the sizes and times of the files with its external data."""
    digest = hashlib.sha256(path.read_bytes())
    for name in [] if is_ort_format(path) else external_files(read_model(path)):
        status = (path.parent / name).stat()
        digest.update(f"{name}\0{status.st_size}\0{status.st_mtime_ns}".encode())
    return digest.hexdigest()
