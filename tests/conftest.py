"""Which peers are here to be compared with, how many examples are drawn, and what an older ONNX Runtime cannot do."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from support.older_runtimes import runtime_is_before

from onnx_maxpool import OperatorError
from onnx_maxpool.conformance import all_cases
from onnx_maxpool.conformance.corpus import write_corpus
from onnx_maxpool.facts import INFERS_INDEX_TYPES
from onnx_maxpool.machine import cpus

pytest_plugins = ["support.last_run"]

# What takes gigabytes or minutes, the extra `test` does without. scripts/check does not: it says so here.
NEEDED_BY = {
    "cv2": [],  # adapters/test_static_models.py marks what needs it
    "ray": ["adapters/test_ray.py"],
    "torch": ["operators/test_against_torch.py", "adapters/test_torch.py"],
    "tract": [],  # likewise
    "torchvision": ["adapters/test_torchvision.py"],
    "ziglang": ["repository/test_distribution.py"],
}
MISSING = [name for name in NEEDED_BY if importlib.util.find_spec(name) is None]
collect_ignore = [file for name in MISSING for file in NEEDED_BY[name]]

NEEDS_POSIX = sorted({path.parent.name for path in Path(__file__).parent.glob("*/test_*.py")} - {"smoke"})
"""Folders of tests that start processes, send signals and look for files as POSIX has them: Windows is without."""
if os.name != "posix":
    collect_ignore += NEEDS_POSIX

if os.environ.get("ONNX_MAXPOOL_ALL_PEERS") and MISSING:
    raise RuntimeError(
        f"{' and '.join(MISSING)} missing, expected here as ONNX_MAXPOOL_ALL_PEERS is set: pip install '.[check]'"
    )

# Ray Data counts its use in a thread that outlives the cluster and logs a traceback every ten seconds. A traceback is
# parsed, and before Python 3.11.8 (cpython's issue 106905) two threads that parse at once may both fail: torch's
# exporter parses, too.
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
# By itself Ray starts its workers with a niceness of 15: beside other tests, a page takes minutes instead of one.
os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - the name is Ray's

# `repeatable` draws the same examples on every run. `long` is for campaigns: `pytest --hypothesis-profile=long`.
COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("repeatable", derandomize=True, **COMMON)
settings.register_profile("long", max_examples=2_000, print_blob=True, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


MOST_PROCESSES = 8
"""Among which `pytest -n auto` shares the tests out: each may take two gigabytes."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    return min(cpus(), MOST_PROCESSES)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file's tests go to one process, as what they have in common takes up to minutes to make.

    Files go in their order: by their numbers of tests, the longest would be among the last.
    """
    from xdist.scheduler import LoadFileScheduling

    config.option.loadscopereorder = False
    return LoadFileScheduling(config, log)


def pytest_report_header() -> list[str]:
    files = [file for name in MISSING for file in NEEDED_BY[name]]
    lines = [f"left out, as {', '.join(MISSING)} is not installed: {', '.join(files)}"] if MISSING else []
    return lines if os.name == "posix" else [*lines, f"left out, as they need POSIX: {', '.join(NEEDS_POSIX)}"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that is left out of the fast ones says why."""
    for item in items:
        for mark in item.iter_markers("slow"):
            if len(mark.args) != 1:
                raise pytest.UsageError(
                    f"{item.nodeid} is slow without a reason, expected slow('takes ... because ...')"
                )


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all conformance cases as files, written once for all tests: they only read it."""
    folder = tmp_path_factory.mktemp("corpus")
    write_corpus(folder, all_cases())
    return folder


NEEDS_NEWER_RUNTIME = "as another needs ONNX Runtime"
"""The words by which `load` rejects index types other than the default in ONNX Runtime before 1.28."""


IS_OLDER_RUNTIME = runtime_is_before(*INFERS_INDEX_TYPES)
"""Asked once: some tests pretend to another version."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    """Where `load` rejects a model in these words, the failure is expected, and the words are its reason.

    They stand in the run's summary. In newer runtimes `load` never says them: there it would be a failure.
    """
    try:
        yield
    except Exception as error:
        # Hypothesis groups the errors that it finds: each must be this one.
        found = getattr(error, "exceptions", [error])
        if IS_OLDER_RUNTIME and all(type(each) is OperatorError and NEEDS_NEWER_RUNTIME in str(each) for each in found):
            pytest.xfail(str(found[0]))
        raise
