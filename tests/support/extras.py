"""Which packages pip installs for the extras of this package."""

from __future__ import annotations

import importlib.metadata
import re


def needed(extra: str) -> set[str]:
    """The packages for an extra, those of extras that it stands for included; those without an extra for none."""
    found: set[str] = set()
    for line in importlib.metadata.requires("onnx-maxpool") or []:
        name, others, of = re.findall(r"""^([\w.-]+)(?:\[([\w,-]+)\])?.*?(?:extra == ["']([\w-]+)["'])?$""", line)[0]
        if of != extra:
            continue
        found |= set().union(*map(needed, others.split(","))) if name == "onnx-maxpool" else {name}
    return found
