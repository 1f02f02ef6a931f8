"""What torch.onnx.export needs to translate the poolings that it rejects."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from onnx import FunctionProto, TensorProto, TypeProto, defs, helper

from onnx_maxpool.adapters.portable.guards import name_guards
from onnx_maxpool.adapters.portable.library import DOMAIN, PUBLIC_DOMAIN, whole_function
from onnx_maxpool.adapters.portable.static.translation import translate
from onnx_maxpool.errors import OperatorError, listing, shape
from onnx_maxpool.operators.registry import OPERATORS, OperatorVersion, resolve
from onnx_maxpool.operators.schemas import register_schemas
from onnx_maxpool.types import Array, BinEdges, type_name
from onnx_maxpool.windows import check_bin_edges

OPSET = 18
"""Of ai.onnx, in which torch builds a graph; to another it converts the whole."""

DIVISIBLE, APART = 5040, 11
"""A size that many numbers divide, and how many times as large the next axis is: no axis is a usual multiple of it."""
RELATIONS = {"Eq", "Ne", "Not", "And", "Or", "Xor"}
"""What torch writes as a call, but is true or false and no number."""

Target = Literal["custom", "portable"]
Translation = Callable[..., Any]
Emit = Callable[..., Any]
"""`emit(operator, opset, *inputs, **attributes)`: record a node for one of our operators, and get its outputs."""


def translation_table(
    target: Target = "custom", *, bin_edges: BinEdges | None = None, control_flow: bool = True
) -> dict[Callable[..., Any], Translation]:
    """Translations for `torch.onnx.export(..., dynamo=True, custom_translation_table=translation_table())`.

    They cover `adaptive_max_pool1d`, `2d` and `3d`, with and without indices, to every output size, for static and
    dynamic shapes. If torchvision is imported, they also cover the first output of its `roi_pool`. The target is
    "custom", our operators, for `load`; or "portable", functions of standard operators, for every runtime.

    Output sizes and the scale of ROI pooling are constants of the model. If the model computes one from a dynamic axis,
    as None and `x.shape[2] // 2` do, torch uses the number of the example. The translation detects this, and the export
    fails: leave the axis out of `dynamic_shapes`, or use a number. It also fails if torch took a number from the
    example for something else, as for the turns of a loop: it does not tell which one became the size. One case goes
    unnoticed: a remainder in a program of `torch.export.export`, as `int(x.shape[2] % 2) + 3`.

    The exported model gives what torch gives, with one exception: if a window has several NaNs, the index is that of
    the first one, and torch's that of the last (G5). `bin_edges` (M7) and `control_flow` are only for the target
    "portable", as in `to_portable`; with the target "custom", the session decides.

    Raises OperatorError for another target, and for `bin_edges` or `control_flow=False` with the target "custom";
    ValueError for other `bin_edges`; ModuleNotFoundError without torch. An export raises torch's own error, with an
    OperatorError as its first cause, for a size or a scale that is computed from a dynamic axis, for a model that uses
    the second output of `roi_pool`, the positions of the maxima, which no operator has, and without control flow for
    dynamic shapes.
    """
    check_bin_edges(bin_edges)
    portable = _emit_portable if control_flow else _emit_static
    emitters: dict[str, Emit] = {"custom": _emit_custom, "portable": partial(portable, bin_edges)}
    if target not in emitters:
        raise OperatorError(f'translation_table: target is "{target}", expected {listing(emitters)}')
    if bin_edges is not None and target == "custom":
        raise OperatorError(
            f'translation_table: bin_edges is "{bin_edges}", expected None with target "custom", as the session has it'
        )
    if not control_flow and target == "custom":
        raise OperatorError('translation_table: control_flow is False, expected True with target "custom"')
    try:
        import torch
    except ModuleNotFoundError as error:
        needed = 'translation_table needs torch: pip install "onnx-maxpool[torch]"'
        raise ModuleNotFoundError(needed, name=error.name) from error

    register_schemas()
    emit = emitters[target]
    aten = torch.ops.aten
    table: dict[Callable[..., Any], Translation] = {
        aten.adaptive_max_pool1d.default: _adaptive_max_pool(1, emit),
        aten.adaptive_max_pool2d.default: _adaptive_max_pool(2, emit),
        aten.adaptive_max_pool3d.default: _adaptive_max_pool(3, emit),
    }
    if hasattr(torch.ops.torchvision, "roi_pool"):
        table[torch.ops.torchvision.roi_pool.default] = _roi_pool(emit)
    return table


def _adaptive_max_pool(rank: int, emit: Emit) -> Translation:
    def adaptive_max_pool(self: Any, output_size: Sequence[int]) -> tuple[Any, Any]:
        from onnxscript import opset18 as op

        said = f"AdaptiveMaxPool: output_size is {shape(output_size)}"
        _reject_computed(said, output_size, self)
        is_batched = len(self.shape) == rank + 2
        first = op.Constant(value_ints=[0])
        x = self if is_batched else _described(op.Unsqueeze(self, first), self)
        y, indices = emit("AdaptiveMaxPool", 8, x, op.Constant(value_ints=list(output_size)))
        return (y, indices) if is_batched else (op.Squeeze(y, first), op.Squeeze(indices, first))

    return adaptive_max_pool


def _roi_pool(emit: Emit) -> Translation:
    def roi_pool(input: Any, rois: Any, spatial_scale: float, pooled_height: int, pooled_width: int) -> list[Any]:
        import onnx_ir

        pooled_shape = [pooled_height, pooled_width]
        for size in pooled_shape:
            if not isinstance(size, int):  # torch keeps what it computes, but it cannot be an attribute
                raise OperatorError(
                    f'MaxRoiPool: pooled_shape has "{size.name}", which the model computes, expected a number'
                )
        _reject_computed(f"MaxRoiPool: spatial_scale is {spatial_scale}", [spatial_scale], input)
        _reject_second_output(input)
        sizes = {"pooled_shape": pooled_shape, "spatial_scale": spatial_scale}
        y = emit("MaxRoiPool", 1, input, rois, **sizes)
        # torch wants a value for each output: this one nothing makes and nothing uses.
        return [y, onnx_ir.Value(name="torchvision_roi_pool_argmax")]

    return roi_pool


def _traced(value: Any) -> Any:
    """The node of torch's graph that `value` was translated from."""
    maker = value if value.producer() is None else value.producer()
    return maker.meta["node"]


def _reject_second_output(value: Any) -> None:
    """Of no call in the graph that `value` is from: a translation is not told which outputs of its own are used."""
    import torch

    for node in _traced(value).graph.nodes:
        for output in node.users if node.target is torch.ops.torchvision.roi_pool.default else ():
            if output.args[1] == 1 and output.users:
                user = next(iter(output.users))
                raise OperatorError(
                    f'MaxRoiPool: roi_pool has its second output used by "{user}", expected the first only, '
                    "as no operator gives the places of the maxima"
                )


def _reject_computed(said: str, numbers: Sequence[float], value: Any) -> None:
    """Reject numbers that depend on a dynamic shape; `said` is what the message says of them.

    torch does not tell where a number came from. It may come from the example where torch took one like it from there,
    or any at all: the model may compute with it.
    """
    output = _traced(value).meta["val"]
    tensor = output[0] if isinstance(output, (list, tuple)) else output
    for what, taken, is_certain in _taken_from_the_example(tensor.fake_mode.shape_env):
        is_like_one = any(taken == number and taken.is_Float == isinstance(number, float) for number in numbers)
        if is_like_one or is_certain:
            raise OperatorError(
                f"{said}, as torch replaced {what} by {float(taken) if taken.is_Float else taken}, "
                f"its value in the example, expected {'numbers' if len(numbers) > 1 else 'a number'} "
                "that no dynamic axis changes"
            )


def _taken_from_the_example(shapes: Any) -> Iterator[tuple[str, Any, bool]]:
    """An expression of dynamic shapes, what torch took it for while it traced, and whether that is certain.

    Depending on who called torch.export and with which options, it stands in a guard, in an assertion that torch.onnx
    drops, or in a symbol's range or replacement.
    """
    import sympy

    if shapes is None:
        return

    def in_words(expression: Any) -> str:
        sources = {x: shapes.var_to_sources[x][0].name for x in expression.free_symbols if x in shapes.var_to_sources}
        return str(expression.xreplace({x: sympy.Symbol(name) for x, name in sources.items()}))

    relations = [(guard.expr, _is_of_few_sizes(guard.expr)) for guard in shapes.guards]
    asserted = [each for several in shapes.deferred_runtime_asserts.values() for each in several]
    relations += [(each.expr, _is_of_a_number(each.msg)) for each in asserted]
    for relation, is_certain in relations:
        if isinstance(relation, sympy.Eq) and (is_certain or relation.rhs.is_number):
            # Where neither side is a number, one is a part of a sum.
            number, rest = (relation.lhs - relation.rhs).as_coeff_Add()
            taken = (relation.lhs, relation.rhs) if relation.rhs.is_number else (rest, -number)
            yield in_words(taken[0]), taken[1], is_certain
    for symbol, values in shapes.var_to_range.items():
        if values.is_singleton():
            place = str(shapes.var_to_range_sloc[symbol].lower)
            yield in_words(symbol), values.lower, _is_in_a_pooling(place)
    for symbol, expression in shapes.replacements.items():
        yield in_words(symbol), expression, _is_in_a_pooling(str(shapes.replacements_slocs[symbol]))


def _is_of_few_sizes(guard: Any) -> bool:
    """Whether a guard says that an expression has a number which it has only for sizes like the example's.

    A remainder says so of many sizes, and so does what torch notes where it divides a size: both hold for large ones.
    """
    import sympy
    from torch.utils._sympy.functions import Mod, PythonMod

    if not isinstance(guard, sympy.Eq) or not guard.rhs.is_number or isinstance(guard.lhs, (Mod, PythonMod)):
        return False
    symbols = sorted(guard.free_symbols, key=str)
    sizes = {symbol: sympy.Integer(DIVISIBLE * APART**i) for i, symbol in enumerate(symbols)}
    try:
        return bool(guard.lhs.xreplace(sizes) != guard.rhs)
    except OverflowError:  # of a power, which is another number than the example's
        return True


def _is_of_a_number(message: str) -> bool:
    """Whether torch asserts a value because it needed a number, and not the truth of a relation.

    The message has the expression as it was before torch simplified the assertion: of `h // 2 + 1` and 7, it asserts
    that `h // 2` is 6.
    """
    evaluated, found, text = message.partition("evaluate_expr: ")
    if evaluated or not found:
        return False
    expression = ast.parse(text, mode="eval").body
    if isinstance(expression, ast.Call):
        return ast.unparse(expression.func) not in RELATIONS
    if isinstance(expression, ast.BinOp):
        return not isinstance(expression.op, (ast.BitAnd, ast.BitOr, ast.BitXor))
    if isinstance(expression, ast.UnaryOp):
        return not isinstance(expression.op, ast.Invert)
    return not isinstance(expression, ast.Compare)


def _is_in_a_pooling(place: str) -> bool:
    """Whether torch's own function is where a size was fixed, and no other with its name in its own."""
    return "nn/functional.py" in place and " in adaptive_max_pool" in place


def _described(batched: Any, single: Any) -> Any:
    """`batched` with the type and shape of `single` behind a new first dimension; torch infers neither."""
    import onnx_ir

    batched.dtype = single.dtype
    batched.shape = onnx_ir.Shape([1, *single.shape])
    return batched


def _emit_custom(name: str, opset: int, *inputs: Any, **attributes: Any) -> Any:
    version = _version(name, opset)
    return _record(defs.get_schema(name, version.since_version, version.domain), inputs, attributes)


def _emit_portable(bin_edges: BinEdges | None, name: str, opset: int, *inputs: Any, **attributes: Any) -> Any:
    version = _version(name, opset)
    schema = defs.get_schema(name, version.since_version, version.domain)
    called, fixed = name, dict[str, Any]()
    if version.index_types:
        called = f"{name}_{len(inputs[0].shape) - 2}_indexed"
        fixed["index_type"] = TensorProto.INT64
    element_type = type_name(int(inputs[0].dtype))
    call = helper.make_node(called, [x.name for x in schema.inputs], [y.name for y in schema.outputs], DOMAIN, **fixed)
    edges = version.bin_edges and (bin_edges or version.bin_edges)
    function = whole_function(call, list(attributes), f"{called}_{element_type}", element_type, OPSET, edges)
    name_guards(function.node, name, function.name)
    return _call(function, schema, inputs, attributes)


def _emit_static(bin_edges: BinEdges | None, name: str, opset: int, *inputs: Any, **attributes: Any) -> Any:
    """A call of a function without control flow, for the inputs' shapes and for these attributes."""
    version = _version(name, opset)
    schema = defs.get_schema(name, version.since_version, version.domain)
    node = helper.make_node(name, [x.name for x in schema.inputs], [y.name for y in schema.outputs], **attributes)
    types, constants = dict[str, TypeProto.Tensor](), dict[str, Array]()
    for formal, x in zip(schema.inputs, inputs, strict=True):
        maker = x.producer()
        if maker is not None and maker.op_type == "Constant":  # an output size, of which torch's graph says no type
            sizes = np.array(maker.attributes["value_ints"].value, np.int64)
            constants[formal.name] = sizes
            types[formal.name] = helper.make_tensor_type_proto(TensorProto.INT64, sizes.shape).tensor_type
        else:
            dims = [dim if isinstance(dim, int) else str(dim) for dim in x.shape]
            types[formal.name] = helper.make_tensor_type_proto(int(x.dtype), dims).tensor_type
    edges = version.bin_edges and (bin_edges or version.bin_edges)
    nodes = translate(node, version, types, constants, edges, name)
    # One name for one body: the same function may be called again.
    made = hashlib.sha256(b"".join(node.SerializeToString(deterministic=True) for node in nodes)).hexdigest()[:16]
    imports = [helper.make_opsetid("", OPSET)]
    function = helper.make_function(PUBLIC_DOMAIN, f"{name}_{made}", node.input, node.output, nodes, imports)
    return _call(function, schema, inputs, {})


def _call(function: FunctionProto, schema: defs.OpSchema, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """A call of a function that stands for the operator of a schema."""
    import onnx_ir
    from onnxscript import evaluator

    recorder = evaluator.default()
    recorder.functions[function.domain, function.name, ""] = onnx_ir.serde.deserialize_function(function)
    called_schema = defs.OpSchema(
        function.name,
        function.domain,
        1,
        inputs=schema.inputs,
        outputs=schema.outputs,
        type_constraints=[(x.type_param_str, x.allowed_type_strs, "") for x in schema.type_constraints],
        attributes=[attribute for key, attribute in schema.attributes.items() if key in attributes],
    )
    return _record(called_schema, inputs, attributes)


def _version(name: str, opset: int) -> OperatorVersion:
    (domain,) = {row.domain for row in OPERATORS if row.name == name}
    version = resolve(domain, name, opset)
    assert version is not None
    return version


def _record(schema: defs.OpSchema, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """A node in the graph that torch builds; its output, or its outputs where it has several."""
    from onnxscript import values

    opset = values.Opset(schema.domain, schema.since_version)
    return values.Op(opset, schema.name, schema)(*inputs, **attributes)
