"""The schemas of the operators that ONNX does not define: with them onnx.checker and onnx.shape_inference know them.

And what a node of ONNX says of its attributes: their kinds and values.
"""

from __future__ import annotations

import atexit
from collections.abc import Iterable
from typing import Any

from onnx import (
    AttributeProto,
    TensorProto,
    TensorShapeProto,
    TypeProto,
    ValueInfoProto,
    defs,
    helper,
    numpy_helper,
    shape_inference,
)

from onnx_maxpool.errors import OperatorError
from onnx_maxpool.locks import ForkSafeLock
from onnx_maxpool.operators import operator
from onnx_maxpool.operators.definition import Attribute, Operator, Schema, index_type
from onnx_maxpool.operators.registry import OPERATORS, OperatorVersion
from onnx_maxpool.types import Dims, tensor_type

INDEX_VARIABLE = "TIndex"
"""The type variable of the index output."""


_registering = ForkSafeLock()


def register_schemas() -> None:
    """Make onnx know every version of our operators that it does not know yet.

    Afterwards, in this process, `onnx.checker.check_model(model, full_check=True)` checks the types, attributes and
    shapes of our operators, and `onnx.shape_inference` infers through them. You may call it again, from every thread.
    """
    with _registering.held():
        for version in OPERATORS:
            schema = operator(version.name).schema
            if schema is not None and not _is_registered(version):
                defs.register_schema(operator_schema(version, operator(version.name), schema))
                # Python functions that outlive the interpreter in onnx's table hang the process's end, up to onnx 1.19.
                atexit.register(_deregister, version)


def _is_registered(version: OperatorVersion) -> bool:
    try:
        schema = defs.get_schema(version.name, version.since_version, version.domain)
    except defs.SchemaError:
        return False
    return bool(schema.since_version == version.since_version)


def _deregister(version: OperatorVersion) -> None:
    if _is_registered(version):
        defs.deregister_schema(version.name, version.since_version, version.domain)


def operator_schema(version: OperatorVersion, definition: Operator, schema: Schema) -> defs.OpSchema:
    """One version's schema, with type and shape inference."""
    parameter, docs = defs.OpSchema.FormalParameter, schema.docs
    (first_variable, *_) = definition.inputs.values()
    outputs = [parameter(definition.outputs[0], first_variable, docs[definition.outputs[0]])]
    variables = dict(version.types)
    if version.index_types:
        optional = defs.OpSchema.FormalParameterOption.Optional
        index = definition.outputs[1]
        outputs.append(parameter(index, INDEX_VARIABLE, docs[index], param_option=optional))
        variables[INDEX_VARIABLE] = version.index_types
    made = defs.OpSchema(
        version.name,
        version.domain,
        version.since_version,
        doc=schema.doc,
        inputs=[parameter(name, variable, docs[name]) for name, variable in definition.inputs.items()],
        outputs=outputs,
        type_constraints=[
            (name, [f"tensor({element_type})" for element_type in types], docs[name])
            for name, types in variables.items()
        ],
        attributes=[
            _schema_attribute(name, attribute, docs[name])
            for name, attribute in definition.attributes_of(version).items()
        ],
    )
    made.set_type_and_shape_inference_function(lambda context: _infer(context, version, definition))
    return made


def _schema_attribute(name: str, attribute: Attribute, doc: str) -> defs.OpSchema.Attribute:
    """A default that depends on other attributes is only in the text."""
    if attribute.default is None or callable(attribute.default):
        kind = getattr(defs.OpSchema.AttrType, attribute.kind)
        return defs.OpSchema.Attribute(name, kind, doc, required=attribute.required)
    return defs.OpSchema.Attribute(name, helper.make_attribute(name, attribute.default), doc)


def _infer(context: Any, version: OperatorVersion, definition: Operator) -> None:
    """Set the outputs' types. `context` is an onnx InferenceContext, which has no name in Python to be typed by.

    Raises InferenceError where the operator rejects what is known.
    """
    types = [context.get_input_type(i) for i in range(context.get_num_inputs())]
    found = {name: context.get_attribute(name) for name in definition.attributes_of(version)}
    found = {name: attribute for name, attribute in found.items() if attribute is not None}
    dims: Dims | None = None
    index: str | None = None
    if not any(attribute.ref_attr_name for attribute in found.values()):  # of a function that nobody calls here
        try:
            if len(types) < len(definition.inputs):
                raise OperatorError(f"{version.title}: {len(types)} of {len(definition.inputs)} inputs are there")
            for name, attribute in found.items():
                check_kind(version, attribute, definition.attributes_of(version)[name].kind)
            attributes = definition.complete(version, {name: attribute_value(value) for name, value in found.items()})
            values = [_known_integers(context, i, given) for i, given in enumerate(types)]
            shapes = [_dims(given) for given in types]
            definition.check_shapes(shapes, attributes)
            dims = definition.infer_shape(shapes, values, attributes)
        except OperatorError as error:
            raise shape_inference.InferenceError(f"{context.get_display_name()}: {error}") from None
        index = index_type(version, attributes) if version.index_types else None
    if types and types[0] is not None:
        context.set_output_type(0, _tensor(types[0].tensor_type.elem_type, dims))
    if index is not None and context.has_output(1):
        context.set_output_type(1, _tensor(tensor_type(index), dims))


def _dims(given: TypeProto | None) -> Dims | None:
    return None if given is None else dims_of(given.tensor_type)


def dims_of(tensor: TypeProto.Tensor) -> Dims | None:
    """What is known of a tensor's shape: sizes, names, None for neither; None where not even the rank is known."""
    return _known(tensor.shape) if tensor.HasField("shape") else None


def _known(shape: TensorShapeProto) -> Dims:
    return tuple(known_dim(dim) for dim in shape.dim)


def known_dim(dim: TensorShapeProto.Dimension) -> int | str | None:
    """A dimension's size or name, None for neither. A negative size is neither: older exporters write an unknown so."""
    if dim.HasField("dim_value"):
        return dim.dim_value if dim.dim_value >= 0 else None
    return dim.dim_param or None


def forget_negative_sizes(values: Iterable[ValueInfoProto]) -> None:
    """Leave the dimensions of negative size unknown: ONNX's inference would compute with them."""
    for value in values:
        if value.type.HasField("tensor_type"):
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_value < 0:
                    dim.ClearField("dim_value")


def _known_integers(context: Any, i: int, given: TypeProto | None) -> Dims | None:
    """What is known of an input that is a list of integers: all of a constant; of a computed shape, its dimensions."""
    integers = (TensorProto.INT32, TensorProto.INT64)
    if given is None or given.tensor_type.elem_type not in integers or len(_dims(given) or ()) != 1:
        return None
    constant = context.get_input_data(i)
    if constant is not None:
        if not constant.dims:  # onnx 1.19 forgets those of value_ints
            constant.dims.append(len(constant.int64_data))
        return tuple(int(value) for value in numpy_helper.to_array(constant))
    shape = context.get_symbolic_input(i)
    return _known(shape) if shape is not None else None


def _tensor(element_type: int, dims: Dims | None) -> TypeProto:
    return helper.make_tensor_type_proto(element_type, dims)


def attribute_value(attribute: AttributeProto) -> Any:
    """An attribute as a number, a list or a text; of a text that is not UTF-8, bytes that are not are escaped."""
    value = helper.get_attribute_value(attribute)
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else value


def check_kind(version: OperatorVersion, attribute: AttributeProto, expected: str) -> None:
    """Raise OperatorError for an attribute of another type than the version's, by ONNX's names."""
    found = AttributeProto.AttributeType.Name(attribute.type)
    if found != expected:
        raise OperatorError(f"{version.name}: attribute {attribute.name} is {found}, expected {expected}")
