"""Facts that the Python package and the native library both state: limits, names, versions.

This module imports only the standard library, because the native build runs it: `python facts.py` prints the
C++ header. What belongs to one operator stands in its row of `operators/registry.py`.
"""

from __future__ import annotations

import sys
from typing import Literal, get_args

LARGEST_SIDE = 2**31 - 1
"""Of a window, a stride and an output's side. With these no product of the plans leaves 64 bits."""

SATURATION = 2**40
"""An ROI edge beyond ± this value, once rounded, is this value, so that nothing overflows (M11)."""

BinEdges = Literal["onnx", "exact", "double"]
"""How the edges of ROI bins are computed (M7): as ONNX's reference, in exact integers, or in double for every type."""

BIN_EDGES: tuple[BinEdges, ...] = get_args(BinEdges)

BIN_EDGES_ENTRY = "onnx_maxpool.bin_edges"
"""The session config entry that the library reads when it is registered; for C, C++, C# and Java too."""

REGISTERED_ENTRY = "onnx_maxpool.registered"
"""The session config entry in which the library notes that it is registered, and with which bin edges."""

DEFAULT_EDGES = "default"
"""What that entry has where no bin edges are set."""

INDEX_ATTRIBUTE = "index_element_type"
"""The attribute that chooses the index's type, by the names of `INDEX_SPELLINGS`."""

INDEX_SPELLINGS = {"int32": "i32", "int64": "i64", "uint32": "u32", "uint64": "u64"}
"""Index types as the attribute `index_element_type` spells them."""

OLDEST_RUNTIME = (1, 23)
"""The first ONNX Runtime that is supported."""

INFERS_INDEX_TYPES = (1, 28)
"""The first ONNX Runtime in which an attribute may choose the type of an output that a node may leave out."""

LENDS_SHAPES = (1, 24)
"""The first ONNX Runtime that gives a library a tensor's shape to read, without a copy."""


def native_header() -> str:
    """The facts as C++ constants."""

    def version(name: str, value: tuple[int, int]) -> str:
        major, minor = value
        return f'constexpr RuntimeVersion {name} = {{{major}, {minor}, "{major}.{minor}"}};'

    def text(name: str, value: str) -> str:
        return f'constexpr const char* {name} = "{value}";'

    spellings = ", ".join(f'{{ElementType::{name}_, "{spelling}"}}' for name, spelling in INDEX_SPELLINGS.items())
    edges = ", ".join(f'{{BinEdges::{name}_, "{name}"}}' for name in BIN_EDGES)
    return "\n".join(
        [
            "// Printed by facts.py.",
            "#pragma once",
            "",
            "#include <cstdint>",
            "",
            '#include "base/element_type.h"',
            '#include "base/window.h"',
            "",
            "namespace onnx_maxpool {",
            "",
            "struct RuntimeVersion {",
            "  int major, minor;",
            "  const char* text;",
            "};",
            "struct IndexSpelling {",
            "  ElementType type;",
            "  const char* name;",
            "};",
            "struct BinEdgesName {",
            "  BinEdges edges;",
            "  const char* name;",
            "};",
            "",
            f"constexpr int64_t kLargestSide = {LARGEST_SIDE};",
            f"constexpr int64_t kSaturation = {SATURATION};",
            f"constexpr BinEdgesName kBinEdgesNames[] = {{{edges}}};",
            text("kBinEdgesEntry", BIN_EDGES_ENTRY),
            text("kRegisteredEntry", REGISTERED_ENTRY),
            text("kDefaultEdges", DEFAULT_EDGES),
            text("kIndexAttribute", INDEX_ATTRIBUTE),
            f"constexpr IndexSpelling kIndexSpellings[] = {{{spellings}}};",
            version("kOldestRuntime", OLDEST_RUNTIME),
            version("kInfersIndexTypes", INFERS_INDEX_TYPES),
            version("kLendsShapes", LENDS_SHAPES),
            "",
            "}  // namespace onnx_maxpool",
            "",
        ]
    )


if __name__ == "__main__":
    sys.stdout.write(native_header())
