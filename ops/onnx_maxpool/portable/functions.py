"""The portable operators as ONNX functions, for one element type and one opset."""

from __future__ import annotations

from string import Template

from onnx import FunctionProto, TensorProto, parser

from onnx_maxpool.errors import OperatorError
from onnx_maxpool.portable import arithmetic, roi_max

DOMAIN = "portable"
"""Of the functions, within this package: nothing of it is left in a converted model."""

OLDEST_OPSET = 11
"""The oldest opset of ai.onnx in which the functions can be written: Range, and Clip with bounds as inputs."""

REDUCTION = {
    11: "<axis> (x) => (y) { y = $reduce <axes = @axis, keepdims = 0> (x) }",
    18: "<axis> (x) => (y) { axes = Constant <value_ints = @axis> () y = $reduce <keepdims = 0> (x, axes) }",
}
"""A reduction along one axis, by the opset that brought this form."""

TEXTS = [
    text for module in (arithmetic, roi_max) for name, text in vars(module).items() if name.isupper()
]


def functions(element_type: str, opset: int) -> dict[str, FunctionProto]:
    """By name, every operator and what it calls, for an element type by ONNX's name and an opset of ai.onnx.

    A function of an operator has the operator's inputs, outputs and attributes.
    Raises OperatorError for an opset that is too old.
    """
    if opset < OLDEST_OPSET:
        raise OperatorError(
            f"to_portable: opset is {opset}, expected {OLDEST_OPSET} or newer; onnx.version_converter can raise it"
        )
    computed = COMPUTED.get(element_type, element_type)
    reduction = REDUCTION[max(since for since in REDUCTION if since <= opset)]
    reductions = [Template(name + reduction).safe_substitute(reduce=f"Reduce{name[:3]}") for name in ("MaxAlong", "MinAlong")]
    header = f'<domain: "{DOMAIN}", opset_import: ["": {opset}, "{DOMAIN}": 1]>\n'
    values = {
        "F": computed,
        "to": str(TensorProto.DataType.Value(computed.upper())),
        "T": str(TensorProto.DataType.Value(element_type.upper())),
    }
    protos = [parser.parse_function(header + Template(text).substitute(values)) for text in (*TEXTS, *reductions)]
    return {proto.name: proto for proto in protos}

COMPUTED = {"float16": "float", "bfloat16": "float"}
"""The types that maxima are taken in, where it is not the tensor's own: each holds the other's values exactly."""
