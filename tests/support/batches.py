"""Batches in this process: the tests of what is not about processes are quick."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from onnx_maxpool.batch.compute import Computer
from onnx_maxpool.batch.job import Job, Summary, run_job


def job(folder: Path, **options: Any) -> Job:
    options = {"batch_size": 3, "part_rows": 8, **options}
    return Job(folder / "head.onnx", folder / "in.parquet", folder / "out", **options)


def here(computer: Computer, parts: Any) -> Any:
    """An engine that is this process."""
    yield from map(computer, parts)


def run_here(folder: Path, engine: Callable[..., Any] = here, **options: Any) -> Summary:
    return run_job(job(folder, **options), engine, lambda summary: None)
