"""A model's local functions: how a call finds one, the defaults of their attributes, and calls replaced by bodies."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from onnx import FunctionProto, ModelProto, helper, inliner

from onnx_maxpool.graph.nodes import FunctionKey, called, canonical_domain, every_node, key_of, model_nodes


def callees_first(functions: Iterable[FunctionProto]) -> list[FunctionProto]:
    """The functions in an order in which each stands behind those that it calls; ONNX allows no recursion."""
    by_key = {key_of(function): function for function in functions}
    ordered: dict[FunctionKey, FunctionProto] = {}

    def add(key: FunctionKey) -> None:
        if key not in by_key or key in ordered:
            return
        function = by_key.pop(key)
        for node in every_node(function.node):
            add(called(node))
        ordered[key] = function

    for key in list(by_key):
        add(key)
    return list(ordered.values())


def write_defaults(model: ModelProto) -> None:
    """Give each call of a local function the attributes that it leaves out, with their defaults; the model is changed.

    ONNX Runtime knows the defaults. ONNX's inliner and its reference evaluator do not.
    """
    defaults = {key_of(function): function.attribute_proto for function in model.functions if function.attribute_proto}
    if not defaults:
        return
    for node in model_nodes(model):
        given = {attribute.name for attribute in node.attribute}
        node.attribute.extend(value for value in defaults.get(called(node), ()) if value.name not in given)


def import_domains_of_functions(model: ModelProto) -> None:
    """Import what only local functions import, as ONNX allows: where one is inlined, its nodes are the model's."""
    known = {canonical_domain(entry.domain) for entry in model.opset_import}
    newest: dict[str, int] = {}
    for function in model.functions:
        for entry in function.opset_import:
            newest[entry.domain] = max(entry.version, newest.get(entry.domain, 0))
    for domain, version in newest.items():
        if canonical_domain(domain) not in known:
            model.opset_import.append(helper.make_opsetid(domain, version))


def inlined(model: ModelProto) -> ModelProto:
    """A copy with the bodies of all local functions in the place of their calls.

    A function that imports another opset than the model stays. Raises what ONNX's inliner raises.
    """
    waiting = list(model.functions)
    copy = ModelProto()
    copy.CopyFrom(model)
    copy.ClearField("functions")
    # An attribute that a caller was not given is not given to its callee either, which then takes its own default. So
    # callers come first: their bodies must stand in the graph before a default is written into the calls there.
    while waiting:
        callers = _not_called(waiting)
        waiting = [function for function in waiting if key_of(function) not in set(map(key_of, callers))]
        copy.functions.extend(callers)
        write_defaults(copy)
        copy = inliner.inline_local_functions(copy, convert_version=False)
    return copy


def _not_called(functions: Collection[FunctionProto]) -> list[FunctionProto]:
    """Those that none of the others calls; all where each is called, which ONNX forbids."""
    calls = {called(node) for function in functions for node in every_node(function.node)}
    return [function for function in functions if key_of(function) not in calls] or list(functions)
