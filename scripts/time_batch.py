"""Time `Predictor` and `onnx-maxpool batch` against a bare loop over one session: `python scripts/time_batch.py`.

Writes docs/benchmark/batch.md. All rows have images of 512 x 38 x 50 and 300 ROIs, the model pools them to 7 x 7 and
takes each channel's maximum, and everything runs on one thread per process. What is compared takes turns, so that
whatever else the machine does concerns all alike; a figure is the median of its turns.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pyarrow as pa
import pyarrow.parquet as pq
import ray

import onnx_maxpool
from onnx_maxpool.batch import cluster, local
from onnx_maxpool.batch.job import Job, Summary, run_job
from onnx_maxpool.machine import machine

PAGE = Path(__file__).parent.parent / "docs" / "benchmark" / "batch.md"
ROW_GROUP = 8


@dataclass(frozen=True)
class Size:
    """Of each row."""

    channels: int
    height: int
    width: int
    rois: int


LARGE, SMALL = Size(512, 38, 50, 300), Size(16, 38, 50, 50)


def head(channels: int) -> onnx.ModelProto:
    return onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]>
        head (float[N,{channels},H,W] X, float[R,5] rois) => (float[R,{channels}] Y) {{
            pooled = MaxRoiPool <pooled_shape = [7, 7], spatial_scale = 0.0625> (X, rois)
            Y = ReduceMax <axes = [2, 3], keepdims = 0> (pooled)
        }}""")


def rows_of(size: Size, count: int, seed: int) -> tuple[Any, list[Any]]:
    """Images (count, C, H, W), and boxes (rois, 4) of each."""
    random = np.random.default_rng(seed)
    images = random.standard_normal((count, size.channels, size.height, size.width), np.float32)
    corners = np.sort(random.uniform(0, 16 * min(size.height, size.width), (count, size.rois, 2, 2)), axis=2)
    return images, list(corners.reshape(count, size.rois, 4).astype(np.float32))


def write_rows(path: Path, size: Size, count: int) -> None:
    """A Parquet file of rows, which are never all in memory."""
    writer = None
    for start in range(0, count, ROW_GROUP):
        images, boxes = rows_of(size, min(ROW_GROUP, count - start), start)
        columns = {
            "X": pa.FixedShapeTensorArray.from_numpy_ndarray(images),
            "rois": pa.FixedShapeTensorArray.from_numpy_ndarray(np.stack(boxes)),
        }
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema, use_dictionary=False)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def session(path: Path) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return onnx_maxpool.load(path, options)


def loop_in_memory(bare: ort.InferenceSession, images: Any, boxes: list[Any]) -> None:
    for image, own in zip(images, boxes, strict=True):
        bare.run(None, {"X": image[None], "rois": np.insert(own, 0, 0, axis=1)})


def predictor_in_memory(predictor: onnx_maxpool.Predictor, size: int, images: Any, boxes: list[Any]) -> None:
    for start in range(0, len(images), size):
        predictor({"X": list(images[start : start + size]), "rois": boxes[start : start + size]})


def loop_over_files(model: Path, rows: Path, out: Path) -> None:
    """What one writes by hand: read a row, run it, write its output."""
    bare = session(model)
    with pq.ParquetFile(rows, pre_buffer=False, memory_map=True) as file, out.open("wb") as sink:
        writer = None
        for batch in file.iter_batches(1, use_threads=False):
            rois = np.insert(batch.column("rois").to_numpy_ndarray()[0], 0, 0, axis=1)
            (y,) = bare.run(None, {"X": batch.column("X").to_numpy_ndarray(), "rois": rois})
            table = pa.table({"Y": pa.FixedShapeTensorArray.from_numpy_ndarray(y.reshape(1, *y.shape))})
            writer = writer or pq.ParquetWriter(sink, table.schema, use_dictionary=False)
            writer.write_table(table)
        if writer is not None:
            writer.close()


def batch(model: Path, rows: Path, out: Path, engine: Any, told: Callable[[Summary], None] = lambda _: None) -> Summary:
    return run_job(Job(model, rows, out, part_rows=32, batch_size=8, existing="overwrite"), engine, told)


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def compare(calls: dict[str, Callable[[], object]], turns: int) -> dict[str, float]:
    """Median seconds of each, over turns in each of which all run once."""
    taken = [{name: seconds(call) for name, call in calls.items()} for _ in range(turns)]
    return {name: statistics.median(turn[name] for turn in taken) for name in calls}


ENGINES: dict[str, Callable[[int], Any]] = {
    "local": lambda workers: partial(local.compute_parts, workers=workers),
    "ray": lambda workers: partial(cluster.compute_parts, workers=workers, threads=1, address=None),
}


def resident(pid: int) -> int:
    """Bytes of a process in memory."""
    line = next(row for row in Path(f"/proc/{pid}/status").read_text().splitlines() if row.startswith("RssAnon:"))
    return int(line.split()[1]) * 1024


def memory(model: Path, rows: Path, out: Path) -> list[tuple[int, int]]:
    """Rows done, and the most bytes of a worker at that time, of a run with two workers."""
    seen: list[tuple[int, int]] = []

    def look(summary: Summary) -> None:
        workers = [child.pid for child in multiprocessing.active_children() if child.pid is not None]
        if workers:
            seen.append((summary.written, max(map(resident, workers))))

    batch(model, rows, out, ENGINES["local"](2), look)
    return seen


def measure(folder: Path, counts: Sequence[int], turns: int, small_rows: int) -> list[str]:
    """Everything, as the lines of the page."""
    model = folder / "head.onnx"
    onnx.save_model(head(LARGE.channels), model)
    out = folder / "out"

    load = os.getloadavg()[0]
    images, boxes = rows_of(LARGE, 24, 0)
    bare, predictor = session(model), onnx_maxpool.Predictor(model)
    calls = {"a bare loop": partial(loop_in_memory, bare, images, boxes)}
    for size in (1, 8, 16):
        calls[f"`Predictor`, batches of {size}"] = partial(predictor_in_memory, predictor, size, images, boxes)
    for call in calls.values():
        call()
    in_memory = {name: taken / len(images) for name, taken in compare(calls, 3 * turns).items()}
    del images, boxes

    calls = {}
    for count in counts:
        rows = folder / f"{count}.parquet"
        write_rows(rows, LARGE, count)
        calls[f"a bare loop, {count}"] = partial(loop_over_files, model, rows, folder / "bare.parquet")
        for (engine, workers), name in RUNS.items():
            calls[f"{name}, {count}"] = partial(batch, model, rows, out, ENGINES[engine](workers))
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        taken = compare(calls, turns)
    finally:
        ray.shutdown()

    small = folder / "small.onnx"
    onnx.save_model(head(SMALL.channels), small)
    write_rows(folder / "small.parquet", SMALL, small_rows)
    return page(load, in_memory, taken, counts, memory(small, folder / "small.parquet", out))


RUNS = {
    ("local", 1): "`--engine local --workers 1`",
    ("local", 2): "`--engine local --workers 2`",
    ("ray", 1): "`--engine ray --workers 1`",
    ("ray", 2): "`--engine ray --workers 2`",
}


def page(
    load: float,
    in_memory: Mapping[str, float],
    taken: Mapping[str, float],
    counts: Sequence[int],
    seen: Sequence[tuple[int, int]],
) -> list[str]:
    facts = machine()
    columns = " | ".join(f"{count} rows, s" for count in counts)
    fewest, most = min(counts), max(counts)
    own = {
        name: (taken[f"{name}, {most}"] - taken[f"{name}, {fewest}"]) / (most - fewest)
        for name in ("a bare loop", *RUNS.values())
    }
    bare = in_memory["a bare loop"]
    lines = [
        "# Batches of rows",
        "",
        "`Predictor` and `onnx-maxpool batch` against a loop over one session that does nothing else. Each row is an",
        "image of 512 × 38 × 50 and 300 ROIs in float, pooled to 7 × 7, of which the model takes each channel's",
        "maximum. One thread per process.",
        "",
        f"{facts['cpu']}, {facts['cpus']} processors, {facts['system']}, Python {facts['python']}, ONNX Runtime",
        f"{ort.__version__}, Ray {ray.__version__}, PyArrow {pa.__version__}; {facts['date'][:10]}. Written by",
        f"`python scripts/time_batch.py`, on a machine whose load was {load:.1f} when it began. Where that is more",
        "than a few tenths, others took part of the processors, and a second worker shows less than it can do.",
        "",
        "## In memory",
        "",
        "| what | ms per row | by the bare loop |",
        "|---|---|---|",
        *(f"| {name} | {value * 1e3:.2f} | {value / bare:.2f} |" for name, value in in_memory.items()),
        "",
        "## From Parquet to Parquet",
        "",
        "The bare loop reads the same file with PyArrow, a row at a time, and writes what it computes. A row's own",
        f"time is what {most} rows take beyond {fewest}, so without the start of processes and sessions. With Ray, the",
        "cluster is there already. Without `--address`, the command first begins one, which takes several seconds.",
        "",
        f"| what | {columns} | ms per row | rows per second | by the bare loop |",
        f"|---|{'---|' * (len(counts) + 3)}",
    ]
    for name, value in own.items():
        cells = " | ".join(f"{taken[f'{name}, {count}']:.1f}" for count in counts)
        lines.append(f"| {name} | {cells} | {value * 1e3:.1f} | {1 / value:.1f} | {value / own['a bare loop']:.2f} |")
    return [*lines, "", "## Memory", "", *memory_lines(seen)]


def memory_lines(seen: Sequence[tuple[int, int]]) -> list[str]:
    """What the page says of memory, or that too few reports of the job's progress came to say it."""
    rows = f"rows of {SMALL.channels} × {SMALL.height} × {SMALL.width} and {SMALL.rois} ROIs"
    if not seen:
        return [f"No report of the job's progress came while it had workers, so nothing is said of {rows}."]
    total = seen[-1][0]
    early, late = (
        [size for done, size in seen if done <= total / 5],
        [size for done, size in seen if done >= total * 4 / 5],
    )
    if not early:
        return [f"{total:,} {rows}: no report of the job's progress came in the first fifth, so nothing is compared."]
    first, last = max(early), max(late)
    return [
        f"{total:,} {rows}, two workers: the larger of the two held at most {first / 2**20:.0f} MiB of its own",
        f"in the first fifth of the rows, and {last / 2**20:.0f} MiB in the last ({last / first:.2f} times).",
    ]


def number(least: int) -> Callable[[str], int]:
    """An option's integer that is at least `least`."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r}, expected an integer of at least {least}")
        return int(text)

    return read


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--rows", type=number(1), nargs="+", default=[96, 192, 384], help="two numbers at least")
    parser.add_argument("--small-rows", type=number(1), default=10_000)
    parser.add_argument("--turns", type=number(1), default=3)
    arguments = parser.parse_args()
    if len(set(arguments.rows)) < 2:
        parser.error(f"--rows {arguments.rows}, expected two different numbers: a row's time is their difference")
    if not arguments.page.resolve().parent.is_dir():
        parser.error(f"--page {arguments.page}: its folder is missing")
    with tempfile.TemporaryDirectory() as folder:
        lines = measure(Path(folder), arguments.rows, arguments.turns, arguments.small_rows)
    arguments.page.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
