"""The native library in the options of ONNX Runtime sessions."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from pathlib import Path

import onnxruntime as ort

from onnx_maxpool.facts import BIN_EDGES, BIN_EDGES_ENTRY, DEFAULT_EDGES, REGISTERED_ENTRY
from onnx_maxpool.types import BinEdges
from onnx_maxpool.windows import check_bin_edges

PACKAGE = Path(__file__).parent.parent
LIBRARY_NAMES = {"win32": "onnx_maxpool.dll", "darwin": "libonnx_maxpool.dylib"}


def library_path() -> str:
    """The path of the native library, for `register_custom_ops_library` of any ONNX Runtime language binding.

    Raises FileNotFoundError if the package was installed without it.
    """
    path = PACKAGE / LIBRARY_NAMES.get(sys.platform, "libonnx_maxpool.so")
    if not path.exists():
        raise FileNotFoundError(f"onnx_maxpool: {path} is missing, expected the library that `pip install` builds")
    return str(path)


@dataclass(frozen=True)
class Target:
    """An instruction set that the library's kernels were compiled for."""

    name: str
    runs_here: bool
    """Whether this processor has it."""
    chosen: bool
    """Whether operators use it: the best one, or the one that the environment variable ONNX_MAXPOOL_TARGET names."""


def targets() -> tuple[Target, ...]:
    """All of them, worst first. None is chosen where ONNX_MAXPOOL_TARGET names none that runs here.

    Raises FileNotFoundError if the package was installed without the library.
    """

    class Row(ctypes.Structure):
        _fields_ = (("name", ctypes.c_char_p), ("runs_here", ctypes.c_int32), ("chosen", ctypes.c_int32))

    ask = ctypes.CDLL(library_path()).onnx_maxpool_targets
    ask.restype, ask.argtypes = ctypes.c_size_t, (ctypes.POINTER(Row), ctypes.c_size_t)
    rows = (Row * ask(None, 0))()
    ask(rows, len(rows))
    return tuple(Target(row.name.decode(), bool(row.runs_here), bool(row.chosen)) for row in rows)


def register(session_options: ort.SessionOptions, *, bin_edges: BinEdges | None = None) -> None:
    """Make sessions with these options run our operators.

    `bin_edges` says how the edges of ROI bins are computed (M7), for every operator: "onnx", "exact" or "double". If it
    is not given, the config entry `onnx_maxpool.bin_edges` of the options counts, and without an entry each operator's
    default: "onnx" for MaxRoiPool, "exact" for RoiPooling.

    You may register the same options twice. Raises ValueError for another value, and if the options are registered with
    another value.

    A model's local function with the domain and name of one of our operators does not run in these sessions, because
    ONNX Runtime prefers a registered operator. In a session of `load` the function runs.
    """
    check_bin_edges(bin_edges)
    registered = config_entry(session_options, REGISTERED_ENTRY)
    wanted = bin_edges or config_entry(session_options, BIN_EDGES_ENTRY) or DEFAULT_EDGES
    if registered == wanted:
        return
    if registered is not None:
        raise ValueError(
            f"onnx_maxpool: these session options are registered with bin_edges {registered!r}, "
            f"expected other options for {wanted!r}"
        )
    if bin_edges is not None:
        session_options.add_session_config_entry(BIN_EDGES_ENTRY, bin_edges)
    session_options.register_custom_ops_library(library_path())


def registered_bin_edges(session_options: ort.SessionOptions) -> BinEdges | None:
    """The bin edges that these options are registered with; None for each operator's default, or if they are not."""
    registered = config_entry(session_options, REGISTERED_ENTRY)
    return next((name for name in BIN_EDGES if name == registered), None)


def config_entry(session_options: ort.SessionOptions, key: str) -> str | None:
    """The value of a session config entry; None where it is not set."""
    try:
        return str(session_options.get_session_config_entry(key))
    except RuntimeError:  # ONNX Runtime's way to say that there is none
        return None
