"""Locks of a process that may fork."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager


class ForkSafeLock:
    """A lock that is free in a forked process: a thread that held it stayed in the parent, and would not release it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _locks.add(self)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold it meanwhile."""
        with self._lock:  # which a process that this thread forks meanwhile releases, too
            yield

    def renew(self) -> None:
        """What a forked process does first."""
        self._lock = threading.Lock()


_locks: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()


def _renew_locks() -> None:
    for lock in _locks:
        lock.renew()


if hasattr(os, "register_at_fork"):  # there is no fork on Windows
    os.register_at_fork(after_in_child=_renew_locks)
