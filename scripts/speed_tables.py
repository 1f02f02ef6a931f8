"""What the docs say of speed: tables, sentences and the README's chart, from the results of the last whole run."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from onnx_maxpool.benchmark.grid.records import read_grid
from onnx_maxpool.benchmark.grid.summary import distributions, rows_by_processor
from onnx_maxpool.benchmark.peers import FORMS, OURS, RUNTIME
from onnx_maxpool.benchmark.rows import ADAPTIVE_CASES, GRAPH_CASES, ROI_CASES, SLIDING_CASES, Row

KEPT = Path(__file__).parent.parent / "docs" / "benchmark"
SPEED_CASES = (*ROI_CASES, GRAPH_CASES[1], *ADAPTIVE_CASES, SLIDING_CASES[0], SLIDING_CASES[4])
"""Of the README's table."""
PORTABLE_CASES = (ROI_CASES[0], ROI_CASES[4], ROI_CASES[3], ROI_CASES[7])
"""Of the table in docs/guides/portable.md."""
PORTABLE_MEMORY = KEPT / "portable-memory.json"


@cache
def records(file: str) -> list[dict[str, Any]]:
    """What a file of the benchmark has."""
    return [json.loads(line) for line in (KEPT / file).read_text().splitlines()]


def of_rows(file: str) -> list[dict[str, Any]]:
    return [record for record in records(file) if record["record"] == "row"]


def median(row: dict[str, Any], name: str) -> float:
    return float(row["entries"][name]["timing"]["median"])


def ratios() -> list[tuple[str, dict[str, float]]]:
    """In float on two threads: each case with the others' times / ours."""
    faster = {row["name"]: row["times_faster_than"] for row in of_rows("results.jsonl") if row["threads"] == 2}
    return [
        (
            f"{case.operator} {case}",
            {peer: ratio for peer, ratio in faster[Row(case).name].items() if ratio is not None},
        )
        for case in SPEED_CASES
    ]


def place(file: str) -> str:
    """`AMD EPYC, 2 CPUs, on 2026-11-22`."""
    machine = records(file)[0]["machine"]
    return f"{machine['cpu']}, {machine['cpus']} CPUs, on {machine['date'][:10]}"


def speed() -> str:
    """The README's table, and what it was measured on."""
    rows = []
    for case, found in ratios():
        others = {peer: ratio for peer, ratio in found.items() if peer != RUNTIME}
        fastest = min(others, key=others.__getitem__)
        rows.append([case, short(found.get(RUNTIME)), short(others[fastest]), fastest])
    header = ["what", RUNTIME, "fastest other", "which"]
    return f"{table(header, rows)}\n\nMeasured on {place('results.jsonl')}."


def short(ratio: float | None) -> str:
    """Two digits, and three from 100 on."""
    if ratio is None:
        return ""
    if ratio < 1:
        return f"{min(ratio, 0.99):.2f}"  # what is slower than the other must not look as fast
    text = f"{ratio:.1f}"
    return text if len(text) == 3 else f"{ratio:.0f}"


def measured() -> str:
    """The sentences of docs/guides/performance.md that hold figures."""
    found = [row for row in of_rows("results.jsonl") if row["operator"] == "MaxRoiPool"]
    two = [row for row in found if row["threads"] == 2 and not row["curve"]]

    def beside(row: dict[str, Any], other: str) -> float:
        """Our time, as a part of ours with one thing changed, which was measured in turn with it.

        Of lower quartiles, as what else the machine did only adds to a time.
        """
        return float(row["entries"][OURS]["timing"]["lower"]) / float(row["ours"][other]["timing"]["lower"])

    types = [beside(row, "float") for row in two if "float" in row["ours"]]
    long = [row for row in two if median(row, OURS) >= 1e-3]
    threads = [beside(row, "1 thread") for row in long if row["type"] == "float"]
    sizes = [row for row in found if row["threads"] == 2 and row["curve"] and "cells" in row["curve"]]
    sizes.sort(key=lambda row: row["at"])
    growth = {name: median(sizes[-1], name) / median(sizes[0], name) for name in (OURS, RUNTIME)}
    costs = {row["name"]: 1e3 * row["cost"] for row in records("results.jsonl") if row["record"] == "overhead"}
    return "\n".join(
        [
            f"- **Type.** With ROIs, float16 and bfloat16 take {span(types, 2)} of float's time.",
            f"- **Threads.** On two threads MaxRoiPool takes {span(threads, 2)} of its time on one, in float and if a"
            " run takes a millisecond or longer. The work runs in ONNX Runtime's own thread pool: set"
            " `intra_op_num_threads` of the session options.",
            f"- **Size of ROIs.** As ROIs grow from one cell to a whole map of 200x304 cells, 100 of them take"
            f" {growth[OURS]:.0f} times as long; in ONNX Runtime {growth[RUNTIME]:.0f} times.",
            f"- **Start.** To import the package takes {costs['import']:.0f} ms, and the first session of a process"
            f" {costs['first']:.1f} ms more than without the library.",
            f"- **Processor.** In the median of [random rows](../benchmark/grid.md), {ROI_CASES[0].operator} is"
            f" {on_each_processor()}.",
        ]
    )


def on_each_processor() -> str:
    """How many times as fast as the fastest peer's ours is, of the grid's kept rows with ROIs on two threads."""
    runs = [read_grid(path) for path in sorted(KEPT.glob("grid-*.jsonl"))]
    group = ROI_CASES[0].operator
    each = [
        (short(found.figures[-1]), processor)
        for processor, rows in rows_by_processor(runs).items()
        for found in distributions(rows)
        if (found.group, found.threads) == (group, 2)
    ]
    (ratio, processor), *others = each
    first = f"{ratio} times as fast as in the fastest other runtime on {processor}"
    return ", ".join([first, *(f"{ratio} times on {processor}" for ratio, processor in others)])


def span(values: Iterable[float], digits: int) -> str:
    """`0.41 to 0.66`."""
    found = list(values)
    return f"{min(found):.{digits}f} to {max(found):.{digits}f}"


def chart() -> str:
    return speed_chart(ratios())


def portable() -> str:
    """The figures of docs/guides/portable.md: the benchmark's times, and what measure_portable_memory.py found."""
    rows = {row["name"]: row for row in of_rows("results.jsonl") if row["threads"] == 1}
    memory = json.loads(PORTABLE_MEMORY.read_text())
    names = [Row(case).name for case in PORTABLE_CASES]

    def over(form: str, other: str) -> list[float]:
        return [median(rows[name], form) / median(rows[name], other) for name in names]

    loops, none = FORMS
    lines = [
        [
            str(case) if form == RUNTIME else "",
            f"{RUNTIME}'s own kernel" if form == RUNTIME else form,
            short(median(rows[name], form) / median(rows[name], OURS)),
            f"{memory[name][form] / 1e6:.0f}",
        ]
        for case, name in zip(PORTABLE_CASES, names, strict=True)
        for form in (RUNTIME, *FORMS)
    ]
    return "\n\n".join(
        [
            "For MaxRoiPool with these shapes on one thread, the form with control flow takes"
            f" {span(over(loops, OURS), 0)} times as long as the native library, and"
            f" {span(over(loops, RUNTIME), 1)} times as long as ONNX Runtime's own float kernel."
            f" The form without control flow takes {span(over(none, loops), 1)} times as long as the form with it. The"
            f" median over the cases is {statistics.median(over(none, loops)):.1f}.",
            table(
                ["case", "form", "time / time of the native library, one thread", "memory with the output, MB"], lines
            ),
            f"MaxRoiPool in float, on one thread: {place('results.jsonl')}. [All cases](../benchmark/README.md).",
        ]
    )


def table(header: list[str], rows: list[list[str]]) -> str:
    """A table of Markdown."""
    lines = [header, ["---"] * len(header), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


COLORS = {
    "ONNX Runtime": "#0d6efd",
    "OpenVINO": "#7c3aed",
    "torch": "#e8590c",
    "Paddle": "#0a9396",
    "MNN": "#c2255c",
}
LEFT, WIDTH, ROW, TOP = 376, 940, 26, 64
"""Where the dots begin, the width of the picture, the height of a row, and where the rows begin, in pixels."""
TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #24292f }
.small { font-size: 12px; fill: #57606a }
.line { stroke: #d0d7de }
.one { stroke: #57606a; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .small { fill: #9da7b3 } .line { stroke: #3d444d } .one { stroke: #9da7b3 }
}
"""


def speed_chart(rows: Sequence[tuple[str, Mapping[str, float]]]) -> str:
    """The README's chart as SVG text: a row for each case, a dot for each runtime, on a logarithmic axis.

    `rows` has what each runtime takes, as a multiple of ours, by the case's name.
    """
    ratios = [ratio for _, found in rows for ratio in found.values()]
    low, high = min(0.8, *ratios) / 1.1, max(ratios) * 1.15
    height = TOP + ROW * len(rows) + 34

    def x(ratio: float) -> float:
        return round(LEFT + (WIDTH - LEFT - 20) * math.log(ratio / low) / math.log(high / low), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<title>How many times as long other runtimes take as onnx-maxpool</title>",
        f"<style>{STYLE}</style>",
    ]
    peers = [name for name in COLORS if any(name in found for _, found in rows)]
    for number, name in enumerate(peers):
        at = LEFT + sum(44 + 8 * len(before) for before in peers[:number])
        parts.append(f'<circle cx="{at}" cy="20" r="5.5" fill="{COLORS[name]}"/>')
        parts.append(f'<text x="{at + 11}" y="24.5">{escape(name)}</text>')
    bottom = TOP + ROW * len(rows) - 6
    for tick in TICKS:
        if low <= tick <= high:
            kind = "one" if tick == 1 else "line"
            parts.append(f'<line class="{kind}" x1="{x(tick)}" x2="{x(tick)}" y1="{TOP - 18}" y2="{bottom}"/>')
            label = "1 = ours" if tick == 1 else f"{tick}×"
            parts.append(f'<text class="small" x="{x(tick)}" y="{bottom + 17}" text-anchor="middle">{label}</text>')
    for number, (name, found) in enumerate(rows):
        y = TOP + ROW * number
        parts.append(f'<text class="small" x="{LEFT - 16}" y="{y + 4}" text-anchor="end">{escape(name)}</text>')
        for peer, ratio in sorted(found.items(), key=lambda item: item[1]):
            mark = f"{peer} takes {ratio:.3g} times as long"
            parts.append(
                f'<circle cx="{x(ratio)}" cy="{y}" r="5.5" fill="{COLORS[peer]}"><title>{escape(mark)}</title></circle>'
            )
    parts.append(
        f'<text class="small" x="{LEFT}" y="{height - 3}">time of the other runtime / ours, logarithmic axis</text>'
    )
    return "\n".join([*parts, "</svg>"]) + "\n"
