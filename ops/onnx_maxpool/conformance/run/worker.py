"""A backend in a process of its own, which may crash or hang without harm to the run."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import onnx

from onnx_maxpool.conformance.backends import BackendError, describe, find_backend
from onnx_maxpool.conformance.run.attempt import Attempt, attempt
from onnx_maxpool.types import Array

START_SECONDS = 180.0
"""How long a backend may take to be imported."""


class Worker:
    """Runs one backend, by name, in child processes: the next one is started after a crash or a hang.

    Use it as a context manager. Raises BackendError where the backend cannot be imported.
    """

    def __init__(self, name: str, time_limit: float) -> None:
        self.name = name
        self.time_limit = time_limit
        self.description: dict[str, str] = {}
        self._process: Any = None
        self._connection: Any = None
        with tempfile.NamedTemporaryFile(prefix="onnx_maxpool_", suffix=".log", delete=False) as log:
            self._log = Path(log.name)

    def __enter__(self) -> Worker:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._log.unlink()

    def attempt(self, model: onnx.ModelProto, inputs: Mapping[str, Array]) -> Attempt:
        """Run a model on inputs, within the time limit."""
        if self._process is None:
            self._start()
        start = time.perf_counter()
        try:
            self._connection.send((model.SerializeToString(), dict(inputs)))
            if not self._connection.poll(self.time_limit):
                self._stop()
                return Attempt("timed out", text=f"no answer within {self.time_limit:g} s", seconds=self.time_limit)
            answer: Attempt = self._connection.recv()
        except (EOFError, ConnectionError):
            return Attempt("crashed", text=self._stop(), seconds=time.perf_counter() - start)
        return Attempt(answer.happened, answer.outputs, answer.text, time.perf_counter() - start)

    def _start(self) -> None:
        # A fresh interpreter, not a fork: a backend's threads and locks must not be copied.
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self.name, str(self._log)), daemon=True)
        self._process.start()
        theirs.close()
        try:
            ready = self._connection.poll(START_SECONDS)
            answer = self._connection.recv() if ready else f"{self.name} did not start within {START_SECONDS:g} s"
        except EOFError:
            answer = f"{self.name} died while it was imported: {self._stop()}"
        if isinstance(answer, str):
            self._stop()
            raise BackendError(answer)
        self.description = answer

    def _stop(self) -> str:
        """End the process; how it ended, with the last line that it wrote."""
        if self._process is None:
            return ""
        self._connection.close()
        self._process.join(1)
        ended_by_itself = self._process.exitcode is not None
        if not ended_by_itself:
            self._process.kill()
            self._process.join()
        code = self._process.exitcode
        self._process.close()
        self._process = None
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return _cause(code) + (f": {lines[-1]}" if lines else "")


def _cause(code: int | None) -> str:
    if code is not None and code < 0:
        return signal.Signals(-code).name
    return f"exit code {code}"


def _serve(connection: Connection, name: str, log: str) -> None:
    """The child's side: import the backend, then answer until the parent hangs up."""
    # What a backend prints, natively too, goes to the log and not between the parent's lines.
    with open(log, "w") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    try:
        backend = find_backend(name)
        connection.send(describe(backend))
    except BackendError as error:
        connection.send(str(error))
        return
    except Exception as error:
        connection.send(f"{name}: {type(error).__name__}: {error}")
        return
    with contextlib.suppress(EOFError):
        while True:
            model, inputs = connection.recv()
            connection.send(attempt(backend, onnx.load_model_from_string(model), inputs))
