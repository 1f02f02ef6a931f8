"""Write the tables in the docs from the registry: `python scripts/write_docs.py [--check]`.

With `--check` nothing is written, and the exit code is 1 where a file is not what it would be.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from onnx_maxpool.registry import OPERATORS

ROOT = Path(__file__).parent.parent


def operators() -> str:
    lines = ["| operator | since version | domain | types | who else runs it |", "|---|---|---|---|---|"]
    for row in OPERATORS:
        types = ", ".join(row.types["T"])
        lines.append(f"| {row.name} | {row.since_version} | `{row.domain or 'ai.onnx'}` | {types} | {row.elsewhere} |")
    return "\n".join(lines)


TABLES = {"README.md": {"operators": operators}}


def written(text: str, name: str, table: str) -> str:
    """`text` with what stands between the marks of table `name` replaced."""
    marks = rf"(<!-- {name}: [^>]*-->\n).*?(<!-- end of {name} -->)"
    new, count = re.subn(marks, lambda found: f"{found[1]}{table}\n{found[2]}", text, flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"the marks of table {name!r} stand {count} times, expected once")
    return new


def main() -> int:
    stale = 0
    for file, tables in TABLES.items():
        path = ROOT / file
        before = after = path.read_text()
        for name, table in tables.items():
            after = written(after, name, table())
        if before == after:
            continue
        if "--check" in sys.argv[1:]:
            print(f"{file} is not what the registry says: run scripts/write_docs.py")
            stale += 1
        else:
            path.write_text(after)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
