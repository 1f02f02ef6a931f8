"""The entry point of the command `onnx-maxpool`: runs it, and ends every refusal as one line and exit code 1."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import onnx
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

from onnx_maxpool.cli.inspection import short_reason
from onnx_maxpool.errors import InputError, ModelError, OperatorError, printable

# ONNX Runtime's exceptions have no base class of their own.
ORT_ERRORS = tuple(e for e in vars(ort_errors).values() if isinstance(e, type) and issubclass(e, Exception))
REFUSALS: tuple[type[Exception], ...] = (
    *(OperatorError, InputError, ModelError, OSError, MemoryError, onnx.checker.ValidationError),
    # Of onnx's reference evaluator, and of onnxruntime where it has no class for the error.
    RuntimeError,
    *ORT_ERRORS,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command with these arguments, or those of the process, and exit."""
    try:
        import typer
        from rich.console import Console
        from rich.text import Text

        from onnx_maxpool.cli.commands import app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("rich", "typer"):
            raise
        sys.exit(f'onnx-maxpool needs {error.name}: pip install "onnx-maxpool[cli]"')

    usage_error: Any = typer.BadParameter.__base__  # of click, which newer versions of typer carry inside
    try:
        sys.exit(app(args=arguments, prog_name="onnx-maxpool", standalone_mode=False))
    except usage_error as error:
        message = error.format_message()
    except REFUSALS as error:
        message = short_reason(str(error)) if isinstance(error, ORT_ERRORS) else str(error)
    Console(stderr=True).print(Text(printable(message), style="red"), soft_wrap=True)
    sys.exit(1)
