"""The errors of the package, and how they print the values that they complain about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import SupportsFloat

import numpy as np

MOST_WHOLE = 1e7
"""Whole numbers of up to so many are written with all their digits."""


class OperatorError(ValueError):
    """An operator rejects what it was given.

    The message names the operator, the input or attribute, the value and what was expected. The native library gives
    the same message through ONNX Runtime.
    """


class ModelError(ValueError):
    """A model cannot be read, or would crash the process that runs it.

    The message names the file, what is wrong with it and what was expected.
    """


class OutputError(OSError):
    """A file or a folder cannot be written, or has files of something else. The message names it and says why."""


class WorkerError(RuntimeError):
    """A process that this one started ended without a result. The message says what it was doing."""


def number(value: SupportsFloat, dtype: np.dtype[np.generic]) -> str:
    """`value` with the fewest digits that read back as the same `dtype` (float32 stands in for narrower floats).

    Whole numbers of up to ten million have all their digits: `400`, not `4e+02`.
    """
    kind = np.float64 if dtype == np.float64 else np.float32
    exact = kind(value)
    printed = float(exact)
    if printed != 0 and abs(printed) <= MOST_WHOLE and printed.is_integer():
        return str(int(printed))
    for digits in range(1, 17):
        text = f"{printed:.{digits}g}"
        with np.errstate(over="ignore"):  # few digits of the largest number may be beyond it
            if kind(text) == exact:
                return text
    return f"{printed:.17g}"


def shape(dims: Iterable[int | str | None]) -> str:
    """`dims` as it stands in messages: `[2,3,38,50]`, or `[N,3,?,?]` where it is not all known."""
    return f"[{','.join('?' if dim is None else str(dim) for dim in dims)}]"


def listing(words: Iterable[str]) -> str:
    """`a, b or c`."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def escaped(text: str) -> str:
    """`text` with each byte of its UTF-8 that is not printable ASCII in hexadecimal: as the native library says it."""
    return "".join(
        chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}" for byte in text.encode(errors="backslashreplace")
    )


def printable(text: str) -> str:
    """`text` with whatever a terminal might obey, such as escape sequences, in escapes of its own; newlines stay."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


class InputError(ValueError):
    """An argument or an input cannot be used. The message says what to give instead."""


class RowError(InputError):
    """Rows of a batch cannot be computed. The message names the first row and what is wrong with it."""

    def __init__(self, failures: Mapping[int, str], message: str | None = None) -> None:
        """`message` takes the place of the one that is made from the failures."""
        self.failures = dict(failures)
        """What is wrong with each row that fails, by its place in the batch."""
        self._message = message
        super().__init__(_about_rows(self.failures) if message is None else message)

    def __reduce__(self) -> tuple[type[RowError], tuple[dict[int, str], str | None]]:
        return RowError, (self.failures, self._message)


def _about_rows(failures: Mapping[int, str]) -> str:
    (row, message), *others = failures.items()
    more = f"; rows that fail too: {', '.join(str(other) for other, _ in others)}" if others else ""
    return f"row {row}: {message}{more}"
