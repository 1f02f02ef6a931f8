"""What a test model offers, and how it is written."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import helper

from onnx_maxpool.types import Array

PRODUCER = "onnx-maxpool"
LOCAL_DOMAIN = "onnx_maxpool.example"
"""The domain of the models' local functions."""
UNUSED_OPSET = 18
"""Of ai.onnx, in models without a node of that domain."""


def finished(graph: onnx.GraphProto, opsets: Mapping[str, int]) -> onnx.ModelProto:
    """A model of `graph` with the given opset imports (domain to version), and one of ai.onnx in any case.

    Where a model imports no ai.onnx, ONNX Runtime takes the newest opset that it knows. With a library that has
    operators in that domain this is opset 1000, of which the optimizer of transpositions warns, and in which nodes that
    come out of a function are not found.
    """
    imported = {"": UNUSED_OPSET, **opsets}
    imports = [helper.make_opsetid(domain, version) for domain, version in imported.items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=ir_version(imported[""]), producer_name=PRODUCER)


def parsed(
    text: str,
    initializers: Mapping[str, Array] | None = None,
    *,
    opset: int = 22,
    domains: Mapping[str, int] | None = None,
) -> onnx.ModelProto:
    """A model from ONNX's textual syntax (graph, then functions), with `initializers` added to the graph.

    `text` starts at the graph's name; the header is written here, with the opset imports of ai.onnx and of `domains`.
    Raises onnx.parser.ParseError.
    """
    imports = {"": opset, LOCAL_DOMAIN: 1, **(domains or {})}
    listed = ", ".join(f'"{domain}": {version}' for domain, version in imports.items())
    header = f"<ir_version: {ir_version(opset)}, opset_import: [{listed}]>"
    model = onnx.parser.parse_model(header + text)
    model.producer_name = PRODUCER
    model.graph.initializer.extend(
        onnx.numpy_helper.from_array(value, name) for name, value in (initializers or {}).items()
    )
    if not model.functions:
        del model.opset_import[1]
    return model


def ir_version(opset: int) -> int:
    """The file format's version: fixed, and old enough for every runtime that takes the opset."""
    return 8 if opset <= 18 else 10
