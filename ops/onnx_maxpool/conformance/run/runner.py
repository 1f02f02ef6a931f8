"""Run cases on backends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import onnx

from onnx_maxpool.conformance.case import CannotAskError, Case
from onnx_maxpool.conformance.run.execution import Execution
from onnx_maxpool.conformance.run.judge import Outcome, Result, judge
from onnx_maxpool.conformance.run.worker import Worker
from onnx_maxpool.types import Array

Execute = Callable[[onnx.ModelProto, Mapping[str, Array]], Execution]


@dataclass(frozen=True)
class BackendRun:
    """All results of one backend."""

    backend: str
    description: Mapping[str, str]
    """What ran: version, provider, precision and the like, as far as the backend says."""
    results: tuple[Result, ...]

    @property
    def conforms(self) -> bool:
        """Whether every required case passed, of which there must be at least one."""
        required = [result for result in self.results if result.case.required]
        return bool(required) and all(result.outcome is Outcome.PASS for result in required)


def run_cases(execute: Execute, cases: Iterable[Case]) -> Iterable[Result]:
    """The results of cases, one after the other; what the backend does not support is asked in other words, if it can.

    A control runs once, however many cases share it.
    """
    controls: dict[int, Execution] = {}

    def ask(case: Case) -> Result:
        control = case.control
        if control is not None and id(control) not in controls:
            controls[id(control)] = execute(control.model(), control.inputs)
        done = execute(case.model(), case.inputs)
        return judge(case, done, None if control is None else controls[id(control)])

    for case in cases:
        result = ask(case)
        if result.outcome is Outcome.UNSUPPORTED and case.restate is not None:
            result = restated(result, case.restate, ask)
        yield result


def restated(first: Result, restate: Callable[[Case], Case], ask: Callable[[Case], Result]) -> Result:
    """The result in another operator's words, where `first` is that the backend does not support this one."""
    try:
        second = ask(restate(first.case))
    except CannotAskError as error:
        return replace(first, detail=f"does not support {first.case.form}, and {error}")
    if second.outcome is not Outcome.UNSUPPORTED:
        return second
    return replace(second, detail=f"{second.case.form}: {second.detail}; {first.case.form}: {first.detail}")


def run_backend(
    name: str, cases: Iterable[Case], *, time_limit: float = 60.0, progress: Callable[[Result], None] | None = None
) -> BackendRun:
    """Run cases on a backend in a process of its own: `name` is of `BACKENDS` or `module:Class`.

    `time_limit` is in seconds for a case. Raises BackendError where the backend cannot be imported.
    """
    results = []
    with Worker(name, time_limit) as worker:
        for result in run_cases(worker.execute, cases):
            results.append(result)
            if progress is not None:
                progress(result)
        description = worker.description
    return BackendRun(name, description, tuple(results))
