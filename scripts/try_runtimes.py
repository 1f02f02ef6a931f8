"""Run both portable forms in runtimes that know nothing of us: `scripts/try_runtimes.py [RUNTIME ...]`.

Each runs in a child process, as some crash; those that are not installed here get an environment of their own, from
PyPI, under --work. Every case is random and compared cell by cell. docs/portable-runtimes.md is written from the
results, which are kept beside it, so that runtimes may be tried one by one. The exit code is 1 where a case is wrong
that should be right, in either form or with a NaN: runtimes.py has those that a runtime is known to fail in.

`--beside` is for scripts/check: the runtimes of the extra `runtimes`, which the tests do not run, all at once, and
each in one type, without control flow. It writes nothing.
"""

from __future__ import annotations

import datetime
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from environments import python_with
from rich.console import Console
from runtime_answers import LOST, STOPPED, Job, answers, difference, short, what_a_nan_gives
from runtimes import RUNTIMES, Runtime

from onnx_maxpool import to_portable
from onnx_maxpool.cli.terminal import plain_table
from onnx_maxpool.conformance.backends import BACKENDS

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.portable_runtimes import set_rank  # noqa: E402
from support.static_cases import FLOAT_CASES, TYPED_CASES, cases_of, nan_cases  # noqa: E402

DOCUMENT = ROOT / "docs" / "portable-runtimes.md"
ENOUGH = 3
"""Cases of a kind, from which on it is called right."""


STATIC, LOOPS, NAN = "without control flow", "with control flow", "NaN"


def jobs(runtime: Runtime, count: int, seed: int, *, brief: bool) -> Iterator[Job]:
    """The cases of a runtime: the same for each of one type. If not brief, in the other types and form, too."""
    kinds = cases_of(runtime.element_type)
    if not brief:
        kinds |= {
            kind: maker
            for kind, maker in TYPED_CASES.items()
            if kind.split(", ")[1] in runtime.also  # bfloat16 has no arrays that travel
        }
    for number, (kind, maker) in enumerate(kinds.items()):
        rng = np.random.default_rng([seed, number])
        for _ in range(count):
            case = maker(rng)
            expected = case.expected()
            yield Job(kind, STATIC, case.inputs, case.converted(), expected)
            if not brief and kind in FLOAT_CASES and not kind.startswith("MaxPool "):
                looping = to_portable(case.model)
                for value in looping.graph.input if runtime.open_shapes else ():
                    set_rank(value, case.inputs[value.name].ndim)
                yield Job(kind, LOOPS, case.inputs, looping, expected)
    for kind, (case, expected) in nan_cases(runtime.element_type).items():
        yield Job(kind, NAN, case.inputs, case.converted(), expected)


def environment(name: str, runtime: Runtime, work: Path) -> str:
    """The Python that has the runtime."""
    if all(_is_here(module) for module in runtime.modules):
        return sys.executable
    return str(python_with([*BACKENDS[runtime.backend].packages, "onnx", "numpy"], work / name))


def _is_here(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def tried(name: str, python: str, todo: Sequence[Job], work: Path) -> dict[str, Any]:
    """A runtime's results: by form and kind, how many cases are right of how many, and the first fault."""
    results: dict[str, dict[str, Any]] = {STATIC: {}, LOOPS: {}, NAN: {}}
    for job, given in zip(todo, answers(name, python, todo, work / f"{name}-jobs"), strict=True):
        if job.form == NAN:
            results[NAN][job.kind] = what_a_nan_gives(given, job.expected)
            continue
        row = results[job.form].setdefault(job.kind, {"right": 0, "of": 0, "fault": ""})
        found = difference(given, job.expected)
        row["of"] += 1
        row["right"] += not found
        row["fault"] = row["fault"] or (short(found) or "an error without words" if found else "")
    (package, *_) = BACKENDS[RUNTIMES[name].backend].packages
    code = f"import importlib.metadata; print(importlib.metadata.version({package!r}))"
    told = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    return {"version": told, "date": datetime.date.today().isoformat(), **results}


HEAD = """# Where the portable forms run

Written by `scripts/try_runtimes.py`; do not edit. Each runtime runs in a process of its own and does not know our
operators. Every case is random: malformed, huge and infinite ROIs, empty bins, -inf among the values, windows that
contain equal ones. Outputs are compared cell by cell. A case is right if every cell is. The first table says how many
cases of each kind a runtime was asked, and with which seed they are drawn: `--count` and `--seed` draw them again. In
the other tables, *right* means that all are, of at least {enough}; where fewer were asked, the cell has their number.

The simulated chip of QNN (a Snapdragon 8 Gen 2) computes in float16, so it is asked in this type. No node of a model
may run on the CPU there. It needs ROIs that are constants of the model.
"""


ABOUT_NAN = """
## NaN

Without an index, a window that contains a NaN gives what the runtime's Max gives. Our rule is NaN (G3). Each channel
has one NaN, at every place in turn. *Lost* means that the window gives a number. With an index, Max gets no NaN: the
window gives NaN, and the index of its first NaN (G5). A ROI with a NaN or a bad batch number gives NaN in all its
cells, because nothing can stop the run.
"""


def document(results: dict[str, Any]) -> str:
    known = {name: results[name] for name in RUNTIMES if name in results}
    rows = [
        [
            "runtime",
            "version",
            "type",
            "cases of a kind, seed",
            STATIC,
            LOOPS,
            "what it says of that, or the first cell that differs",
        ]
    ]
    for name, found in known.items():
        cells = [RUNTIMES[name].title, found["version"], RUNTIMES[name].element_type, drawn(found)]
        for form in (STATIC, LOOPS):
            floats = [row for kind, row in found[form].items() if kind in FLOAT_CASES]
            right, total = (sum(row[key] for row in floats) for key in ("right", "of"))
            cells.append(f"{right} of {total}" if total else "")
        fault = next((row["fault"] for row in found[LOOPS].values() if row["fault"]), "")
        rows.append([*cells, f"`{fault}`" if fault else ""])
    parts = [HEAD.format(enough=ENOUGH), "## Cases that are right\n", table(rows)]
    notes: dict[str, int] = {}

    def cell(row: dict[str, Any] | None) -> str:
        if row is None:
            return ""
        if not row["fault"]:
            return "right" if row["of"] >= ENOUGH else f"{row['of']} of {row['of']}"
        return f"{row['right']} of {row['of']} [{notes.setdefault(row['fault'], len(notes) + 1)}]"

    for title, kinds, types in (
        ("Float, by operator", FLOAT_CASES, ["float"]),
        ("Float16, by operator", FLOAT_CASES, ["float16"]),
        ("Other types", TYPED_CASES, ["float", "float16"]),
    ):
        shown = {
            name: found
            for name, found in known.items()
            if RUNTIMES[name].element_type in types and any(kind in found[STATIC] for kind in kinds)
        }
        header = [STATIC, *(RUNTIMES[name].title for name in shown)]
        lines = [
            [kind, *(cell(found[STATIC].get(kind)) for found in shown.values())]
            for kind in kinds
            if any(kind in found[STATIC] for found in shown.values())
        ]
        parts += [f"\n## {title}\n", table([header, *lines])]
    asked = {name: found[NAN] for name, found in known.items() if NAN in found}
    kinds_of_nan = list(next(iter(asked.values()), {}))
    lines = [[RUNTIMES[name].title, *(found[kind] for kind in kinds_of_nan)] for name, found in asked.items()]
    parts += [ABOUT_NAN, table([["runtime", *kinds_of_nan], *lines])]
    parts.append("")
    parts += [f"{number}. `{fault}`" for fault, number in notes.items()]
    return "\n".join(parts) + "\n"


def drawn(found: dict[str, Any]) -> str:
    """Of how many cases the results are, and of which. Those of before this was kept do not say it."""
    if "seed" in found:
        return f"{found['count']}, {found['seed']}"
    counts = sorted({row["of"] for row in found[STATIC].values()})
    return f"{' or '.join(map(str, counts))}, not kept"


def table(rows: Sequence[Sequence[str]]) -> str:
    header, *lines = ([cell.replace("|", "\\|") for cell in row] for row in rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, ["---"] * len(header), *lines))


def unexpected(runtime: Runtime, found: dict[str, Any]) -> str:
    """The kinds of cases that are not right and should be, in either form or with a NaN, with what is wrong."""

    def is_known(pattern: str, kind: str) -> bool:
        return bool(pattern and re.search(pattern, kind))

    wrong = [
        (kind, form, row["fault"])
        for form, pattern in ((STATIC, runtime.faults), (LOOPS, runtime.loop_faults))
        for kind, row in found[form].items()
        if row["fault"] and not is_known(pattern, kind)
    ]
    wrong += [
        (kind, NAN, said)
        for kind, said in found[NAN].items()
        if said != NAN and not (runtime.loses_nan and said.endswith(LOST)) and not is_known(runtime.nan_faults, kind)
    ]
    return "; ".join(f"{kind}{'' if form == STATIC else f', {form}'}: {said}" for kind, form, said in wrong)


def main(
    names: Annotated[list[str] | None, typer.Argument(help="Runtimes to try; all unless given.")] = None,
    *,
    beside: Annotated[bool, typer.Option(help="Only those of the extra `runtimes`, and write nothing.")] = False,
    count: Annotated[int, typer.Option(min=1, help="Cases of each kind.")] = ENOUGH,
    seed: Annotated[int, typer.Option(min=0, help="Of the random cases.")] = 2026,
    work: Annotated[Path, typer.Option(help="Where environments are kept.")] = ROOT / "build" / "runtimes",
) -> None:
    if unknown := [name for name in names or [] if name not in RUNTIMES]:
        raise typer.BadParameter(f"{', '.join(unknown)}, expected {', '.join(RUNTIMES)}")
    work = work.resolve()
    kept = DOCUMENT.with_suffix(".json")
    console = Console(highlight=False)
    shown = plain_table("runtime", "right", "of", "seconds", "not as expected")
    chosen = names or [name for name, runtime in RUNTIMES.items() if runtime.beside or not beside]
    missing = [name for name in chosen for module in RUNTIMES[name].modules if not _is_here(module)]
    if beside and missing:
        raise SystemExit(f"{', '.join(dict.fromkeys(missing))} missing, expected here: pip install '.[runtimes]'")

    def run(name: str) -> tuple[str, dict[str, Any], float]:
        todo = list(jobs(RUNTIMES[name], count, seed, brief=beside))
        start = time.monotonic()
        return name, tried(name, environment(name, RUNTIMES[name], work), todo, work), time.monotonic() - start

    failed = False
    # The one that compiles longest comes first.
    order = sorted(chosen, key=lambda name: name != "iree") if beside else chosen
    with ThreadPoolExecutor(os.cpu_count() if beside else 1) as pool, console.status(", ".join(order)):
        try:
            for name, found, seconds in pool.map(run, order):
                rows, wrong = found[STATIC], unexpected(RUNTIMES[name], found)
                failed |= bool(wrong)
                right, total = (str(sum(row[key] for row in rows.values())) for key in ("right", "of"))
                shown.add_row(RUNTIMES[name].title, right, total, f"{seconds:.0f}", wrong)
                if not beside:
                    results = json.loads(kept.read_text()) if kept.exists() else {}
                    results[name] = {**found, "count": count, "seed": seed}
                    kept.write_text(json.dumps(results, indent=1) + "\n")
                    DOCUMENT.write_text(document(results))
        except BaseException:
            STOPPED.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    console.print(shown)
    sys.exit(failed)


if __name__ == "__main__":
    typer.run(main)
