"""Sparse initializers as dense ones."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import numpy_helper

from onnx_maxpool.graph.nodes import model_nodes, subgraphs


def fill_sparse_initializers(model: onnx.ModelProto) -> None:
    """Make sparse initializers of all graphs dense, in the model."""
    graphs = [model.graph, *(graph for node in model_nodes(model) for _, graph in subgraphs(node))]
    for graph in graphs:
        for sparse in graph.sparse_initializer:
            graph.initializer.append(numpy_helper.from_array(_dense(sparse), sparse.values.name))
        graph.ClearField("sparse_initializer")


def _dense(sparse: onnx.SparseTensorProto) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """Indices are of cells in a row, or have a column per axis."""
    values, indices = numpy_helper.to_array(sparse.values), numpy_helper.to_array(sparse.indices)
    dense = np.zeros(tuple(sparse.dims), values.dtype)
    if indices.ndim == 1:
        dense.reshape(-1)[indices] = values
    else:
        dense[tuple(indices.T)] = values
    return dense
