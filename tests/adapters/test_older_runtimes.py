"""What an older ONNX Runtime cannot do is expected to fail there, and nowhere else."""

from __future__ import annotations

import conftest
import pytest

from onnx_maxpool import OperatorError

REFUSED = OperatorError(f"expected the default, {conftest.NEEDS_NEWER_RUNTIME} 1.28 or newer")


@pytest.mark.parametrize("is_older", [True, False])
@pytest.mark.parametrize("error", [REFUSED, OperatorError("another")])
def test_expected_failures(is_older: bool, error: OperatorError, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "IS_OLDER_RUNTIME", is_older)
    call = conftest.pytest_runtest_call()
    next(call)
    outcome = pytest.xfail.Exception if is_older and error is REFUSED else OperatorError
    with pytest.raises(outcome, match=str(error)):
        call.throw(error)
