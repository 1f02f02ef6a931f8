"""The cases as files: ONNX's own layout of node tests, and a manifest of what each asks.

`node/` holds what has outputs, `refused/` what must fail, in the same layout without outputs; the latter's folder also
holds `control.onnx` and `control_data_set_0`, which differ only in what is rejected and must run. The same cases give
the same bytes; digests of them stand in for the files in version control.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from google.protobuf.message import Message
from onnx import numpy_helper

from onnx_maxpool.conformance.case import Case
from onnx_maxpool.operators.rules import RULES
from onnx_maxpool.types import Array, element_type

FORMAT = 1
"""The manifest's version; it grows where a reader of the old one would go wrong."""

MANIFEST_SCHEMA = Path(__file__).with_name("manifest.schema.json")


def write_corpus(
    folder: Path, cases: Sequence[Case], progress: Callable[[Case], None] = lambda case: None
) -> list[Path]:
    """Write the cases, their manifest and its schema into `folder`, and return the files written.

    The manifest comes last: a folder without one is not whole. `progress` is called before each case. Raises OSError
    where a file cannot be written.
    """
    written = []
    for case in cases:
        progress(case)
        for name, content in case_files(case):
            written.append(folder / case_folder(case) / name)
            written[-1].parent.mkdir(parents=True, exist_ok=True)
            written[-1].write_bytes(content)
    schema, manifest = folder / MANIFEST_SCHEMA.name, folder / "manifest.json"
    schema.write_bytes(MANIFEST_SCHEMA.read_bytes())
    manifest.write_text(json.dumps(manifest_of(cases), indent=1) + "\n", encoding="utf-8")
    return [*written, schema, manifest]


def case_folder(case: Case) -> Path:
    """Where a case lies in the corpus."""
    return Path("refused" if case.refuses else "node") / case.folder


def case_files(case: Case) -> Iterator[tuple[str, bytes]]:
    """A case's files: each one's path in the case's folder, and its content."""
    control = case.control
    if control is None or not case.refuses:
        yield from _files("model.onnx", "test_data_set_0", case, dict(zip(case.outputs, case.expected, strict=True)))
        return
    yield from _files("model.onnx", "test_data_set_0", case, {})
    expected = dict(zip(control.outputs, control.expected, strict=True))
    yield from _files("control.onnx", "control_data_set_0", control, expected)


def _files(model: str, data: str, case: Case, outputs: Mapping[str, Array]) -> Iterator[tuple[str, bytes]]:
    yield model, _bytes(case.model())
    for kind, arrays in (("input", case.inputs), ("output", outputs)):
        for i, (name, array) in enumerate(arrays.items()):
            yield f"{data}/{kind}_{i}.pb", _bytes(numpy_helper.from_array(array, name))


def _bytes(message: Message) -> bytes:
    content: bytes = message.SerializeToString(deterministic=True)
    return content


def digests(cases: Sequence[Case]) -> str:
    """A line for each case: a digest of its files, two spaces and its folder in the corpus.

    The digest is that of what `sha256sum` prints in the folder of the files there, in the order of their names.
    """
    return "".join(f"{digest(case)}  {case_folder(case).as_posix()}\n" for case in cases)


def digest(case: Case) -> str:
    """The digest of a case's files, in hexadecimal."""
    lines = (f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(case_files(case)))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


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
        "answers": {"rule": list(case.rule_answers), "others": list(case.other_answers)},
    }
