"""The backends that can be asked by name. Each is one class in the way of `onnx.backend.base.Backend`.

An adapter's module imports its runtime, so it is imported where it is used; a runtime that is missing is an error.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class BackendRow:
    """One built-in backend."""

    target: str
    """`module:Class` in this package."""
    package: str
    """What `pip install` gets it from."""
    about: str
    """One line."""


BACKENDS = {
    "native": BackendRow("native:Native", "onnx-maxpool", "our library in ONNX Runtime"),
    "reference": BackendRow("reference:Reference", "onnx-maxpool", "our operators in onnx.reference"),
    "python": BackendRow("python:Python", "onnx-maxpool", "our Python operators in ONNX Runtime"),
    "portable": BackendRow("portable:Portable", "onnx-maxpool", "our operators as standard ones, in ONNX Runtime"),
    "onnxruntime": BackendRow(
        "onnxruntime:OnnxRuntime", "onnxruntime", "ONNX Runtime as it is installed, without our library"
    ),
    "openvino": BackendRow("openvino:OpenVino", "openvino", "OpenVINO on the CPU, at float32"),
    "openvino-default": BackendRow(
        "openvino:OpenVinoDefault", "openvino", "OpenVINO on the CPU, at its default precision"
    ),
    "tvm": BackendRow("tvm:Tvm", "apache-tvm", "TVM's Relax importer, compiled for the CPU"),
    "mnn": BackendRow("mnn:Mnn", "MNN", "MNN's converter and CPU kernels"),
    "torch": BackendRow("torch:Torch", "torch", "torch's pooling functions"),
}
"""By the name that `--backend` takes."""


class BackendError(RuntimeError):
    """A backend that cannot be imported, or that is not one."""


def find_backend(name: str) -> Any:
    """The class of a backend: `name` is of `BACKENDS` or `module:Class`.

    Raises BackendError for another name, a runtime that is missing and what is no backend; and whatever a module raises
    that is imported, AttributeError where it has no such class.
    """
    row = BACKENDS.get(name)
    if row is None:
        module, _, attribute = name.partition(":")
        if not (module and attribute):
            raise BackendError(f"{name}: expected one of {', '.join(BACKENDS)}, or module:Class")
        backend = getattr(importlib.import_module(module), attribute)
        if not all(callable(getattr(backend, method, None)) for method in ("is_compatible", "prepare")):
            raise BackendError(f"{name}: expected a class of onnx.backend.base.Backend")
        return backend
    module, _, attribute = row.target.partition(":")
    try:
        return getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
    except ModuleNotFoundError as error:
        raise BackendError(f'{name}: {error.name} is missing: pip install "{row.package}"') from None


def describe(backend: Any) -> dict[str, str]:
    """What a backend says about itself in `describe()`; of others the class and its distribution's version."""
    if hasattr(backend, "describe"):
        return dict(backend.describe())
    package = str(getattr(backend, "__module__", "")).partition(".")[0]
    distributions = importlib.metadata.packages_distributions().get(package, [])
    versions = {name: importlib.metadata.version(name) for name in distributions}
    return {"class": f"{backend.__module__}.{getattr(backend, '__name__', backend)}", **versions}
