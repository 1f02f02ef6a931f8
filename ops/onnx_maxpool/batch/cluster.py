"""The engine `ray`: Ray Data computes the parts, in actors of a cluster or of this machine."""

from __future__ import annotations

import logging
import socket
import warnings
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from onnx_maxpool.batch.compute import Computer, PartResult
from onnx_maxpool.batch.inputs import Part
from onnx_maxpool.errors import InputError, WorkerError
from onnx_maxpool.machine import cpus

ATTEMPTS = 3
"""How often a part is begun anew whose actor dies, before the run fails."""
SECONDS_TO_CONNECT = 10


class Actor:
    """Computes the parts of a batch of their numbers."""

    def __init__(self, computer: Computer, parts: Sequence[Part]) -> None:
        self._computer = computer
        self._parts = {part.number: part for part in parts}

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """A result per number."""
        results = [self._computer(self._parts[int(number)]) for number in batch["number"]]
        return {
            "number": np.array([result.number for result in results]),
            "rows": np.array([result.rows for result in results]),
            "failed": np.array([result.failed for result in results]),
            "error": [result.error or "" for result in results],
            "cause": [result.cause for result in results],
        }


def compute_parts(
    computer: Computer, parts: Sequence[Part], workers: int | None, threads: int, address: str | None
) -> Generator[PartResult, None, None]:
    """The results of parts, as they come, from so many actors of `threads` processors each.

    `address` is a Ray cluster's, as `ray.init` takes it; without one a cluster of this machine is made, and ended at
    the end. Without `workers` there are as many as the cluster has processors for. Ray begins an actor that dies anew,
    and its part, `ATTEMPTS` times. Raises WorkerError where that does not help, and InputError where there is no such
    cluster, or none of its machines has `threads` processors.
    """
    if not parts:  # of which Ray Data makes no data set
        return
    import ray
    from ray.exceptions import RayError

    begun = not ray.is_initialized()
    if begun:
        _connect(ray, workers, threads, address)
    ray.data.DataContext.get_current().enable_progress_bars = False
    try:
        most = _actors(ray.nodes(), threads)
        size = workers or most
        numbers = ray.data.from_items([{"number": part.number} for part in parts], override_num_blocks=len(parts))
        with warnings.catch_warnings():
            # Ray 2.64 takes the two limits away and begins an actor anew for ever; pyproject.toml ends before it.
            warnings.filterwarnings("ignore", message=".*ray_remote_args", category=DeprecationWarning)
            results = numbers.map_batches(
                Actor,
                fn_constructor_args=(computer, tuple(parts)),
                compute=ray.data.ActorPoolStrategy(size=min(size, len(parts))),
                batch_size=1,
                num_cpus=threads,
                max_restarts=ATTEMPTS * len(parts),  # of an actor, whatever parts it dies on
                max_task_retries=ATTEMPTS,
            )
        _quieten()
        unfinished = {part.number: part for part in parts}
        try:
            for row in results.iter_rows():
                number = int(row["number"])
                if unfinished.pop(number, None) is not None:
                    yield PartResult(number, int(row["rows"]), int(row["failed"]), row["error"] or None, row["cause"])
        except RayError as error:
            where = next(iter(unfinished.values())).place if unfinished else "all rows are computed"
            reason = str(error).strip().splitlines()[-1]
            raise WorkerError(f"Ray failed, {len(unfinished)} parts unfinished, the first {where}: {reason}") from None
    finally:
        if begun:
            ray.shutdown()


def _actors(nodes: Sequence[dict[str, Any]], threads: int) -> int:
    """How many actors a cluster has processors for. Ray would wait for ever for a machine that has more of them."""
    processors = [int(node["Resources"].get("CPU", 0)) for node in nodes if node["Alive"]]
    most = max(processors, default=0)
    if threads > most:
        raise InputError(
            f"--threads {threads}: expected at most {most}, as no machine of the cluster has more processors"
        )
    return sum(each // threads for each in processors)


def _quieten() -> None:
    """Let Ray Data log errors only: the command has a bar of its own.

    Ray Data sets the level of its uppermost logger again when a run begins, but of none below it.
    """
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("ray.data."):
            logging.getLogger(name).setLevel(logging.ERROR)


def _connect(ray: Any, workers: int | None, threads: int, address: str | None) -> None:
    options = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        # As with the other engine, there may be more threads than processors.
        wanted = workers * threads if workers else max(cpus(), threads)
        ray.init("local", num_cpus=wanted, include_dashboard=False, **options)
        return
    host, _, port = address.partition(":")
    try:
        if port.isdigit():  # Ray would try for minutes
            socket.create_connection((host, int(port)), timeout=SECONDS_TO_CONNECT).close()
        ray.init(address=address, **options)
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"--address {address}: {error}") from None
