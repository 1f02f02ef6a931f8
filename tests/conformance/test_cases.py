"""The corpus checks itself: cases, expected values, files."""

from __future__ import annotations

import ast
import contextlib
import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import jsonschema
import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

from onnx_maxpool import OperatorError
from onnx_maxpool.conformance import all_cases
from onnx_maxpool.conformance.case import CannotAskError, Case, same
from onnx_maxpool.conformance.cases._roi.random import OPEN_ANSWERS
from onnx_maxpool.conformance.corpus import MANIFEST_SCHEMA, case_folder, digests, manifest_of
from onnx_maxpool.conformance.oracle import answers, maximum, windows
from onnx_maxpool.conformance.oracle.answers import ANSWERS, REFUSED
from onnx_maxpool.operators.registry import OPERATORS
from onnx_maxpool.operators.rules import RULES, rules_of
from onnx_maxpool.types import element_type

CASES = all_cases()
ROOT = Path(__file__).parent.parent.parent
OPERATOR_NAMES = sorted({row.name for row in OPERATORS})
LARGEST_CASE = 5000


def question_of(answer: str) -> str:
    return next(question for question, known in ANSWERS.items() if answer in known)


def test_names_are_unique_and_say_what_they_are_of() -> None:
    assert [name for name, count in Counter(case.name for case in CASES).items() if count > 1] == []
    for case in CASES:
        plain = case.name.replace("_", "")
        assert plain.startswith(f"{case.operator.lower()}{case.version.since_version}"), case.name
        assert case.question.endswith(("?", ".")), case.name


@pytest.mark.parametrize("operator", OPERATOR_NAMES)
def test_every_rule_of_an_operator_is_asked_about(operator: str) -> None:
    asked = {rule for case in CASES if case.operator == operator for rule in case.rules}
    assert asked == set(rules_of(operator))


def test_rules_are_those_of_the_registry() -> None:
    assert {rule[0] for rule in RULES} == {"G", *(row.rules for row in OPERATORS)}
    assert {name for rule in RULES.values() for name in rule.operators} == set(OPERATOR_NAMES)


def test_every_version_and_type_is_asked_about() -> None:
    for row in OPERATORS:
        for variable, types in row.types.items():
            position = list(row.types).index(variable)
            of_row = [case for case in CASES if case.version is row and case.required and not case.refuses]
            found = {element_type(list(case.inputs.values())[position]) for case in of_row}
            assert found == set(types), row.title
        if row.index_types:
            found = {str(case.expected[1].dtype) for case in of_row if len(case.outputs) == 2}
            assert found == set(row.index_types), row.title


def test_every_way_can_be_told_from_the_rules_own() -> None:
    shown = {answer for case in CASES for answer in case.other_answers}
    assert shown == {answer for known in ANSWERS.values() for answer in known[1:]} | {REFUSED}


def test_a_case_that_asks_shows_another_answer() -> None:
    assert [case.name for case in CASES if case.asks and not case.other_answers] == []


def test_an_error_is_an_answer_only_beside_a_control() -> None:
    for case in CASES:
        assert (case.control is not None) == (case.refuses or None in case.other_answers.values()), case.name


def test_answers_are_named_once() -> None:
    names = [answer for known in ANSWERS.values() for answer in known if answer != REFUSED]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("case", [case for case in CASES if not case.refuses], ids=lambda case: case.name)
def test_the_reference_and_brute_force_agree(case: Case) -> None:
    assert case.cells < LARGEST_CASE
    assert same(case.expected, case.brute_force({}))


def test_brute_force_shares_no_code_with_the_reference() -> None:
    """But for names of types and the facts of the registry's rows, it imports nothing of the package."""
    suite, registry = "onnx_maxpool.conformance.oracle", "onnx_maxpool.operators.registry"
    imported = [found for module in (answers, maximum, windows) for found in imports_of(module)]
    ours = {source for source, _ in imported if source.startswith("onnx_maxpool")}
    assert ours == {"onnx_maxpool.types", registry, f"{suite}.windows", f"{suite}.answers"}
    assert {name for source, name in imported if source == registry} == {"OperatorVersion", "newest_version"}
    assert {name for source, name in imported if source == "onnx_maxpool.types"} == {"Array", "Attributes"}
    # What stands in a row is data: nothing that the oracle could call.
    facts = [value for row in OPERATORS for value in vars(row).values()]
    assert not any(callable(value) for value in facts)


def imports_of(module: ModuleType) -> Iterator[tuple[str, str]]:
    """From which module, and what; a whole module has no name."""
    for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text())):
        if isinstance(node, ast.ImportFrom):
            yield from ((f"{'.' * node.level}{node.module or ''}", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


def test_brute_force_knows_only_operators_of_the_registry() -> None:
    x = np.zeros((1, 1, 2, 2), np.float32)
    for ask in (
        lambda: windows.plan("AdaptiveMaxPool2", [x, np.array([1, 1])], {}),
        lambda: maximum.evaluate("AdaptiveMaxPool2", [x, np.array([1, 1])], {}),
        lambda: answers.answers_of("edges", "AdaptiveMaxPool2"),
    ):
        with pytest.raises(KeyError, match="operator AdaptiveMaxPool2, expected one of MaxRoiPool, RoiPooling, "):
            ask()


def test_brute_force_is_no_echo_of_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong reference shows."""
    case = next(case for case in CASES if case.name == "max_roi_pool_22_bins_overlap")
    monkeypatch.setattr("onnx_maxpool.windows.clip", lambda windows, size: (windows[0], windows[1] - 1))
    wrong = Case(**{name: getattr(case, name) for name in case.__dataclass_fields__})
    assert not same(wrong.expected, wrong.brute_force({}))


@pytest.mark.parametrize("case", [case for case in CASES if case.refuses], ids=lambda case: case.name)
def test_the_reference_refuses_and_runs_the_control(case: Case) -> None:
    assert case.control is not None
    # The evaluator itself says so where a required attribute is missing.
    with pytest.raises((OperatorError, RuntimeError)):
        _ = case.expected
    assert same(case.control.expected, case.control.brute_force({}))
    changed = [name for name in case.inputs if case.inputs[name] is not case.control.inputs[name]]
    assert changed or case.attributes != case.control.attributes
    if "batch" in case.asks or "nan coordinate" in case.asks:
        assert case.brute_force({}) is None


def test_random_cases_turn_on_nothing_that_the_texts_leave_open() -> None:
    random = [case for case in CASES if "_random_" in case.name]
    rois = [case for case in random if "M4" in case.rules]
    assert rois
    for case in rois:
        for answer in OPEN_ANSWERS:
            assert same(case.expected, case.brute_force({question_of(answer): answer})), (case.name, answer)


def test_models_are_valid() -> None:
    for case in CASES:
        if not case.refuses:
            onnx.checker.check_model(case.model(), full_check=True)


REJECTED_BY_THE_CHECKER = {
    "no_size": "the checker asks for attributes that an operator of ai.onnx requires",
    "no_window": "the checker asks for attributes that an operator of ai.onnx requires",
}
"""The refusals of ai.onnx whose models are none to onnx's checker, by topic, and why."""


def refusals() -> Iterator[Case]:
    """Every case that must be rejected, and what is asked in ai.onnx's words instead."""
    for case in CASES:
        if case.refuses:
            yield case
            with contextlib.suppress(CannotAskError):
                yield from [case.restate(case)] if case.restate else []


def checked(case: Case) -> bool:
    """Whether onnx's checker takes a case's model."""
    try:
        onnx.checker.check_model(case.model())
    except onnx.checker.ValidationError:
        return False
    return True


@pytest.mark.parametrize("case", list(refusals()), ids=lambda case: f"{case.name} {case.form}")
def test_a_refusal_differs_from_its_control_in_what_is_rejected_only(case: Case) -> None:
    """A backend that asks onnx's checker first must not refuse it for what the suite left out."""
    assert case.control is not None
    model, control = case.model(), case.control.model()
    assert model.graph.output == control.graph.output
    assert all(value.type.tensor_type.HasField("shape") for value in model.graph.output)
    assert checked(case.control)
    if model.graph.node[0].domain == "":  # the checker knows others only where their schemas are registered
        assert checked(case) is not case.name.endswith(tuple(REJECTED_BY_THE_CHECKER))


def test_the_cases_are_those_of_the_kept_digests() -> None:
    assert digests(CASES) == (ROOT / "models" / "cases.sha256").read_text()


def test_a_digest_is_that_of_what_sha256sum_prints(corpus: Path) -> None:
    digest, folder = digests(CASES[:1]).split()
    script = "find * -type f | LC_ALL=C sort | xargs sha256sum | sha256sum"
    done = subprocess.run(["sh", "-c", script], cwd=corpus / folder, capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == digest


def test_the_corpus_is_small(corpus: Path) -> None:
    files = [path for path in corpus.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 3_000_000


def test_the_manifest_follows_its_schema(corpus: Path) -> None:
    schema = json.loads((corpus / "manifest.schema.json").read_text())
    assert schema == json.loads(MANIFEST_SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    manifest = json.loads((corpus / "manifest.json").read_text())
    jsonschema.validate(manifest, schema)
    assert manifest == manifest_of(CASES)
    assert {entry["folder"] for entry in manifest["cases"]} == {
        path.relative_to(corpus).as_posix() for part in ("node", "refused") for path in (corpus / part).iterdir()
    }
    manifest["cases"][0]["level"] = "optional"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(manifest, schema)


def test_onnxs_own_loader_reads_the_corpus(corpus: Path, tmp_path: Path) -> None:
    # Under the name of another kind: for `node` the loader first makes all of onnx's own cases anew.
    (tmp_path / "simple").symlink_to(corpus / "node")
    found = {test.name: test for test in load_model_tests(data_dir=str(tmp_path), kind="simple")}
    expected = {case.folder: case for case in CASES if not case.refuses}
    assert found.keys() == expected.keys()
    for name, case in expected.items():
        home = corpus / case_folder(case) / "test_data_set_0"
        inputs = [numpy_helper.to_array(onnx.load_tensor(home / f"input_{i}.pb")) for i in range(len(case.inputs))]
        outputs = [numpy_helper.to_array(onnx.load_tensor(home / f"output_{i}.pb")) for i in range(len(case.outputs))]
        assert same(tuple(case.inputs.values()), tuple(inputs)), name
        assert same(case.expected, tuple(outputs)), name


def test_equal_means_equal_in_every_bit_but_those_of_zeros_and_nans() -> None:
    a = np.array([1.0, np.nan, 0.0], np.float32)
    assert same((a,), (np.array([1.0, -np.nan, -0.0], np.float32),))
    assert not same((a,), (np.array([1.0000001, np.nan, 0.0], np.float32),))
    assert not same((a,), (a.astype(np.float64),))
    assert not same((a,), (a[None],))
    assert not same((a,), (a, a))
    assert not same((a,), ())
    assert not same((a,), None)
    assert same(None, None)
