"""A KeyboardInterrupt in a Python operator, past ONNX Runtime to whoever runs the session."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import onnxruntime as ort

_thread = threading.local()


def note(error: BaseException) -> None:
    """An operator failed on this thread by something that is no Exception; a `PythonSession` raises it."""
    _thread.error = error


@contextmanager
def _raising_what_is_noted() -> Iterator[None]:
    """ONNX Runtime runs Python operators on the thread that runs the session, where Ctrl-C is raised too."""
    _thread.error = None
    try:
        yield
    finally:
        error, _thread.error = _thread.error, None
        if error is not None:
            raise error


class PythonSession(ort.InferenceSession):  # type: ignore[misc]
    """A session whose runs raise the KeyboardInterrupt, or SystemExit, that one of its Python operators raised.

    ONNX Runtime makes an InvalidArgument of it.
    """

    def run(self, *arguments: Any, **options: Any) -> Any:
        """As ONNX Runtime's."""
        with _raising_what_is_noted():
            return super().run(*arguments, **options)

    def run_with_ort_values(self, *arguments: Any, **options: Any) -> Any:
        """As ONNX Runtime's."""
        with _raising_what_is_noted():
            return super().run_with_ort_values(*arguments, **options)

    def run_with_iobinding(self, *arguments: Any, **options: Any) -> Any:
        """As ONNX Runtime's."""
        with _raising_what_is_noted():
            return super().run_with_iobinding(*arguments, **options)

    def run_with_ortvaluevector(self, *arguments: Any, **options: Any) -> Any:
        """As ONNX Runtime's."""
        with _raising_what_is_noted():
            return super().run_with_ortvaluevector(*arguments, **options)
