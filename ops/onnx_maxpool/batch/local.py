"""The engine `local`: processes of this machine, each of which computes a part at a time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from onnx_maxpool.batch.compute import Computer, PartResult
from onnx_maxpool.batch.inputs import Part

ATTEMPTS = 3
"""How often a part is begun whose processes die, before the run fails."""

_computer: Computer
"""Of a worker process."""


def compute_parts(computer: Computer, parts: Sequence[Part], workers: int) -> Generator[PartResult, None, None]:
    """The results of parts, as they come, from so many processes.

    A part whose process dies, whatever ends it, is begun again in a new process; where that happens `ATTEMPTS` times,
    its result is an error that names its rows.
    """
    waiting = deque((part, 1) for part in parts)
    # A pool of one process each: where a pool breaks, it is known which part its process was at.
    idle = [_pool(computer) for _ in range(min(workers, len(parts)))]
    running: dict[Future[PartResult], tuple[ProcessPoolExecutor, Part, int]] = {}
    try:
        while waiting or running:
            while waiting and idle:
                part, attempt = waiting.popleft()
                with _interrupts_wait():  # a process that starts is not ready for Ctrl-C
                    future, pool = _submit(computer, idle.pop(), part)
                running[future] = pool, part, attempt
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                pool, part, attempt = running.pop(future)
                try:
                    result = future.result()
                except BrokenProcessPool:
                    pool.shutdown(wait=False)
                    idle.append(_pool(computer))
                    if attempt < ATTEMPTS:
                        waiting.appendleft((part, attempt + 1))
                        continue
                    said = f"{part.place}: {attempt} processes died on these rows"
                    result = PartResult(part.number, error=said, cause="worker")
                else:
                    idle.append(pool)
                yield result
    finally:
        for pool in (*idle, *(pool for pool, _, _ in running.values())):
            _end(pool)


def _pool(computer: Computer) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin, (computer,))


def _submit(
    computer: Computer, pool: ProcessPoolExecutor, part: Part
) -> tuple[Future[PartResult], ProcessPoolExecutor]:
    """Begin a part, in another pool where the process of this one died while it was idle."""
    try:
        return pool.submit(_compute, part), pool
    except BrokenProcessPool:
        pool.shutdown(wait=False)
        pool = _pool(computer)
        return pool.submit(_compute, part), pool


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Interrupt this process no sooner than at the end. Processes that it starts meanwhile wait likewise."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end(pool: ProcessPoolExecutor) -> None:
    """End a pool and its process at once: nothing is lost, as an unfinished part does not count."""
    for process in list((pool._processes or {}).values()):
        process.kill()
    pool.shutdown(wait=True, cancel_futures=True)


def _begin(computer: Computer) -> None:
    global _computer
    _computer = computer
    # Ctrl-C ends the command, and the command its processes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when the one that began it is gone, whatever ended it; it would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _compute(part: Part) -> PartResult:
    return _computer(part)
