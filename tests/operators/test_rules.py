"""The rules: each has a source or says that it is ours, and numbers stay as they are."""

from __future__ import annotations

import re

import pytest

from onnx_maxpool.conformance import all_cases
from onnx_maxpool.operators.rules import LETTERS, RULES, Rule

IN_FORCE = {number: rule for number, rule in RULES.items() if not rule.retired}
each = pytest.mark.parametrize(("number", "rule"), IN_FORCE.items(), ids=list(IN_FORCE))


def test_numbers_count_up_within_a_letter() -> None:
    """A rule that went would leave a gap, into which another might come."""
    for letter in LETTERS:
        of_letter = [int(number[1:]) for number in RULES if number[0] == letter]
        assert of_letter == list(range(1, len(of_letter) + 1)), letter
    assert {number[0] for number in RULES} == set(LETTERS)


@each
def test_a_rule_has_a_source_or_is_ours(number: str, rule: Rule) -> None:
    assert rule.sources or rule.ours, number
    assert rule.text.endswith(".")
    assert not rule.ours or rule.ours.endswith(".")


@each
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
