"""The rules: what each operator computes, by number, and what of that a published text says.

The code, the tests and the conformance cases cite the numbers; docs/rules.md is written from here. A number is never
given to another rule: one that is retired says which rule has its content.
"""

from __future__ import annotations

from dataclasses import dataclass

ROI = ("MaxRoiPool", "RoiPooling")
INDEXED = ("MaxPooling1", "AdaptiveMaxPool")
ALL = (*ROI, *INDEXED)

LETTERS = {
    "G": "all operators",
    "M": "MaxRoiPool of ai.onnx, versions 1 and 22, and what RoiPooling shares with it",
    "D": "RoiPooling of DirectML, version 1",
    "P": "MaxPooling1 of DirectML, versions 2, 3 and 5",
    "A": "AdaptiveMaxPool of OpenVINO, version 8",
}
"""What the rules of a letter are about."""


@dataclass(frozen=True)
class Document:
    """A published text."""

    title: str
    url: str


ONNX = Document("ONNX, MaxRoiPool", "https://github.com/onnx/onnx/blob/main/docs/Operators.md#MaxRoiPool")
ONNX_1 = Document(
    "ONNX, MaxRoiPool, version 1", "https://github.com/onnx/onnx/blob/main/docs/Changelog.md#MaxRoiPool-1"
)
DML = "https://learn.microsoft.com/en-us/windows/win32/api/directml/ns-directml-"
DML_ROI = Document("DML_ROI_POOLING_OPERATOR_DESC", f"{DML}dml_roi_pooling_operator_desc")
DML_POOL = Document("DML_MAX_POOLING1_OPERATOR_DESC", f"{DML}dml_max_pooling1_operator_desc")
OPENVINO = Document(
    "OpenVINO, AdaptiveMaxPool-8",
    "https://github.com/openvinotoolkit/openvino/blob/master/docs/articles_en/documentation/openvino-ir-format/"
    "operation-sets/operation-specs/pooling/adaptive-max-pool-8.rst",
)


@dataclass(frozen=True)
class Source:
    """Where a published text says it."""

    document: Document
    section: str
    quote: str
    """The words that the rule rests on, as they stand there but for the markup."""


@dataclass(frozen=True)
class Rule:
    """One rule."""

    text: str
    operators: tuple[str, ...]
    """The names of the operators that it binds; none if it is retired."""
    sources: tuple[Source, ...] = ()
    ours: str = ""
    """What the published texts leave open, and why it is so here. Empty where they say it all."""

    @property
    def retired(self) -> bool:
        """Whether it binds no operator any more."""
        return not self.operators


RULES = {
    "G1": Rule(
        "A window along an axis is a range of input coordinates, with its start and without its end, clipped to the "
        "input. It is planned in exact 64-bit integers, except for the bins of ROIs (M7).",
        ALL,
        (
            Source(DML_ROI, "Description", "clamped to the input boundaries"),
            Source(OPENVINO, "Detailed description", "Input[d_{start}:d_{end}, h_{start}:h_{end}, w_{start}:w_{end}]"),
        ),
        "The texts do not say in which arithmetic. Integers are the only one in which no window depends on a rounding.",
    ),
    "G2": Rule(
        "The value is the maximum of the cells in the product of the axes' windows; -inf is an ordinary value.",
        ALL,
        (
            Source(ONNX, "Summary", "apply max pooling across each RoI"),
            Source(DML_ROI, "Description", "Performs a MaxPool function across the input tensor"),
            Source(DML_POOL, "Description", "the maximum value across the elements within the sliding window"),
            Source(OPENVINO, "Detailed description", "Output(i,j,k) = max(Input["),
        ),
    ),
    "G3": Rule(
        "A window that holds a NaN yields NaN.",
        ALL,
        ours="The texts do not mention NaN. A result that hides one would hide a fault of the model.",
    ),
    "G4": Rule(
        "+0 and -0 are equal.",
        ALL,
        ours="The texts do not mention the sign of zero. It is so in every comparison of floating-point numbers.",
    ),
    "G5": Rule(
        "The index is that of the first cell, in row-major order, that holds the maximum; where the window holds a "
        "NaN, that of the first NaN.",
        INDEXED,
        (Source(DML_POOL, "OutputIndicesTensor", "the index points to the first value encountered"),),
        "OpenVINO's text does not mention equal values, and neither text mentions NaN. One order serves all.",
    ),
    "G6": Rule(
        "A maximum selects and never rounds: an output is an input cell (or M9's 0), in the tensor's own type. Only "
        "the sign of a zero and the payload of a NaN may differ. Comparisons are exact.",
        ALL,
        (
            Source(ONNX, "Type Constraints", "Constrain input and output types to float tensors."),
            Source(DML_ROI, "Tensor constraints", "must have the same DataType"),
            Source(DML_POOL, "Tensor constraints", "must have the same DataType"),
            Source(OPENVINO, "Outputs", "Output of type T"),
        ),
    ),
    "G7": Rule(
        "Zero ROIs, images or channels give an empty output of the right shape.",
        ALL,
        ours="The texts do not mention empty tensors. Their formulas of the output's size hold for these too.",
    ),
    "M1": Rule(
        "X is (N, C, H, W), rois (R, 5), Y (R, C, pooled height, pooled width).",
        ROI,
        (
            Source(ONNX, "Inputs", "(N x C x H x W)"),
            Source(ONNX, "Inputs", "2-D tensor of shape (num_rois, 5)"),
            Source(ONNX, "Outputs", "(num_rois, channels, pooled_shape[0], pooled_shape[1])"),
            Source(DML_ROI, "OutputTensor", "{ NumROIs, InputChannelCount, PooledSize.Height, PooledSize.Width }"),
        ),
    ),
    "M2": Rule(
        "X, rois and Y have one type: float16, float or double in version 1, bfloat16 too in version 22.",
        ("MaxRoiPool",),
        (
            Source(ONNX_1, "Type Constraints", "tensor(double), tensor(float), tensor(float16)"),
            Source(ONNX, "Type Constraints", "tensor(bfloat16), tensor(double), tensor(float), tensor(float16)"),
        ),
    ),
    "M3": Rule(
        "The output size is required, two positive integers; spatial_scale is finite and above 0, by default 1.",
        ROI,
        (
            Source(ONNX, "Attributes", "ROI pool output shape (height, width)."),
            Source(ONNX, "Attributes", "(default is '1.0')"),
            Source(DML_ROI, "PooledSize", "The ROI pool output size (height, width)"),
        ),
        "The texts give no limits for the scale, and DirectML's structure has no default.",
    ),
    "M4": Rule(
        "A ROI is batch, x1, y1, x2, y2; both corners belong to it.",
        ROI,
        (
            Source(ONNX, "Inputs", "[[batch_id, x1, y1, x2, y2], ...]"),
            Source(DML_ROI, "ROITensor", "the inclusive coordinates of the corners of each ROI"),
        ),
    ),
    "M5": Rule(
        "An edge is the rounded product of coordinate and scale, halves away from zero. Product and rounding are done "
        "in float32 for float16, bfloat16 and float, in double for double.",
        ROI,
        (
            Source(ONNX, "Attributes", "scale factor to translate ROI coordinates"),
            Source(DML_ROI, "Description", "x1 = round(RoiX1 * SpatialScale)"),
        ),
        'The texts say only "round", and nothing of the precision. The C function of that name rounds halves in this '
        "way.",
    ),
    "M6": Rule(
        "The extent along an axis is max(end - start + 1, 1), of the rounded edges: a ROI that ends before it starts "
        "is one cell wide.",
        ROI,
        (
            Source(DML_ROI, "Description", "RegionHeight = y2 - y1 + 1"),
            Source(DML_ROI, "ROITensor", "x2 >= x1, y2 >= y1"),
        ),
        "ONNX's text does not mention ROIs that end before they start, DirectML's forbids them. Every implementation "
        "that we know makes them one cell wide.",
    ),
    "M7": Rule(
        "Bin p of P over L cells from s is [s + floor(p*L/P), s + ceil((p+1)*L/P)). The setting bin_edges says how: "
        "onnx, MaxRoiPool's default, rounds the quotient L/P and its product with p in float32, for double in double; "
        "exact, RoiPooling's default, computes in integers; double rounds both in double for every type.",
        ROI,
        (
            Source(DML_ROI, "Description", "StartY = (OutputIndices.Y * RegionHeight) / PooledSize.Height + y1"),
            Source(DML_ROI, "Description", "((OutputIndices.Y + 1) * RegionHeight + PooledSize.Height - 1)"),
        ),
        "ONNX's text does not mention bins. Its default is what ONNX's reference implementation for the operator, ONNX "
        "Runtime, torchvision, MXNet and Caffe compute: a model gives the numbers that it was trained with.",
    ),
    "M8": Rule(
        "Bins are clipped to the map.",
        ROI,
        (Source(DML_ROI, "Description", "clamped to the input boundaries"),),
    ),
    "M9": Rule(
        "A bin with no cell yields 0.",
        ROI,
        ours="The texts do not mention such bins. Every implementation that we know gives 0.",
    ),
    "M10": Rule(
        "The batch number is truncated toward zero and must name an image; otherwise, or where it is NaN, the run "
        "fails. Nothing else is read.",
        ROI,
        (Source(ONNX, "Inputs", "batch_id"), Source(DML_ROI, "ROITensor", "BatchID")),
        "The texts do not say how a fraction becomes an integer, nor what happens if no image has the number.",
    ),
    "M11": Rule(
        "A NaN coordinate makes the run fail, as in M10. After rounding, an edge beyond 2^40 is 2^40, and one beyond "
        "-2^40 is -2^40, infinities included; up to there nothing is changed.",
        ROI,
        ours="The texts do not mention such coordinates. With this limit no arithmetic overflows.",
    ),
    "M12": Rule("Retired: M7 has its content, as the setting onnx.", ()),
    "D1": Rule(
        "RoiPooling is as M says, but the ROI tensor is (1, 1, R, 5) and the output size is the attribute pooled_size.",
        ("RoiPooling",),
        (
            Source(DML_ROI, "ROITensor", "{ 1, 1, NumROIs, 5 }"),
            Source(DML_ROI, "PooledSize", "The ROI pool output size (height, width)"),
        ),
        "The attribute's name in ONNX: DirectML's operator is a structure in C.",
    ),
    "D2": Rule(
        "Types are float16 and float; input, ROIs and output have the same.",
        ("RoiPooling",),
        (
            Source(DML_ROI, "Tensor support", "FLOAT32, FLOAT16"),
            Source(DML_ROI, "Tensor constraints", "must have the same DataType"),
        ),
    ),
    "P1": Rule(
        "The input has rank 4, (N, C, H, W), or 5, (N, C, D, H, W).",
        ("MaxPooling1",),
        (
            Source(DML_POOL, "InputTensor", "{ BatchCount, ChannelCount, Height, Width }"),
            Source(DML_POOL, "DimensionCount", "set to 2 when InputTensor is 4D, and 3 when it's a 5D tensor"),
        ),
    ),
    "P2": Rule(
        "window_size is required and positive, strides are positive, by default 1, start_padding and end_padding are "
        "smaller than the window and not negative, by default 0: one integer for each spatial dimension.",
        ("MaxPooling1",),
        (
            Source(DML_POOL, "WindowSize", "The dimensions of the sliding window"),
            Source(DML_POOL, "Strides", "The strides for the sliding window dimensions"),
            Source(DML_POOL, "StartPadding", "The number of padding elements to be applied to the beginning"),
            Source(DML_POOL, "EndPadding", "The number of padding elements to be applied to the end"),
        ),
        "The attributes' names and defaults in ONNX, and that a padding is smaller than the window: so no window lies "
        "in padding only, for which the text has no value.",
    ),
    "P3": Rule(
        "An output has floor((size + paddings - window) / stride) + 1 cells along an axis, at least 1.",
        ("MaxPooling1",),
        (Source(DML_POOL, "OutputTensor", "(PaddedSize - WindowSizes[i]) / Strides[i] + 1"),),
    ),
    "P4": Rule(
        "Window i starts at i*stride - start_padding; padding is never the maximum.",
        ("MaxPooling1",),
        (Source(DML_POOL, "StartPadding", "to be applied to the beginning of each spatial dimension"),),
        "The text gives padding no value. Every implementation that we know leaves it out of the maximum.",
    ),
    "P5": Rule(
        "The optional second output is the index (G5) in the whole input, batch and channel included: uint32, from "
        "version 5 on also uint64, by the attribute index_element_type. An input with more cells than the type can "
        "count is rejected.",
        ("MaxPooling1",),
        (
            Source(DML_POOL, "OutputIndicesTensor", "treat the input tensor as a contiguous one-dimensional array"),
            Source(DML_POOL, "Tensor support", "UINT64, UINT32"),
        ),
        "The attribute, and the error: DirectML's indices have the type of the tensor that the caller gives.",
    ),
    "P6": Rule(
        "Types are float16 and float; from version 3 on also int8 and uint8; from version 5 on all integers.",
        ("MaxPooling1",),
        (
            Source(DML_POOL, "Tensor support", "FLOAT32, FLOAT16, INT8, UINT8"),
            Source(
                DML_POOL,
                "Tensor support",
                "FLOAT32, FLOAT16, INT64, INT32, INT16, INT8, UINT64, UINT32, UINT16, UINT8",
            ),
        ),
    ),
    "A1": Rule(
        "The input has rank 3, 4 or 5; the second input, of one dimension and int32 or int64, gives the output size, "
        "at least 1 in each spatial dimension.",
        ("AdaptiveMaxPool",),
        (
            Source(OPENVINO, "Inputs", "3D, 4D, or 5D input tensor"),
            Source(OPENVINO, "Inputs", "1D tensor describing output shape for spatial dimensions"),
            Source(OPENVINO, "Types", "int32 or int64"),
        ),
    ),
    "A2": Rule(
        "Window i is [floor(i*in/out), ceil((i+1)*in/out)), in integers.",
        ("AdaptiveMaxPool",),
        (
            Source(OPENVINO, "Detailed description", r"\lfloor i \cdot \frac{D_{in}}{D_{out}}\rfloor"),
            Source(OPENVINO, "Detailed description", r"\lceil(i+1) \cdot \frac{D_{in}}{D_{out}}\rceil"),
        ),
    ),
    "A3": Rule(
        "The second output is the index (G5) in the spatial dimensions of its own channel; int64, or int32 by the "
        "attribute index_element_type. A graph may leave it out.",
        ("AdaptiveMaxPool",),
        (
            Source(OPENVINO, "Outputs", "as if input spatial dimensions were flatten"),
            Source(OPENVINO, "Attributes", '"i64" or "i32"'),
        ),
    ),
    "A4": Rule(
        "Types are float16, bfloat16, float and double.",
        ("AdaptiveMaxPool",),
        (Source(OPENVINO, "Types", "floating-point type"),),
    ),
    "A5": Rule(
        "A spatial dimension of 0 is rejected.",
        ("AdaptiveMaxPool",),
        ours="The text does not mention it. Its windows would have no cell, and so no maximum.",
    ),
}
"""By number. The letter says whom a rule binds: all operators (G), or one and those that are like it."""


def rules_of(operator: str) -> list[str]:
    """The numbers of the rules that bind an operator."""
    return [number for number, rule in RULES.items() if operator in rule.operators]
