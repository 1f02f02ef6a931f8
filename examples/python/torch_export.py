"""Export adaptive max pooling from PyTorch, which torch.onnx.export rejects: `python torch_export.py OUT`.

Needs this package with the extra `torch`.
"""

import sys

import torch

import onnx_maxpool
from onnx_maxpool.torch_export import translation_table


class Head(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pool = torch.nn.AdaptiveMaxPool2d((3, 5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(x)


def main(out: str) -> None:
    x = torch.randn(2, 4, 17, 23)
    model = Head().eval()
    torch.onnx.export(model, (x,), out, dynamo=True, custom_translation_table=translation_table(), input_names=["x"])
    (computed,) = onnx_maxpool.load(out).run(None, {"x": x.numpy()})
    print("equal" if torch.equal(model(x), torch.from_numpy(computed)) else "different", computed.shape)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python torch_export.py OUT")
    main(*sys.argv[1:])
