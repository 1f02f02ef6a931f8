"""Every row of the table of bad exports."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torchvision  # noqa: F401 - it registers its operators
from support.torch_models import export, first_cause
from words.bad_exports import BAD_EXPORTS, BadExport

from onnx_maxpool import OperatorError

pytestmark = pytest.mark.slow("exports models from torch, some seconds each")

EXAMPLE = torch.randn(2, 3, 10, 12), torch.tensor([[0.0, 0, 0, 9, 9], [1, 2, 2, 5, 5]])
NAMES = {"torch": torch, "F": torch.nn.functional, "roi_pool": torch.ops.torchvision.roi_pool}


class Expression(torch.nn.Module):
    """A model whose inputs have the names that messages show."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.function = eval(f"lambda x, rois: {text}", NAMES)

    def forward(self, x: torch.Tensor, rois: torch.Tensor) -> Any:
        return self.function(x, rois)


@pytest.mark.filterwarnings("ignore")  # of torch, about itself
@pytest.mark.parametrize("bad", BAD_EXPORTS, ids=[f"{bad.model}, {bad.hint}" for bad in BAD_EXPORTS])
def test_exports(bad: BadExport) -> None:
    hint = getattr(torch.export.Dim, bad.hint)
    with pytest.raises(torch.onnx.errors.OnnxExporterError) as error:
        export("custom", Expression(bad.model), EXAMPLE, [{0: hint, 2: hint, 3: hint}, {0: hint}])
    cause = first_cause(error.value)
    assert type(cause) is OperatorError
    assert str(cause) == bad.said
    assert bad.said in str(error.value)
