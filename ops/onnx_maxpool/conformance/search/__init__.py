"""Cases that no list has: drawn, put to a backend, and where it differs reduced to the smallest that shows it."""

from onnx_maxpool.conformance.search.hunt import Search, search

__all__ = ["Search", "search"]
