"""A backend in a process of its own, which may crash or hang without harm to the run."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

import onnx

from onnx_maxpool.conformance.backends import BACKENDS, BackendError, locate
from onnx_maxpool.conformance.run import serving
from onnx_maxpool.conformance.run.execution import Execution, Happened
from onnx_maxpool.types import Array

START_SECONDS = 180.0
"""How long a backend may take to be imported."""
LOOK_SECONDS = 0.2
"""How often to look whether its process is there."""
LOG_END = 1 << 16
"""Bytes of what a process wrote that are looked at."""
LONGEST_WORDS = 600
"""Characters of them that are told, as of an exception's."""

PACKAGE = Path(__file__).parent.parent.parent
"""The folder of `onnx_maxpool`."""


class Worker:
    """Runs one backend, by name, in child processes: the next one is started after a crash or a hang.

    Use it as a context manager. Raises BackendError where the backend cannot be imported. `python` is another
    environment's interpreter, which needs onnx and NumPy; the backend's runtime is imported there. `settings` are
    environment variables that are set for the processes.

    Nothing stays behind: the processes' temporary files lie in a folder that goes with the worker, their output in a
    file without a name, what a process has started is ended with it, and on Linux it ends with its parent.
    """

    def __init__(
        self,
        name: str,
        time_limit: float,
        python: str | os.PathLike[str] | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.time_limit = time_limit
        self.python = python
        self.description: dict[str, str] = {}
        """What the backend says about itself, once it is started."""
        self.environment: dict[str, str] = {}
        """The platform, and the versions of Python, onnx and NumPy, in the backend's process."""
        self._settings = dict(settings or {})
        module, attribute, package = locate(name)
        built_in, elsewhere = name in BACKENDS, python is not None
        # Built-in backends are always ours. In another environment our package may be absent, or another version.
        bare = str(PACKAGE) if built_in and elsewhere else ""
        self._start_message = asdict(serving.Start(name, module, attribute, package, bare))
        own = [] if built_in else [os.getcwd()]
        inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep) if elsewhere else sys.path
        self._path = [*own, *(path or os.getcwd() for path in inherited if path or not elsewhere)]
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._on_termination: Any = None

    def __enter__(self) -> Worker:
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            # As the default ends the process at once, nothing would be tidied up.
            self._on_termination = signal.signal(signal.SIGTERM, _exit)
        self._log = tempfile.TemporaryFile(prefix="onnx_maxpool_")
        self._folder = tempfile.TemporaryDirectory(prefix="onnx_maxpool_", ignore_cleanup_errors=True)
        try:
            self._start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def execute(self, model: onnx.ModelProto, inputs: Mapping[str, Array]) -> Execution:
        """Run a model on inputs, within the time limit."""
        connection = self._connection or self._start()
        start = time.perf_counter()
        try:
            connection.send((model.SerializeToString(), [serving.encode(array) for array in inputs.values()], "CPU"))
            if not self._hears(connection, self.time_limit):
                self._stop()
                return Execution("timed out", text=f"no answer within {self.time_limit:g} s", seconds=self.time_limit)
            happened, outputs, text = cast(serving.Answer, connection.recv())
        except (EOFError, OSError):
            return Execution("crashed", text=self._stop(), seconds=time.perf_counter() - start)
        seconds = time.perf_counter() - start
        try:
            arrays = tuple(map(serving.decode, outputs))
        except TypeError as error:
            return Execution("raised", text=f"an output of a type that is not known: {error}", seconds=seconds)
        return Execution(cast(Happened, happened), arrays, text, seconds)

    def _start(self) -> Connection:
        self._log.seek(0)
        self._log.truncate()
        ours, theirs = socket.socketpair()
        with theirs:
            program = str(self.python or sys.executable)
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(self._path), "TMPDIR": self._folder.name}
            if self.python is not None:
                environment.pop("PYTHONHOME", None)
            try:
                self._process = subprocess.Popen(
                    [program, serving.__file__, str(theirs.fileno())],
                    env={**environment, **self._settings},
                    pass_fds=(theirs.fileno(),),
                    stdin=subprocess.DEVNULL,
                    stdout=self._log,
                    stderr=self._log,
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise BackendError(f"{program}: {error.strerror}, expected a Python interpreter") from None
        connection = self._connection = Connection(ours.detach())
        answer: Any
        try:
            connection.send(self._start_message)
            came = self._hears(connection, START_SECONDS)
            answer = connection.recv() if came else f"{self.name} did not start within {START_SECONDS:g} s"
        except (EOFError, OSError):
            answer = f"{self.name} died while it was imported: {self._stop()}"
        if isinstance(answer, str):
            self._stop()
            raise BackendError(answer)
        self.description, self.environment = answer
        return connection

    def _hears(self, connection: Connection, seconds: float) -> bool:
        """Whether an answer comes in time. Raises EOFError where the process ends without one.

        Its end alone does not show in the connection: a process that it has forked may hold that open.
        """
        end = time.monotonic() + seconds
        while not connection.poll(min(max(end - time.monotonic(), 0), LOOK_SECONDS)):
            if self._process is not None and self._process.poll() is not None and not connection.poll():
                raise EOFError
            if time.monotonic() >= end:
                return False
        return True

    def _stop(self) -> str:
        """End the process; how it ended, with the last line that it wrote."""
        if self._process is None or self._connection is None:
            return ""
        self._connection.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        with contextlib.suppress(ProcessLookupError, PermissionError):  # where all have ended
            os.killpg(self._process.pid, signal.SIGKILL)
        code = self._process.wait()
        self._process = self._connection = None
        self._log.seek(max(self._log.seek(0, os.SEEK_END) - LOG_END, 0))
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return _cause(code) + (f": {lines[-1][:LONGEST_WORDS]}" if lines else "")

    def _end(self) -> None:
        self._stop()
        self._log.close()
        self._folder.cleanup()
        if self._on_termination is not None:
            signal.signal(signal.SIGTERM, self._on_termination)


def _exit(number: int, _: object) -> None:
    sys.exit(128 + number)


def _cause(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
