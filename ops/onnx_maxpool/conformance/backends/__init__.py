"""The backends that can be asked by name. Each is one class in the way of `onnx.backend.base.Backend`.

A class imports its runtime where it uses it, first to describe it; a runtime that is missing is an error.
"""

from __future__ import annotations

from dataclasses import dataclass

from onnx_maxpool.errors import InputError


@dataclass(frozen=True)
class BackendRow:
    """One built-in backend."""

    target: str
    """`module:Class` in this package."""
    package: str
    """What `pip install` gets it from: names between spaces, where it takes several."""
    about: str
    """One line."""

    @property
    def packages(self) -> list[str]:
        """The names in `package`."""
        return self.package.split()


BACKENDS = {
    "native": BackendRow("ours:Native", "onnx-maxpool", "our library in ONNX Runtime"),
    "reference": BackendRow("ours:Reference", "onnx-maxpool", "our operators in onnx.reference"),
    "python": BackendRow("ours:Python", "onnx-maxpool", "our Python operators in ONNX Runtime"),
    "portable": BackendRow("ours:Portable", "onnx-maxpool", "our operators as standard ones, in ONNX Runtime"),
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
    "torchvision": BackendRow("torch:TorchVision", "torchvision torch", "torchvision's ROI pooling"),
    "onnx-reference": BackendRow(
        "onnx_reference:OnnxReference", "onnx", "onnx.reference as it is installed, without our operators"
    ),
    "onnxruntime-openvino": BackendRow(
        "onnxruntime:OnnxRuntimeOpenVino", "onnxruntime-openvino", "ONNX Runtime's OpenVINO provider"
    ),
    "qnn": BackendRow(
        "onnxruntime:Qnn", "onnxruntime-qnn onnxruntime", "ONNX Runtime's QNN provider, on its simulator"
    ),
    "opencv": BackendRow("opencv:OpenCv", "opencv-python-headless", "OpenCV's dnn module"),
    "tract": BackendRow("tract:Tract", "tract", "tract"),
    "iree": BackendRow("iree:Iree", "iree-base-compiler iree-base-runtime", "IREE, compiled for the CPU"),
    "emx": BackendRow("emx:Emx", "emx-onnx-cgen", "emx-onnx-cgen's C code, compiled by cc"),
    "onnx2torch": BackendRow("torch:Onnx2Torch", "onnx2torch torch", "onnx2torch's modules"),
    "onnx2pytorch": BackendRow("torch:Onnx2Pytorch", "onnx2pytorch torchvision torch", "onnx2pytorch's modules"),
    "jaxonnxruntime": BackendRow(
        "jaxonnxruntime:JaxOnnxRuntime", "jaxonnxruntime jax absl-py", "ONNX models as JAX functions"
    ),
    "tinygrad": BackendRow("tinygrad:Tinygrad", "tinygrad", "tinygrad's ONNX runner"),
}
"""By the name that `--backend` takes."""


class BackendError(InputError):
    """A backend that cannot be imported, or that is not one."""


def locate(name: str) -> tuple[str, str, str]:
    """A backend's module, its class in it, and what pip installs its runtime from (empty where that is not known).

    `name` is of `BACKENDS` or `module:Class`. Raises BackendError for any other.
    """
    row = BACKENDS.get(name)
    if row is not None:
        module, _, attribute = row.target.partition(":")
        return f"{__name__}.{module}", attribute, row.package
    module, _, attribute = name.partition(":")
    if not (module and attribute):
        raise BackendError(f"{name}: expected one of {', '.join(BACKENDS)}, or module:Class")
    return module, attribute, ""
