"""A backend in a process of its own, which may crash or hang without harm to the run."""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path

import onnx

from onnx_maxpool.conformance.backends import BackendError, describe, find_backend
from onnx_maxpool.conformance.run.execution import Execution, execute
from onnx_maxpool.processes import Child, EndedError, answer_requests, send_output_to
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
        self._child: Child | None = None
        with tempfile.NamedTemporaryFile(prefix="onnx_maxpool_", suffix=".log", delete=False) as log:
            self._log = Path(log.name)

    def __enter__(self) -> Worker:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._log.unlink()

    def execute(self, model: onnx.ModelProto, inputs: Mapping[str, Array]) -> Execution:
        """Run a model on inputs, within the time limit."""
        child = self._child or self._start()
        start = time.perf_counter()
        try:
            answer: Execution = child.ask((model.SerializeToString(), dict(inputs)), self.time_limit)
        except TimeoutError as error:
            self._stop()
            return Execution("timed out", text=str(error), seconds=self.time_limit)
        except EndedError:
            return Execution("crashed", text=self._stop(), seconds=time.perf_counter() - start)
        return Execution(answer.happened, answer.outputs, answer.text, time.perf_counter() - start)

    def _start(self) -> Child:
        self._child = Child(_serve, self.name, str(self._log))
        try:
            answer = self._child.receive(START_SECONDS)
        except TimeoutError:
            answer = f"{self.name} did not start within {START_SECONDS:g} s"
        except EndedError:
            answer = f"{self.name} died while it was imported: {self._stop()}"
        if isinstance(answer, str):
            self._stop()
            raise BackendError(answer)
        self.description = answer
        return self._child

    def _stop(self) -> str:
        """End the process; how it ended, with the last line that it wrote."""
        if self._child is None:
            return ""
        code = self._child.end(patience=1)
        self._child = None
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return _cause(code) + (f": {lines[-1]}" if lines else "")


def _cause(code: int | None) -> str:
    if code is not None and code < 0:
        return signal.Signals(-code).name
    return f"exit code {code}"


def _serve(connection: Connection, name: str, log: str) -> None:
    """The child's side: import the backend, then answer until the parent hangs up."""
    send_output_to(log)
    try:
        backend = find_backend(name)
        connection.send(describe(backend))
    except BackendError as error:
        connection.send(str(error))
        return
    except Exception as error:
        connection.send(f"{name}: {type(error).__name__}: {error}")
        return
    answer_requests(connection, lambda asked: execute(backend, onnx.load_model_from_string(asked[0]), asked[1]))
