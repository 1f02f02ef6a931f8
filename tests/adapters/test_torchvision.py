"""Torch models with torchvision's ROI pooling, through both of torch's exporters, with torchvision's own answers.

Limits of the equality, which lie in torchvision: it computes in int32, ignores NaN and starts at the lowest float. So
the conformance suite finds, too. Every row of the table of models that cannot be exported is tried.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.torch_models import Model, Way, export, first_cause, program, session
from torchvision.ops import RoIPool, roi_pool
from words.bad_conversions import BAD_EXPORTS, BadExport

import onnx_maxpool
from onnx_maxpool import OperatorError
from onnx_maxpool.conformance import BackendRun, Outcome, all_cases, run_backend
from onnx_maxpool.types import Array

pytestmark = [
    pytest.mark.slow("exports models from torch, some seconds each"),
    pytest.mark.extras,
    pytest.mark.filterwarnings("ignore"),  # of torch, about itself
]
WAYS: tuple[Way, ...] = ("torchscript", "custom", "portable")
DYNAMIC = torch.export.Dim.DYNAMIC
MAPS, ROIS = {0: DYNAMIC, 2: DYNAMIC, 3: DYNAMIC}, {0: DYNAMIC}
POOLINGS = (((7, 7), 1 / 16), ((14, 13), 0.69921875), ((21, 28), 1.0))
"""pooled_shape and spatial_scale, a float32 number each, as ONNX keeps no other."""
LARGEST = 2**29
"""In cells. Edges and extents of it fit in int32."""

each_way = pytest.mark.parametrize("way", WAYS)
each_type = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
each_table = pytest.mark.parametrize("way", ["custom", "portable"])


@cache
def telling_extents(bins: int, dtype: torch.dtype) -> Array:
    """Extents of a ROI, in cells, of which bin edges that are rounded differ from exact ones."""
    kind = np.float32 if dtype == torch.float32 else np.float64
    extents, edges = np.arange(1, 130)[:, None], np.arange(bins + 1)
    rounded = edges.astype(kind) * (extents.astype(kind) / kind(bins))
    starts_late = np.floor(rounded) != edges * extents // bins
    ends_late = np.ceil(rounded) != -(-edges * extents // bins)
    return extents[(starts_late | ends_late).any(1), 0]


def draw(
    seed: int, dtype: torch.dtype, pooled_shape: Sequence[int], scale: float, channels: int, roi_count: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """A map of any size and ROIs on it: inside, beyond, malformed, at halves, huge, and of extents that tell."""
    rng = np.random.default_rng(seed)
    batch, height, width = rng.integers(1, 3), *rng.integers(1, 140, 2)
    corners = []
    for bins, size in zip(reversed(pooled_shape), (width, height), strict=True):  # x before y
        start = rng.uniform(-0.3, 1.1, roi_count) * size
        extent = rng.uniform(-0.1, 1.3, roi_count) * size
        step = rng.choice([0, 0.5, 1], roi_count)
        start, extent = (np.where(step > 0, np.round(x / np.maximum(step, 0.5)) * step, x) for x in (start, extent))
        telling = telling_extents(bins, dtype)
        if len(telling):
            extent = np.where(rng.random(roi_count) < 0.5, rng.choice(telling, roi_count) - 1, extent)
        far = rng.random(roi_count) < 0.05
        ends = np.stack([start, start + extent])
        corners.append(np.where(far, rng.integers(-LARGEST, LARGEST, ends.shape), ends))
    (x1, x2), (y1, y2) = corners
    rois = np.stack([rng.integers(0, batch, roi_count), x1 / scale, y1 / scale, x2 / scale, y2 / scale], 1)
    x = rng.standard_normal((batch, channels, height, width))
    return torch.from_numpy(x).to(dtype), torch.from_numpy(rois).to(dtype)


seeds = st.integers(0, 2**32 - 1)


@cache
def exported_roi_pool(
    way: Way, dtype: torch.dtype, pooled_shape: tuple[int, int], scale: float
) -> Callable[..., list[Array]]:
    module = Model(lambda x, rois: roi_pool(x, rois, pooled_shape, scale))
    return session(way, export(way, module, draw(0, dtype, pooled_shape, scale, 3, 5), [MAPS, ROIS]))


@each_way
@each_type
@given(seed=seeds, pooling=st.sampled_from(POOLINGS))
def test_roi_pool_of_any_map(way: Way, dtype: torch.dtype, seed: int, pooling: Any) -> None:
    pooled_shape, scale = pooling
    x, rois = draw(seed, dtype, pooled_shape, scale, channels=3, roi_count=seed % 8)
    (y,) = exported_roi_pool(way, dtype, pooled_shape, scale)(x, rois)
    expected = roi_pool(x, rois, pooled_shape, scale).numpy()
    assert y.dtype == expected.dtype
    np.testing.assert_array_equal(y, expected)


sides = st.integers(1, 64)
scales = st.sampled_from([1.0, 0.5, 1 / 16, 2.0]) | st.floats(1 / 64, 4, width=32)


@each_type
@given(seed=seeds, height=sides, width=sides, scale=scales)
def test_pooling_to_any_shape_at_any_scale(
    dtype: torch.dtype, seed: int, height: int, width: int, scale: float
) -> None:
    """Without an exporter, for which these are constants."""
    x, rois = draw(seed, dtype, (height, width), scale, channels=1, roi_count=24)
    y = onnx_maxpool.max_roi_pool(x.numpy(), rois.numpy(), pooled_shape=(height, width), spatial_scale=scale)
    np.testing.assert_array_equal(y, roi_pool(x, rois, (height, width), scale).numpy())


@each_type
@pytest.mark.parametrize(("pooled_shape", "scale"), POOLINGS)
def test_what_is_drawn_tells_edges_apart(dtype: torch.dtype, pooled_shape: tuple[int, int], scale: float) -> None:
    """Exact edges would fail all that is above, in 0.04 % of cells of 7x7 bins to 0.3 % of 21x28 in float."""
    x, rois = draw(1, dtype, pooled_shape, scale, channels=3, roi_count=300)
    expected = roi_pool(x, rois, pooled_shape, scale).numpy()
    exact = onnx_maxpool.max_roi_pool(
        x.numpy(), rois.numpy(), pooled_shape=pooled_shape, spatial_scale=scale, bin_edges="exact"
    )
    assert np.count_nonzero(exact != expected) > 0


class FastRCNN(torch.nn.Module):
    """A small one. ONNX Runtime has no Conv for double: there the backbone is a Linear of each patch of 4x4 cells."""

    pooled_shape = (6, 7)
    scale = 0.25

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        nn = torch.nn
        self.convolutions = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 12, 3, padding=1),
            nn.ReLU(),
        )
        self.patches = nn.Sequential(nn.Linear(3 * 16, 12), nn.ReLU())
        self.is_convolutional = dtype == torch.float32
        self.pool = RoIPool(self.pooled_shape, self.scale)
        self.classes = nn.Sequential(
            nn.Flatten(), nn.Linear(12 * 6 * 7, 16), nn.ReLU(), nn.Linear(16, 5), nn.Softmax(1)
        )
        self.boxes = nn.Sequential(nn.Flatten(), nn.Linear(12 * 6 * 7, 20))
        self.to(dtype)

    def backbone(self, image: torch.Tensor) -> Any:
        if self.is_convolutional:
            return self.convolutions(image)
        patches = torch.nn.functional.pixel_unshuffle(image, 4)
        return self.patches(patches.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

    def forward(
        self, images: torch.Tensor, rois: torch.Tensor, second: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, ...]:
        """ROIs with their batch numbers, or the boxes of the first image and of the second."""
        features = self.backbone(images)
        pooled = self.pool(features, rois if second is None else [rois, second])
        return features, pooled, self.classes(pooled), self.boxes(pooled)


def images_and_rois(seed: int, dtype: torch.dtype, roi_count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """ROIs in pixels."""
    x, rois = draw(seed, dtype, FastRCNN.pooled_shape, FastRCNN.scale, channels=1, roi_count=roi_count)
    batch, _, height, width = x.shape
    return torch.from_numpy(np.random.default_rng(seed).random((batch, 3, 4 * height, 4 * width))).to(dtype), rois


@each_way
@each_type
@pytest.mark.parametrize("form", ["rois", "boxes of each image"])
def test_a_fast_rcnn_of_any_image(way: Way, dtype: torch.dtype, form: str) -> None:
    """The operator on the features that the model computed, in every cell; the rest to the last digits."""
    torch.manual_seed(0)
    network = FastRCNN(dtype).eval()

    def inputs(seed: int, roi_count: int) -> tuple[torch.Tensor, ...]:
        images, rois = images_and_rois(seed, dtype, roi_count)
        if form == "rois":
            return images, rois
        return images[:1].repeat(2, 1, 1, 1), rois[rois[:, 0] == 0, 1:], rois[:5, 1:]

    shapes = [MAPS, ROIS] if form == "rois" else [MAPS, ROIS, ROIS]
    run = session(way, export(way, network, inputs(0, 9), shapes))
    for seed, roi_count in ((1, 60), (2, 1), (3, 17)):
        given = inputs(seed, roi_count)
        with torch.no_grad():
            features, pooled, classes, boxes = (torch.from_numpy(y) for y in run(*given))
            rois = given[1] if form == "rois" else [*given[1:]]
            assert torch.equal(pooled, roi_pool(features, rois, network.pooled_shape, network.scale))
            torch.testing.assert_close(features, network.backbone(given[0]))
            torch.testing.assert_close(classes, network.classes(pooled))
            torch.testing.assert_close(boxes, network.boxes(pooled))


@each_way
def test_no_rois(way: Way) -> None:
    """G7."""
    x, rois = draw(5, torch.float32, (7, 7), 1 / 16, channels=3, roi_count=0)
    (y,) = exported_roi_pool(way, torch.float32, (7, 7), 1 / 16)(x, rois)
    assert y.shape == (0, 3, 7, 7)


def both_outputs(x: torch.Tensor, rois: torch.Tensor) -> Any:
    return torch.ops.torchvision.roi_pool(x, rois, 0.5, 2, 3)


EXAMPLE = torch.randn(2, 3, 10, 12), torch.tensor([[0.0, 0, 0, 9, 9], [1, 2, 2, 5, 5]])


@each_table
def test_the_second_output_is_refused(way: Way) -> None:
    """Where an operator uses it; test_exports has the model's outputs."""
    with pytest.raises(torch.onnx.errors.OnnxExporterError) as error:
        export(way, Model(lambda x, rois: both_outputs(x, rois)[1] + 1), EXAMPLE, [MAPS, ROIS])
    assert 'MaxRoiPool: roi_pool has its second output used by "add' in str(first_cause(error.value))


def test_the_second_output_is_refused_by_torchvision_itself() -> None:
    with pytest.raises(RuntimeError, match="roi_pool returned None for the output 1"):
        export("torchscript", Model(both_outputs), EXAMPLE)


@each_table
def test_a_second_output_that_leads_nowhere(way: Way) -> None:
    def model(x: torch.Tensor, rois: torch.Tensor) -> torch.Tensor:
        values, places = both_outputs(x, rois)
        _ = places + 1
        return values

    (y,) = session(way, export(way, Model(model), EXAMPLE, [MAPS, ROIS]))(*EXAMPLE)
    np.testing.assert_array_equal(y, model(*EXAMPLE).numpy())


@each_table
def test_an_attribute_from_a_static_axis(way: Way) -> None:
    model = Model(lambda x, rois: roi_pool(x, rois, (x.shape[2] // 2, 5), x.shape[2] * 0.025))
    (y,) = session(way, export(way, model, EXAMPLE))(*EXAMPLE)
    np.testing.assert_array_equal(y, roi_pool(*EXAMPLE, (5, 5), 0.25).numpy())


@each_type
def test_torchs_program_runs_in_a_session_of_ours(dtype: torch.dtype) -> None:
    exported = program("custom", Model(lambda x, rois: roi_pool(x, rois, (7, 7), 0.5)), [x.to(dtype) for x in EXAMPLE])
    exported.initialize_inference_session(initializer=onnx_maxpool.load)
    x, rois = (x.to(dtype) for x in EXAMPLE)
    (y,) = exported(x, rois)
    assert torch.equal(y, roi_pool(x, rois, (7, 7), 0.5))


NAMES = {"torch": torch, "F": torch.nn.functional, "roi_pool": torch.ops.torchvision.roi_pool}


class Expression(torch.nn.Module):
    """A model whose inputs have the names that messages show."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.function = eval(f"lambda x, rois: {text}", NAMES)

    def forward(self, x: torch.Tensor, rois: torch.Tensor) -> Any:
        return self.function(x, rois)


@pytest.mark.parametrize("bad", BAD_EXPORTS, ids=[f"{bad.model}, {bad.hint}" for bad in BAD_EXPORTS])
def test_exports(bad: BadExport) -> None:
    hint = getattr(torch.export.Dim, bad.hint)
    with pytest.raises(torch.onnx.errors.OnnxExporterError) as error:
        export("custom", Expression(bad.model), EXAMPLE, [{0: hint, 2: hint, 3: hint}, {0: hint}])
    cause = first_cause(error.value)
    assert type(cause) is OperatorError
    assert str(cause) == bad.said
    assert bad.said in str(error.value)


def outcome(run: BackendRun, name: str) -> Outcome:
    return next(result.outcome for result in run.results if result.case.name == name)


def test_torchvision_pools_rois_in_the_types_that_it_has() -> None:
    names = "^max_roi_pool_22_(float|double|bfloat16|minus_infinity|roi_rank)$|^roi_pooling_1_(float|rois_of_two_.*)$"
    run = run_backend("torchvision", [case for case in all_cases() if re.search(names, case.name)], repeat=1)
    for name in ("max_roi_pool_22_float", "max_roi_pool_22_double", "roi_pooling_1_float"):
        assert outcome(run, name) is Outcome.PASS, name
    assert outcome(run, "max_roi_pool_22_bfloat16") is Outcome.UNSUPPORTED
    lowest = next(result for result in run.results if result.case.name == "max_roi_pool_22_minus_infinity")
    assert lowest.answers == ("maximum starts at the lowest finite number",)
    for result in run.results:
        if result.case.refuses:
            assert result.outcome is Outcome.PASS, (result.case.name, result.detail)
