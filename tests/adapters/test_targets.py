"""Each instruction set that the kernels were compiled for gives the same outputs."""

from __future__ import annotations

import platform
import re
import subprocess
from pathlib import Path

import pytest
from support.processes import run_python

from onnx_maxpool.adapters.registration import targets
from onnx_maxpool.benchmark.peers import HELD_TO

pytestmark = pytest.mark.slow("runs other tests for each instruction set")

ROOT = Path(__file__).parent.parent.parent

TARGET_SCRIPT = """
import numpy as np
import onnx_maxpool
from onnx_maxpool.cli.comparison import compare
from onnx_maxpool.adapters.reference import reference_evaluator
from builders import MODELS
from support.older_runtimes import loads_here
from support.one_node import assert_same, roi_model, native_rois, random_rois, reference_rois
from onnx_maxpool.types import dtype_of
rng = np.random.default_rng(23)
for element_type in ("float16", "bfloat16", "float", "double"):
    for channels in (1, 3, 4, 7, 8, 15, 16, 33, 70):
        for roi_count in (1, 40):
            x, rois = random_rois(rng, dtype_of(element_type), (2, channels, 13, 19), roi_count, 0.5)
            proto = roi_model(element_type, pooled_shape=(3, 6), spatial_scale=0.5)
            assert_same(native_rois(proto, x, rois), reference_rois(proto, x, rois))
for name, test_model in MODELS.items():
    if name.startswith(("adaptive_max_pool", "max_pooling1", "roi_pooling", "spatial_pyramid")):
        proto = test_model.builder()
        if not loads_here(proto):
            continue
        found = compare(onnx_maxpool.load(proto), reference_evaluator(proto), test_model.inputs())
        assert found.equal, (name, found.differences)
print("equal")
"""


def run_with_target(target: str | None, *command: str) -> subprocess.CompletedProcess[str]:
    return run_python(*command, variables={"ONNX_MAXPOOL_TARGET": target})


def targets_here() -> list[str]:
    return [target.name for target in targets() if target.runs_here]


def test_the_library_tells_its_targets() -> None:
    rows = (ROOT / "ops" / "native" / "kernels" / "targets.inc").read_text()
    listed = re.findall(r'^TARGET\((\w+), ".*"\)$', rows, re.MULTILINE)
    names = [target.name for target in targets()]
    assert names == (listed if platform.machine() in ("x86_64", "AMD64") else listed[:1])
    assert names[0] == "baseline"
    assert targets()[0].runs_here


def test_the_benchmark_is_held_to_every_target_but_the_best() -> None:
    assert set(HELD_TO) >= {target.name for target in targets()[:-1]}


def test_one_target_is_chosen() -> None:
    ask = "from onnx_maxpool.adapters.registration import targets; print(*[t.name for t in targets() if t.chosen])"
    assert run_with_target(None, "-c", ask).stdout.split() == targets_here()[-1:]
    for target in targets_here():
        assert run_with_target(target, "-c", ask).stdout.split() == [target]


def test_a_target_that_there_is_not_is_an_error() -> None:
    register = "import onnxruntime, onnx_maxpool; onnx_maxpool.register(onnxruntime.SessionOptions())"
    message = run_with_target("none", "-c", register).stderr.strip().splitlines()[-1]
    expected = ", ".join(targets_here())
    assert message.endswith(f"environment variable ONNX_MAXPOOL_TARGET is 'none', expected one of {expected}")
    ask = "from onnx_maxpool.adapters.registration import targets; print(*targets(), sep='\\n')"
    answer = run_with_target("none", "-c", ask)
    assert answer.stdout.count("chosen=False") == len(targets()), answer.stderr


def test_every_operation_on_vectors_has_a_test() -> None:
    """In tests/native/test_simd_*.cc, which CMake's tests run on every target: each function and each method."""
    headers = (ROOT / "ops" / "native" / "kernels" / "simd").glob("*.h")
    declared = re.compile(
        r"^(?:inline|constexpr)[^=;{]*?\b(\w+)\(|^  (?:ONNX_MAXPOOL_INLINE )?(?:V|void) (\w+)\(", re.MULTILINE
    )
    names = {a or b for header in headers for a, b in declared.findall(header.read_text())}
    assert {"load", "table_lookup_lanes", "from_key", "concat_odd", "transpose", "half_lane", "finish"} <= names
    tests = "".join(path.read_text() for path in (ROOT / "tests" / "native").glob("test_simd_*.cc"))
    helpers = {"shuffled", "lanes_from", "stream_line", "next_row", "take_row"}  # private ones
    assert {name for name in names - helpers if not re.search(rf"\b{name}[<(]", tests)} == set()


def test_every_target_equals_the_reference() -> None:
    for target in targets_here():
        done = run_with_target(target, "-c", TARGET_SCRIPT)
        assert (done.stdout.strip(), done.returncode) == ("equal", 0), f"{target}: {done.stderr}"


def test_every_target_passes_the_tests_of_large_maps_and_of_what_is_drawn() -> None:
    """But for the last, which is the one that the tests run on anyway."""
    names = ("max_roi_pool", "roi_plans", "max_pooling1", "adaptive_max_pool", "windows_of_numbers")
    files = ["core/test_roi_properties.py", "core/test_pool_properties.py", *(f"operators/test_{n}.py" for n in names)]
    chosen = ["-k", "native_and_reference or large_map or larger_than_the_cache or single_nan or one_sign", *files]
    for target in targets_here()[:-1]:
        done = run_with_target(target, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen)
        assert done.returncode == 0, f"{target}: {done.stdout}"
        assert "147 passed" in done.stdout
