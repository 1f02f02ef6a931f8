"""One row per operator version: the facts from which everything else is made.

The rows drive the schemas, the reference, the native library's table, the docs' tables and the tests' parameters.
This module imports only the standard library, because the native build runs it: `python registry.py` prints the
C++ table.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

FLOATS = ("float16", "float", "double")
DML_2_0 = ("float16", "float")  # by the feature level that brought them
DML_3_0 = (*DML_2_0, "int8", "uint8")
DML_5_0 = (*DML_3_0, "int16", "int32", "int64", "uint16", "uint32", "uint64")


@dataclass(frozen=True)
class OperatorVersion:
    """One version of one operator."""

    domain: str
    """As in a model's opset imports: `""` is ai.onnx."""
    name: str
    since_version: int
    types: Mapping[str, tuple[str, ...]]
    """The element types that each type variable of the inputs may take, by ONNX's names."""
    rules: str
    """The letter of its rules in `onnx_maxpool.operators.rules`."""
    elsewhere: str
    """Who else runs it, for the docs."""
    plan: Literal["roi", "sliding", "adaptive"]
    """How its windows are planned: by `roi_windows`, `sliding_windows` or `adaptive_windows` of `windows`."""
    size_attribute: str = ""
    """The attribute of the output's height and width; empty where inputs and windows say how large the output is."""
    roi_rank: int = 0
    """Of the ROI tensor: (R, 5) with as many dimensions of 1 before as are missing. 0 without ROIs."""
    index_types: tuple[str, ...] = ()
    """The element types that the optional second output, the index, may take: the default first. None without one.

    Where there are several, the attribute `index_element_type` chooses, by the names of `facts.INDEX_SPELLINGS`.
    """

    index_scope: Literal["tensor", "channel"] | None = None
    """What the index counts the cells of: the whole input, or each image's channel. None without an index."""
    bin_edges: Literal["onnx", "exact"] | None = None
    """How the edges of its bins are computed where the setting `bin_edges` is not given (M7); None without bins."""

    @property
    def title(self) -> str:
        """`MaxRoiPool-22`, as messages name it."""
        return f"{self.name}-{self.since_version}"


DIRECTML_ALONE = "DirectML through its own API; no runtime of ONNX models"

OPERATORS = (
    OperatorVersion(
        domain="",
        name="MaxRoiPool",
        since_version=1,
        types={"T": FLOATS},
        rules="M",
        elsewhere="ONNX Runtime: float, and float16 by casts to float; OpenVINO, where doubles lose precision",
        plan="roi",
        size_attribute="pooled_shape",
        roi_rank=2,
        bin_edges="onnx",
    ),
    OperatorVersion(
        domain="",
        name="MaxRoiPool",
        since_version=22,
        types={"T": (*FLOATS, "bfloat16")},
        rules="M",
        elsewhere="OpenVINO: all but bfloat16; doubles lose precision there",
        plan="roi",
        size_attribute="pooled_shape",
        roi_rank=2,
        bin_edges="onnx",
    ),
    OperatorVersion(
        domain="directml",
        name="RoiPooling",
        since_version=1,
        types={"T": DML_2_0},
        rules="D",
        elsewhere=DIRECTML_ALONE,
        plan="roi",
        size_attribute="pooled_size",
        roi_rank=4,
        bin_edges="exact",
    ),
    OperatorVersion(
        domain="directml",
        name="MaxPooling1",
        since_version=2,
        types={"T": DML_2_0},
        rules="P",
        elsewhere=DIRECTML_ALONE,
        plan="sliding",
        index_types=("uint32",),
        index_scope="tensor",
    ),
    OperatorVersion(
        domain="directml",
        name="MaxPooling1",
        since_version=3,
        types={"T": DML_3_0},
        rules="P",
        elsewhere=DIRECTML_ALONE,
        plan="sliding",
        index_types=("uint32",),
        index_scope="tensor",
    ),
    OperatorVersion(
        domain="directml",
        name="MaxPooling1",
        since_version=5,
        types={"T": DML_5_0},
        rules="P",
        elsewhere=DIRECTML_ALONE,
        plan="sliding",
        index_types=("uint32", "uint64"),
        index_scope="tensor",
    ),
    OperatorVersion(
        domain="org.openvinotoolkit",
        name="AdaptiveMaxPool",
        since_version=8,
        types={"T": (*FLOATS, "bfloat16"), "TShape": ("int32", "int64")},
        rules="A",
        elsewhere="OpenVINO, with i32 indices only; doubles lose precision there",
        plan="adaptive",
        index_types=("int64", "int32"),
        index_scope="channel",
    ),
)


def versions_of(domain: str, name: str) -> list[OperatorVersion]:
    """The versions of an operator, oldest first; none if it is not one of ours."""
    domain = "" if domain == "ai.onnx" else domain
    return [row for row in OPERATORS if (row.domain, row.name) == (domain, name)]


def resolve(domain: str, name: str, opset: int) -> OperatorVersion | None:
    """The version that an opset import selects: the newest that is not newer than `opset`."""
    return max(
        (row for row in versions_of(domain, name) if row.since_version <= opset),
        key=lambda row: row.since_version,
        default=None,
    )


def newest_versions() -> list[OperatorVersion]:
    """The newest version of every operator."""
    return [row for row in OPERATORS if row is versions_of(row.domain, row.name)[-1]]


def newest_version(name: str) -> OperatorVersion:
    """The newest version of the operator of that name. Raises KeyError for a name that is not one of ours."""
    for row in newest_versions():
        if row.name == name:
            return row
    known = ", ".join(row.name for row in newest_versions())
    raise KeyError(f"operator {name}, expected one of {known}")


def snake_case(name: str) -> str:
    """`MaxRoiPool` as `max_roi_pool`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def native_table() -> str:
    """The C++ table: for each operator a line per combination of types that any version allows.

    Then come the types of its index, the default first, the default bin edges, and the attribute of the
    output's size.
    """

    def listed(types: Iterable[str]) -> str:
        return f"({', '.join(f'ElementType::{name}_' for name in types)})"

    lines = []
    for newest in newest_versions():
        versions = versions_of(newest.domain, newest.name)
        edges = f"BinEdges::{newest.bin_edges}_" if newest.bin_edges else "BinEdges::unset"
        size = f'"{newest.size_attribute}"' if newest.size_attribute else "nullptr"
        variables = [dict.fromkeys(t for row in versions for t in row.types[variable]) for variable in newest.types]
        for types in itertools.product(*variables):
            arguments = f"{versions[0].since_version}, {listed(types)}, {listed(newest.index_types)}, {edges}, {size}"
            lines.append(f'OPERATOR("{newest.domain}", {newest.name}, {arguments})')
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(native_table())
