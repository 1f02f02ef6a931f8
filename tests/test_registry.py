"""The registry's rows against what ONNX itself says, and what is made from them."""

from __future__ import annotations

import subprocess
import sys

import onnx
import pytest

from onnx_maxpool import registry
from onnx_maxpool.registry import OPERATORS, OperatorVersion, resolve


@pytest.mark.parametrize("row", OPERATORS, ids=lambda row: row.title)
def test_a_row_is_what_its_schema_says(row: OperatorVersion) -> None:
    schema = onnx.defs.get_schema(row.name, row.since_version, row.domain)
    assert schema.since_version == row.since_version
    constraints = {c.type_param_str: set(c.allowed_type_strs) for c in schema.type_constraints}
    assert constraints == {name: {f"tensor({t})" for t in types} for name, types in row.types.items()}


def test_every_version_of_onnx_has_a_row() -> None:
    for name in {row.name for row in OPERATORS if row.domain == ""}:
        versions = {s.since_version for s in onnx.defs.get_all_schemas_with_history() if s.name == name}
        assert versions == {row.since_version for row in OPERATORS if row.name == name}


@pytest.mark.parametrize(("opset", "version"), [(0, None), (1, 1), (21, 1), (22, 22), (99, 22)])
def test_an_opset_selects_the_newest_version_that_is_not_newer(opset: int, version: int | None) -> None:
    for domain in ("", "ai.onnx"):
        row = resolve(domain, "MaxRoiPool", opset)
        assert (row and row.since_version) == version


def test_the_native_table_is_made_without_any_package() -> None:
    done = subprocess.run([sys.executable, "-I", "-S", registry.__file__], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    for element_type in ("float16", "bfloat16", "float", "double"):
        assert f'OPERATOR("", MaxRoiPool, 1, ElementType::{element_type}_)' in lines
