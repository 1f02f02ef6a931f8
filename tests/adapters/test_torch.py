"""Torch models through torch.onnx.export with our translations, to our operators and to standard ones."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from support.torch_models import Model, export, first_cause, program, session
from torchvision.ops import roi_pool

import onnx_maxpool
from onnx_maxpool.adapters.torch import Target, translation_table

pytestmark = [
    pytest.mark.slow("exports models from torch"),
    pytest.mark.extras,
    pytest.mark.filterwarnings("ignore"),  # of torch, about itself
]
AUTO, DYNAMIC = torch.export.Dim.AUTO, torch.export.Dim.DYNAMIC
each_target = pytest.mark.parametrize("target", ["custom", "portable"])


def assert_equals_torch(module: torch.nn.Module, proto: onnx.ModelProto, target: Target, *inputs: torch.Tensor) -> None:
    with torch.no_grad():
        expected = module(*inputs)
    for actual, wanted in zip(session(target, proto)(*inputs), torch.utils._pytree.tree_leaves(expected), strict=True):
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
    """Sizes that do not divide: torch rejects them by itself. The first shape has no batch."""
    module = Model(lambda x: pool(x, sizes, return_indices=True))
    x = torch.randn(shape)
    assert_equals_torch(module, export(target, module, (x,)), target, x)


def test_torch_alone_refuses_them() -> None:
    """So that the conversion goes when it is not needed any more."""
    with pytest.raises(torch.onnx.ConversionError if hasattr(torch.onnx, "ConversionError") else Exception) as error:
        export(None, Model(lambda x: F.adaptive_max_pool2d(x, (4, 5))), (torch.randn(2, 3, 10, 12),))
    assert "adaptive_max_pool2d" in str(error.value)


@each_target
def test_a_spatial_pyramid_head_of_any_image_size(target: Target) -> None:
    def pyramid(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([F.adaptive_max_pool2d(x, side).flatten(1) for side in (1, 2, 3)], 1)

    module = Model(pyramid)
    proto = export(target, module, (torch.randn(2, 4, 13, 17),), [{0: AUTO, 2: AUTO, 3: AUTO}])
    for shape in ((2, 4, 13, 17), (1, 4, 30, 7), (3, 4, 3, 3)):
        assert_equals_torch(module, proto, target, torch.randn(shape))


@each_target
def test_a_crnn_that_pools_to_a_given_number_of_columns(target: Target) -> None:
    """Text recognition, of lines of any width."""
    module = Model(lambda x: F.adaptive_max_pool1d(x.amax(2), 26))
    proto = export(target, module, (torch.randn(2, 3, 8, 100),), [{3: AUTO}])
    for width in (100, 61, 27):
        assert_equals_torch(module, proto, target, torch.randn(2, 3, 8, width))


def reloaded(exported: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """A program that was saved to a file and read again."""
    file = io.BytesIO()
    torch.export.save(exported, file)
    file.seek(0)
    return torch.export.load(file)


EXAMPLE = torch.randn(2, 3, 10, 12)
ALL_DYNAMIC = {0: DYNAMIC, 2: DYNAMIC, 3: DYNAMIC}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("saved", [False, True])
def test_an_output_size_from_a_dynamic_axis_of_an_exported_program(strict: bool, saved: bool) -> None:
    """What torch took from the example stands elsewhere in these; test_torchvision.py has modules."""
    pool = Model(lambda x: F.adaptive_max_pool2d(x, (x.shape[2] // 2, 5)))
    exported = torch.export.export(pool, (EXAMPLE,), dynamic_shapes=((ALL_DYNAMIC,),), strict=strict)
    if saved:
        exported = reloaded(exported)
    with pytest.raises(torch.onnx.errors.OnnxExporterError) as error:
        export("portable", exported, ())
    assert "//2) by 5, its value in the example, " in str(first_cause(error.value))


COMPUTED: dict[str, Callable[[torch.Tensor], Any]] = {
    "plus": lambda x: x.shape[2] // 2 + 1,
    "minus": lambda x: x.shape[2] // 2 - 1,
    "times": lambda x: 2 * (x.shape[2] // 4),
    "rounded up": lambda x: -(-x.shape[2] // 2),
    "of a strided convolution": lambda x: F.conv2d(x, torch.ones(1, 3, 3, 3), stride=2, padding=1).shape[2],
    "of a pooling": lambda x: F.max_pool2d(x, 3, 2).shape[2],
    "int": lambda x: int(x.shape[2] // 2) + 1,
    "int and max": lambda x: max(1, int(x.shape[2] // 3) - 1),
    "float": lambda x: int(2.0 ** float(x.shape[2] // 4)) + 1,
}
"""Heights of outputs, whose numbers differ from those that torch notes."""


@pytest.mark.parametrize("way", ["module", "program", "saved"])
@pytest.mark.parametrize("height", COMPUTED.values(), ids=COMPUTED)
def test_an_output_size_that_is_computed_further(height: Callable[[torch.Tensor], Any], way: str) -> None:
    """torch's notes have only a part of the expression, with another number."""
    pool = Model(lambda x: F.adaptive_max_pool2d(x, (height(x), 7)))
    with pytest.raises(torch.onnx.errors.OnnxExporterError) as error:
        export_as(way, pool)
    assert re.search(
        r"AdaptiveMaxPool: output_size is \[\d+,7\], as torch replaced .*//.* by \d", str(first_cause(error.value))
    )


def export_as(way: str, module: torch.nn.Module) -> onnx.ModelProto:
    """An export of the module, or of a program that torch.export made of it."""
    if way == "module":
        return export("custom", module, (EXAMPLE,), [ALL_DYNAMIC])
    exported = torch.export.export(module, (EXAMPLE,), dynamic_shapes=((ALL_DYNAMIC,),))
    return export("custom", reloaded(exported) if way == "saved" else exported, ())


def adaptive_max_pool_of_even(x: torch.Tensor) -> torch.Tensor:
    """A function of a model's own, with a name like torch's."""
    return F.adaptive_max_pool2d(x * 2 if x.shape[2] % 2 == 0 else x, (3, 4))


UNRELATED: dict[str, Callable[[torch.Tensor], Any]] = {
    "a branch on a remainder": adaptive_max_pool_of_even,
    "a reshape": lambda x: F.adaptive_max_pool2d(F.pixel_unshuffle(x, 2), (3, 4)),
    "a pooling with strides": lambda x: F.adaptive_max_pool2d(F.max_pool2d(x, 3, 2), (3, 4)),
}


@pytest.mark.parametrize("way", ["module", "program", "saved"])
@pytest.mark.parametrize("function", UNRELATED.values(), ids=UNRELATED)
def test_what_else_torch_notes_of_sizes(function: Callable[[torch.Tensor], Any], way: str) -> None:
    """It holds for other sizes too."""
    module = Model(function)
    assert_equals_torch(module, export_as(way, module), "custom", torch.randn(2, 3, 20, 24))


@each_target
@pytest.mark.parametrize(
    "scale",
    [
        lambda image, x: 1.0 / int(image.shape[2] // x.shape[2]),
        lambda image, x: 1.0 / float(image.shape[2] // x.shape[2]),
        lambda image, x: 2.0 ** -float(x.shape[2] // 4),
    ],
    ids=["int", "float", "a power"],
)
@pytest.mark.parametrize("is_module", [True, False])
def test_a_scale_that_is_computed_further(target: Target, scale: Callable[..., float], is_module: bool) -> None:
    pool = Model(lambda image, x, rois: roi_pool(x, rois, 3, scale(image, x)))
    inputs = (torch.randn(1, 3, 96, 128), torch.randn(1, 2, 24, 32), torch.tensor([[0.0, 3, 5, 60, 70]]))
    axes = [{2: DYNAMIC, 3: DYNAMIC}, {2: DYNAMIC, 3: DYNAMIC}, {}]
    module: Any = pool if is_module else torch.export.export(pool, inputs, dynamic_shapes=(tuple(axes),))
    with pytest.raises(torch.onnx.errors.OnnxExporterError) as error:
        export(target, module, inputs if is_module else (), axes if is_module else None)
    assert re.search(r"MaxRoiPool: spatial_scale is .*, as torch replaced .*//.* by \d", str(first_cause(error.value)))


def test_a_size_that_numpy_rounds_in_a_strict_program() -> None:
    pool = Model(lambda x: F.adaptive_max_pool2d(x, (int(np.floor(x.shape[2] / 2)), 5)))
    exported = torch.export.export(pool, (EXAMPLE,), dynamic_shapes=((ALL_DYNAMIC,),), strict=True)
    with pytest.raises(torch.onnx.errors.OnnxExporterError) as error:
        export("custom", exported, ())  # type: ignore[arg-type]
    assert "by 5.0, its value in the example" in str(first_cause(error.value))


def test_an_output_size_that_torch_itself_refuses() -> None:
    with pytest.raises(torch.onnx.errors.OnnxExporterError) as error:
        export("custom", torch.nn.AdaptiveMaxPool2d((None, 5)), (EXAMPLE,), [ALL_DYNAMIC])  # type: ignore[arg-type]
    assert "static shape of 10" in str(error.value)


@each_target
@pytest.mark.parametrize(("axes", "width"), [({3: DYNAMIC}, 17), ({2: torch.export.Dim("h")}, 12)])
def test_an_output_size_from_a_static_axis(target: Target, axes: dict[int, Any], width: int) -> None:
    """To which torch turns an axis with a name, and the model says so."""
    module = Model(lambda x: F.adaptive_max_pool2d(F.adaptive_max_pool2d(x, (None, 7)), (x.shape[2] // 2, 5)))
    proto = export(target, module, (EXAMPLE,), [axes])
    assert proto.graph.input[0].type.tensor_type.shape.dim[2].dim_value == 10
    assert_equals_torch(module, proto, target, torch.randn(2, 3, 10, width))


@each_target
def test_other_sizes_from_a_dynamic_axis(target: Target) -> None:
    """Those of other operators are computed, and those of poolings are constants beside them."""
    module = Model(lambda x: F.adaptive_max_pool2d(F.interpolate(x, (x.shape[2] // 2, x.shape[3])), (4, 5)).flatten(2))
    proto = export(target, module, (EXAMPLE,), [ALL_DYNAMIC])
    assert_equals_torch(module, proto, target, torch.randn(1, 3, 15, 9))


def test_torchs_program_runs_in_a_session_of_ours() -> None:
    module = torch.nn.AdaptiveMaxPool2d((4, 5), return_indices=True)
    exported = program("custom", module, (EXAMPLE,), [ALL_DYNAMIC])
    with pytest.raises(Exception, match="AdaptiveMaxPool"):
        exported.initialize_inference_session()
    exported.initialize_inference_session(initializer=onnx_maxpool.load)
    x = torch.randn(1, 3, 15, 9)
    for actual, expected in zip(exported(x), module(x), strict=True):
        assert torch.equal(actual, expected)


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
    proto = export(target, module, (x,))
    assert_equals_torch(module, proto, "portable", x)
