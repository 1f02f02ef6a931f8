"""What a benchmark finds: quartiles, and how they are written, as one JSON document or as JSON Lines."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from onnx_maxpool.benchmark.peers import OURS, PEERS, TRAFFIC, may_differ
from onnx_maxpool.benchmark.rows import CASES, Row, count_of
from onnx_maxpool.errors import InputError

FORMAT = 2
"""Of the JSON; raised when a reader of an older one could misread it."""


@dataclass(frozen=True)
class Timing:
    """Seconds per run."""

    median: float
    lower: float
    """The first quartile."""
    upper: float
    """The third quartile."""
    samples: int
    runs: int
    """In the sample that had fewest; more than 1 where a run is short."""

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, in parts of the median."""
        return (self.upper - self.lower) / 2 / self.median


Quartiles = tuple[float, float, float]
"""The lower one, the median and the upper one."""


def timing(samples: Sequence[tuple[float, int]]) -> Timing:
    """Of samples `(seconds per run, runs)`, one at least."""
    seconds = [sample[0] for sample in samples]
    lower, median, upper = quartiles(seconds)
    return Timing(median, lower, upper, len(samples), min(runs for _, runs in samples))


def quartiles(values: Sequence[float]) -> Quartiles:
    """The quartiles, with the least value as the 0th and the greatest as the 4th, and linear in between."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    lower, median, upper = statistics.quantiles(values, n=4, method="inclusive")
    return lower, median, upper


@dataclass
class Entry:
    """One runtime on one row."""

    timing: Timing | None = None
    refusal: str | None = None
    """Why there is no timing."""
    differing: int = 0
    """How many cells of the outputs are not as ours."""
    cells: int = 0
    """How many there are."""


@dataclass
class RowResult:
    """One row on a number of threads."""

    row: Row
    threads: int
    bytes_read: int
    bytes_written: int
    entries: dict[str, Entry] = field(default_factory=dict)
    """Ours, the peers' and memory traffic, by name."""
    ours: dict[str, Entry] = field(default_factory=dict)
    """Ours again, timed in the same turns: on one thread, in float. By what is different."""
    times_ours: dict[str, Quartiles] = field(default_factory=dict)
    """Of those that took part in all rounds of the grid, by name: their time over ours in the same round. A machine
    that is slower for a while is so for both."""

    @property
    def place(self) -> str:
        """The row and the number of threads, for messages."""
        return f"{self.row.name}, {count_of(self.threads, 'thread')}"

    @property
    def medians(self) -> dict[str, float]:
        """Seconds of every entry that was timed, by name."""
        return {name: entry.timing.median for name, entry in self.entries.items() if entry.timing is not None}

    def ratio(self, numerator: str | None, denominator: str) -> float | None:
        """Of two entries' medians, if both were timed."""
        medians = self.medians
        if numerator not in medians or denominator not in medians:
            return None
        return medians[numerator] / medians[denominator]

    def over_ours(self, name: str) -> Quartiles:
        """Another's time over ours, of two that were timed.

        Where rounds do not tell, the outer quartiles are of either's fast times and the other's slow ones.
        """
        if name in self.times_ours:
            return self.times_ours[name]
        theirs, ours = (self.entries[each].timing for each in (name, OURS))
        assert theirs is not None
        assert ours is not None
        return theirs.lower / ours.upper, theirs.median / ours.median, theirs.upper / ours.lower

    @property
    def fastest_peer(self) -> str | None:
        """The peer whose time over ours has the least median, or its own time where ours was not timed, if any was."""
        medians = self.medians
        times = {name: self.over_ours(name)[1] if OURS in medians else medians[name] for name in medians}
        return min(set(PEERS) & medians.keys(), key=times.__getitem__, default=None)


@dataclass
class Overhead:
    """What needs no operator: a difference of two medians, in seconds."""

    name: str
    what: str
    with_us: Timing
    without: Timing | None
    """None where there is nothing to compare with."""

    @property
    def cost(self) -> float:
        """With us minus without."""
        return self.with_us.median - (self.without.median if self.without else 0.0)


@dataclass
class Results:
    """A whole run."""

    machine: Mapping[str, Any]
    """Processor, system, date."""
    settings: Mapping[str, Any]
    versions: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    """Why a peer takes no part, by its name."""
    rows: list[RowResult] = field(default_factory=list)
    overheads: list[Overhead] = field(default_factory=list)

    @property
    def failures(self) -> list[str]:
        """What must not be: rows that our library did not run, and cells in which an exact peer differs."""
        return [failure for row in self.rows for failure in row_failures(row)]

    def as_json(self) -> dict[str, Any]:
        """Plain data: times in seconds, ratios as in the table."""
        return {
            "format": FORMAT,
            "machine": dict(self.machine),
            "settings": dict(self.settings),
            "versions": self.versions,
            "absent": self.absent,
            "rows": [row_json(row) for row in self.rows],
            "overheads": [{**asdict(overhead), "cost": overhead.cost} for overhead in self.overheads],
        }

    def json_lines(self) -> Iterator[str]:
        """The same data a record a line: the run, each row, then each overhead. `record` says which of them it is."""
        run = self.as_json()
        rows, overheads = run.pop("rows"), run.pop("overheads")
        yield json.dumps({"record": "run", **run})
        for row in rows:
            yield json.dumps({"record": "row", **row})
        for overhead in overheads:
            yield json.dumps({"record": "overhead", **overhead})


def row_failures(result: RowResult) -> list[str]:
    """What must not be, in sentences."""
    place = result.place
    refusal = result.entries[OURS].refusal
    found = [f"{place}: {OURS} {refusal}"] if refusal is not None else []
    for name, entry in result.entries.items():
        if entry.differing and not may_differ(name, result.row.type):
            found.append(f"{place}: {name} differs in {entry.differing} of {entry.cells} cells")
    return found


def row_json(result: RowResult) -> dict[str, Any]:
    """A row as plain data."""
    row = result.row
    return {
        "name": row.name,
        "operator": row.case.operator,
        "case": asdict(row.case),
        "type": row.type,
        "curve": row.curve,
        "at": row.at if row.curve else None,
        "threads": result.threads,
        "bytes_read": result.bytes_read,
        "bytes_written": result.bytes_written,
        "entries": {name: asdict(entry) for name, entry in result.entries.items()},
        "ours": {name: asdict(entry) for name, entry in result.ours.items()},
        "fastest_peer": result.fastest_peer,
        "times_faster_than": {name: result.ratio(name, OURS) for name in PEERS},
        "times_memory_traffic": result.ratio(OURS, TRAFFIC),
    }


def read_results(path: Path) -> Results:
    """The results that `as_json` or `json_lines` gave. Raises InputError for a file with anything else, and OSError."""
    try:
        run, *others = map(json.loads, documents(path))
        if run["format"] == FORMAT:
            return results_of(run, others)
        message = f"found format {run['format']}, expected {FORMAT}"
    except (ValueError, LookupError, TypeError, AttributeError):
        message = "expected a file that bench --json wrote, without --grid"
    raise InputError(f"{path}: {message}")


def results_of(run: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> Results:
    """Of a whole document, or of the first record and the others."""
    rows = run.get("rows", []) + [each for each in others if each["record"] == "row"]
    overheads = run.get("overheads", []) + [each for each in others if each["record"] == "overhead"]
    return Results(
        run["machine"],
        run["settings"],
        run["versions"],
        run["absent"],
        list(map(row_of, rows)),
        list(map(overhead_of, overheads)),
    )


def documents(path: Path) -> Sequence[str]:
    """The JSON documents of a file, one a line if its name ends in `.jsonl`."""
    text = path.read_text(encoding="utf-8")
    return text.splitlines() if path.suffix == ".jsonl" else [text]


def row_of(found: Mapping[str, Any]) -> RowResult:
    """The result that `row_json` made this of."""
    row = replace(plain_row(found), curve=found["curve"], at=found["at"] or 0)
    entries, ours = ({name: entry_of(each) for name, each in found[key].items()} for key in ("entries", "ours"))
    return RowResult(row, found["threads"], found["bytes_read"], found["bytes_written"], entries, ours)


def plain_row(found: Mapping[str, Any]) -> Row:
    """The row of a record that has its operator, its case and its type."""
    sizes = {name: tuple(value) if isinstance(value, list) else value for name, value in found["case"].items()}
    return Row(CASES[found["operator"]](**sizes), found["type"])


def entry_of(found: Mapping[str, Any]) -> Entry:
    """One runtime on one row."""
    return Entry(**{**found, "timing": timing_of(found["timing"])})


def overhead_of(found: Mapping[str, Any]) -> Overhead:
    """The overhead, whose cost is computed again."""
    with_us = Timing(**found["with_us"])
    return Overhead(found["name"], found["what"], with_us, timing_of(found["without"]))


def timing_of(found: Mapping[str, Any] | None) -> Timing | None:
    """A timing, if there is one."""
    return None if found is None else Timing(**found)
