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
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

import onnx

from onnx_maxpool.conformance.backends import BACKENDS, BackendError, locate
from onnx_maxpool.conformance.run import memory, serving
from onnx_maxpool.conformance.run.execution import Execution, Happened
from onnx_maxpool.types import Array

START_SECONDS = 180.0
"""How long a backend may take to be imported."""
SPARE_SECONDS = 5.0
"""How much longer than the time limit an answer may take that has begun."""
LOOK_SECONDS = 0.1
"""How often to look whether its process is there, and what memory it takes."""
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
    environment variables that are set for the processes. `memory_limit` is in bytes, by default half of the machine's
    memory: a process that takes more is ended. Where the system does not tell what a process takes, `environment` says
    that there is no limit.

    Nothing stays behind: the processes' temporary files lie in a folder that goes with the worker, their output in a
    file without a name, what a process has started is ended with it, and on Linux it ends with its parent.
    """

    def __init__(
        self,
        name: str,
        time_limit: float,
        python: str | os.PathLike[str] | None = None,
        settings: Mapping[str, str] | None = None,
        memory_limit: float | None = None,
    ) -> None:
        self.name = name
        self.time_limit = time_limit
        self.memory_limit = memory_limit or memory.default_limit()
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
        message = model.SerializeToString(), [serving.encode(array) for array in inputs.values()], "CPU"
        with _cut_off(connection, self.time_limit + SPARE_SECONDS) as was_cut:
            try:
                connection.send(message)
                if not self._hears(connection, self.time_limit):
                    self._stop()
                    text = f"no answer within {self.time_limit:g} s"
                    return Execution("timed out", text=text, seconds=self.time_limit)
                happened, outputs, text = cast(serving.Answer, connection.recv())
            except memory.TooMuchMemoryError as error:
                self._stop(wait=0)
                return Execution("crashed", text=str(error), seconds=time.perf_counter() - start)
            except (EOFError, OSError):
                return self._hung_up(time.perf_counter() - start, was_cut.is_set())
        seconds = time.perf_counter() - start
        try:
            arrays = tuple(map(serving.decode, outputs))
        except TypeError as error:
            return Execution("raised", text=f"an output of a type that is not known: {error}", seconds=seconds)
        return Execution(cast(Happened, happened), arrays, text, seconds)

    def _hung_up(self, seconds: float, was_cut: bool) -> Execution:
        """What came of a process that gives no whole answer: it ends by itself, or it hangs."""
        assert self._process is not None
        if was_cut:
            self._stop()
            return Execution("timed out", text=f"no whole answer within {self.time_limit:g} s", seconds=seconds)
        start = time.perf_counter()
        try:
            # What it ends with is its own only if it is left to end.
            self._process.wait(max(self.time_limit - seconds, SPARE_SECONDS))
        except subprocess.TimeoutExpired:
            self._stop()
            text = f"it hangs up and does not end within {self.time_limit:g} s"
            return Execution("timed out", text=text, seconds=self.time_limit)
        return Execution("crashed", text=self._stop(), seconds=seconds + time.perf_counter() - start)

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
        except memory.TooMuchMemoryError as error:
            answer = f"{self.name} {error} while it was imported"
        except (EOFError, OSError):
            answer = f"{self.name} died while it was imported: {self._stop(SPARE_SECONDS)}"
        if isinstance(answer, str):
            self._stop()
            raise BackendError(answer)
        self.description, self.environment = answer
        if not memory.can_tell():
            self.environment["memory limit"] = "none: the system does not tell what a process takes"
        return connection

    def _hears(self, connection: Connection, seconds: float) -> bool:
        """Whether an answer comes in time. Raises EOFError where the process ends without one.

        Raises TooMuchMemoryError where it takes too much.

        Its end alone does not show in the connection: a process that it has forked may hold that open.
        """
        end = time.monotonic() + seconds
        while not connection.poll(min(max(end - time.monotonic(), 0), LOOK_SECONDS)):
            if self._process is not None and self._process.poll() is not None and not connection.poll():
                raise EOFError
            if self._process is not None and (memory.resident(self._process.pid) or 0) > self.memory_limit:
                raise memory.TooMuchMemoryError(self.memory_limit)
            if time.monotonic() >= end:
                return False
        return True

    def _stop(self, wait: float = 1.0) -> str:
        """End the process, once it had `wait` seconds to do so; how it ended, with the last line that it wrote."""
        if self._process is None or self._connection is None:
            return ""
        self._connection.close()
        is_ours = False
        try:
            self._process.wait(wait)
        except subprocess.TimeoutExpired:
            is_ours = True
        with contextlib.suppress(ProcessLookupError, PermissionError):  # where all have ended
            os.killpg(self._process.pid, signal.SIGKILL)
        code = self._process.wait()
        self._process = self._connection = None
        self._log.seek(max(self._log.seek(0, os.SEEK_END) - LOG_END, 0))
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        cause = "it hung up and did not end" if is_ours else _cause(code)
        return cause + (f": {lines[-1][:LONGEST_WORDS]}" if lines else "")

    def _end(self) -> None:
        self._stop()
        self._log.close()
        self._folder.cleanup()
        if self._on_termination is not None:
            signal.signal(signal.SIGTERM, self._on_termination)


@contextlib.contextmanager
def _cut_off(connection: Connection, seconds: float) -> Iterator[threading.Event]:
    """Close a connection for both sides after so long, which ends a wait for the rest of a message; whether it was."""
    was_cut = threading.Event()
    end = socket.socket(fileno=os.dup(connection.fileno()))

    def cut() -> None:
        was_cut.set()
        with contextlib.suppress(OSError):  # where the other side has
            end.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield was_cut
    finally:
        timer.cancel()
        timer.join()
        end.close()


def _exit(number: int, _: object) -> None:
    sys.exit(128 + number)


def _cause(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
