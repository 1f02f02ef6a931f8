"""`--beyond-last-run`: after a run of all tests, one that needs to run only what more packages change.

It leaves out the tests that passed in the last run without this option, in this folder, except those with the mark
`extras`. So a test that was skipped runs, and so does one that is there only now.
"""

from __future__ import annotations

import pytest

OPTION = "--beyond-last-run"
PASSED = "onnx_maxpool/passed"
"""In pytest's cache: which tests passed."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, action="store_true", help="leave out what the last run passed, except the mark `extras`")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption(OPTION):
        if passed_before(config) is None:
            raise pytest.UsageError(f"{OPTION} needs the tests that the last run passed: run pytest without it first")
    elif not hasattr(config, "workerinput"):  # the processes of pytest-xdist report to the first one
        config.pluginmanager.register(LastRun(config))


def passed_before(config: pytest.Config) -> list[str] | None:
    cache = getattr(config, "cache", None)  # `-p no:cacheprovider` leaves a run without one
    return cache.get(PASSED, None) if cache else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption(OPTION):
        return
    passed = set(passed_before(config) or [])
    left_out = [item for item in items if item.nodeid in passed and not item.get_closest_marker("extras")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]


class LastRun:
    """Keeps which tests passed."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.passed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.passed.add(report.nodeid)
        elif report.failed:
            self.passed.discard(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        if cache := getattr(self.config, "cache", None):
            cache.set(PASSED, sorted(self.passed))
