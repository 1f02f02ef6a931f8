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
from contextlib import suppress
from typing import Any

from onnx_maxpool.benchmark.worker import serve
from onnx_maxpool.processes import Child, EndedError

PATIENCE = 300.0
"""Seconds until a process that does not answer is ended."""
REST = 0.3
"""Seconds that a process gets to come to rest where it cannot be stopped."""


class RefusalError(Exception):
    """A runtime does not support a row, or is not installed. The message says what it said."""


class GoneError(RefusalError):
    """The process ended, or did not answer in time and was ended. Another one may be started."""


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
            done, result = self._child.ask((method, arguments), PATIENCE)
        except EndedError as error:
            raise GoneError(str(error)) from None
        except TimeoutError as error:
            self._child.end()
            raise GoneError(str(error)) from None
        self._stop()
        if not done:
            raise RefusalError(result)
        return result

    def _stop(self) -> None:
        if not hasattr(signal, "SIGSTOP"):
            time.sleep(REST)
        else:
            self._signal(signal.SIGSTOP)
            self._stopped = True

    def _continue(self) -> None:
        if self._stopped:
            self._signal(signal.SIGCONT)
            self._stopped = False

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):  # it ended, or the system ended it, while it waited
            os.kill(self._child.pid, number)

    def close(self) -> None:
        """End the process, stopped or not."""
        self._child.end()
