"""Runtimes in processes of their own that take turns: while one is timed, all others are stopped.

In one process runtimes disturb one another, as their thread pools spin for a while after their work, on the cores that
the next one needs. Processes that merely wait for their turn do the same: ONNX Runtime's threads were seen to spin for
20 to 40 ms after a run, and MNN, timed at once after one, took three times as long as with ONNX Runtime's process
stopped (32 and 10 ms on two cores), OpenVINO 1.2 times. So a process is stopped by a signal as soon as it has answered,
and continued for its next turn; a stopped process cannot spin. Where the system has no such signal, a process is given
a moment to come to rest.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from onnx_maxpool.benchmark.worker import serve
from onnx_maxpool.processes import Child, EndedError

REST = 0.3
"""Seconds that a process gets to come to rest where it cannot be stopped."""


class RefusalError(Exception):
    """A runtime does not take a row, is not installed, or has died. The message says what it said."""


class Runtime:
    """A process that runs one peer on so many threads; stopped but while it answers."""

    def __init__(self, name: str, threads: int) -> None:
        """Start the process; raises RefusalError where the peer's runtime is not installed."""
        self.name = name
        self.threads = threads
        self._child = Child(serve, threads)
        self._stopped = False
        try:
            self.versions: dict[str, str] = self.ask("start", name)
        except BaseException:
            self.close()
            raise

    @property
    def alive(self) -> bool:
        """Whether the process is there to be asked."""
        return self._child.alive

    def ask(self, method: str, *arguments: object) -> Any:
        """A method of `worker.Worker`, while all other processes are stopped. Raises RefusalError."""
        self._continue()
        try:
            done, result = self._child.ask((method, arguments))
        except EndedError as error:
            raise RefusalError(str(error)) from None
        self._stop()
        if not done:
            raise RefusalError(result)
        return result

    def _stop(self) -> None:
        if not hasattr(signal, "SIGSTOP"):
            time.sleep(REST)
        else:
            os.kill(self._child.pid, signal.SIGSTOP)
            self._stopped = True

    def _continue(self) -> None:
        if self._stopped:
            os.kill(self._child.pid, signal.SIGCONT)
            self._stopped = False

    def close(self) -> None:
        """End the process, stopped or not."""
        self._child.end()
