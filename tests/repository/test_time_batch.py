"""scripts/time_batch.py, on few rows: no time is compared with anything."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.child import run_python

pytestmark = pytest.mark.slow("times batches in clusters")

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "time_batch.py"


def test_the_page(tmp_path: Path) -> None:
    page = tmp_path / "batch.md"
    done = run_python(SCRIPT, "--rows", "2", "10", "--small-rows", "400", "--turns", "1", "--page", page)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert len(re.findall(r"^\| (?:a bare loop|`Predictor`|`--engine)", text, re.MULTILINE)) == 4 + 5
    assert "400 rows of 16 × 38 × 50 and 50 ROIs" in text
