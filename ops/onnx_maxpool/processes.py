"""A Python process of its own at the other end of a pipe: what runs there may crash or hang, and its parent goes on."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from onnx_maxpool.errors import WorkerError

MOST_THREADS = 1024
"""That a session may be asked for, and of processes that a command may."""


class EndedError(WorkerError):
    """The process ended in place of an answer."""

    def __init__(self, exit_code: int | None) -> None:
        super().__init__(f"its process ended with exit code {exit_code}")


class Child:
    """A process that answers requests, one after the other. Requests and answers are whatever can be pickled."""

    def __init__(self, serve: Callable[..., None], *arguments: object) -> None:
        """Start `serve(connection, *arguments)` in a process that ends with this one at the latest.

        Where this one is killed, `answer_requests` sees to that, and on Linux even of a process that is stopped. There
        it ends with the thread that starts it, too.
        """
        # A fresh interpreter, not a fork: threads and locks must not be copied.
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, *arguments), daemon=True)
        self._process.start()
        theirs.close()

    @property
    def alive(self) -> bool:
        """Whether the process is there to be asked."""
        return self._process.is_alive()

    @property
    def pid(self) -> int:
        """The number that the system gave it."""
        assert self._process.pid is not None  # it was started
        return self._process.pid

    def ask(self, request: object, seconds: float | None = None) -> Any:
        """The answer to a request; raises what `receive` raises."""
        try:
            self._connection.send(request)
        except OSError:
            raise self._ended() from None
        return self.receive(seconds)

    def receive(self, seconds: float | None = None) -> Any:
        """What comes next, within so many seconds. Raises EndedError, and TimeoutError where nothing came."""
        try:
            came = self._connection.poll(seconds)
            answer = self._connection.recv() if came else None
        except (EOFError, OSError):
            raise self._ended() from None
        if not came:
            raise TimeoutError(f"no answer within {seconds:g} s")
        return answer

    def end(self, patience: float = 0) -> int | None:
        """Hang up, and end the process where it does not end by itself within so many seconds; its exit code."""
        self._connection.close()
        self._process.join(patience)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()
        return self._process.exitcode

    def _ended(self) -> EndedError:
        self._process.join(1)
        return EndedError(self._process.exitcode)


def answer_requests(connection: Connection, answer: Callable[[Any], object]) -> None:
    """The child's side: answer each request until the parent hangs up."""
    if sys.platform == "linux":  # a stopped process does not see that
        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        while True:
            connection.send(answer(connection.recv()))


def send_output_to(path: str) -> None:
    """Write to a file what this process prints, natively too, and not between its parent's lines."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for stream in (1, 2):
        os.dup2(file, stream)
