"""The grid as JSON Lines: the run, then a line for each row as soon as it was timed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from onnx_maxpool.benchmark.grid.summary import ratio
from onnx_maxpool.benchmark.results import Entry, Results, RowResult, Timing, plain_row
from onnx_maxpool.errors import InputError
from onnx_maxpool.files import replacing


def begin(results: Results, path: Path) -> None:
    """Write the run, and a line for each row that there is: all of them or what was there before."""
    run = {
        "record": "run",
        "machine": results.machine,
        "settings": results.settings,
        "versions": results.versions,
        "absent": results.absent,
    }
    with replacing(path) as unfinished:
        lines = (run, *map(record, results.rows))
        unfinished.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def append(result: RowResult, path: Path) -> None:
    """Write a line for one more row."""
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(record(result))}\n")


def record(result: RowResult) -> Mapping[str, Any]:
    """A row as plain data, in brief: quartiles in microseconds, the median in the middle."""
    timings = {name: entry.timing for name, entry in result.entries.items() if entry.timing is not None}
    row = result.row
    return {
        "record": "row",
        "name": row.name,
        "operator": row.case.operator,
        "case": asdict(row.case),
        "type": row.type,
        "threads": result.threads,
        "ratio": ratio(result),
        "microseconds": {
            name: [round(1e6 * value, 3) for value in (timing.lower, timing.median, timing.upper)]
            for name, timing in timings.items()
        },
        "times_ours": {name: [round(value, 9) for value in values] for name, values in result.times_ours.items()},
        "differing": {
            name: [entry.differing, entry.cells] for name, entry in result.entries.items() if entry.differing
        },
        "refusals": {name: entry.refusal for name, entry in result.entries.items() if entry.refusal is not None},
    }


def from_record(found: Mapping[str, Any]) -> RowResult:
    """The result that `record` made this of."""
    result = RowResult(plain_row(found), found["threads"], 0, 0)
    for name, quartiles in found["microseconds"].items():
        lower, median, upper = (value / 1e6 for value in quartiles)
        result.entries[name] = Entry(Timing(median, lower, upper, 0, 0), None, *found["differing"].get(name, (0, 0)))
    for name, (lower, median, upper) in found.get("times_ours", {}).items():  # older files have none
        result.times_ours[name] = lower, median, upper
    for name, refusal in found["refusals"].items():
        result.entries[name] = Entry(refusal=refusal)
    return result


def read_grid(path: Path) -> Results:
    """The results that a file has. Raises InputError for a file with anything else, and OSError.

    A last line that was not written to its end, because the run was ended meanwhile, is left out.
    """
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines() if text.endswith("\n") else text.splitlines()[:-1]
    try:
        run, *others = map(json.loads, lines)
        rows = [from_record(found) for found in others]
        if "seed" in run["settings"]:
            return Results(run["machine"], run["settings"], dict(run["versions"]), dict(run["absent"]), rows)
    except (ValueError, LookupError, TypeError, AttributeError):
        pass
    raise InputError(f"{path}: expected a file that bench --grid --json wrote")
