"""Each instruction set that the kernels were compiled for gives the same outputs."""

from __future__ import annotations

import subprocess

from support.child import run_python

TARGET_SCRIPT = """
import numpy as np
import onnx_maxpool
from onnx_maxpool.cli.comparison import compare
from onnx_maxpool.adapters.reference import reference_evaluator
from builders import MODELS
from support.older_runtimes import loads_here
from support.roi_cases import assert_same, dtype_of, model, native, random_case, reference
rng = np.random.default_rng(23)
for element_type in ("float16", "bfloat16", "float", "double"):
    for channels in (1, 3, 4, 7, 8, 15, 16, 33, 70):
        for roi_count in (1, 40):
            x, rois = random_case(rng, dtype_of(element_type), (2, channels, 13, 19), roi_count, 0.5)
            proto = model(element_type, pooled_shape=(3, 6), spatial_scale=0.5)
            assert_same(native(proto, x, rois), reference(proto, x, rois))
for name, test_model in MODELS.items():
    if name.startswith(("adaptive_max_pool", "max_pooling1", "roi_pooling", "spatial_pyramid")):
        proto = test_model.builder()
        if not loads_here(proto):
            continue
        found = compare(onnx_maxpool.load(proto), reference_evaluator(proto), test_model.inputs())
        assert found.equal, (name, found.differences)
print("equal")
"""


def run_with_target(target: str, *command: str) -> subprocess.CompletedProcess[str]:
    return run_python(*command, variables={"ONNX_MAXPOOL_TARGET": target})


def targets_here() -> list[str]:
    """The library's own answer to a target that there is not: the list of those that this processor runs."""
    register = "import onnxruntime, onnx_maxpool; onnx_maxpool.register(onnxruntime.SessionOptions())"
    answer = run_with_target("none", "-c", register)
    message = answer.stderr.strip().splitlines()[-1]
    assert "environment variable ONNX_MAXPOOL_TARGET is 'none', expected one of" in message
    return message.rpartition("expected one of ")[2].split(", ")


def test_every_target_equals_the_reference() -> None:
    targets = targets_here()
    assert targets[0] == "baseline"
    for target in targets:
        done = run_with_target(target, "-c", TARGET_SCRIPT)
        assert (done.stdout.strip(), done.returncode) == ("equal", 0), f"{target}: {done.stderr}"


def test_every_target_passes_the_tests_of_large_maps_and_of_what_is_drawn() -> None:
    """But for the last, which is the one that the tests run on anyway."""
    operators = [f"operators/test_{name}.py" for name in ("max_roi_pool", "max_pooling1", "adaptive_max_pool")]
    files = ["core/test_roi_properties.py", "core/test_pool_properties.py", *operators]
    chosen = ["-k", "native_and_reference or large_map or larger_than_the_cache", *files]
    for target in targets_here()[:-1]:
        done = run_with_target(target, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen)
        assert done.returncode == 0, f"{target}: {done.stdout}"
        assert "30 passed" in done.stdout
