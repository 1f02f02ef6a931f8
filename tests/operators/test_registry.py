"""The registry's rows against what ONNX itself says, and what is made from them."""

from __future__ import annotations

import subprocess
import sys

import onnx
import pytest

from onnx_maxpool import facts
from onnx_maxpool.operators import registry
from onnx_maxpool.operators.registry import OPERATORS, resolve, versions_of
from onnx_maxpool.windows import BIN_EDGES


def test_every_version_of_onnx_has_a_row() -> None:
    for name in {row.name for row in OPERATORS if row.domain == ""}:
        versions = {s.since_version for s in onnx.defs.get_all_schemas_with_history() if s.name == name}
        assert versions == {row.since_version for row in OPERATORS if row.name == name}


@pytest.mark.parametrize(("opset", "version"), [(0, None), (1, 1), (21, 1), (22, 22), (99, 22)])
def test_an_opset_selects_the_newest_version_that_is_not_newer(opset: int, version: int | None) -> None:
    for domain in ("", "ai.onnx"):
        row = resolve(domain, "MaxRoiPool", opset)
        assert (row and row.since_version) == version


@pytest.mark.parametrize(("opset", "version"), [(1, None), (2, 2), (3, 3), (4, 3), (5, 5), (6, 5)])
def test_versions_need_not_be_consecutive(opset: int, version: int | None) -> None:
    row = resolve("directml", "MaxPooling1", opset)
    assert (row and row.since_version) == version


def test_newer_versions_take_all_that_older_ones_take() -> None:
    for row in OPERATORS:
        for older in versions_of(row.domain, row.name):
            if older.since_version < row.since_version:
                assert all(set(types) <= set(row.types[variable]) for variable, types in older.types.items())
                assert older.index_types == row.index_types[: len(older.index_types)]


def test_the_native_table_is_made_without_any_package() -> None:
    done = subprocess.run([sys.executable, "-I", "-S", registry.__file__], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    facts_of_bins = 'BinEdges::onnx, "pooled_shape"'
    for element_type in ("float16", "bfloat16", "float", "double"):
        assert f'OPERATOR("", MaxRoiPool, 1, (ElementType::{element_type}_), (), {facts_of_bins})' in lines
    none = "BinEdges::by_operator, nullptr"
    # Every combination of the inputs' type variables, and every version's types, at the first version.
    indices = "(ElementType::uint32_, ElementType::uint64_)"
    assert f'OPERATOR("directml", MaxPooling1, 2, (ElementType::uint64_), {indices}, {none})' in lines
    for size_type in ("int32", "int64"):
        element_types = f"(ElementType::bfloat16_, ElementType::{size_type}_)"
        indices = "(ElementType::int64_, ElementType::int32_)"
        assert f'OPERATOR("org.openvinotoolkit", AdaptiveMaxPool, 8, {element_types}, {indices}, {none})' in lines
    assert len(lines) == len(set(lines)) == 4 + 2 + 10 + 8


def test_the_native_facts_are_made_without_any_package() -> None:
    done = subprocess.run([sys.executable, "-I", "-S", facts.__file__], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert f"constexpr int64_t kSaturation = {2**40};" in lines
    assert 'constexpr const char* kBinEdges[] = {"onnx", "exact", "double"};' in lines
    assert facts.BIN_EDGES == BIN_EDGES  # of the type that the functions take
    assert f"constexpr int64_t kLargestSide = {2**31 - 1};" in lines
    assert 'constexpr const char* kIndexAttribute = "index_element_type";' in lines
    assert 'constexpr RuntimeVersion kOldestRuntime = {1, 23, "1.23"};' in lines
