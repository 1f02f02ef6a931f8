"""The rules that cases cite, each in one line, and the operators that each binds."""

from __future__ import annotations

from dataclasses import dataclass

ROI = ("MaxRoiPool", "RoiPooling")
INDEXED = ("MaxPooling1", "AdaptiveMaxPool")
ALL = (*ROI, *INDEXED)


@dataclass(frozen=True)
class Rule:
    """One rule."""

    text: str
    operators: tuple[str, ...]
    """The names of the operators that it binds."""


RULES = {
    "G1": Rule("A window is planned in exact integers, but for the bins of MaxRoiPool, and clipped to the input.", ALL),
    "G2": Rule("The value is the maximum of the window's cells; -inf is an ordinary value.", ALL),
    "G3": Rule("A window that holds a NaN yields NaN.", ALL),
    "G4": Rule("+0 and -0 are equal.", ALL),
    "G5": Rule("The index is that of the first cell that holds the maximum, or of the first NaN.", INDEXED),
    "G6": Rule(
        "A maximum selects and never rounds: an output is an input cell (or M9's 0), in the tensor's own type, up to "
        "the sign of zero and a NaN's payload.",
        ALL,
    ),
    "G7": Rule("Zero ROIs, images or channels give an empty output of the right shape.", ALL),
    "M1": Rule("X is (N, C, H, W), rois (R, 5), Y (R, C, pooled height, pooled width).", ROI),
    "M2": Rule("X, rois and Y have one type, of those that the version lists.", ("MaxRoiPool",)),
    "M3": Rule("The output size is two positive integers; spatial_scale is finite and above 0, by default 1.", ROI),
    "M4": Rule("A ROI is batch, x1, y1, x2, y2; both corners belong to it.", ROI),
    "M5": Rule(
        "An edge is coordinate times scale, in float32 (double for double), halves rounded away from zero.", ROI
    ),
    "M6": Rule("A ROI that ends before it starts is one cell wide.", ROI),
    "M7": Rule(
        "Bin p of P over L cells from s is [s + floor(p*(L/P)), s + ceil((p+1)*(L/P))). MaxRoiPool rounds quotient and "
        "product in float32 (double for double), RoiPooling computes exact integers; the setting bin_edges changes it.",
        ROI,
    ),
    "M8": Rule("Bins are clipped to the map.", ROI),
    "M9": Rule("A bin with no cell yields 0.", ROI),
    "M10": Rule("The batch number is truncated toward zero and must name an image; nothing else is read.", ROI),
    "M11": Rule("A NaN coordinate is refused; an edge beyond 2^40, and an infinite one, is 2^40, or -2^40.", ROI),
    "D1": Rule("The ROI tensor is (1, 1, R, 5) and the output size is the attribute pooled_size.", ("RoiPooling",)),
    "D2": Rule("Types are float16 and float.", ("RoiPooling",)),
    "P1": Rule("The input has rank 4 or 5.", ("MaxPooling1",)),
    "P2": Rule("Window and strides are positive, paddings smaller than the window.", ("MaxPooling1",)),
    "P3": Rule("An output has floor((size + paddings - window) / stride) + 1 cells along an axis.", ("MaxPooling1",)),
    "P4": Rule("Window i starts at i*stride - start_padding; padding never wins.", ("MaxPooling1",)),
    "P5": Rule("The optional index counts in the whole input, batch and channel included.", ("MaxPooling1",)),
    "P6": Rule("Types are those of the version.", ("MaxPooling1",)),
    "A1": Rule("The input has rank 3, 4 or 5; the second input gives the output size.", ("AdaptiveMaxPool",)),
    "A2": Rule("Window i is [floor(i*in/out), ceil((i+1)*in/out)).", ("AdaptiveMaxPool",)),
    "A3": Rule("The index counts in the spatial dimensions of its own channel.", ("AdaptiveMaxPool",)),
    "A4": Rule("Types are float16, bfloat16, float and double.", ("AdaptiveMaxPool",)),
    "A5": Rule("A spatial dimension of 0 is refused.", ("AdaptiveMaxPool",)),
}
"""By number. The letter says whom a rule binds: all operators (G), or one and those that are like it."""


def rules_of(operator: str) -> list[str]:
    """The numbers of the rules that bind an operator."""
    return [number for number, rule in RULES.items() if operator in rule.operators]
