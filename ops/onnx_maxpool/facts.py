"""Facts that the Python package and the native library both state: limits, names, versions.

This module imports the standard library alone, because the native build runs it: `python facts.py` prints the
C++ header. What belongs to one operator stands in its row of `operators/registry.py`.
"""

from __future__ import annotations

import sys

LARGEST_SIDE = 2**31 - 1
"""Of a window, a stride and an output's side. With these no product of the plans leaves 64 bits."""

SATURATION = 2**40
"""A rounded ROI edge beyond ± this value is this value (M11), so that no sum or product of the plans leaves 64 bits."""

BIN_EDGES = ("onnx", "exact", "double")
"""The names of the setting `bin_edges` (M7)."""

BIN_EDGES_ENTRY = "onnx_maxpool.bin_edges"
"""The session config entry that the library reads when it is registered; for C, C++, C# and Java too."""

INDEX_ATTRIBUTE = "index_element_type"
"""The attribute that chooses the index's type, by the names of `INDEX_SPELLINGS`."""

INDEX_SPELLINGS = {"int32": "i32", "int64": "i64", "uint32": "u32", "uint64": "u64"}
"""Index types as the attribute `index_element_type` spells them."""

OLDEST_RUNTIME = (1, 23)
"""The first ONNX Runtime that is supported."""

INFERS_INDEX_TYPES = (1, 28)
"""The first ONNX Runtime in which an attribute may choose the type of an output that a node may leave out."""


def native_header() -> str:
    """The facts as C++ constants."""

    def version(name: str, value: tuple[int, int]) -> str:
        major, minor = value
        return f'constexpr RuntimeVersion {name} = {{{major}, {minor}, "{major}.{minor}"}};'

    spellings = ", ".join(f'{{ElementType::{name}_, "{spelling}"}}' for name, spelling in INDEX_SPELLINGS.items())
    edges = ", ".join(f'"{name}"' for name in BIN_EDGES)
    return "\n".join(
        [
            "// Printed by facts.py.",
            "#pragma once",
            "",
            "#include <cstdint>",
            "",
            '#include "base/element_type.h"',
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
            "",
            f"constexpr int64_t kLargestSide = {LARGEST_SIDE};",
            f"constexpr int64_t kSaturation = {SATURATION};",
            f"constexpr const char* kBinEdges[] = {{{edges}}};",
            f'constexpr const char* kBinEdgesEntry = "{BIN_EDGES_ENTRY}";',
            f'constexpr const char* kIndexAttribute = "{INDEX_ATTRIBUTE}";',
            f"constexpr IndexSpelling kIndexSpellings[] = {{{spellings}}};",
            version("kOldestRuntime", OLDEST_RUNTIME),
            version("kInfersIndexTypes", INFERS_INDEX_TYPES),
            "",
            "}  // namespace onnx_maxpool",
            "",
        ]
    )


if __name__ == "__main__":
    sys.stdout.write(native_header())
