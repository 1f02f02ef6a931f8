"""Our operators in standard ones: `conversion` puts the functions of `functions` in place of nodes, by `inlining`."""

from onnx_maxpool.adapters.portable.conversion import to_portable

__all__ = ["to_portable"]
