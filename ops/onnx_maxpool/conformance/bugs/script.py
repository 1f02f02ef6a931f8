"""A program that shows one difference. It runs with the backend, onnx and NumPy, and knows nothing of this package."""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import helper

from onnx_maxpool.conformance.backends import BACKENDS, locate
from onnx_maxpool.conformance.backends.adapter import Adapter
from onnx_maxpool.conformance.bugs.templates import (
    ANSWER,
    ANSWERS,
    COMPARES,
    GROWS,
    IMPORTS,
    LONGEST_RUN,
    MAIN,
    MEMORY,
    RESIDENT,
    RUNS,
    SHOWS,
    TEMPLATE,
    VARIES,
)
from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.run.judge import Result, memory_limit_of
from onnx_maxpool.types import Array, element_type, tensor_type


def script(title: str, backend: str, result: Result) -> str:
    """The program's text."""
    case = result.case
    shows = shows_of(result)
    runner, packages = runner_of(backend)
    needed = ["NumPy", "onnx", *packages]
    listed = f"{', '.join(needed[:-1])} and {needed[-1]}"
    return TEMPLATE.format(
        title=title,
        packages=listed,
        imports=IMPORTS.get(shows, ""),
        runner=runner,
        model=indented(model_text(case.model())),
        inputs=indented(arrays_text(case.inputs)),
        expected=expected_text(case) if shows is COMPARES else "",
        main=helpers_of(result, shows) + MAIN.replace("{shows}", shows).replace("{packages}", listed),
    ).replace("\n\n\n\n", "\n\n\n")


def shows_of(result: Result) -> str:
    """What `main` does to show a difference."""
    if memory_limit_of(result) is not None:
        return GROWS
    if result.outcome in RUNS:
        return SHOWS[result.outcome]
    return ANSWERS if result.case.refuses else SHOWS.get(result.outcome, COMPARES)


def helpers_of(result: Result, shows: str) -> str:
    """Functions that `main` calls, and numbers that it goes by."""
    if shows is GROWS:
        return RESIDENT.format(limit=int(memory_limit_of(result) or 0), seconds=LONGEST_RUN)
    if result.outcome not in RUNS:
        return ""
    return MEMORY.format(runs=RUNS[result.outcome], seconds=LONGEST_RUN) + (ANSWER if shows is VARIES else "")


def runner_of(backend: str) -> tuple[str, list[str]]:
    """How a program runs a model on a backend, and what pip gets the backend from.

    It is what the backend itself runs, where that needs nothing of this package. Else the program imports the backend.
    """
    module, attribute, package = locate(backend)
    adapter = getattr(importlib.import_module(module), attribute) if backend in BACKENDS else Adapter
    if adapter.run is not Adapter.run:
        packages = [name for name in package.split() if name != "onnx"]
        named = str(tuple(packages)).replace("'", '"')
        return "\n\n".join([f"PACKAGES = {named}\n", *map(text_of, (*adapter.helpers, adapter.run))]), packages
    text = (
        f"try:\n    from {module} import {attribute}\nexcept ImportError as error:\n"
        f'    print(f"{{error}}: put the folder of {module} on PYTHONPATH")\n    sys.exit(2)\n\n'
        f"PACKAGES = ()\n\n\ndef run(model, inputs):\n"
        f"    return {attribute}.prepare(model).run(list(inputs.values()))\n"
    )
    return text, [module]


def text_of(function: Callable[..., Any]) -> str:
    """A function's text, without types."""
    text = textwrap.dedent(inspect.getsource(function))
    (found,) = ast.parse(text).body
    assert isinstance(found, ast.FunctionDef)
    names = ", ".join(argument.arg for argument in found.args.args)
    body = text.splitlines()[found.body[0].lineno - 1 :]
    return "\n".join([f"def {found.name}({names}):", *body]) + "\n"


def indented(lines: list[str]) -> str:
    """The body of a function."""
    return "\n".join(f"    {line}" if line else "" for line in lines)


def model_text(model: onnx.ModelProto) -> list[str]:
    """How to make a one-node model."""
    (node,) = model.graph.node
    attributes = "".join(f", {a.name}={_value(helper.get_attribute_value(a))}" for a in node.attribute)
    domain = f", domain={node.domain!r}" if node.domain else ""
    lines = [f"node = helper.make_node({node.op_type!r}, {list(node.input)}, {list(node.output)}{domain}{attributes})"]
    for kind, values in (("inputs", model.graph.input), ("outputs", model.graph.output)):
        lines.append(f"{kind} = [")
        lines += [f"    {_declared(value)}," for value in values]
        lines.append("]")
    opsets = ", ".join(f"helper.make_opsetid({entry.domain!r}, {entry.version})" for entry in model.opset_import)
    lines.append('graph = helper.make_graph([node], "graph", inputs, outputs)')
    lines.append(f"return helper.make_model(graph, opset_imports=[{opsets}], ir_version={model.ir_version})")
    return [line.replace("'", '"') for line in lines]


def _value(value: Any) -> str:
    return repr(
        value.decode() if isinstance(value, bytes) else list(value) if isinstance(value, list | tuple) else value
    )


def _declared(value: onnx.ValueInfoProto) -> str:
    kind = value.type.tensor_type
    name = TYPES.get(kind.elem_type, "UNDEFINED")
    # A size that is not declared is None, which is not 0.
    dims = [dim.dim_value if dim.HasField("dim_value") else None for dim in kind.shape.dim]
    return f"helper.make_tensor_value_info({value.name!r}, TensorProto.{name}, {dims})"


TYPES = {number: name for name, number in onnx.TensorProto.DataType.items()}


def arrays_text(arrays: Any) -> list[str]:
    """How to make the inputs: a dictionary of arrays."""
    lines = []
    for name, array in arrays.items():
        lines += array_text(name, array)
    return [*lines, f"return {{{', '.join(f'{name!r}: {name}' for name in arrays)}}}".replace("'", '"')]


def array_text(name: str, array: Array) -> list[str]:
    """How to make an array: whole where it is small, else zeros and what is not zero."""
    kind = f"helper.tensor_dtype_to_np_dtype(TensorProto.{TYPES[tensor_type(element_type(array))]})"
    values = array.astype(np.float64) if array.dtype.kind == "V" or array.dtype.name == "bfloat16" else array
    if array.size <= 48:
        return [f"{name} = np.array({values.tolist()}, {kind}).reshape({list(array.shape)})"]
    lines = [f"{name} = np.zeros({list(array.shape)}, {kind})"]
    places = np.argwhere((values != 0) | np.signbit(values.astype(np.float64)))
    if len(places) > array.size // 2:
        return [f"{name} = np.array({values.tolist()}, {kind}).reshape({list(array.shape)})"]
    return lines + [f"{name}[{', '.join(map(str, at))}] = {values[tuple(at)].item()}" for at in places]


def expected_text(case: Case) -> str:
    """The names of the outputs, and how to make what is expected of them."""
    lines = []
    for name, array in zip(case.outputs, case.expected, strict=True):
        lines += array_text(name, array)
    names = ", ".join(f'"{name}"' for name in case.outputs)
    body = indented([*lines, f"return [{', '.join(case.outputs)}]"])
    return f"NAMES = [{names}]\n\n\ndef expected():\n{body}\n\n"
