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
    "onnxruntime": BackendRow("ort:OnnxRuntime", "onnxruntime", "ONNX Runtime as it is installed, without our library"),
    "openvino": BackendRow("openvino_cpu:OpenVino", "openvino", "OpenVINO on the CPU, at float32"),
    "openvino-default": BackendRow(
        "openvino_cpu:OpenVinoDefault", "openvino", "OpenVINO on the CPU, at its default precision"
    ),
    "tvm": BackendRow("tvm_relax:Tvm", "apache-tvm", "TVM's Relax importer, compiled for the CPU"),
    "mnn": BackendRow("mnn:Mnn", "MNN", "MNN's converter and CPU kernels"),
    "torch": BackendRow("torch_functions:Torch", "torch", "torch's pooling functions"),
}
"""By the name that `--backend` takes."""


def find_backend(name: str) -> Any:
    """The class of a backend: `name` is of `BACKENDS` or `module:Class`.

    Raises ValueError for another name, ImportError and AttributeError where there is no such module or class.
    """
    row = BACKENDS.get(name)
    if row is None:
        module, colon, attribute = name.partition(":")
        if not (module and colon and attribute):
            raise ValueError(f"expected one of {', '.join(BACKENDS)}, or module:Class")
        return getattr(importlib.import_module(module), attribute)
    module, _, attribute = row.target.partition(":")
    try:
        return getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
    except ModuleNotFoundError as error:
        raise ImportError(f'{error.name} is missing: pip install "{row.package}"') from None


def describe(backend: Any) -> dict[str, str]:
    """What a backend says about itself in `describe()`; of others the class and its distribution's version."""
    if hasattr(backend, "describe"):
        return dict(backend.describe())
    package = str(getattr(backend, "__module__", "")).partition(".")[0]
    distributions = importlib.metadata.packages_distributions().get(package, [])
    versions = {name: importlib.metadata.version(name) for name in distributions}
    return {"class": f"{backend.__module__}.{getattr(backend, '__name__', backend)}", **versions}
