"""The demo's photograph and its drawing. Needs scikit-image and Pillow, the extra `demo`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import skimage.data
from PIL import Image, ImageDraw, ImageFont

from onnx_maxpool.demo.model import Box, Match

Colour = tuple[int, int, int]

FINE = 2
"""Everything is drawn this much larger and shrunk in the end, which smooths the lines. All lengths below are final."""
PHOTO_WIDTH = 1152
MARGIN = 36
HEADER = 96
TILE = 96
GAP = 12
LABEL = 26
COLUMNS = 5
STRIP_WIDTH = COLUMNS * TILE + (COLUMNS - 1) * GAP
QUERY_TILE = 168
MOST_TILES = 25

BACKGROUND: Colour = (17, 20, 26)
TEXT: Colour = (236, 239, 244)
QUIET: Colour = (148, 158, 174)
QUERY: Colour = (255, 94, 98)
SURE: Colour = (45, 222, 180)
UNSURE: Colour = (250, 204, 84)


def photograph(name: str) -> npt.NDArray[np.uint8]:
    """A photograph of `skimage.data` by its function's name, uint8 (H, W, 3)."""
    pixels = np.asarray(getattr(skimage.data, name)())
    if pixels.ndim == 2:
        pixels = np.stack([pixels] * 3, axis=-1)
    return np.ascontiguousarray(pixels[..., :3].astype(np.uint8))


def draw(
    out: Path, photo: npt.NDArray[np.uint8], query: Box, matches: Sequence[Match], *, title: str, caption: str
) -> None:
    """Write a PNG: the photograph with query and matches framed, and their crops beside it."""
    scale = PHOTO_WIDTH / photo.shape[1]
    height = max(round(photo.shape[0] * scale), QUERY_TILE + LABEL + 5 * (TILE + LABEL + GAP))
    size = (PHOTO_WIDTH + STRIP_WIDTH + 3 * MARGIN, HEADER + height + MARGIN)
    picture = Picture(photo, size)
    picture.text((MARGIN, 22), title, 30, TEXT)
    picture.text((MARGIN, 65), caption, 18, QUIET)
    picture.photo((MARGIN, HEADER), scale)
    for match in reversed(matches):  # the best on top
        picture.frame(match.box, colour_of(match.score), 3, scale)
    picture.frame(query, QUERY, 5, scale)
    for match in matches:  # above every frame
        picture.label(match.box, colour_of(match.score), scale, f"{match.score:.2f}")
    picture.label(query, QUERY, scale, "query")
    picture.strip(PHOTO_WIDTH + 2 * MARGIN, query, matches)
    picture.save(out)


def colour_of(score: float) -> Colour:
    """From yellow at 0.5 and below to green at 0.9 and above."""
    t = min(max((score - 0.5) / 0.4, 0.0), 1.0)
    red, green, blue = (round(low + t * (high - low)) for low, high in zip(UNSURE, SURE, strict=True))
    return red, green, blue


class Picture:
    """A canvas of `size` (width, height) pixels about one photograph."""

    def __init__(self, photo: npt.NDArray[np.uint8], size: tuple[int, int]) -> None:
        self.source = Image.fromarray(photo)
        self.canvas = Image.new("RGB", (size[0] * FINE, size[1] * FINE), BACKGROUND)
        self.pen = ImageDraw.Draw(self.canvas)
        self.size = size

    def text(self, at: tuple[float, float], words: str, height: int, colour: Colour) -> None:
        """Words with their upper left corner at a place."""
        self.pen.text((at[0] * FINE, at[1] * FINE), words, colour, ImageFont.load_default(height * FINE))

    def photo(self, at: tuple[int, int], scale: float) -> None:
        """The whole photograph, its upper left corner at a place."""
        width, height = (round(side * scale * FINE) for side in self.source.size)
        self.canvas.paste(self.source.resize((width, height), Image.Resampling.LANCZOS), (at[0] * FINE, at[1] * FINE))

    def frame(self, box: Box, colour: Colour, width: int, scale: float) -> None:
        """A frame about a region of the photograph."""
        x1, y1, x2, y2 = box
        left, top, right, bottom = x1 * scale, y1 * scale, (x2 + 1) * scale, (y2 + 1) * scale
        place = MARGIN + left, HEADER + top, MARGIN + right, HEADER + bottom
        self.rectangle(place, 8, outline=colour, width=width)

    def label(self, box: Box, colour: Colour, scale: float, words: str) -> None:
        """Words on a plate in the upper left corner of a region's frame."""
        left, top = MARGIN + box[0] * scale, HEADER + box[1] * scale
        font = ImageFont.load_default(15 * FINE)
        width = self.pen.textlength(words, font) / FINE + 14
        self.rectangle((left, top, left + width, top + 22), 8, fill=colour)
        self.pen.text(((left + 7) * FINE, (top + 11) * FINE), words, BACKGROUND, font, anchor="lm")

    def rectangle(
        self,
        box: tuple[float, float, float, float],
        radius: int,
        *,
        fill: Colour | None = None,
        outline: Colour | None = None,
        width: int = 1,
    ) -> None:
        """A rectangle with round corners."""
        x1, y1, x2, y2 = (edge * FINE for edge in box)
        self.pen.rounded_rectangle((x1, y1, x2, y2), radius * FINE, fill=fill, outline=outline, width=width * FINE)

    def strip(self, left: int, query: Box, matches: Sequence[Match]) -> None:
        """The crops beside the photograph: the query large, the matches in rows by score."""
        self.crop(query, (left, HEADER), QUERY_TILE, QUERY)
        self.text((left + QUERY_TILE + 24, HEADER + 40), "Which regions", 26, TEXT)
        self.text((left + QUERY_TILE + 24, HEADER + 72), "look like this one?", 26, TEXT)
        self.text((left + QUERY_TILE + 24, HEADER + 116), "the best matches, by score", 16, QUIET)
        for i, match in enumerate(matches[:MOST_TILES]):
            row, column = divmod(i, COLUMNS)
            x = left + column * (TILE + GAP)
            y = HEADER + QUERY_TILE + LABEL + row * (TILE + LABEL + GAP)
            self.crop(match.box, (x, y), TILE, colour_of(match.score))
            self.text((x + 2, y + TILE + 5), f"{match.score:.2f}", 15, colour_of(match.score))

    def crop(self, box: Box, at: tuple[int, int], side: int, colour: Colour) -> None:
        """A region of the photograph as a framed square tile."""
        x1, y1, x2, y2 = box
        tile = self.source.crop((x1, y1, x2 + 1, y2 + 1)).resize((side * FINE, side * FINE), Image.Resampling.LANCZOS)
        self.canvas.paste(tile, (at[0] * FINE, at[1] * FINE))
        self.rectangle((at[0] - 1, at[1] - 1, at[0] + side, at[1] + side), 3, outline=colour, width=3)

    def save(self, out: Path) -> None:
        """Shrink to the final size and write a PNG."""
        self.canvas.resize(self.size, Image.Resampling.LANCZOS).save(out, "PNG", optimize=True)
