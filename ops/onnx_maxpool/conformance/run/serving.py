"""The worker's side: import a backend, then run models on it for the process at the other end of a socket.

This file is also a program of its own, `python serving.py SOCKET`, and must work in any environment with Python 3.10,
onnx and NumPy. Therefore it imports nothing of this package, and sends arrays as plain bytes: pickles of one NumPy
cannot always be read by another.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.metadata
import os
import platform
import signal
import sys
import types
import unittest
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import onnx

OLDEST_PYTHON = "3.10"

OLDEST_ONNX = "onnx>=1.19"
"""That built-in backends run with: the first with ml_dtypes. A backend of a user's own may run with any."""

METHODS = ("is_compatible", "prepare")
"""What makes a class a backend."""

Encoded = tuple[str, tuple[int, ...], bytes]
"""An array: its dtype, its shape and its cells."""

Answer = tuple[str, "tuple[Any, ...]", str]
"""What happened (`answered`, `raised` or `unsupported`), the outputs, and the backend's own words."""


@dataclass(frozen=True)
class Start:
    """What a worker must know before it can import its backend."""

    name: str
    """The backend's, as messages call it."""
    module: str
    attribute: str
    package: str
    """What pip installs a runtime from; empty where that is not known."""
    bare: str = ""
    """The folder of `onnx_maxpool`, where its parts are to be imported without what its `__init__.py` imports."""


class NoBackendError(RuntimeError):
    """The backend cannot be imported, or is none."""


def ask(backend: Any, model: onnx.ModelProto, inputs: Sequence[Any], device: str = "CPU") -> Answer:
    """Run a model on a class in the way of `onnx.backend.base.Backend`, in this process. Never raises."""
    try:
        if not backend.is_compatible(model, device):
            return "unsupported", (), "is_compatible says no"
        before = [array.tobytes() for array in inputs]
        outputs = backend.prepare(model, device).run(list(inputs))
        found = () if outputs is None else tuple(np.array(output) for output in outputs)
        for i, array in enumerate(inputs):
            if array.tobytes() != before[i]:
                return "raised", (), f"it changes input {i}, expected that it leaves inputs as they are"
        return "answered", found, ""
    except Exception as error:
        text = f"{type(error).__name__}: {' '.join(words_of(error).split())}"[:600]
        return "unsupported" if says_unsupported(error) else "raised", (), text


def words_of(error: Exception) -> str:
    """What an exception says; nothing where that raises another one."""
    try:
        return str(error)
    except Exception:
        return ""


def says_unsupported(error: Exception) -> bool:
    """Whether a backend says that it lacks the operator, in one of the ways that onnx's own test runner knows.

    The runner's exception goes by its name: to import it is to import every test of onnx.
    """
    names = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, (NotImplementedError, unittest.SkipTest)) or "BackendIsNotSupposedToImplementIt" in names


def find(start: Start) -> Any:
    """The backend's class. Raises NoBackendError, which says what is wrong."""
    try:
        backend = getattr(importlib.import_module(start.module), start.attribute)
    except ModuleNotFoundError as error:
        raise NoBackendError(missing(start, error)) from error
    except Exception as error:
        raise NoBackendError(f"{start.name}: {type(error).__name__}: {error}") from error
    if not all(callable(getattr(backend, method, None)) for method in METHODS):
        raise NoBackendError(f"{start.name}: expected a class of onnx.backend.base.Backend")
    return backend


def missing(start: Start, error: ModuleNotFoundError) -> str:
    """Which module a backend lacks, and what to install where that is known."""
    if start.module.endswith(".py"):
        return f"{start.name}: expected a module without .py: {start.module.removesuffix('.py')}:{start.attribute}"
    if not start.package or error.name == start.module:
        return f"{start.name}: {type(error).__name__}: {error}"
    packages = [OLDEST_ONNX] * bool(start.bare) + start.package.split()
    needed = " ".join(f'"{package}"' for package in packages)
    return f"{start.name}: {error.name} is missing: pip install {needed}"


def describe(backend: Any) -> dict[str, str]:
    """What a backend says about itself in `describe()`; of others the class and its distribution's version."""
    if hasattr(backend, "describe"):
        return {str(key): str(value) for key, value in dict(backend.describe()).items()}
    package = str(getattr(backend, "__module__", "")).partition(".")[0]
    distributions = importlib.metadata.packages_distributions().get(package, [])
    versions = {name: importlib.metadata.version(name) for name in distributions}
    return {"class": f"{backend.__module__}.{getattr(backend, '__name__', backend)}", **versions}


def environment() -> dict[str, str]:
    """The system and the versions in this process."""
    return {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "onnx": onnx.__version__,
        "numpy": np.__version__,
    }


def encode(array: Any) -> Encoded:
    """An array as plain bytes. Objects, which no tensor has, come without their values."""
    if array.dtype.hasobject:
        return "object", array.shape, b""
    # A type that NumPy does not know itself, such as bfloat16, goes by its name.
    return array.dtype.name if array.dtype.kind == "V" else array.dtype.str, array.shape, array.tobytes()


def decode(encoded: Encoded) -> Any:
    """The array. Raises TypeError for a type that this process does not know."""
    name, shape, content = encoded
    if name == "object":
        return np.empty(shape, object)
    try:
        dtype = np.dtype(name)
    except TypeError:
        importlib.import_module("ml_dtypes")  # which teaches NumPy the name
        dtype = np.dtype(name)
    return np.frombuffer(bytearray(content), dtype).reshape(shape)


def answer(backend: Any, asked: tuple[bytes, list[Encoded], str]) -> Answer:
    """What a backend does with a request, its outputs encoded."""
    model, inputs, device = asked
    try:
        arrays = [decode(array) for array in inputs]
    except (ImportError, TypeError) as error:
        return "unsupported", (), f"no such array here: {type(error).__name__}: {error}"
    happened, outputs, text = ask(backend, onnx.load_model_from_string(model), arrays, device)
    return happened, tuple(encode(output) for output in outputs), text


def find_parts(folder: str) -> None:
    """Let parts of this package be imported from its folder, without what its own `__init__.py` imports.

    That need not be there in another environment. Another Python's bytecode stays out of the folder.
    """
    sys.dont_write_bytecode = True
    for name in ("onnx_maxpool", "onnx_maxpool.conformance"):
        package = types.ModuleType(name)
        package.__path__ = [os.path.join(folder, *name.split(".")[1:])]
        sys.modules[name] = package


def end_with_parent() -> None:
    """Have the system end this process with its parent, however that ends, where the system can (Linux)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    if sys.platform == "linux":
        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)


def main(socket: str) -> None:
    """Serve until the other end hangs up. The first message is a `Start` as a dictionary."""
    end_with_parent()
    if sys.version_info < tuple(map(int, OLDEST_PYTHON.split("."))):
        sys.exit(
            f"Python {platform.python_version()} is too old, expected {'.'.join(map(str, OLDEST_PYTHON))} or newer"
        )
    if not getattr(sys.flags, "safe_path", False):
        sys.path.pop(0)  # the folder of this file, whose other modules have nothing to do with the backend
    connection = Connection(int(socket))
    with contextlib.suppress(EOFError):
        given: Mapping[str, Any] = connection.recv()
        start = Start(**given)
        if start.bare:
            find_parts(start.bare)
        try:
            backend = find(start)
            connection.send((describe(backend), environment()))
        except ModuleNotFoundError as error:
            connection.send(missing(start, error))
            return
        except Exception as error:
            connection.send(str(error) if isinstance(error, NoBackendError) else f"{start.name}: {error!r}")
            return
        while True:
            connection.send(answer(backend, connection.recv()))


if __name__ == "__main__":
    main(*sys.argv[1:])
