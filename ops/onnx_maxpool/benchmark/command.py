"""`onnx-maxpool bench`: choose rows, time them, show what was found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from onnx_maxpool.benchmark.machine import cpus, machine
from onnx_maxpool.benchmark.measure import measure
from onnx_maxpool.benchmark.overheads import measure_overheads
from onnx_maxpool.benchmark.peers import PEERS
from onnx_maxpool.benchmark.report import report, row_line
from onnx_maxpool.benchmark.results import Results, RowResult
from onnx_maxpool.benchmark.rows import Row, chosen
from onnx_maxpool.model_inputs import InputError

OVERHEADS_ROW = "overheads: import and session"
"""What `--rows` is held against for the rows that are no operator's."""
SAMPLES, QUICK_SAMPLES = 9, 3
DEFAULT_THREADS = (2, 1)
TABLE_WIDTH = 170
"""Where the terminal is narrower, lines are wrapped by it: a folded table is harder to read."""


@dataclass(frozen=True)
class Choice:
    """What to time, and how."""

    patterns: tuple[str, ...] = ()
    quick: bool = False
    threads: tuple[int, ...] = ()
    """None: two and one, as far as there are so many processors."""
    samples: int | None = None
    """None: 9, in a quick run 3."""
    peers: tuple[str, ...] = ()
    """None: all."""


def bench(choice: Choice, console: Console, progress_console: Console, as_json: Path | None = None) -> Results:
    """Time what was chosen, and print it. Raises InputError where nothing is, and for an unknown peer.

    `as_json` is written anew after every row: a run takes an hour, and what ends early has not been for nothing.
    """
    rows = chosen(choice.patterns, quick=choice.quick)
    overheads = not choice.patterns or any(p.casefold() in OVERHEADS_ROW for p in choice.patterns)
    if not rows and not overheads:
        raise InputError(f"--rows {' '.join(choice.patterns)}: no row has that in its name")
    threads = choice.threads or tuple(count for count in DEFAULT_THREADS if count <= cpus())
    samples = choice.samples or (QUICK_SAMPLES if choice.quick else SAMPLES)
    peers = known_peers(choice.peers)
    results = Results(machine(), {"quick": choice.quick, "threads": threads, "samples": samples, "peers": peers})
    time_all(results, rows, samples if overheads else 0, progress_console, as_json)
    console.width = max(console.width, TABLE_WIDTH)
    console.print(report(results))
    return results


def known_peers(names: Sequence[str]) -> tuple[str, ...]:
    """The peers of these names, whatever their case; all of them without any."""
    by_name = {name.casefold(): name for name in PEERS}
    if unknown := [name for name in names if name.casefold() not in by_name]:
        raise InputError(f"--peer {unknown[0]}: expected one of {', '.join(PEERS)}")
    return tuple(by_name[name.casefold()] for name in names) or PEERS


def time_all(
    results: Results, rows: Sequence[Row], overheads: int, console: Console, as_json: Path | None = None
) -> None:
    """Fill in the results, with a bar that says how far it is; `overheads` is how many samples of those to take.

    Where there is no terminal to draw a bar on, each row is a line.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(rows) * len(results.settings["threads"]) + overheads, completed=-1)

        def tell(what: str) -> None:
            progress.update(task, advance=1, description=what)

        def timed(result: RowResult) -> None:
            if not console.is_terminal:
                console.print(row_line(result), markup=False, soft_wrap=True)
            if as_json is not None:
                write_json(results, as_json)

        measure(results, rows, tell, timed)
        results.overheads = measure_overheads(overheads, tell) if overheads else []
    if as_json is not None:
        write_json(results, as_json)


def write_json(results: Results, path: Path) -> None:
    """The results as JSON: all of them or what was there before."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(results.as_json(), indent=2) + "\n")
    part.replace(path)
