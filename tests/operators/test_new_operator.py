"""A new operator of a known family needs a row, a module and cases: all else in Python follows.

Two toys are put into a copy of the package. One combines what no operator of ours does: sliding windows, and an index
that counts in a channel.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from support.processes import TESTS, environment, run_python

import onnx_maxpool

pytestmark = [pytest.mark.slow("runs other tests with operators that are added"), pytest.mark.extras]

TOYS = TESTS / "support" / "toys"

ROWS = """
    OperatorVersion(
        domain="toy",
        name="ToyRoiPool",
        since_version=1,
        types={"T": ("float", "double")},
        rules="M",
        elsewhere="nobody",
        plan="roi",
        size_attribute="bins",
        roi_rank=3,
        bin_edges="exact",
    ),
    OperatorVersion(
        domain="toy",
        name="ToySlidingPool",
        since_version=1,
        types={"T": ("float", "double")},
        rules="P",
        elsewhere="nobody",
        plan="sliding",
        index_types=("int32", "uint64"),
        index_scope="channel",
    ),
"""


def with_toys(folder: Path) -> None:
    """The package, the toys' rows and their files, and nothing else."""
    package = folder / "onnx_maxpool"
    source = Path(onnx_maxpool.__file__).parent
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.dll", "*.dylib"))
    registry = package / "operators" / "registry.py"
    text, count = re.subn(r"(\nOPERATORS = \(\n.*?)\n\)\n", rf"\1{ROWS})\n", registry.read_text(), flags=re.DOTALL)
    assert count == 1
    registry.write_text(text)
    for name in ("toy_roi_pool", "toy_sliding_pool"):
        shutil.copy(TOYS / f"{name}.py", package / "operators")
        shutil.copy(TOYS / f"{name}_cases.py", package / "conformance" / "cases" / f"{name}.py")


def test_schema_reference_cases_and_docs_follow_from_a_row_a_module_and_cases(tmp_path: Path) -> None:
    with_toys(tmp_path)
    variables = {"TOY_PACKAGE": str(tmp_path), "PYTHONPATH": f"{tmp_path}{os.pathsep}{environment()['PYTHONPATH']}"}
    done = run_python("-m", "pytest", "-q", "-p", "no:cacheprovider", TOYS / "checks.py", variables=variables)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert re.search(r"\d{3,} passed", done.stdout), done.stdout[-500:]
