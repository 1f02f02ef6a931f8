"""The test models: built alike every time, valid, and doing what they are there for."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import onnx
import onnx.inliner
import pytest
from builders import MODELS
from builders.model import Model
from builders.spatial_pyramid import (
    CLASSES,
    COLOURS,
    DIRECTIONS,
    LARGEST_FEATURE,
    LARGEST_SCORE,
    spatial_pyramid,
    striped,
    weights,
)
from onnx.reference import ReferenceEvaluator

import onnx_maxpool
from onnx_maxpool.demo.model import PATCH_PLACES, PATCH_SIDE, filters, region_search, region_search_inputs
from onnx_maxpool.hashing import splitmix64
from onnx_maxpool.operators.registry import OPERATORS
from onnx_maxpool.samples.fast_rcnn import (
    HeadSize,
    fast_rcnn_head,
    fast_rcnn_head_inputs,
    write_weights,
)
from onnx_maxpool.types import Array, type_name

pytestmark = pytest.mark.slow("builds all sample models")

onnx_maxpool.register_schemas()

ROOT = Path(__file__).parent.parent.parent
SMALL = [model for model in MODELS.values() if not model.has_large_weights]
SMALL_HEAD = HeadSize(channels=8, hidden=96, classes=3, name="small_head")

each_small_model = pytest.mark.parametrize("model", SMALL, ids=lambda model: model.name)


def evaluate(model: onnx.ModelProto, inputs: dict[str, Array]) -> list[Array]:
    """The reference's outputs. onnx's evaluator passes new operators to subgraphs, but not to local functions."""
    inlined = onnx.inliner.inline_local_functions(model)
    return list(ReferenceEvaluator(inlined, new_ops=onnx_maxpool.reference_ops()).run(None, inputs))


@each_small_model
def test_builds_are_byte_identical(model: Model, tmp_path: Path) -> None:
    (first,) = model.write(tmp_path)
    built = first.read_bytes()
    (second,) = model.write(tmp_path)
    assert second.name == f"{model.name}.onnx"
    assert second.read_bytes() == built


def test_the_models_are_those_of_the_kept_digests() -> None:
    """With every version of onnx, NumPy and protobuf: `sha256sum` prints the same lines."""
    built = [f"{hashlib.sha256(model.content()).hexdigest()}  {model.name}.onnx\n" for model in MODELS.values()]
    assert "".join(built) == (ROOT / "models" / "models.sha256").read_text()


@each_small_model
def test_models_are_valid(model: Model) -> None:
    built = model.builder()
    onnx.checker.check_model(built, full_check=True)
    assert built.producer_name == "onnx-maxpool"
    assert built.ir_version in (8, 10)


@each_small_model
def test_samples_are_the_declared_inputs_and_run(model: Model) -> None:
    built, samples = model.builder(), model.inputs()
    declared = {value.name: value.type.tensor_type for value in built.graph.input}
    assert list(samples) == list(declared)
    for name, sample in samples.items():
        assert onnx.helper.np_dtype_to_tensor_dtype(sample.dtype) == declared[name].elem_type
        assert sample.ndim == len(declared[name].shape.dim)
    again = model.inputs()
    assert all(sample.tobytes() == again[name].tobytes() for name, sample in samples.items())
    assert all(output.size for output in evaluate(built, samples))


def test_every_operator_version_has_a_model_of_every_type() -> None:
    for version in OPERATORS:
        for types in version.types.values():
            described = {model.description for model in SMALL}
            assert all(any(version.title in text and t in text for text in described) for t in types), version.title


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith("max_roi_pool_")])
def test_max_roi_pool_samples_cover_the_special_cases(name: str) -> None:
    model = MODELS[name]
    samples = model.inputs()
    x = samples["X"].astype(np.float64)
    (y,) = (output.astype(np.float64) for output in evaluate(model.builder(), samples))
    assert np.isnan(y).any()  # G3
    assert (y == -np.inf).any()  # G2
    assert (y[6] == 0).all()  # wholly outside: M9
    row, column = round(150 / 16), round(200 / 16 + 0.1)  # malformed: the cell of its first corner, M5 and M6
    np.testing.assert_array_equal(y[7], np.broadcast_to(x[0, :, row, column, None, None], (4, 7, 7)))
    batches = samples["rois"][:, 0].astype(np.float64)
    assert set(np.trunc(batches)) == {0, 1, 2}


def test_models_with_subgraphs_give_what_their_nodes_give() -> None:
    inputs = MODELS["roi_in_if"].inputs()
    mirrored = evaluate(MODELS["roi_in_if"].builder(), inputs)[0]
    by_hand = {**inputs, "X": np.ascontiguousarray(inputs["X"][..., ::-1]), "mirrored": np.array(False)}
    np.testing.assert_array_equal(mirrored, evaluate(MODELS["roi_in_if"].builder(), by_hand)[0])
    assert not np.array_equal(
        mirrored, evaluate(MODELS["roi_in_if"].builder(), {**inputs, "mirrored": np.array(False)})
    )

    inputs = MODELS["roi_in_loop"].inputs()
    together = evaluate(MODELS["roi_in_loop"].builder(), inputs)[0]
    one_by_one = [
        evaluate(MODELS["roi_in_loop"].builder(), {name: value[i : i + 1] for name, value in inputs.items()})[0]
        for i in range(len(inputs["X"]))
    ]
    np.testing.assert_array_equal(together, np.concatenate(one_by_one))


def test_splitmix64_is_the_published_generator() -> None:
    # The first outputs for seed 1234567, as in Vigna's reference implementation.
    assert splitmix64(1234567, 3).tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def small_head(folder: Path) -> tuple[onnx.ModelProto, dict[str, Array]]:
    path = folder / "small_head.onnx"
    path.write_bytes(fast_rcnn_head(SMALL_HEAD).SerializeToString(deterministic=True))
    write_weights(folder, SMALL_HEAD)
    return onnx.load(path), fast_rcnn_head_inputs(SMALL_HEAD)


def test_head_weights_are_byte_identical_and_valid(tmp_path: Path) -> None:
    digests = [hashlib.sha256(write_weights(tmp_path, SMALL_HEAD).read_bytes()).hexdigest() for _ in range(2)]
    assert digests[0] == digests[1]
    small_head(tmp_path)
    onnx.checker.check_model(str(tmp_path / "small_head.onnx"), full_check=True)


def test_head_is_exact_in_every_order(tmp_path: Path) -> None:
    model, inputs = small_head(tmp_path)
    weights = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    pooled = evaluate(
        onnx.utils.Extractor(onnx.shape_inference.infer_shapes(model)).extract_model(["conv5_3", "rois"], ["pooled"]),
        inputs,
    )[0]
    activations: dict[str, Array] = {"pooled_flat": pooled.reshape(len(pooled), -1)}
    for layer in SMALL_HEAD.layers():
        w, b = weights[f"{layer.name}_w"], weights[f"{layer.name}_b"]
        source = activations[layer.source]
        exact = source.astype(np.float64) @ w.astype(np.float64) + b
        forward, backward = (np.broadcast_to(b, exact.shape).copy() for _ in range(2))
        for i in range(layer.rows):
            forward += source[:, i, None] * w[i]
            backward += source[:, -1 - i, None] * w[-1 - i]
        assert forward.dtype == np.float32
        np.testing.assert_array_equal(forward, exact)
        np.testing.assert_array_equal(backward, exact)
        activations[f"{layer.name}_relu"] = np.maximum(forward, 0)
        activations[layer.name] = forward
        assert np.unique(forward).size > 8, "the layer would be too easy to get right"
    for name, output in zip(("cls_score", "bbox_pred"), evaluate(model, inputs), strict=True):
        np.testing.assert_array_equal(output, activations[name])


def test_head_bounds_hold_at_full_size() -> None:
    bound = 15
    for layer in list(HeadSize().layers())[:3]:
        bound = bound * layer.terms + 1
    assert bound < 2**24
    weights = np.zeros((4096, 84), np.float32)
    layer = list(HeadSize().layers())[3]
    layer.fill(weights)
    assert (np.abs(weights).sum(axis=0) <= layer.terms * 2.0**layer.exponent).all()
    assert set(np.unique(np.abs(weights))) == {0, 2.0**layer.exponent}


def test_region_search_finds_the_like_patches() -> None:
    inputs = region_search_inputs()
    scores, best = evaluate(region_search(), inputs)
    assert scores.dtype == np.float64
    assert best.shape == (10,)
    corners = [tuple(int(edge) for edge in inputs["boxes"][i]) for i in best]
    side = PATCH_SIDE - 1
    assert corners[0] == (*PATCH_PLACES[0], PATCH_PLACES[0][0] + side, PATCH_PLACES[0][1] + side)
    assert set(corners[:4]) == {(x, y, x + side, y + side) for x, y in PATCH_PLACES}
    assert scores[3] > 0.9
    assert scores[4] < 0.8
    assert abs(scores[0] - 1) < 1e-12


@pytest.mark.parametrize("count", [0, 1, 3])
def test_region_search_takes_few_boxes(count: int) -> None:
    inputs = region_search_inputs()
    scores, best = evaluate(region_search(), {**inputs, "boxes": inputs["boxes"][:count]})
    assert scores.shape == best.shape == (count,)


def test_region_search_gives_equal_boxes_in_order() -> None:
    inputs = region_search_inputs()
    boxes = np.concatenate([inputs["query"], inputs["boxes"], inputs["query"]])
    scores, best = evaluate(region_search(), {**inputs, "boxes": boxes})
    assert best[0] == 0
    assert scores[0] == scores[1] == scores[2]
    assert best[2] == len(boxes) - 1


def test_region_search_sums_stay_exact() -> None:
    assert (filters() == np.round(filters())).all()
    for sign in (1, -1):
        assert 255 * np.maximum(sign * filters(), 0).sum(axis=(1, 2, 3)).max() + 0.5 < 2**20
    numbers = np.arange(2**20, dtype=np.float32) + np.float32(0.5)
    roots = np.sqrt(numbers)
    exact = np.floor(np.sqrt(numbers.astype(np.float64)))
    for off_by_one in (np.nextafter(roots, np.float32(0)), roots, np.nextafter(roots, np.float32(np.inf))):
        np.testing.assert_array_equal(np.floor(off_by_one), exact)


def label(image: Array) -> str:
    scores, best = evaluate(spatial_pyramid(), {"image": image})
    assert scores.shape == (1, len(CLASSES))
    return CLASSES[int(best[0])]


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("size", [(24, 24), (33, 200), (121, 90)])
def test_spatial_pyramid_tells_directions_at_any_size(size: tuple[int, int], direction: str) -> None:
    assert label(striped(*size, direction)) == direction


PAINTS = [(9, 1, 1), (1, 9, 1), (9, 9, 1), (1, 1, 9)]


@pytest.mark.parametrize(("colour", "rgb"), [*zip(COLOURS, PAINTS, strict=True)])
def test_spatial_pyramid_tells_colours(colour: str, rgb: tuple[int, int, int]) -> None:
    image = np.full((40, 50, 3), 120, np.uint8)
    image[10:30, 12:37] = np.array(rgb) * 25
    assert label(image) == colour


def test_spatial_pyramid_takes_a_single_pixel() -> None:
    assert label(np.zeros((1, 1, 3), np.uint8)) == CLASSES[0]  # all scores are 0


def test_spatial_pyramid_sums_stay_exact() -> None:
    assert (weights() == np.round(weights())).all()
    assert LARGEST_FEATURE * np.abs(weights()).sum(axis=0).max() <= LARGEST_SCORE < 2**24
    assert 255 * np.maximum(filters(), 0).sum(axis=(1, 2, 3)).max() + 0.5 < (LARGEST_FEATURE + 1) ** 2


def test_single_operator_models_show_every_rank_and_index() -> None:
    seen = set()
    for model in SMALL:
        built = model.builder()
        node, outputs = built.graph.node[0], [value.type.tensor_type for value in built.graph.output]
        if node.domain and len(built.graph.node) == 1:
            index = type_name(outputs[1].elem_type) if len(outputs) > 1 else ""
            seen.add((node.op_type, len(outputs[0].shape.dim), index))
    assert {(rank, index) for name, rank, index in seen if name == "MaxPooling1"} == {
        (4, "uint32"),
        (5, "uint32"),
        (5, "uint64"),
        (4, ""),
    }
    assert {(rank, index) for name, rank, index in seen if name == "AdaptiveMaxPool"} == {
        (3, "int64"),
        (4, "int32"),
        (5, ""),
    }


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith(("max_pooling1_", "adaptive_max_pool_"))])
def test_samples_of_windows_cover_the_special_cases(name: str) -> None:
    y = evaluate(MODELS[name].builder(), MODELS[name].inputs())[0]
    if y.dtype.kind in "iu":
        assert {np.iinfo(y.dtype).max} < set(y.ravel().tolist())
        return
    values = y.astype(np.float64)
    assert np.isnan(values).any()  # G3
    assert np.isinf(values).any()  # G2
    assert np.isfinite(values).any()
