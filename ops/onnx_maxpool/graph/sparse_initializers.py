"""Sparse initializers as dense ones."""

from __future__ import annotations

import math

import numpy as np
import onnx
from onnx import numpy_helper

from onnx_maxpool.errors import ModelError, shape
from onnx_maxpool.graph.nodes import model_nodes, subgraphs


def fill_sparse_initializers(model: onnx.ModelProto) -> None:
    """Make sparse initializers of all graphs dense, in the model. Raises ModelError."""
    graphs = [model.graph, *(graph for node in model_nodes(model) for _, graph in subgraphs(node))]
    for graph in graphs:
        for sparse in graph.sparse_initializer:
            graph.initializer.append(numpy_helper.from_array(_dense(sparse), sparse.values.name))
        graph.ClearField("sparse_initializer")


def _dense(sparse: onnx.SparseTensorProto) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """Indices are of cells in a row, or have a column per axis. Raises ModelError for those of no cell."""
    values, indices = numpy_helper.to_array(sparse.values), numpy_helper.to_array(sparse.indices)
    dims = tuple(sparse.dims)
    expected = (len(values),) if indices.ndim == 1 else (len(values), len(dims))
    limits = math.prod(dims) if indices.ndim == 1 else dims
    if indices.shape != expected or (indices < 0).any() or (indices >= limits).any():
        raise ModelError(
            f"the model: sparse tensor '{sparse.values.name}' of shape {shape(dims)} has {len(values)} values and "
            f"indices {indices.tolist()}, expected an index of a cell for each"
        )
    dense = np.zeros(dims, values.dtype)
    if indices.ndim == 1:
        dense.reshape(-1)[indices] = values
    else:
        dense[tuple(indices.T)] = values
    return dense
