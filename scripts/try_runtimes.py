"""Run both portable forms in runtimes that know nothing of us: `scripts/try_runtimes.py [RUNTIME ...]`.

Each runs in a child process, as some crash; those that are not installed here get an environment of their own, from
PyPI, under --work. Every case is random and compared cell by cell. docs/portable-runtimes.md is written from the
results, which are kept beside it, so that runtimes may be tried one by one. The exit code is 1 where a case is wrong
that should be right: `Runtime.faults` has those that a runtime is known to fail in.

`--beside` is for scripts/check: the runtimes of the extra `runtimes`, which the tests do not run, all at once, and
each in one type. It writes nothing.
"""

from __future__ import annotations

import datetime
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import onnx
import typer
from environments import python_with
from rich.console import Console

from onnx_maxpool import to_portable
from onnx_maxpool.cli.terminal import plain_table
from onnx_maxpool.conformance.backends import BACKENDS
from onnx_maxpool.difference import first_difference

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.portable_runtimes import set_rank  # noqa: E402
from support.static_cases import FLOAT_CASES, TYPED_CASES, StaticCase, cases_of, nan_cases  # noqa: E402

DOCUMENT = ROOT / "docs" / "portable-runtimes.md"
LIMIT_S = 1800
"""For all jobs of a runtime."""


@dataclass(frozen=True)
class Runtime:
    """One runtime."""

    title: str
    modules: Sequence[str]
    """That must be there."""
    backend: str
    """Its name among the conformance suite's backends, whose table says what it is installed from."""
    beside: bool = False
    """Whether the extra `runtimes` has it."""
    faults: str = ""
    """A pattern for the kinds of cases that it is known to fail in."""
    element_type: str = "float"
    """That every operator, rank and type of index is asked in."""
    also: Sequence[str] = ()
    """The other types that it is asked for."""
    open_shapes: bool = False
    """Whether the form with control flow declares ranks only: with sizes OpenVINO does not finish compiling it."""


TYPES = ("float16", "double", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")

RUNTIMES = {
    "onnxruntime": Runtime("ONNX Runtime", ["onnxruntime"], "onnxruntime", also=TYPES),
    "onnx_reference": Runtime("onnx.reference", ["onnx"], "onnx-reference", also=TYPES),
    "openvino": Runtime(
        "OpenVINO, f32",
        ["openvino"],
        "openvino",
        faults="double|, u?int32$|, u?int64$|, u?int(32|64), ",  # in float32 and 32 bits
        also=TYPES,
        open_shapes=True,
    ),
    "opencv": Runtime(
        "OpenCV",
        ["cv2", "onnx"],
        "opencv",
        beside=True,
        faults=", u?int64$|, u?int64, ",  # in 32 bits
        also=TYPES,
    ),
    "tract": Runtime("tract", ["tract"], "tract", beside=True, also=TYPES),
    "iree": Runtime(
        "IREE, llvm-cpu",
        ["iree.compiler", "iree.runtime", "onnx"],
        "iree",
        beside=True,
        also=TYPES,
    ),
    "emx_onnx_cgen": Runtime("emx-onnx-cgen, cc", ["emx_onnx_cgen"], "emx", beside=True, also=TYPES),
    "onnx2torch": Runtime(
        "onnx2torch",
        ["onnx2torch"],
        "onnx2torch",
        beside=True,
        faults="indices uint",  # torch cannot add them
    ),
    "onnxruntime_openvino": Runtime(
        "ONNX Runtime, OpenVINO provider", ["onnxruntime_openvino"], "onnxruntime-openvino"
    ),
    "onnxruntime_qnn": Runtime(
        "ONNX Runtime, QNN provider, simulator",
        ["onnxruntime_qnn"],
        "qnn",
        # ROIs at run time need float32, and it does not support unsigned indices.
        faults="^MaxRoiPool$|^RoiPooling$|rank 5, indices|indices uint|MaxPool with indices",
        element_type="float16",
    ),
}


@dataclass(frozen=True)
class Job:
    """One case in one form."""

    kind: str
    form: str
    case: StaticCase
    model: onnx.ModelProto
    expected: Sequence[Any]


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
        for i in range(count):
            case = maker(rng)
            expected = case.expected()
            yield Job(kind, STATIC, case, case.converted(), expected)
            if not brief and i == 0 and kind in FLOAT_CASES and not kind.startswith("MaxPool "):
                looping = to_portable(case.model)
                for value in looping.graph.input if runtime.open_shapes else ():
                    set_rank(value, case.inputs[value.name].ndim)
                yield Job(kind, LOOPS, case, looping, expected)
    for kind, (case, expected) in nan_cases(runtime.element_type).items():
        yield Job(kind, NAN, case, case.converted(), expected)


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


def answers(name: str, python: str, todo: Sequence[Job], folder: Path) -> list[str | list[Any]]:
    """What the runtime gives for each job: outputs, or words."""
    shutil.rmtree(folder, ignore_errors=True)
    for number, job in enumerate(todo):
        place = folder / f"{number:04}"
        place.mkdir(parents=True)
        onnx.save_model(job.model, place / "model.onnx")
        np.savez(place / "inputs.npz", **job.case.inputs)
    first = 0
    while first < len(todo):
        command = [python, ROOT / "scripts" / "runtime_worker.py", name, folder, str(first)]
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, check=False, timeout=LIMIT_S, errors="replace"
        )
        if done.returncode == 0:
            break
        begun, first = first, sum((folder / f"{number:04}" / "started").exists() for number in range(len(todo)))
        if first == begun:  # it died before it began another job
            raise SystemExit(f"{name}: {done.stderr}")
        (folder / f"{first - 1:04}" / "error.txt").write_text(f"the process ends with {done.returncode}")
    return [_answer(folder / f"{number:04}") for number in range(len(todo))]


def _answer(place: Path) -> str | list[Any]:
    if (place / "error.txt").exists():
        return (place / "error.txt").read_text()
    with np.load(place / "outputs.npz") as file:
        return [file[key] for key in file.files]


def difference(given: str | list[Any], expected: Sequence[Any]) -> str:
    """What is wrong, in the runtime's words where it has any; nothing if all is right.

    A runtime may have an output in another type, if each value in it is right: OpenCV has float for float16, and
    IREE's integers have no sign.
    """
    if isinstance(given, str):
        return given
    if len(given) != len(expected):
        return f"{len(given)} outputs, expected {len(expected)}"
    for actual, right in zip(given, expected, strict=True):
        same_kind = right.dtype.kind in "iu" and actual.dtype.kind in "iu" and actual.itemsize == right.itemsize
        with np.errstate(all="ignore"):
            typed = actual.view(right.dtype) if same_kind and actual.shape else actual.astype(right.dtype)
            back = typed.astype(actual.dtype)
        if not same_kind and not np.array_equal(back, actual, equal_nan=True):
            return f"an output is {actual.dtype}, and has values that {right.dtype} does not have"
        found = first_difference(right, typed)
        if found is not None:
            return str(found)
    return ""


def what_a_nan_gives(given: str | list[Any], expected: Sequence[Any]) -> str:
    """Whether outputs are NaN where they should be, in a few words, or in the runtime's."""
    if isinstance(given, str):
        return f"`{short(given)}`"
    y, right = given[0].astype(np.float64), expected[0].astype(np.float64)
    due, wrong = np.isnan(right), (y != right) & ~(np.isnan(y) & np.isnan(right))
    if (wrong & ~due).any():
        return f"{(wrong & ~due).sum()} of {(~due).sum()} other cells differ"
    lost = (wrong & due).sum()
    return f"{lost} of {due.sum()} are lost" if lost else "NaN"


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
        row["fault"] = row["fault"] or short(found)
    (package, *_) = BACKENDS[RUNTIMES[name].backend].packages
    code = f"import importlib.metadata; print(importlib.metadata.version({package!r}))"
    told = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    return {"version": told, "date": datetime.date.today().isoformat(), **results}


def short(words: str) -> str:
    """The line that says something, without places on this machine."""
    lines = [line for line in words.splitlines() if line.strip() and "Exception from" not in line]
    line = lines[0] if lines else ""
    if "Traceback" in line:
        line = next(
            (line for line in lines if re.match(r"\w[\w.]*(Error|Exception):", line) and line != lines[0]), line
        )
    line = re.sub(r"(/[\w.+-]+){2,}/?(:\d+)*:? ?", "", line)
    return line if len(line) <= 160 else f"{line[:157]}..."


HEAD = """# Where the portable forms run

Written by `scripts/try_runtimes.py`; do not edit. Each runtime runs in a process of its own and does not know our
operators. Every case is random: malformed, huge and infinite ROIs, empty bins, -inf among the values, windows that
contain equal ones. Outputs are compared cell by cell. A case is right if every cell is.

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
    rows = [["runtime", "version", "type", STATIC, LOOPS, "what it says of that, or the first cell that differs"]]
    for name, found in known.items():
        cells = [RUNTIMES[name].title, found["version"], RUNTIMES[name].element_type]
        for form in (STATIC, LOOPS):
            floats = [row for kind, row in found[form].items() if kind in FLOAT_CASES]
            right, total = (sum(row[key] for row in floats) for key in ("right", "of"))
            cells.append(f"{right} of {total}" if total else "")
        fault = next((row["fault"] for row in found[LOOPS].values() if row["fault"]), "")
        rows.append([*cells, f"`{fault}`" if fault else ""])
    parts = [HEAD, "## Cases that are right\n", table(rows)]
    notes: dict[str, int] = {}

    def cell(row: dict[str, Any] | None) -> str:
        if row is None:
            return ""
        if not row["fault"]:
            return "right"
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


def table(rows: Sequence[Sequence[str]]) -> str:
    header, *lines = ([cell.replace("|", "\\|") for cell in row] for row in rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, ["---"] * len(header), *lines))


def unexpected(runtime: Runtime, found: dict[str, Any]) -> str:
    """The kinds of cases that are not right and should be, with what is wrong."""
    return "; ".join(
        f"{kind}: {row['fault']}"
        for kind, row in found[STATIC].items()
        if row["fault"] and not (runtime.faults and re.search(runtime.faults, kind))
    )


def main(
    names: Annotated[list[str] | None, typer.Argument(help="Runtimes to try; all unless given.")] = None,
    *,
    beside: Annotated[bool, typer.Option(help="Only those of the extra `runtimes`, and write nothing.")] = False,
    count: Annotated[int, typer.Option(min=1, help="Cases of each kind.")] = 3,
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
        for name, found, seconds in pool.map(run, order):
            rows, wrong = found[STATIC], unexpected(RUNTIMES[name], found)
            failed |= bool(wrong)
            right, total = (str(sum(row[key] for row in rows.values())) for key in ("right", "of"))
            shown.add_row(RUNTIMES[name].title, right, total, f"{seconds:.0f}", wrong)
            if not beside:
                results = json.loads(kept.read_text()) if kept.exists() else {}
                results[name] = found
                kept.write_text(json.dumps(results, indent=1) + "\n")
                DOCUMENT.write_text(document(results))
    console.print(shown)
    sys.exit(failed)


if __name__ == "__main__":
    typer.run(main)
