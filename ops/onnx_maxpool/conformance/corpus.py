"""The cases as files: ONNX's own layout of node tests, and a manifest of what each asks.

`node/` holds what has outputs, `refused/` what must fail, in the same layout without outputs; the latter's folder also
holds `control.onnx` and `control_data_set_0`, which differ only in what is refused and must run.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from onnx import numpy_helper

from onnx_maxpool.conformance.case import Case
from onnx_maxpool.operators.rules import RULES
from onnx_maxpool.types import Array, element_type

FORMAT = 1
"""The manifest's version; it grows where a reader of the old one would go wrong."""

MANIFEST_SCHEMA = Path(__file__).with_name("manifest.schema.json")


def write_corpus(folder: Path, cases: Sequence[Case]) -> list[Path]:
    """Write the cases into `folder`, whose own `node` and `refused` are replaced, and return the files written.

    The same cases give the same bytes.
    """
    for part in ("node", "refused"):
        shutil.rmtree(folder / part, ignore_errors=True)
    files = []
    for case in cases:
        files += write_case(folder, case)
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps(manifest_of(cases), indent=1) + "\n")
    return [*files, manifest]


def case_folder(case: Case) -> Path:
    """Where a case lies in the corpus."""
    return Path("refused" if case.refuses else "node") / case.folder


def write_case(folder: Path, case: Case) -> list[Path]:
    """Write one case."""
    home = folder / case_folder(case)
    control = case.control
    if control is None or not case.refuses:
        outputs = dict(zip(case.outputs, case.expected, strict=True))
        return _write(home, "model.onnx", "test_data_set_0", case, outputs)
    expected = dict(zip(control.outputs, control.expected, strict=True))
    return [
        *_write(home, "model.onnx", "test_data_set_0", case, {}),
        *_write(home, "control.onnx", "control_data_set_0", control, expected),
    ]


def _write(home: Path, model: str, data: str, case: Case, outputs: Mapping[str, Array]) -> list[Path]:
    (home / data).mkdir(parents=True, exist_ok=True)
    contents: dict[Path, Any] = {home / model: case.model()}
    for kind, arrays in (("input", case.inputs), ("output", outputs)):
        for i, (name, array) in enumerate(arrays.items()):
            contents[home / data / f"{kind}_{i}.pb"] = numpy_helper.from_array(array, name)
    for path, message in contents.items():
        path.write_bytes(message.SerializeToString(deterministic=True))
    return list(contents)


def manifest_of(cases: Sequence[Case]) -> dict[str, Any]:
    """What `manifest.json` says; its schema is `MANIFEST_SCHEMA`."""
    return {
        "format": FORMAT,
        "rules": {number: rule.text for number, rule in RULES.items()},
        "cases": [entry(case) for case in cases],
    }


def entry(case: Case) -> dict[str, Any]:
    """One case in the manifest."""
    return {
        "name": case.name,
        "folder": case_folder(case).as_posix(),
        "domain": case.version.domain or "ai.onnx",
        "operator": case.operator,
        "since_version": case.version.since_version,
        "types": [element_type(array) for array in case.inputs.values()],
        "level": case.level,
        "expects": "error" if case.refuses else "outputs",
        "rules": list(case.rules),
        "question": case.question,
        "ways": {"rule": list(case.rule_ways), "others": list(case.other_ways)},
    }


def differing_files(folder: Path, other: Path) -> list[str]:
    """The files of two corpora, by their path, that are not the same bytes in both."""
    names = {
        path.relative_to(root).as_posix()
        for root in (folder, other)
        for path in (*(root / "node").rglob("*"), *(root / "refused").rglob("*"), root / "manifest.json")
        if path.is_file()
    }
    return sorted(name for name in names if _bytes(folder / name) != _bytes(other / name))


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None
