"""A model as a function from columns to columns, which pickles: what data engines run in each of their processes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

from onnx_maxpool.adapters.arrays import run
from onnx_maxpool.adapters.collation import concatenate, split
from onnx_maxpool.adapters.columns import Column, Failures, column, groups, row_count
from onnx_maxpool.adapters.onnxruntime import PROTOBUF_LIMIT, Providers, load, provider_list
from onnx_maxpool.errors import InputError, ModelError, RowError, listing, shape
from onnx_maxpool.graph.batching import BOX_COLUMNS, ROI_COLUMNS, Batching, BatchOutput, batching, dims_of
from onnx_maxpool.graph.checking import check_model
from onnx_maxpool.graph.reading import Model, is_ort_format, read_model
from onnx_maxpool.graph.survey import Survey
from onnx_maxpool.locks import ForkSafeLock
from onnx_maxpool.processes import MOST_THREADS
from onnx_maxpool.types import Array, BinEdges, dtype_of, tensor_type, whole_number
from onnx_maxpool.windows import check_bin_edges


class Predictor:
    """Runs a model on batches of rows: `predictor(batch)` takes a dict of columns and returns one.

    Columns that are named like the model's inputs contain each row's part of the input. If an input feeds an operator's
    ROIs, its column contains each row's own boxes, (r, 4) or (r, 5); r may be 0. There may be several such inputs. Rows
    of one shape run together, as `collate` does it, and outputs with one entry for each ROI are split. The result
    contains the model's outputs, and the columns that are not inputs, unchanged. The column of an output is one array
    (N, ...) if it has one entry for each row and all have one shape. Otherwise it is a list of N arrays: `(r, C, h,
    w)`, and `(0, C, h, w)` for a row without ROIs. A batch without rows has an array (0, ...) where the model tells a
    row's shape, else an empty list.

    Arrays have the element types of the inputs; lists of Python numbers are converted. An input of rank 0, and a list
    of a fixed length, belong to a whole run: rows with different values run separately. All rows run separately if the
    model fixes its batch size or its number of ROIs, or if neither ONNX's inference nor the model's symbols explain the
    first axis of an output; such an output is returned as the run of that row gives it. They do so too if an output
    comes from indices that count over the whole batch (P5), as those of MaxPooling1 and MaxPool do, or if a ROI
    operator's X has not one entry for each row. Otherwise the model must not mix rows: a sum over all ROIs is one over
    the run's, and an output that repeats the ROIs has the run's batch numbers.

    A predictor pickles without its session. Each process makes its own session when it first calls the predictor, once
    for all threads. Calls from several threads share the session.
    """

    def __init__(
        self,
        model: Model,
        *,
        threads: int = 1,
        bin_edges: BinEdges | None = None,
        providers: Providers | None = None,
        session_options: Mapping[str, Any] | None = None,
        rois: str | Sequence[str] | None = None,
    ) -> None:
        """Read the model and find what its axes count. The session is made later.

        `model` is a path that the processes which call the predictor can read, or bytes or a ModelProto with all data.
        `threads` is ONNX Runtime's number of threads within an operator; 0 lets it choose. `session_options` contains
        attributes of `SessionOptions` by name, and config entries, whose names contain dots. `rois` names the input
        with ROIs, or several, if they cannot be found. Other arguments are those of `load`.

        The model may be in ORT format: a file whose name ends in `.ort`, or its bytes. Then only its inputs and outputs
        are known. So the session is made at once, `rois` must name all inputs with ROIs, and the symbol of an output's
        first axis says what it counts. Indices that count over the whole batch are not noticed, nor is an X that has
        not one entry for each row.

        Raises OSError, ModelError, OperatorError and ValueError as `load` does, and InputError for unknown options, for
        an unknown `rois`, for ROIs whose input cannot be found or whose batch numbers may not be its first column, and
        for a model that cannot run in batches, such as one with another input that has an entry for each ROI.
        """
        self._model = _plain(model)
        check_bin_edges(bin_edges)
        self._bin_edges = bin_edges
        self._providers = provider_list(providers)
        count = whole_number(threads)
        if count is None or not 0 <= count <= MOST_THREADS:
            raise InputError(f"threads is {threads!r}, expected an integer from 0 to {MOST_THREADS}")
        if session_options is not None and not isinstance(session_options, Mapping):
            found = type(session_options).__name__
            raise InputError(f"session_options is {found}, expected a mapping of names to values, which pickles")
        self._options = {"log_severity_level": 4, "intra_op_num_threads": count, **(session_options or {})}
        _session_options(self._options)
        self._start_anew()
        names = _names(rois)
        self.batching: Batching = batching(self._read(names), names)
        """What the axes of the model's inputs and outputs count."""

    def _read(self, rois: Sequence[str]) -> onnx.ModelProto:
        """The model, or of one in ORT format its inputs and outputs."""
        if is_ort_format(self._model):
            parsed = signature(self.session)
            check_rois_are_named(parsed, rois)
            return parsed
        parsed = read_model(self._model, "check")
        check_model(Survey(parsed))
        return parsed

    def _start_anew(self) -> None:
        self._lock = ForkSafeLock()
        self._sessions: dict[int, ort.InferenceSession] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_lock", "_sessions")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._start_anew()

    @property
    def session(self) -> ort.InferenceSession:
        """The session of the calling process. Raises what `load` raises."""
        process = os.getpid()
        # One that was made before a fork is kept and not used: its threads did not come along.
        if process not in self._sessions:
            with self._lock.held():
                if process not in self._sessions:
                    options = _session_options(self._options)
                    self._sessions[process] = load(self._model, options, self._providers, bin_edges=self._bin_edges)
        return self._sessions[process]

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Run the model on a batch. Returns its outputs and the columns that are not inputs. The batch is not changed.

        Raises InputError for columns that are missing or have other types or lengths. Raises RowError for rows that
        fail; it names each row and says what is wrong with its values, or what the operator's error is. The first call
        of a process also raises what `load` raises.
        """
        count = row_count(batch, self.batching)
        _ = self.session  # what it raises is about the model, and not about a row
        failures: Failures = {}
        columns = {each.name: column(each, batch[each.name], failures) for each in self.batching.inputs}
        results: dict[str, Any] = {each.name: [None] * count for each in self.batching.outputs}
        for rows in groups(self.batching, columns, [row for row in range(count) if row not in failures]):
            outputs = self._outputs(columns, rows, failures)
            for name, parts in outputs.items():
                if rows == list(range(count)):
                    results[name] = parts
                    continue
                for row, part in zip(rows, parts, strict=True):
                    results[name][row] = part
        if failures:
            raise RowError(dict(sorted(failures.items())))
        unused = {name: values for name, values in batch.items() if name not in columns}
        return {**unused, **{each.name: _joined(each, results[each.name]) for each in self.batching.outputs}}

    def _outputs(
        self, columns: Mapping[str, Column], rows: Sequence[int], failures: Failures
    ) -> dict[str, Array | list[Array]]:
        """Each output's parts for rows that run together; nothing where that fails, which is noted.

        Raises InputError for rows that fail together, and not each of them.
        """
        try:
            return self._run(columns, rows)
        except InputError:
            raise
        except Exception as error:  # ONNX Runtime's have no common class
            before = len(failures)
            for row in rows:
                if len(rows) == 1:
                    failures[row] = _said(error)
                else:
                    self._outputs(columns, [row], failures)
            if len(failures) == before:
                raise InputError(f"rows {rows[0]} to {rows[-1]} fail when they run together: {error}") from error
            return {}

    def _run(self, columns: Mapping[str, Column], rows: Sequence[int]) -> dict[str, Array | list[Array]]:
        feeds: dict[str, Array] = {}
        counts: dict[str, list[int]] = {}
        for each in self.batching.inputs:
            if each.kind == "row":
                feeds[each.name] = columns[each.name].stacked(rows)
            elif each.kind == "shared":
                feeds[each.name] = columns[each.name].parts[rows[0]]
            else:
                boxes = columns[each.name].of(rows)
                counts[each.name] = [len(part) for part in boxes]
                # A model that has boxes without batch numbers has one image in a run.
                is_plain = each.dims is not None and each.dims[-1] == BOX_COLUMNS
                rois = boxes[0][:, -BOX_COLUMNS:] if is_plain else concatenate(boxes)
                feeds[each.name] = rois.reshape((1,) * (len(each.dims or rois.shape) - rois.ndim) + rois.shape)
        names = [each.name for each in self.batching.outputs]
        outputs = zip(self.batching.outputs, run(self.session, feeds, names), strict=True)
        return {
            each.name: _parts(each, output, counts.get(each.rois or "", [1] * len(rows))) for each, output in outputs
        }


def _parts(each: BatchOutput, output: Array, counts: Sequence[int]) -> Array | list[Array]:
    """Each row's part of an output. Raises InputError where it has another number of entries than the model said."""
    if each.kind == "whole":
        return [output]
    expected = sum(counts)
    if output.ndim == 0 or len(output) != expected:
        per = "ROI" if each.kind == "roi" else "row"
        raise InputError(
            f"output '{each.name}' has shape {shape(output.shape)}, expected an entry per {per}: {expected}"
        )
    return split(output, counts) if each.kind == "roi" else output


def _joined(each: BatchOutput, parts: Array | list[Array]) -> Array | list[Array]:
    """An output's column."""
    if each.kind != "row" or isinstance(parts, np.ndarray):
        return parts
    if not parts:
        sizes = [dim for dim in each.dims or () if isinstance(dim, int)]
        is_known = each.dims is not None and len(sizes) == len(each.dims) and each.type != "undefined"
        return np.empty((0, *sizes), dtype_of(each.type)) if is_known else parts
    return np.stack(parts) if len({part.shape for part in parts}) == 1 else parts


def _said(error: Exception) -> str:
    """What an operator or a converted model's guard said, without ONNX Runtime's frame around it."""
    from onnx_maxpool.adapters.portable.guards import said_by_guard  # with what converts models, which takes time

    frame, found, said = str(error).partition("Status Message: ")
    return said_by_guard(frame + found) or (said if found else frame)


def _names(rois: str | Sequence[str] | None) -> tuple[str, ...]:
    """The inputs that are named. Raises InputError for anything else."""
    if rois is None:
        return ()
    names = (rois,) if isinstance(rois, str) or not isinstance(rois, Sequence) else tuple(rois)
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"rois is {rois!r}, expected the name of an input, or several")
    return names


def _plain(model: Model) -> str | bytes:
    """What pickles in the place of a model, and means the same in another folder."""
    if isinstance(model, bytes):
        return model
    if not isinstance(model, onnx.ModelProto):
        return os.path.abspath(os.fspath(model))
    if model.ByteSize() > PROTOBUF_LIMIT:
        raise ModelError("the model has more than 2 GiB, expected it in a file: give its path")
    return bytes(model.SerializeToString())


def _session_options(values: Mapping[str, Any]) -> ort.SessionOptions:
    """Options with these values. Raises InputError for those that ONNX Runtime does not have."""
    options = ort.SessionOptions()
    for name, value in values.items():
        if "." in name:
            options.add_session_config_entry(name, str(value))
            continue
        if not isinstance(getattr(type(options), name, None), property):
            raise InputError(f"session_options has '{name}', expected an attribute of SessionOptions or a config entry")
        try:
            setattr(options, name, value)
        except TypeError:
            found = type(getattr(options, name)).__name__
            raise InputError(f"session_options has {value!r} for '{name}', expected a value of type {found}") from None
    return options


def signature(session: ort.InferenceSession) -> onnx.ModelProto:
    """A model with the session's inputs and outputs and no nodes: all that ONNX Runtime tells of ORT format.

    Raises InputError for what is not a tensor.
    """
    inputs, outputs = _declared("input", session.get_inputs()), _declared("output", session.get_outputs())
    return helper.make_model(helper.make_graph([], "signature", inputs, outputs))


def check_rois_are_named(model: onnx.ModelProto, rois: Sequence[str]) -> None:
    """Raise InputError for a signature with an input that may hold ROIs, where no input is named.

    Its nodes are not known, so nothing else says whether it does.
    """
    shapes = {value.name: dims_of(value) for value in model.graph.input}
    found = [name for name, dims in shapes.items() if dims and len(dims) in (2, 4) and dims[-1] == ROI_COLUMNS]
    if found and not rois:
        raise InputError(
            f"a model in ORT format does not say whether {listing(found)} contains ROIs: give its name as rois"
        )


def _declared(what: str, values: Iterable[ort.NodeArg]) -> list[onnx.ValueInfoProto]:
    made = []
    for value in values:
        kind = re.fullmatch(r"tensor\((\w+)\)", value.type)
        if kind is None:
            raise InputError(f"{what} '{value.name}' is {value.type}, expected a tensor")
        # ONNX Runtime has an empty shape for a scalar, and for a value whose rank it does not know.
        dims = [dim if isinstance(dim, (int, str)) else None for dim in value.shape]
        made.append(helper.make_tensor_value_info(value.name, tensor_type(kind[1]), dims))
    return made
