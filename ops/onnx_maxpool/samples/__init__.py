"""The files that the documentation's examples use: `onnx-maxpool sample` writes them. One table: `SAMPLES`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from onnx_maxpool.samples import fast_rcnn

__all__ = ["SAMPLES", "Sample"]


@dataclass(frozen=True)
class Sample:
    """A file that can be written, always with the same content."""

    about: str
    """One line."""
    write: Callable[[Path], None]
    """Writes it to a path. Raises OSError where that fails."""
    extra: str = ""
    """The extra of this package whose packages it needs, if it needs any."""
    package: str = ""
    """The package of that extra which writes it."""


SAMPLES = {
    "fast_rcnn.onnx": Sample(
        "Fast R-CNN from its feature map on: MaxRoiPool and four layers, with weights (13 MB)",
        fast_rcnn.write_model,
    ),
    "inputs.npz": Sample(
        "Inputs of that model: the features of an image of 600x800 pixels, and 64 ROIs (4 MB)", fast_rcnn.write_inputs
    ),
    "rows.parquet": Sample(
        "8 rows for batches: each has an image's features and 0 to 3 boxes (45 KB)",
        fast_rcnn.write_rows,
        "batch",
        "pyarrow",
    ),
}
"""By file name."""
