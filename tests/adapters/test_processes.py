"""Sessions in forked and spawned processes, and in an interpreter that ends."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import onnxruntime as ort
import pytest
from support.known_sessions import EXPECTED, ROIS, X, run, session
from support.one_node import Array, assert_same
from support.processes import run_python

import onnx_maxpool
from onnx_maxpool.locks import ForkSafeLock

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on Windows")
fork_is_meant = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def python(script: str) -> subprocess.CompletedProcess[str]:
    """A script in an interpreter of its own."""
    return run_python("-c", script, seconds=300)


def max_roi_pool_in_child(_: int) -> Array:
    return onnx_maxpool.max_roi_pool(X, ROIS, (7, 7), 0.5)


def own_session_in_child(_: int) -> Array:
    return run(session())


def python_ops_in_child(_: int) -> Array:
    return run(session(implementation="python"))


INHERITED: dict[str, ort.InferenceSession] = {}


def inherited_session_in_child(_: int) -> Array:
    return run(INHERITED["one"])


IN_CHILD = [max_roi_pool_in_child, own_session_in_child, python_ops_in_child]


@needs_fork
@fork_is_meant
@pytest.mark.parametrize("work", [*IN_CHILD, inherited_session_in_child], ids=lambda work: work.__name__)
def test_forked_workers(work: Callable[[int], Array]) -> None:
    """As multiprocessing forks them, from a process that has run sessions.

    A session from before the fork has lost its threads; one with a single thread, the caller's, needs no other.
    """
    INHERITED["one"] = session()
    max_roi_pool_in_child(0)
    assert_same(run(INHERITED["one"]), EXPECTED)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for y in pool.map_async(work, range(6)).get(timeout=300):
            assert_same(y, EXPECTED)
    assert_same(run(INHERITED["one"]), EXPECTED)


LOCK = ForkSafeLock()


def enter_in_child(_: int) -> str:
    with LOCK.held():
        return "entered"


@needs_fork
@fork_is_meant
def test_a_fork_while_another_thread_has_a_lock() -> None:
    """As while it makes a session: the child has a lock of its own."""
    has, may_go = threading.Event(), threading.Event()

    def hold() -> None:
        with LOCK.held():
            has.set()
            may_go.wait()

    other = threading.Thread(target=hold)
    other.start()
    has.wait()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.map_async(enter_in_child, range(2)).get(timeout=60) == ["entered"] * 2
    may_go.set()
    other.join()


SPAWNED = """
import multiprocessing
from adapters import test_processes
from support.known_sessions import EXPECTED
from support.one_node import assert_same

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for work in test_processes.IN_CHILD:
            for y in pool.map_async(work, range(2)).get(timeout=300):
                assert_same(y, EXPECTED)
    print("equal")
"""


def test_spawned_workers(tmp_path: Path) -> None:
    script = tmp_path / "spawned.py"
    script.write_text(SPAWNED)
    done = run_python(script, seconds=400)
    assert (done.returncode, done.stdout) == (0, "equal\n"), done.stderr


ENDING = """
import sys, threading
from adapters import test_processes
from support import known_sessions
from support.one_node import assert_same

class Cycle:
    pass

sessions = [known_sessions.session(implementation=kind) for kind in ("native", "python")]
test_processes.max_roi_pool_in_child(0)
cycle = Cycle()
cycle.itself, cycle.session = cycle, known_sessions.session()
local = threading.local()
local.session = known_sessions.session()

def work(session):
    for _ in range(30):
        assert_same(known_sessions.run(session), known_sessions.EXPECTED)
    print("equal", flush=True)

for session in sessions:
    threading.Thread(target=work, args=(session,)).start()
sys.exit(7)
"""


def test_an_interpreter_ends_while_threads_run_and_sessions_live() -> None:
    """It waits for threads; sessions in globals, cycles and caches are let go, or are not, without harm."""
    done = python(ENDING)
    assert (done.returncode, done.stdout) == (7, "equal\n" * 2), done.stderr


IN_ONE_RUN = """
import sys, threading, time
import numpy as np
import onnx_maxpool
from support import known_sessions, one_node

x = np.zeros((1, 480, 64, 64, 64), np.float32)
proto = one_node.model("MaxPooling1", 5, {"X": x}, with_index=True, window_size=(21, 21, 21))
session = onnx_maxpool.load(proto, known_sessions.one_thread())
thread = threading.Thread(target=session.run, args=(None, {"X": x}), daemon=True)
before = time.process_time()
thread.start()
while thread.is_alive() and time.process_time() < before + 0.5:
    time.sleep(0.01)
print("leaving", thread.is_alive(), flush=True)
sys.exit(7)
"""


def test_an_interpreter_ends_while_a_daemon_thread_is_in_our_kernel() -> None:
    """What the library keeps for the process is not taken from under it.

    The kernel takes ten seconds, alone. The process leaves once it has spent half a second, which nothing else in the
    run does; what the kernel has not come to, no memory is held for.

    A daemon thread that comes back from a run while the interpreter ends is another matter: ONNX Runtime's interface
    then ends the process by an abort, with our library or without.
    """
    for _ in range(2):
        done = python(IN_ONE_RUN)
        assert (done.returncode, done.stdout) == (7, "leaving True\n"), done.stderr


def test_a_session_in_every_thread_of_a_program_that_ends_without_ceremony() -> None:
    done = python(
        "import os\nfrom support.known_sessions import at_once, session\nat_once(*[session] * 16)\nos._exit(3)"
    )
    assert done.returncode == 3, done.stderr
