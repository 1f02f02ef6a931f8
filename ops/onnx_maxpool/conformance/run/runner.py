"""Run cases on backends."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone

import onnx

from onnx_maxpool.conformance.case import CannotAskError, Case
from onnx_maxpool.conformance.run.execution import Execution
from onnx_maxpool.conformance.run.judge import Outcome, Result, judge
from onnx_maxpool.conformance.run.worker import Worker
from onnx_maxpool.machine import cpu_model
from onnx_maxpool.types import Array

Execute = Callable[[onnx.ModelProto, Mapping[str, Array]], Execution]

Controls = dict[int, tuple[Case, Execution]]
"""What a backend did with controls, by their identity; the control itself is there so that this stays its own."""

DOUBTFUL_REPEATS = 3
"""How often a case runs where an error is among the known answers: who reads out of bounds may answer anything."""


@dataclass(frozen=True)
class BackendRun:
    """All results of one backend."""

    backend: str
    description: Mapping[str, str]
    """What ran: version, provider, precision and the like, as far as the backend says."""
    results: tuple[Result, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    """What it ran on: date, processor, platform, and the versions of this package, Python, onnx and NumPy."""
    search: tuple[Result, ...] = ()
    """What a search found: the smallest case of each kind of difference. These cases are in no list."""

    @property
    def conforms(self) -> bool:
        """Whether every required case passed, of which there must be at least one, and a search found no difference."""
        required = [result for result in (*self.results, *self.search) if result.case.required]
        return bool(required) and all(result.outcome is Outcome.PASS for result in required)


def repeats(case: Case, repeat: int | None) -> int:
    """How often a case runs: `repeat` times, by default once, or `DOUBTFUL_REPEATS` times where it may be refused."""
    return repeat or (1 if case.control is None else DOUBTFUL_REPEATS)


class Asked:
    """A case in the form in which a backend supports it, and what the backend did with it so far."""

    def __init__(self, execute: Execute, case: Case, controls: Controls) -> None:
        """Ask for the first time; in the next form, if there is one, where one is not supported.

        `controls` has what the backend did with controls before.
        """
        self._unsupported: Result | None = None
        self._executions: list[Execution] = []
        unsupported = ""
        form: Case | None = case
        while form is not None:
            result = self._ask_first(execute, form, controls)
            if result.outcome is not Outcome.UNSUPPORTED:
                return
            said = result.detail if form is case and form.restate is None else f"{form.form}: {result.detail}"
            try:
                form = None if form.restate is None else form.restate(form)
            except CannotAskError as error:
                said = f"does not support {form.form}, and {error}" if form is case else f"{said}, and {error}"
                form = None
            unsupported = f"{said}; {unsupported}" if unsupported else said
        self._unsupported = replace(result, detail=unsupported)

    def _ask_first(self, execute: Execute, case: Case, controls: Controls) -> Result:
        self.case = case
        self._control: Execution | None = None
        self._executions.clear()
        control = case.control
        if control is not None:
            if id(control) not in controls:
                controls[id(control)] = control, execute(control.model(), control.inputs)
            self._control = controls[id(control)][1]
        self.again(execute)
        return self.result()

    def again(self, execute: Execute) -> None:
        """Ask once more, in the same form, unless that is not supported."""
        if self._unsupported is None:
            self._executions.append(execute(self.case.model(), self.case.inputs))

    def result(self) -> Result:
        """What it comes to."""
        if self._unsupported is not None:
            return self._unsupported
        first, *again = self._executions
        return judge(self.case, first, self._control, again)


def run_cases(execute: Execute, cases: Iterable[Case], repeat: int | None = None) -> Iterable[Result]:
    """The results of cases, one after the other. A control runs once, however many cases share it.

    What the backend does not support is asked in another operator's form, if there is one. Each case runs `repeats`
    times in a row.
    """
    controls: Controls = {}
    for case in cases:
        asked = Asked(execute, case, controls)
        for _ in range(1, repeats(case, repeat)):
            asked.again(execute)
        yield asked.result()


def run_backend(
    name: str,
    cases: Iterable[Case],
    *,
    time_limit: float = 60.0,
    python: str | os.PathLike[str] | None = None,
    repeat: int | None = None,
    progress: Callable[[Case], None] | None = None,
    memory_limit: float | None = None,
) -> BackendRun:
    """Run cases on a backend in a process of its own: `name` is of `BACKENDS` or `module:Class`.

    `time_limit` is in seconds for a case. `python` is another environment's interpreter, to run the backend there.
    `repeat` is how often each case runs; `repeats` has the default. Each repetition is a process of its own, which
    takes the cases in the opposite order, and in which glibc fills memory with other bytes: so what is read out of
    bounds is another value. `progress` is called after each execution of a case. `memory_limit` is in bytes, by default
    half of the machine's memory.

    Raises BackendError where the backend cannot be imported.
    """
    cases = list(cases)
    asked: dict[int, Asked] = {}
    controls: Controls = {}
    description: Mapping[str, str] = {}
    environment: Mapping[str, str] = {}
    for round_ in range(max((repeats(case, repeat) for case in cases), default=1)):
        chosen = [i for i, case in enumerate(cases) if repeats(case, repeat) > round_]
        with Worker(name, time_limit, python, memory_settings(round_), memory_limit) as worker:
            for i in chosen if round_ % 2 == 0 else reversed(chosen):
                if round_:
                    asked[i].again(worker.execute)
                else:
                    asked[i] = Asked(worker.execute, cases[i], controls)
                if progress is not None:
                    progress(cases[i])
            if not round_:
                description, environment = worker.description, worker.environment
    results = tuple(asked[i].result() for i in range(len(cases)))
    return BackendRun(name, description, results, machine() | dict(environment))


def memory_settings(round_: int) -> dict[str, str]:
    """Environment variables of a repetition, which have glibc fill memory with a byte of its own; none at first."""
    return {"MALLOC_PERTURB_": str(0x55 * round_ % 255 or 1)} if round_ else {}


def machine() -> dict[str, str]:
    """The date, the processor, and this package's version."""
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="minutes"),
        "processor": cpu_model(),
        "onnx-maxpool": importlib.metadata.version("onnx-maxpool"),
    }


def executions(cases: Sequence[Case], repeat: int | None) -> int:
    """How many executions a run has, controls left out."""
    return sum(repeats(case, repeat) for case in cases)
