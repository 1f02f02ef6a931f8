"""The reports of `onnx-maxpool conformance`: HTML, JSON, JUnit and Markdown, and the page of results that is kept."""

from __future__ import annotations

import html
import html.parser
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from onnx_maxpool.cli.main import main
from onnx_maxpool.conformance import all_cases
from onnx_maxpool.conformance.backends import BACKENDS
from onnx_maxpool.conformance.report.formats import cells
from onnx_maxpool.operators.rules import RULES

pytestmark = pytest.mark.slow("asks two backends in processes of their own")

ROOT = Path(__file__).parent.parent.parent
REPORTED = "^max_roi_pool_[0-9]*_(empty|outside|corners|half|bins|batch_n)"


class Page(html.parser.HTMLParser):
    """Collects ids, links and loads, and checks that elements nest."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.loads: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if given.get("id"):
            self.ids.append(str(given["id"]))
        if str(given.get("href", "")).startswith("#"):
            self.targets.append(str(given["href"])[1:])
        elif tag in ("link", "img", "script", "iframe") and (given.get("src") or given.get("href")):
            self.loads.append(tag)
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """All four, of a right backend and a wrong one."""
    folder = tmp_path_factory.mktemp("reports")
    files = {name: folder / f"report.{name}" for name in ("html", "json", "junit", "markdown")}
    options = [option for name, path in files.items() for option in (f"--{name}", str(path))]
    backends = ["--backend", "native", "--backend", "support.faulty_backends:EmptyIsMinusInfinity"]
    with pytest.raises(SystemExit) as stopped:
        main(["conformance", *backends, "--case", REPORTED, *options])
    assert stopped.value.code == 1
    return {name: path.read_text() for name, path in files.items()}


def test_the_page_is_whole(reports: dict[str, str]) -> None:
    page = Page()
    page.feed(reports["html"])
    assert page.open == []
    assert page.loads == []
    assert len(page.ids) == len(set(page.ids))
    assert set(page.targets) <= set(page.ids)
    for case in all_cases():
        assert (case.name in page.ids) == bool(re.match(REPORTED, case.name))
    sources = {source.document.url for rule in RULES.values() for source in rule.sources}
    links = set(re.findall(r'"(http[^"]*)"', reports["html"])) - {"http://www.w3.org/2000/svg"}
    assert links
    assert links <= sources


def test_the_page_draws_the_window_of_the_wrong_cell(reports: dict[str, str]) -> None:
    found = re.search(r'<details id="max_roi_pool_22_empty_beside_full".*?</details>', reports["html"], re.DOTALL)
    assert found is not None
    assert "<title>Y[0, 0, 0, 2] is the maximum of [0, 1) x [5, 4) in image 0, channel 0</title>" in found[0]
    assert "empty bin is -inf" in found[0]
    assert found[0].count('class="cell"') == 4  # the window has no cell on the map


def test_the_markdown_names_the_divergence_and_its_smallest_model(reports: dict[str, str]) -> None:
    lines = [line for line in reports["markdown"].splitlines() if "empty bin is -inf" in line]
    (line,) = [line for line in lines if "| [M9](#m9) |" in line]
    assert "| [max_roi_pool_1_empty_beside_full](#max_roi_pool_1_empty_beside_full)" in line
    rows = [line for line in reports["markdown"].splitlines() if line.startswith("|")]
    assert all(row.endswith("|") for row in rows)


def test_the_markdown_sets_open_answers_side_by_side(reports: dict[str, str]) -> None:
    (line,) = [line for line in reports["markdown"].splitlines() if line.startswith("| rounding |")]
    assert line.count("| half away from zero") == 2
    assert line.count("[max_roi_pool_1_half_") == 2


def test_the_markdowns_links_work_where_it_lies(reports: dict[str, str]) -> None:
    """Each leads to a heading of the page, as GitHub and MyST name headings, or to a published text."""
    page = reports["markdown"]
    headings = [re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in page.splitlines()
                if line.startswith("#")]  # fmt: skip
    assert len(headings) == len(set(headings))
    targets = set(re.findall(r"\]\(([^)]+)\)", page))
    assert len(targets) > 10
    sources = {source.document.url for rule in RULES.values() for source in rule.sources}
    assert targets <= {f"#{heading}" for heading in headings} | sources


def test_every_rule_in_the_reports_cites_its_source(reports: dict[str, str]) -> None:
    """Text, document, section and the quoted text, or why it is ours; in the rules' order."""
    cited = {rule for case in all_cases() if re.match(REPORTED, case.name) for rule in case.rules}
    expected = [number for number in RULES if number in cited]
    assert re.findall(r'id="rule-(\w+)"', reports["html"]) == expected
    assert re.findall(r"^### ([A-Z]\d+)$", reports["markdown"], re.MULTILINE) == expected
    texts = {"html": html.unescape(reports["html"]), "markdown": re.sub(r"\\(.)", r"\1", reports["markdown"])}
    for page in texts.values():
        for number in expected:
            rule = RULES[number]
            assert rule.sources or rule.ours
            parts = [(each.document.title, each.document.url, each.section, each.quote) for each in rule.sources]
            assert all(text in page for text in (rule.text, rule.ours, *(text for part in parts for text in part)))


def test_the_pages_name_versions_processor_date_and_platform(reports: dict[str, str]) -> None:
    ours = json.loads(reports["json"])["backends"][0]
    assert {"date", "processor", "platform", "python", "onnx", "numpy", "onnx-maxpool"} <= ours["environment"].keys()
    for name, value in ours["environment"].items():
        said = value[:10] if name == "date" else value
        assert all(said in html.unescape(reports[page]).replace("\\", "") for page in ("html", "markdown"))


def test_sections_that_are_empty_are_not_shown(tmp_path: Path) -> None:
    page, text = tmp_path / "report.html", tmp_path / "report.md"
    with pytest.raises(SystemExit):
        main(["conformance", "--case", "22_corners", "--html", str(page), "--markdown", str(text)])
    assert re.findall(r'<section class="part" id="(\w+)"', page.read_text()) == ["matrix", "rules", "cases"]
    headings = re.findall(r"^## (.*)$", text.read_text(), re.MULTILINE)
    assert headings == ["Backends", "Backends and rules", "Rules"]


def test_what_is_unsupported_is_folded(tmp_path: Path) -> None:
    """One line for each operator and reason, however many cases there are."""
    page, text = tmp_path / "report.html", tmp_path / "report.md"
    name = "support.faulty_backends:LacksTwoChannels"
    with pytest.raises(SystemExit):
        main(["conformance", "--backend", name, "--case", "^max_roi", "--html", str(page), "--markdown", str(text)])
    section = re.search(r'id="unsupported">.*?</section>', page.read_text(), re.DOTALL)
    assert section is not None
    assert section[0].count("<tr class=") == 2
    (line,) = [line for line in text.read_text().splitlines() if "| NotImplementedError: two channels |" in line]
    count = int(line.split("|")[3])
    assert count > 20


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array([1.5, np.nan], np.float32), "float[2] 1.5 nan"),
        (np.array([[1, 22], [333, 4]], np.int32), "int32[2,2]\n  1  22\n333   4"),
        (
            np.arange(8, dtype=np.uint8).reshape(2, 1, 2, 2),
            "uint8[2,1,2,2]\n[0, 0]\n0 1\n2 3\n[1, 0]\n4 5\n6 7",
        ),
        (np.empty((0, 5), np.float32), "float[0,5]"),
        (np.zeros((1, 600), np.int8), f"int8[1,600]\n{' '.join('0' * 512)}\n… 88 more cells"),
    ],
)
def test_arrays_are_broken_by_their_shape(array: np.ndarray, text: str) -> None:
    assert cells(array) == text


def test_the_kept_results_are_of_cases_and_backends_that_there_are() -> None:
    page = (ROOT / "docs" / "conformance-results.md").read_text()
    names = set(re.findall(r"[`\[]([a-z0-9]+(?:_[a-z0-9]+)+)[`\]]", page))
    assert names
    assert names <= {case.name for case in all_cases()}
    assert f" {len(all_cases())} cases." in page
    backends = re.findall(r"^\| (\S+) \| \d+ of \d+ \|", page, re.MULTILINE)
    assert set(backends) <= set(BACKENDS)
    assert {"native", "reference", "onnxruntime", "openvino"} <= set(backends)


def test_the_json_says_everything(reports: dict[str, str]) -> None:
    ours, wrong = json.loads(reports["json"])["backends"]
    assert (ours["conforms"], wrong["conforms"]) == (True, False)
    assert ours["description"]["provider"] == "CPUExecutionProvider"
    assert all(result["outcome"] == "pass" and result["ours"] for result in ours["results"])
    failed = [result for result in wrong["results"] if not result["ours"]]
    assert all("empty bin is -inf" in result["answers"] for result in failed if result["level"] == "required")


def test_junit_counts_required_failures_alone(reports: dict[str, str]) -> None:
    wrong = json.loads(reports["json"])["backends"][1]["results"]
    required = [result for result in wrong if result["level"] == "required" and result["outcome"] != "pass"]
    suites = {suite.get("name"): suite for suite in ElementTree.fromstring(reports["junit"])}
    assert suites["native"].get("failures") == "0"
    assert suites["support.faulty_backends:EmptyIsMinusInfinity"].get("failures") == str(len(required)) != "0"
    assert suites["native"].get("tests") == str(len(wrong))
