"""The entry point of the command `onnx-maxpool`: runs it, and prints every error as one message, without a traceback.

Exit codes: 0, all is well; 1, the answer is no, or a model or a run failed; 2, the command line is wrong, a file that
it names cannot be read or written, or a package that it needs is missing; 130, it was interrupted.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Any

import onnx

from onnx_maxpool.adapters.onnxruntime import ORT_ERRORS
from onnx_maxpool.adapters.portable.guards import said_by_guard
from onnx_maxpool.errors import InputError, ModelError, OperatorError, RowError, printable

REFUSALS: tuple[type[Exception], ...] = (
    *(OperatorError, InputError, ModelError, OSError, MemoryError, onnx.checker.ValidationError),
    # Of onnx's reference evaluator, and of onnxruntime where it has no class for the error.
    RuntimeError,
    *ORT_ERRORS,
)

FAILURE, MISTAKE = 1, 2
INTERRUPTED = 130
"""What shells expect after Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command with these arguments, or those of the process, and exit."""
    for stream in (sys.stdout, sys.stderr):  # a name out of a model may have letters that a terminal lacks
        if isinstance(stream, io.TextIOWrapper) and stream.errors != "backslashreplace":
            stream.reconfigure(errors="backslashreplace")
    try:
        import typer
        from rich.console import Console
        from rich.text import Text

        from onnx_maxpool.cli.commands import app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("rich", "typer"):
            raise
        print(f'onnx-maxpool needs {error.name}: pip install "onnx-maxpool[cli]"', file=sys.stderr)
        sys.exit(MISTAKE)
    except KeyboardInterrupt:  # which the app does not see yet
        sys.exit(INTERRUPTED)

    code = FAILURE
    usage_error: Any = typer.BadParameter.__base__  # of click, which newer versions of typer carry inside
    try:
        sys.exit(app(args=arguments, prog_name="onnx-maxpool", standalone_mode=False))
    except usage_error as error:
        message, code = error.format_message(), MISTAKE
    except typer.Abort:  # Ctrl-C, as click has it
        sys.exit(INTERRUPTED)
    except OSError as error:
        message, code = about_file(error), MISTAKE
    except ModuleNotFoundError as error:  # pip installs it with this package, but not beside onnxruntime-gpu
        if error.name != "onnxruntime_extensions":
            raise
        message, code = str(error), MISTAKE
    except REFUSALS as error:
        message = said_by_guard(str(error)) or str(error).strip()
        code = MISTAKE if isinstance(error, InputError) and not isinstance(error, RowError) else FAILURE
    Console(stderr=True).print(Text(printable(message), style="red"), soft_wrap=True)
    sys.exit(code)


def about_file(error: OSError) -> str:
    """`model.onnx: no such file`, and likewise for all that the system says of a file."""
    if error.strerror is None:  # it was raised with a sentence of ours
        return str(error)
    reason = "no such file" if isinstance(error, FileNotFoundError) else error.strerror.lower()
    return reason if error.filename is None else f"{error.filename}: {reason}"
