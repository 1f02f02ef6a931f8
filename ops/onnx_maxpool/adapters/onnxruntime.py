"""ONNX Runtime sessions: one line, and an unmodified model runs."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import onnx
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

from onnx_maxpool.adapters.registration import config_entry, register, registered_bin_edges
from onnx_maxpool.errors import ModelError, OperatorError
from onnx_maxpool.facts import INDEX_ATTRIBUTE, INDEX_SPELLINGS, INFERS_INDEX_TYPES
from onnx_maxpool.graph.call_types import declare_calls, undeclared_calls
from onnx_maxpool.graph.checking import check_model
from onnx_maxpool.graph.nodes import OperatorNode, own_functions
from onnx_maxpool.graph.reading import Model, check_ort_file, is_ort_format, names_not_utf_8, read_model
from onnx_maxpool.graph.rewriting import rename_own_functions
from onnx_maxpool.graph.survey import Survey
from onnx_maxpool.graph.writing import write_with_data
from onnx_maxpool.operators.registry import newest_versions
from onnx_maxpool.operators.schemas import attribute_value
from onnx_maxpool.types import BinEdges, PythonFunction

Providers = Sequence[str | tuple[str, dict[Any, Any]]]

NOT_UTF_8 = "the model is not an ONNX model: it has text that is not UTF-8"

PROTOBUF_LIMIT = 2**31 - 1

FORMAT_ENTRY = "session.load_model_format"
"""The session config entry that names a model's format, `ONNX` or `ORT`, whatever its name or its bytes say."""

EXTERNAL_DATA_ENTRY = "session.model_external_initializers_file_folder_path"
"""The session config entry that names the folder with a model's external data, whatever the model's own is."""

REGISTERED_TWICE = "Conflicting with a registered kernel"
"""In what ONNX Runtime says of options with two libraries that have the same operators."""

CPU = "CPUExecutionProvider"

ORT_ERRORS: tuple[type[Exception], ...] = tuple(
    each for each in vars(ort_errors).values() if isinstance(each, type) and issubclass(each, Exception)
)
"""ONNX Runtime's exceptions, which have no base class of their own. Some of its errors are RuntimeErrors."""

GLOBAL_THREADS = "use_per_session_threads must be false"
"""In what ONNX Runtime says of every session with threads of its own after `set_global_thread_pool_sizes`."""

Implementation = Literal["native", "python"] | Mapping[str, PythonFunction]


def load(
    model: Model,
    sess_options: ort.SessionOptions | None = None,
    providers: Providers | None = None,
    *,
    bin_edges: BinEdges | None = None,
    check: bool = True,
    implementation: Implementation = "native",
) -> ort.InferenceSession:
    """Make an ONNX Runtime session for a model that contains our operators. The model is not modified.

    `model` is a path, serialized bytes or a ModelProto. For a path, external data is found beside the file; bytes and a
    ModelProto must contain all data. The format is ONNX's. The native library also runs ORT format: a file whose name
    ends in `.ort`, or its bytes. `sess_options` are yours, and are registered here. The default providers are ONNX
    Runtime's CPU provider only. With other providers, our operators still run on the CPU.

    With `check`, the model is read first. Raises OSError and ModelError if the file is not a model or lacks external
    data, and OperatorError with the node's name if an operator's version rejects its types or attributes, or the shapes
    that follow from those of the model's inputs. Everything else that ONNX Runtime rejects raises its own error. A
    model in ORT format is not checked further.

    If the model has a local function with the domain and name of one of our operators, in another domain than ai.onnx,
    the function runs instead of the operator, as without our library. The session then contains a copy of the model in
    which the function has another name. It contains a copy too where a local function holds RoiPooling, MaxPooling1 or
    AdaptiveMaxPool and the model does not declare the type of a call's output, which ONNX Runtime cannot infer.

    Ctrl-C does not stop a running node: KeyboardInterrupt is raised when the run is over. `RunOptions.terminate` takes
    effect between two nodes.

    `implementation="python"` runs the NumPy reference instead of the native library. A mapping from operators' names to
    functions replaces only these operators. Each function is called as `function(*inputs, **attributes)`, with NumPy
    arrays and all attributes, and returns the output array, or a tuple of the outputs, in the types and shapes of the
    operator. The attributes include `bin_edges` for an operator that divides ROIs into bins, and `index_type` for an
    operator with an index: its dtype, or None if the model does not use the index. An exception in a function stops the
    run, with the traceback in the message. KeyboardInterrupt and SystemExit leave the run unchanged. Raises ValueError
    for another implementation, and for `providers` that is a string.
    """
    options = sess_options if sess_options is not None else ort.SessionOptions()
    chosen = provider_list(providers)
    are_own = sess_options is None
    functions = _functions(implementation)
    if functions is None:
        register(options, bin_edges=bin_edges)
        given = _for_runtime(model, options, check)
        return with_threads(options, lambda: _session(given, options, chosen), are_own)
    # Not before it is needed: everybody else would wait for it when they import the package.
    from onnx_maxpool.adapters.python.calls import PythonSession, forget, keep
    from onnx_maxpool.adapters.python.rewriting import register_python_ops, with_python_ops

    register_python_ops(options, bin_edges=bin_edges)
    whole = read_model(model, "load", config_entry(options, EXTERNAL_DATA_ENTRY))
    if check:
        survey = Survey(whole)
        check_model(survey)
        check_index_types(found for found in survey.nodes if found.node.op_type not in functions)
    keys = {name: None if function is None else keep(function) for name, function in functions.items()}
    kept = [key for key in keys.values() if key is not None]
    try:
        rewritten = with_python_ops(whole, keys, registered_bin_edges(options))
        session = with_threads(options, lambda: _session(rewritten, options, chosen, PythonSession), are_own)
    except BaseException as error:
        forget(kept)
        if REGISTERED_TWICE in str(error):
            raise ValueError(
                "onnx_maxpool: the session options have onnxruntime-extensions already, expected options without it, "
                "as operators in Python register it"
            ) from error
        raise
    weakref.finalize(session, forget, kept)
    return session


def _functions(implementation: Implementation) -> dict[str, PythonFunction | None] | None:
    """The operators that run in Python, by the function or, for None, by the reference; None where none does."""
    names = [row.name for row in newest_versions()]
    if isinstance(implementation, Mapping):
        for name, function in implementation.items():
            if name not in names:
                raise ValueError(f"onnx_maxpool: implementation names {name!r}, expected {' or '.join(names)}")
            if not callable(function):
                raise ValueError(f"onnx_maxpool: implementation has {function!r} for {name}, expected a function")
        return dict(implementation)
    if implementation not in ("native", "python"):
        raise ValueError(
            f"onnx_maxpool: implementation is {implementation!r}, expected 'native', 'python' or functions by name"
        )
    return dict.fromkeys(names) if implementation == "python" else None


def _for_runtime(model: Model, options: ort.SessionOptions, check: bool) -> Model:
    """What ONNX Runtime is given for a model: itself, or a copy.

    In a copy, own functions do not go by operators' names, and calls whose types ONNX Runtime cannot infer have them.
    """
    named = config_entry(options, FORMAT_ENTRY)
    if named == "ORT" or (not named and is_ort_format(model)):
        if check and not named and not isinstance(model, bytes | onnx.ModelProto):
            check_ort_file(model)
        return model
    folder = config_entry(options, EXTERNAL_DATA_ENTRY)
    try:
        parsed = read_model(model, "check" if check else "leave", folder)
    except (OSError, ModelError):
        if check:
            raise
        return model  # for ONNX Runtime to reject
    if check:
        survey = Survey(parsed)
        check_model(survey)
        check_index_types(survey.nodes)
    undeclared = undeclared_calls(parsed)
    if not own_functions(parsed) and not undeclared:
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(read_model(model, "load", folder))
    declare_calls(copy, undeclared)
    rename_own_functions(copy)
    return copy


def with_threads(
    options: ort.SessionOptions, make: Callable[[], ort.InferenceSession], are_own: bool = True
) -> ort.InferenceSession:
    """The session that `make` makes with these options, on threads of its own or, where it must, on the process's.

    ONNX Runtime makes no session with threads of its own once `onnxruntime.set_global_thread_pool_sizes` was called.
    Options that are not our own stay as the caller has them.
    """
    try:
        return make()
    except RuntimeError as error:
        if not are_own or GLOBAL_THREADS not in str(error):
            raise
    options.use_per_session_threads = False
    return make()


def _session(
    model: Model,
    options: ort.SessionOptions,
    providers: Providers,
    kind: type[ort.InferenceSession] = ort.InferenceSession,
) -> ort.InferenceSession:
    def made(source: str | bytes) -> ort.InferenceSession:
        # To what else than the CPU would ONNX Runtime fall back? It prints when it does.
        fall_back = any(provider != CPU for provider in providers)
        try:
            return kind(source, options, providers, enable_fallback=fall_back)
        except UnicodeDecodeError as error:  # what it says quotes the model
            said = error.object.decode(errors="backslashreplace")
            raise ModelError(f"{NOT_UTF_8}: {said}") from None
        except ORT_ERRORS as error:
            if error.args or is_ort_format(source):
                raise
            # Older Pythons, such as 3.11.2, lose a message that they cannot decode: what it quotes is one of these.
            parsed = (
                onnx.load_from_string(source)
                if isinstance(source, bytes)
                else onnx.load(source, load_external_data=False)
            )
            raise ModelError(f"{NOT_UTF_8}: {', '.join(map(repr, names_not_utf_8(parsed)))}") from None

    if not isinstance(model, onnx.ModelProto):
        return made(model if isinstance(model, bytes) else os.fspath(model))
    if model.ByteSize() <= PROTOBUF_LIMIT:
        return made(model.SerializeToString())
    # Protobuf cannot serialize this much in one piece: ONNX Runtime gets the weights as a file of external data.
    with tempfile.TemporaryDirectory(prefix="onnx_maxpool_") as folder:
        path = Path(folder, "model.onnx")
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        write_with_data(copy, path, "weights")
        return made(str(path))


def provider_list(providers: Providers | None) -> list[Any]:
    """The providers, the CPU's for None. Raises ValueError for a string, which is a sequence too, of letters."""
    if isinstance(providers, str):
        raise ValueError(f"onnx_maxpool: providers is {providers!r}, expected a list of providers")
    return [CPU] if providers is None else list(providers)


def check_index_types(nodes: Iterable[OperatorNode]) -> None:
    """Reject what the library cannot infer in older runtimes; these would complain of a type in words of their own.

    Raises OperatorError that names the node. Python operators are not concerned.
    """
    if tuple(int(part) for part in ort.__version__.split(".")[:2]) >= INFERS_INDEX_TYPES:
        return
    for found in nodes:
        if not found.version or not found.version.index_types:
            continue
        default, *others = (INDEX_SPELLINGS[name] for name in found.version.index_types)
        given = next((attribute_value(a) for a in found.node.attribute if a.name == INDEX_ATTRIBUTE), default)
        if given in others and len(found.node.output) > 1 and found.node.output[1]:
            raise OperatorError(
                f'{found.label}: {found.node.op_type}: {INDEX_ATTRIBUTE} is "{given}", expected "{default}", '
                f"as another needs ONNX Runtime {'.'.join(map(str, INFERS_INDEX_TYPES))} or newer"
            )
