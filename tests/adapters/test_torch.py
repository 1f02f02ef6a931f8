"""Torch models through torch.onnx.export with our translations, to our operators and to standard ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
import torch.nn.functional as F  # noqa: N812

import onnx_maxpool
from onnx_maxpool.adapters.torch import Target, translation_table
from onnx_maxpool.conformance.oracle import maximum as oracle
from onnx_maxpool.types import Array

pytestmark = pytest.mark.filterwarnings("ignore")  # of torch, about itself
AUTO, DYNAMIC = torch.export.Dim.AUTO, torch.export.Dim.DYNAMIC
each_target = pytest.mark.parametrize("target", ["custom", "portable"])


class Model(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def export(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], target: Target | None, **options: Any) -> Any:
    table = translation_table(target) if target else None
    program = torch.onnx.export(
        module, inputs, dynamo=True, verbose=False, custom_translation_table=table, input_names=None, **options
    )
    assert program is not None
    return program.model_proto


def run(proto: onnx.ModelProto, target: Target, inputs: tuple[torch.Tensor, ...]) -> list[Array]:
    """Our operators with our library, standard ones without."""
    if target == "custom":
        session = onnx_maxpool.load(proto)
    else:
        assert {node.domain for node in proto.graph.node} <= {"", "ai.onnx"}
        session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return list(session.run(None, {node.name: x.numpy() for node, x in zip(session.get_inputs(), inputs, strict=True)}))


def assert_equals_torch(module: torch.nn.Module, proto: onnx.ModelProto, target: Target, *inputs: torch.Tensor) -> None:
    with torch.no_grad():
        expected = module(*inputs)
    for actual, wanted in zip(run(proto, target, inputs), torch.utils._pytree.tree_leaves(expected), strict=True):
        assert actual.dtype == wanted.numpy().dtype
        np.testing.assert_array_equal(actual, wanted.numpy())


@pytest.mark.parametrize("with_indices", [False, True])
def test_static_shapes_without_control_flow(with_indices: bool) -> None:
    """Two calls with equal shapes share a function, others have their own."""

    def pools(x: torch.Tensor, z: torch.Tensor) -> Any:
        options = {"return_indices": True} if with_indices else {}
        return F.adaptive_max_pool2d(x, (3, 4), **options), F.adaptive_max_pool1d(z, 5, **options)  # type: ignore[arg-type]

    inputs = (torch.randn(2, 3, 10, 12), torch.randn(3, 11))
    table = translation_table("portable", control_flow=False)
    program = torch.onnx.export(Model(pools), inputs, dynamo=True, verbose=False, custom_translation_table=table)
    assert program is not None
    proto = program.model_proto
    assert not {"Loop", "If", "Range", "TopK"} & {node.op_type for f in proto.functions for node in f.node}
    assert_equals_torch(Model(pools), proto, "portable", *inputs)


def test_dynamic_shapes_are_refused_without_control_flow() -> None:
    module = Model(lambda x: F.adaptive_max_pool2d(x, (3, 4)))
    table = translation_table("portable", control_flow=False)
    with pytest.raises(torch.onnx.OnnxExporterError) as error:
        torch.onnx.export(
            module,
            (torch.randn(2, 3, 10, 12),),
            dynamo=True,
            verbose=False,
            custom_translation_table=table,
            dynamic_shapes=(({0: AUTO, 2: AUTO},),),
        )
    assert "X has shape [" in str(error.value)
    assert "without control flow" in str(error.value)
    with pytest.raises(onnx_maxpool.OperatorError, match="control_flow is False, expected True"):
        translation_table(control_flow=False)


@each_target
@pytest.mark.parametrize(
    ("pool", "shape", "sizes"),
    [
        (F.adaptive_max_pool1d, (3, 11), (4,)),
        (F.adaptive_max_pool2d, (2, 3, 10, 12), (4, 5)),
        (F.adaptive_max_pool3d, (1, 2, 5, 6, 7), (2, 3, 4)),
    ],
)
def test_values_and_indices(target: Target, pool: Callable[..., Any], shape: tuple[int, ...], sizes: Any) -> None:
    """Sizes that do not divide: torch alone refuses them. The first shape has no batch."""
    module = Model(lambda x: pool(x, sizes, return_indices=True))
    x = torch.randn(shape)
    assert_equals_torch(module, export(module, (x,), target), target, x)


def test_torch_alone_refuses_them() -> None:
    """So that this door is taken down when it is not needed any more."""
    with pytest.raises(torch.onnx.ConversionError if hasattr(torch.onnx, "ConversionError") else Exception) as error:
        export(Model(lambda x: F.adaptive_max_pool2d(x, (4, 5))), (torch.randn(2, 3, 10, 12),), None)
    assert "adaptive_max_pool2d" in str(error.value)


@each_target
def test_a_spatial_pyramid_head_of_any_image_size(target: Target) -> None:
    def pyramid(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([F.adaptive_max_pool2d(x, side).flatten(1) for side in (1, 2, 3)], 1)

    module = Model(pyramid)
    proto = export(module, (torch.randn(2, 4, 13, 17),), target, dynamic_shapes=(({0: AUTO, 2: AUTO, 3: AUTO},),))
    for shape in ((2, 4, 13, 17), (1, 4, 30, 7), (3, 4, 3, 3)):
        assert_equals_torch(module, proto, target, torch.randn(shape))


@each_target
def test_a_crnn_that_pools_to_a_given_number_of_columns(target: Target) -> None:
    """Text recognition, of lines of any width."""
    module = Model(lambda x: F.adaptive_max_pool1d(x.amax(2), 26))
    proto = export(module, (torch.randn(2, 3, 8, 100),), target, dynamic_shapes=(({3: AUTO},),))
    for width in (100, 61, 27):
        assert_equals_torch(module, proto, target, torch.randn(2, 3, 8, width))


@each_target
def test_an_output_size_of_the_input_is_the_examples(target: Target) -> None:
    """torch's operator takes numbers. With AUTO it makes the axis's size one in silence, with DYNAMIC it says so."""
    module = torch.nn.AdaptiveMaxPool2d((None, 5))  # type: ignore[arg-type]
    proto = export(module, (torch.randn(2, 3, 10, 12),), target, dynamic_shapes=({2: AUTO, 3: AUTO},))
    assert_equals_torch(module, proto, target, torch.randn(2, 3, 10, 17))
    longer = torch.randn(2, 3, 13, 17)
    (pooled,) = run(proto, target, (longer,))
    np.testing.assert_array_equal(pooled, F.adaptive_max_pool2d(longer, (10, 5)).numpy())
    with pytest.raises(torch.onnx.errors.OnnxExporterError) as error:
        export(module, (torch.randn(2, 3, 10, 12),), target, dynamic_shapes=({2: DYNAMIC, 3: DYNAMIC},))
    assert "static shape of 10" in str(error.value)


@pytest.mark.parametrize("target", ["custom", None])
@pytest.mark.parametrize(
    ("pool", "shape"), [(F.max_pool2d, (2, 3, 11, 13)), (F.max_pool3d, (1, 2, 7, 8, 9)), (F.max_pool2d, (3, 11, 13))]
)
def test_poolings_with_a_window_are_torchs_own(
    target: Target | None, pool: Callable[..., Any], shape: tuple[int, ...]
) -> None:
    """Values and indices, in stock ONNX Runtime, with our table or without."""
    module = Model(lambda x: pool(x, 3, stride=2, padding=1, ceil_mode=True, return_indices=True))
    x = torch.randn(shape)
    x.view(-1)[::5] = 1.5  # equals
    proto = export(module, (x,), target)
    assert_equals_torch(module, proto, "portable", x)


@pytest.fixture
def torchvision_schema() -> Iterator[None]:
    """torchvision's operator, as torchvision declares it, without torchvision."""
    library = torch.library.Library("torchvision", "FRAGMENT")
    library.define(
        "roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) "
        "-> (Tensor, Tensor)"
    )

    def shapes(x: Any, rois: Any, spatial_scale: float, height: int, width: int) -> tuple[Any, Any]:
        y = x.new_empty((rois.shape[0], x.shape[1], height, width))
        return y, y.to(torch.int32)

    library.impl("roi_pool", shapes, "Meta")
    yield
    library._destroy()


@each_target
def test_a_roi_head(target: Target, torchvision_schema: None) -> None:
    """By brute force, as torchvision is not there."""
    linear = torch.nn.Linear(4 * 3 * 2, 5)

    class Head(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = linear

        def forward(self, x: torch.Tensor, rois: torch.Tensor) -> Any:
            pooled, _ = torch.ops.torchvision.roi_pool(x, rois, 0.5, 3, 2)
            return pooled, self.linear(pooled.flatten(1))

    x = torch.randn(2, 4, 9, 11)
    rois = torch.tensor([[0.0, 0, 0, 9, 9], [1, 3, 3, 18, 15], [1, 30, 30, 40, 40]])
    proto = export(Head(), (x, rois), target, dynamic_shapes=({2: AUTO, 3: AUTO}, {0: AUTO}))
    for count in (3, 2):
        pooled, scores = run(proto, target, (x, rois[:count]))
        attributes = {"pooled_shape": (3, 2), "spatial_scale": 0.5}
        (expected,) = oracle.evaluate("MaxRoiPool", [x.numpy(), rois[:count].numpy()], attributes)
        np.testing.assert_array_equal(pooled, expected)
        assert scores.shape == (count, 5)


def test_the_readmes_snippet_for_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (snippet,) = re.findall(
        r"```py\n(.*?)```", (Path(__file__).parent.parent.parent / "README.md").read_text(), re.DOTALL
    )
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "README.md", "exec"), {})
    session = ort.InferenceSession("pool.onnx", providers=["CPUExecutionProvider"])
    assert [output.shape for output in session.get_outputs()] == [[1, 3, 7, 5]] * 2
