"""Backends in processes of their own, in this environment and in another."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import google.protobuf
import ml_dtypes
import numpy as np
import onnx
import pytest
import typing_extensions

from onnx_maxpool.cli.limits import memory_limit
from onnx_maxpool.conformance import Outcome, all_cases, run_backend
from onnx_maxpool.conformance.backends import BackendError
from onnx_maxpool.conformance.report.formats import html
from onnx_maxpool.conformance.run.memory import default_limit, resident, there_is
from onnx_maxpool.conformance.run.serving import decode, encode
from onnx_maxpool.errors import InputError

pytestmark = pytest.mark.slow("starts processes and ends them")

ROOT = Path(__file__).parent.parent.parent
NEEDED = (np, onnx, google.protobuf, ml_dtypes, typing_extensions)
CASES = [
    case for case in all_cases() if case.name.startswith(("max_roi_pool_22_whole_map", "max_roi_pool_22_bfloat16"))
]

MINE = """
import numpy as np
from onnx.backend.base import Backend, BackendRep


class Zeros(BackendRep):
    def __init__(self, value):
        self.shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]

    def run(self, inputs, **options):
        return [np.zeros(self.shape, inputs[0].dtype)]


class Mine(Backend):
    @classmethod
    def prepare(cls, model, device="CPU", **options):
        return Zeros(model.graph.output[0])
"""


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with onnx, NumPy and what these need, and without this package."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for module in NEEDED:
        file = Path(str(module.__file__))
        top = module.__name__.partition(".")[0]
        source = file if file.stem == top else next(parent for parent in file.parents if parent.name == top)
        (site / source.name).symlink_to(source)
    for libraries in Path(str(np.__file__)).parent.parent.glob("numpy.libs"):
        (site / libraries.name).symlink_to(libraries)
    return folder / "bin" / "python"


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty current folder, and no path to this package in the environment variables."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_other_environment_lacks_this_package(elsewhere: Path, away: Path) -> None:
    done = subprocess.run([elsewhere, "-c", "import onnx, numpy, onnx_maxpool"], capture_output=True, text=True)
    assert "No module named 'onnx_maxpool'" in done.stderr


def test_a_built_in_backend_runs_in_another_environment(elsewhere: Path, away: Path) -> None:
    """Our reference, which needs onnx and NumPy only."""
    run = run_backend("reference", CASES, python=elsewhere)
    assert [result.outcome for result in run.results] == [Outcome.PASS] * len(CASES)
    assert run.environment["numpy"] == np.__version__


def test_a_runtime_that_is_missing_there_is_an_error(elsewhere: Path, away: Path) -> None:
    with pytest.raises(BackendError, match=r'onnxruntime: .* is missing: pip install "onnx>=1.19" "onnxruntime"'):
        run_backend("onnxruntime", CASES, python=elsewhere)


def test_a_class_in_the_current_folder_runs_there(elsewhere: Path, away: Path) -> None:
    (away / "mine.py").write_text(MINE)
    for python in (None, elsewhere):
        run = run_backend("mine:Mine", CASES, python=python)
        assert {result.outcome for result in run.results} == {Outcome.FAIL}
        assert run.description == {"class": "mine.Mine"}


@pytest.mark.parametrize(
    ("python", "words"),
    [
        ("nowhere", "nowhere: No such file or directory, expected a Python interpreter"),
        (".", ".: Permission denied, expected a Python interpreter"),
        ("/bin/true", "reference died while it was imported: exit code 0"),
    ],
)
def test_what_is_no_python_is_an_error(python: str, words: str, away: Path) -> None:
    with pytest.raises(BackendError) as refused:
        run_backend("reference", CASES, python=python)
    assert str(refused.value) == words


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=">i4").reshape(2, 3),
        np.array([1.5, np.nan], ml_dtypes.bfloat16),
        np.array(3.5, np.float16),
        np.empty((0, 4), np.uint8),
    ],
)
def test_arrays_arrive_as_they_are(array: np.ndarray) -> None:
    arrived = decode(encode(array))
    assert (arrived.dtype, arrived.shape, arrived.tobytes()) == (array.dtype, array.shape, array.tobytes())
    arrived[...] = 0  # and can be written


SLOW = """
import tempfile
import time

from onnx.backend.base import Backend

folder = tempfile.TemporaryDirectory(prefix="mine_")
open("pid", "w").write(str(__import__("os").getpid()))


class Slow(Backend):
    @classmethod
    def prepare(cls, model, device="CPU", **options):
        open("asked", "w").close()
        time.sleep(3600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process that hangs does not end with its parent")
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGKILL", None)])
def test_nothing_stays_behind_when_a_run_is_ended(ending: signal.Signals, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    (tmp_path / "slow.py").write_text(SLOW)
    command = [sys.executable, "-m", "onnx_maxpool", "conformance", "--backend", "slow:Slow", "--case", "half_2_5"]
    run = subprocess.Popen(command, cwd=tmp_path, env={**os.environ, "TMPDIR": str(temporary)})
    wait_for((tmp_path / "asked").exists)
    child = int((tmp_path / "pid").read_text())
    run.send_signal(ending)
    run.wait(30)
    wait_for(lambda: not alive(child))
    if ending is not signal.SIGKILL:  # after which a program can do nothing: the system ends the backend's process
        assert run.returncode in (128 + ending, -ending)
        assert [path for path in temporary.iterdir() if path.name.startswith(("onnx_maxpool_", "mine_"))] == []


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(condition: object, seconds: float = 60) -> None:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


ENDINGS = """
import multiprocessing
import os
import struct
import subprocess
import time

from onnx.backend.base import Backend


class Starts(Backend):
    @classmethod
    def prepare(cls, model, device="CPU", **options):
        child = subprocess.Popen(["sleep", "3600"])
        open("pid", "w").write(str(child.pid))
        child.wait()


class Forks(Backend):
    @classmethod
    def prepare(cls, model, device="CPU", **options):
        multiprocessing.get_context("fork").Process(target=time.sleep, args=(3600,), daemon=True).start()
        os.abort()


class Talks(Backend):
    @classmethod
    def prepare(cls, model, device="CPU", **options):
        os.write(2, b"a line " * 100_000)
        os.abort()


def sockets():
    for number in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{number}").startswith("socket"):
                yield int(number)
        except OSError:
            pass


class HangsUp(Backend):
    seconds = 3

    @classmethod
    def prepare(cls, model, device="CPU", **options):
        for number in sockets():
            os.close(number)
        time.sleep(cls.seconds)
        os._exit(3)


class HangsUpForEver(HangsUp):
    seconds = 3600


class BeginsToAnswer(Backend):
    @classmethod
    def prepare(cls, model, device="CPU", **options):
        for number in sockets():
            os.write(number, struct.pack("!i", 1000) + b"x")
        time.sleep(3600)


class Grows(Backend):
    @classmethod
    def prepare(cls, model, device="CPU", **options):
        blocks = []
        while len(blocks) < 500:
            blocks.append(b"x" * 10_000_000)
            time.sleep(0.01)


class Says(Backend):
    @classmethod
    def prepare(cls, model, device="CPU", **options):
        raise FileNotFoundError(os.fsdecode(b"caf\\xe9 is missing"))
"""


@pytest.fixture
def endings(away: Path) -> Path:
    """The current folder, with backends that end badly."""
    (away / "endings.py").write_text(ENDINGS)
    return away


def test_what_a_backend_has_started_ends_with_it(endings: Path) -> None:
    (result, *_) = run_backend("endings:Starts", CASES[:1], time_limit=2, repeat=1).results
    assert result.outcome is Outcome.TIMEOUT
    wait_for(lambda: not alive(int((endings / "pid").read_text())))


@pytest.mark.usefixtures("endings")
def test_a_crash_is_one_though_a_process_that_was_forked_lives_on() -> None:
    (result, *_) = run_backend("endings:Forks", CASES[:1], time_limit=60, repeat=1).results
    assert (result.outcome, result.detail) == (Outcome.CRASH, "SIGABRT")


only_linux = pytest.mark.skipif(sys.platform != "linux", reason="the backend finds its socket in /proc")


@only_linux
@pytest.mark.usefixtures("endings")
def test_a_backend_that_hangs_up_is_left_to_end_by_itself() -> None:
    (result, *_) = run_backend("endings:HangsUp", CASES[:1], repeat=1).results
    assert (result.outcome, result.detail) == (Outcome.CRASH, "exit code 3")


@only_linux
@pytest.mark.usefixtures("endings")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("HangsUpForEver", "it hangs up and does not end within 1 s"),
        ("BeginsToAnswer", "no whole answer within 1 s"),
    ],
)
def test_a_backend_that_gives_no_whole_answer_is_a_hang(name: str, words: str) -> None:
    (result, *_) = run_backend(f"endings:{name}", CASES[:1], time_limit=1, repeat=1).results
    assert (result.outcome, result.detail) == (Outcome.TIMEOUT, words)


@pytest.mark.usefixtures("endings")
def test_a_backend_that_takes_too_much_memory_is_ended_and_the_run_goes_on() -> None:
    results = run_backend("endings:Grows", CASES[:2], repeat=1, memory_limit=0.5e9).results
    assert [(result.outcome, result.detail) for result in results] == [
        (Outcome.CRASH, "took more than 0.5 GB of memory")
    ] * 2


def test_where_no_memory_can_be_watched_the_run_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onnx_maxpool.conformance.run.memory.resident", lambda process: None)
    run = run_backend("reference", CASES[:1], repeat=1)
    assert run.environment["memory limit"] == "none: the system does not tell what a process takes"
    with pytest.raises(InputError, match="--memory 1: expected /proc or ps"):
        memory_limit(1.0)


def test_the_default_limit_is_half_of_what_there_is() -> None:
    assert resident(os.getpid()) in range(10**7, 10**11)
    assert default_limit() == there_is() / 2
    assert 10**8 < there_is() < 10**14


@pytest.mark.usefixtures("endings")
def test_the_last_words_are_cut() -> None:
    (result, *_) = run_backend("endings:Talks", CASES[:1], repeat=1).results
    assert result.outcome is Outcome.CRASH
    assert result.detail.startswith("SIGABRT: ")
    assert len(result.detail) < 700


@pytest.mark.usefixtures("endings")
def test_words_that_no_file_can_hold_are_escaped_on_the_page() -> None:
    run = run_backend("endings:Says", CASES[:1], repeat=1)
    assert r"caf\udce9 is missing" in html([run])


def test_a_folder_that_python_does_not_put_on_its_path(away: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    (away / "mine.py").write_text(MINE)
    assert {result.outcome for result in run_backend("mine:Mine", CASES, repeat=1).results} == {Outcome.FAIL}
