"""The public place of `translation_table`, for `torch.onnx.export`; needs the extra `torch`."""

from onnx_maxpool.adapters.torch import translation_table

__all__ = ["translation_table"]
