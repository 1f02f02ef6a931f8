"""The registry's rows against what ONNX itself says, what is made from them, and the rules.

Each rule has a source or says that it is ours, and numbers stay as they are.
"""

from __future__ import annotations

import re
import subprocess
import sys

import onnx
import pytest

from onnx_maxpool import facts
from onnx_maxpool.conformance import all_cases
from onnx_maxpool.operators import operator, registry
from onnx_maxpool.operators.registry import OPERATORS, OperatorVersion, newest_version, resolve, versions_of
from onnx_maxpool.operators.rules import LETTERS, RULES, Rule


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


@pytest.mark.parametrize("row", OPERATORS, ids=lambda row: row.title)
def test_a_row_has_the_facts_of_its_plan(row: OperatorVersion) -> None:
    definition = operator(row.name)
    on_rois = row.plan == "roi"
    assert (row.bin_edges is not None, bool(row.size_attribute), row.roi_rank > 0) == (on_rois,) * 3
    assert ("rois" in definition.inputs) == on_rois
    if on_rois:
        assert definition.attributes[row.size_attribute].kind == "INTS"
        assert definition.attributes[row.size_attribute].required
    assert (row.index_scope is not None) == bool(row.index_types) == (len(definition.outputs) == 2)


@pytest.mark.parametrize("fact", ["domain", "plan", "size_attribute", "roi_rank", "index_scope", "bin_edges"])
def test_all_versions_of_an_operator_share_a_fact(fact: str) -> None:
    """So the name tells it, which no two operators share."""
    for row in OPERATORS:
        assert getattr(row, fact) == getattr(newest_version(row.name), fact), row.title


def test_an_operator_without_a_row_is_an_error() -> None:
    expected = "operator Relu, expected one of MaxRoiPool, RoiPooling, MaxPooling1, AdaptiveMaxPool"
    with pytest.raises(KeyError, match=expected):
        newest_version("Relu")


def test_the_native_table_is_made_without_any_package() -> None:
    done = subprocess.run([sys.executable, "-I", "-S", registry.__file__], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    none = "BinEdges::unset, nullptr"
    for element_type in ("float16", "bfloat16", "float", "double"):
        assert (
            f'OPERATOR("", MaxRoiPool, 1, (ElementType::{element_type}_), (), BinEdges::onnx_, "pooled_shape")' in lines
        )
    assert 'OPERATOR("directml", RoiPooling, 1, (ElementType::float_), (), BinEdges::exact_, "pooled_size")' in lines
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
    assert f"constexpr int64_t kLargestSide = {2**31 - 1};" in lines
    assert f"constexpr int64_t kSaturation = {2**40};" in lines
    names = '{BinEdges::onnx_, "onnx"}, {BinEdges::exact_, "exact"}, {BinEdges::double_, "double"}'
    assert f"constexpr BinEdgesName kBinEdgesNames[] = {{{names}}};" in lines
    assert 'constexpr const char* kBinEdgesEntry = "onnx_maxpool.bin_edges";' in lines
    assert 'constexpr const char* kIndexAttribute = "index_element_type";' in lines
    assert 'constexpr RuntimeVersion kOldestRuntime = {1, 23, "1.23"};' in lines


IN_FORCE = {number: rule for number, rule in RULES.items() if not rule.retired}
each_rule = pytest.mark.parametrize(("number", "rule"), IN_FORCE.items(), ids=list(IN_FORCE))


def test_numbers_count_up_within_a_letter() -> None:
    """A rule that went would leave a gap, into which another might come."""
    for letter in LETTERS:
        of_letter = [int(number[1:]) for number in RULES if number[0] == letter]
        assert of_letter == list(range(1, len(of_letter) + 1)), letter
    assert {number[0] for number in RULES} == set(LETTERS)


@each_rule
def test_a_rule_has_a_source_or_is_ours(number: str, rule: Rule) -> None:
    assert rule.sources or rule.ours, number
    assert rule.text.endswith(".")
    assert not rule.ours or rule.ours.endswith(".")


@each_rule
def test_a_source_says_where_and_in_a_few_words(number: str, rule: Rule) -> None:
    for source in rule.sources:
        assert re.fullmatch(r"https://[a-z.]+/\S+", source.document.url), number
        assert source.section
        assert 1 <= len(source.quote.split()) <= 16, (number, source.quote)


def test_a_retired_rule_names_its_heir_and_no_case_cites_it() -> None:
    retired = {number: rule for number, rule in RULES.items() if rule.retired}
    assert retired
    for rule in retired.values():
        (heir,) = re.findall(r"\b[A-Z][0-9]+\b", rule.text)
        assert heir in IN_FORCE
    assert not [case.name for case in all_cases() if set(case.rules) & set(retired)]
