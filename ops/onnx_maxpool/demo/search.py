"""`onnx-maxpool demo`: a model that stock ONNX Runtime rejects finds every coin in a photograph."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
from onnxruntime.capi.onnxruntime_pybind11_state import Fail
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NotSupported

from onnx_maxpool.adapters.onnxruntime import load
from onnx_maxpool.demo.model import Box, Match, grid_of_boxes, region_search
from onnx_maxpool.errors import InputError
from onnx_maxpool.types import Array

if TYPE_CHECKING:
    from rich.console import Console


def demo(
    out: Path,
    *,
    image: str = "coins",
    query: Box = (130, 104, 177, 151),
    sides: tuple[int, ...] = (44, 52, 60, 68, 76),
    step: int = 4,
    threshold: float = 0.3,
) -> None:
    """Search a photograph for regions that look like `query`, and draw what is found to the PNG file `out`.

    `image` names a photograph of `skimage.data`; the regions are squares of these sides at every `step` pixels. Those
    that score above `threshold` are drawn, of overlapping ones the best. Raises InputError where the packages of
    `onnx-maxpool[demo]` are missing.
    """
    try:
        from rich.console import Console

        from onnx_maxpool.demo.picture import draw, photograph
    except ImportError as error:
        raise InputError(f'demo needs {error.name}: pip install "onnx-maxpool[demo]"') from None

    console = Console(highlight=False)
    photo = photograph(image)
    height, width = photo.shape[:2]
    boxes = grid_of_boxes(height, width, sides, step)
    with tempfile.TemporaryDirectory(prefix="onnx_maxpool_") as folder:
        path = Path(folder) / "region_search.onnx"
        path.write_bytes(region_search(wanted=len(boxes)).SerializeToString(deterministic=True))
        console.print(f"[bold]A search by example[/]: MaxRoiPool, opset 22, on {len(boxes):,} regions of '{image}'\n")
        show_stock_runtime(console, path)
        started = time.perf_counter()
        session = load(path)
    loaded = time.perf_counter()
    feeds = {"image": photo, "boxes": boxes, "query": np.array([query], np.float32)}
    scores, best = session.run(["scores", "best"], feeds)
    ran = time.perf_counter()
    console.print(
        f"[green]with onnx_maxpool[/]  the same file: loaded in {1e3 * (loaded - started):.0f} ms, "
        f"run in {1e3 * (ran - loaded):.0f} ms"
    )

    regions = distinct_matches(boxes[best], scores)
    others = [match for match in regions if overlap(np.array(match.box), np.array([query]))[0] <= LARGEST_OVERLAP]
    matches = [match for match in others if match.score > threshold]
    runner_up = next((match.score for match in others if match.score <= threshold), None)
    caption = f"{len(matches)} look-alikes score above {threshold:.2f}"
    if runner_up is not None:
        caption += f", the next region {runner_up:.2f}"
    draw(out, photo, query, matches, title=f"{len(boxes):,} regions, one query", caption=caption)
    console.print(f"[green]found[/]              {caption}\n[green]drawn[/]              {out}")


def show_stock_runtime(console: Console, path: Path) -> None:
    """Load the model in ONNX Runtime as it is installed, without our library, and print what it says."""
    label = f"onnxruntime {ort.__version__}"
    try:
        ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except (Fail, NotSupported) as error:
        console.print(f"[red]{label}[/] rejects the file:", end=" ")
        console.print(" ".join(str(error).split()), markup=False)
    else:
        console.print(f"[yellow]{label}[/] loads the file too: it has learnt this operator.")


LARGEST_OVERLAP = 0.25
"""Two regions that share more of the smaller one than this show the same thing."""


def distinct_matches(boxes: Array, scores: Array, most: int = 200) -> list[Match]:
    """Non-maximum suppression: of regions that overlap, the best, in the order of scores; at most `most`.

    `boxes` (R, 4) and `scores` (R,), in descending order of score.
    """
    found: list[Match] = []
    left = np.arange(len(boxes))
    while len(left) and len(found) < most:
        first = left[0]
        x1, y1, x2, y2 = (int(edge) for edge in boxes[first])
        found.append(Match((x1, y1, x2, y2), float(scores[first])))
        left = left[overlap(boxes[first], boxes[left]) <= LARGEST_OVERLAP]
    return found


def overlap(box: Array, boxes: Array) -> npt.NDArray[np.float64]:
    """The share of the smaller of two regions that lies in both, for `box` (4,) and each of `boxes` (R, 4): (R,)."""
    corner = np.maximum(box[:2], boxes[:, :2])
    sides = np.maximum(np.minimum(box[2:], boxes[:, 2:]) - corner + 1, 0)
    areas = np.prod(boxes[:, 2:] - boxes[:, :2] + 1, axis=1)
    shared: npt.NDArray[np.float64] = np.prod(sides, axis=1) / np.minimum(areas, np.prod(box[2:] - box[:2] + 1))
    return shared
