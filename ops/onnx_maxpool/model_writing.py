"""Write a model, whole or not at all."""

from __future__ import annotations

import tempfile
from pathlib import Path

import onnx

from onnx_maxpool.output_files import prepare_files


def write_model(model: onnx.ModelProto, path: Path, *, external_data: bool) -> None:
    """Write `model`; with `external_data` its large tensors go to one file beside it, `NAME.onnx.data`.

    What stands at `path`, and its data, is replaced when everything is written. `model` is changed. Raises what
    `prepare_files` raises, and OSError where a file cannot be written.
    """
    prepare_files(path)
    data = f"{path.name}.data"
    with tempfile.TemporaryDirectory(prefix=f"{path.name}.", dir=path.parent) as folder:
        onnx.save_model(
            model,
            Path(folder, path.name),
            "protobuf",
            save_as_external_data=external_data,
            location=data,
            convert_attribute=True,
        )
        for name in (data, path.name):  # the model last, which names the data
            if Path(folder, name).exists():
                Path(folder, name).replace(path.with_name(name))
