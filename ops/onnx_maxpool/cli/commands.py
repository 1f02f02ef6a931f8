"""The commands of `onnx-maxpool`: parse, call, print."""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import onnx
import onnxruntime as ort
import typer
from rich.console import Console
from rich.text import Text

import onnx_maxpool
from onnx_maxpool.adapters.arrays import run as run_session
from onnx_maxpool.adapters.arrays import tensors
from onnx_maxpool.adapters.onnxruntime import load
from onnx_maxpool.adapters.portable import to_portable
from onnx_maxpool.adapters.portable.static.sizes import UnknownSizesError
from onnx_maxpool.adapters.portable.static.translation import has_index
from onnx_maxpool.adapters.reference import reference_evaluator
from onnx_maxpool.cli.batch import batch
from onnx_maxpool.cli.bench import bench
from onnx_maxpool.cli.comparison import (
    check_comparable,
    check_reference,
    compare_nodes,
    compare_sessions,
    reference_errors,
)
from onnx_maxpool.cli.comparison import compare as compare_runs
from onnx_maxpool.cli.conformance import ConformanceCommand, conformance
from onnx_maxpool.cli.conversion_check import Check, check_conversion, original_session
from onnx_maxpool.cli.information import info
from onnx_maxpool.cli.inputs import dim_options, has_roi_operators, model_inputs, parse_dims, random_inputs_told
from onnx_maxpool.cli.inspection import inspect_model
from onnx_maxpool.cli.libraries import Libraries, register_libraries, without_extensions
from onnx_maxpool.cli.outputs import (
    prepare_files,
    prepare_inputs,
    prepare_model,
    prepare_out,
    save_outputs,
    save_test_data,
    write_model,
)
from onnx_maxpool.cli.sample import sample
from onnx_maxpool.cli.terminal import (
    comparison_table,
    conclusion,
    milliseconds,
    node_lines,
    node_table,
    output_table,
    verdict_line,
)
from onnx_maxpool.errors import InputError, OperatorError, printable
from onnx_maxpool.graph.dimensions import named_dims, unnamed_dims
from onnx_maxpool.graph.nodes import model_nodes, operator_nodes
from onnx_maxpool.graph.reading import has_external_data, read_model
from onnx_maxpool.operators.registry import newest_versions
from onnx_maxpool.processes import MOST_THREADS
from onnx_maxpool.types import BinEdges

SETTLED_RUNS = 100
"""As many runs settle which plan a node takes, usually in the first third of them: the median is not of trials."""

app = typer.Typer(context_settings={"help_option_names": ["-h", "--help"]}, pretty_exceptions_enable=False)

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Read this .onnx file; its external data must be in the same folder.")
]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="NAME=FILE|DIR",
        help="Read inputs from NAME=FILE.npy, NAME=FILE.pb (a TensorProto), FILE.npz, or a folder of input_0.pb, "
        "input_1.pb and so on. Inputs that are not given are random. "
        "Repeat the option for several.",
    ),
]
Dims = Annotated[
    list[str] | None,
    typer.Option(
        "--dim",
        metavar="NAME=SIZE",
        help="Give this size to a symbolic dimension of random inputs. Repeat the option for several.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Draw random inputs with this seed.")]
Edges = Annotated[
    BinEdges | None,
    typer.Option(
        "--bin-edges",
        help="Compute the edges of ROI bins as ONNX Runtime does (onnx), in exact integers (exact), or in double "
        "for every type (double). The default is onnx for MaxRoiPool and exact for RoiPooling.",
    ),
]
Threads = Annotated[
    int,
    typer.Option(
        min=0, max=MOST_THREADS, help="Let ONNX Runtime use this many threads in an operator; 0 lets it choose."
    ),
]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"onnx-maxpool {onnx_maxpool.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Run, inspect, convert and compare ONNX models with max-pooling operators that ONNX Runtime lacks."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


@app.command()
def run(
    model: Model,
    inputs: Inputs = None,
    dims: Dims = None,
    seed: Seed = 0,
    bin_edges: Edges = None,
    threads: Threads = 0,
    libraries: Libraries = None,
    repeat: Annotated[
        int,
        typer.Option(
            min=1,
            help="Time this many runs after the first run, and show the median. Give 100 or more for a time to "
            "compare: our operators try several plans in their first runs.",
        ),
    ] = 5,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz|DIR",
            help="Save the outputs to this .npz file, or as output_0.pb and so on to this folder.",
        ),
    ] = None,
    inputs_folder: Annotated[
        Path | None,
        typer.Option(
            "--save-inputs",
            metavar="DIR",
            help="Save the inputs as input_0.pb and so on to this folder, which --input DIR reads.",
        ),
    ] = None,
) -> None:
    """Run a model on inputs from files or on random inputs. Show its outputs and how long it takes."""
    parsed = read_model(model)
    session = load(model, _options(threads, libraries or []), bin_edges=bin_edges)
    arrays = model_inputs(parsed, inputs or [], parse_dims(dims or []), seed)
    types = {output.name: output.type for output in session.get_outputs()}
    names = list(types)
    console = Console(highlight=False)
    if out is not None:
        prepare_out(out, types)
    if inputs_folder is not None:
        prepare_inputs(inputs_folder, arrays)
        print_files(console, save_test_data(arrays, inputs_folder, "input"))  # before a run that may fail on them

    seconds = []
    with random_inputs_told(parsed, inputs or []):
        for _ in range(1 + repeat):
            start = time.perf_counter()
            values = run_session(session, arrays, names)
            seconds.append(time.perf_counter() - start)
    first, *others = seconds
    outputs = tensors(dict(zip(names, values, strict=True)))

    console.print(output_table(outputs))
    for name, value in zip(names, values, strict=True):
        if isinstance(value, list) and not value:
            console.print(f"{name} is a sequence without a tensor", markup=False)
    times = f"{milliseconds(statistics.median(others))}, median of {repeat}; first run {milliseconds(first)}"
    if repeat < SETTLED_RUNS and any(operator_nodes(parsed)):
        times += ". Our operators try several plans in their first runs: "
        times += f"for a time to compare, --repeat {SETTLED_RUNS}"
    console.print(times, soft_wrap=True)
    if out is not None:
        print_files(console, save_outputs(outputs, out))


@app.command()
def inspect(
    model: Model, as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False
) -> None:
    """List a model's operators that this package provides, and say whether ONNX Runtime can run them without it.

    The exit code is 1 if the model check of this package rejects the model.
    """
    facts = inspect_model(read_model(model))
    if as_json:
        typer.echo(json.dumps(asdict(facts), indent=2))
    else:
        console = Console(highlight=False)
        for node in facts.nodes:
            console.print(node_lines(node, facts.onnxruntime))
        console.print(verdict_line(facts), soft_wrap=True)
    if facts.refusal is not None:
        raise typer.Exit(1)


@app.command()
def compare(
    model: Model,
    other: Annotated[
        Path | None, typer.Argument(metavar="OTHER", help="Compare with this model instead of the reference evaluator.")
    ] = None,
    inputs: Inputs = None,
    dims: Dims = None,
    seed: Seed = 0,
    bin_edges: Edges = None,
    threads: Threads = 0,
    libraries: Libraries = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Allow an output to differ by this fraction of its largest value. "
            "The default is 1e-4 for float and double, 1e-2 for float16, 5e-2 for bfloat16, and 0 for other types.",
        ),
    ] = None,
) -> None:
    """Compare a model in ONNX Runtime with the reference evaluator, or with another model.

    Each node of this package's operators is compared exactly with the reference, on the inputs that the node gets in
    the run. The model's outputs are compared within a tolerance, because runtimes sum Conv and Gemm in different
    orders. The exit code is 1 if a node or an output differs.
    """
    if tolerance is not None and not math.isfinite(tolerance):
        raise InputError(f"--tolerance {tolerance}: expected a finite number")
    paths = [model] if other is None else [model, other]
    parsed = [read_model(path) for path in paths]
    if other is not None:
        check_comparable(*parsed)
        parsed.sort(key=has_roi_operators, reverse=True)  # as it draws ROIs, it says which shapes the inputs have
    # What is wrong with a model comes before what is wrong with its inputs.
    sessions = [load(path, _options(threads, libraries or []), bin_edges=bin_edges) for path in paths]
    arrays = model_inputs(parsed[0], inputs or [], parse_dims(dims or []), seed, *parsed[1:])
    console = Console(highlight=False)
    nodes = []
    others = without_extensions(libraries or [])
    for path in paths:
        with random_inputs_told(parsed[0], inputs or []):
            found = compare_nodes(path, arrays, _options(threads, others), bin_edges=bin_edges)
        console.print(node_table(found, path if other else None))
        nodes += found

    if other is None:
        check_reference(parsed[0])
        with reference_errors():
            evaluator = reference_evaluator(model, bin_edges=bin_edges)
        result = compare_runs(sessions[0], evaluator, arrays)
        sides = ("reference", "ONNX Runtime")
    else:
        result = compare_sessions(sessions[0], sessions[1], arrays)
        sides = (str(model), str(other))
    console.print(comparison_table(result, tolerance))
    times = (milliseconds(result.expected_seconds), milliseconds(result.actual_seconds))
    said = "; ".join(f"{side} {time}" for side, time in zip(sides, times, strict=True))
    console.print(f"First run: {said}", markup=False, soft_wrap=True)
    console.print(conclusion(nodes, result, tolerance), soft_wrap=True)
    if any(node.difference for node in nodes) or not all(result.within(name, tolerance) for name in result.differences):
        raise typer.Exit(1)


@app.command()
def convert(
    model: Model,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Write the converted model to this .onnx file.")],
    to: Annotated[
        Literal["portable"],
        typer.Option(help="Convert to this form. There is only one: portable, which contains only standard operators."),
    ] = "portable",
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="OPERATOR", help="Replace only this operator. Repeat the option for several."),
    ] = None,
    bin_edges: Edges = None,
    control_flow: Annotated[
        bool,
        typer.Option(
            "--control-flow/--no-control-flow",
            help="Allow Loop and If in the converted model, or avoid them. Without them, all shapes must be known.",
        ),
    ] = True,
    dims: Annotated[
        list[str] | None,
        typer.Option(
            "--dim",
            metavar="NAME=SIZE",
            help="Fix a symbolic dimension of the inputs to this size. Repeat the option for several.",
        ),
    ] = None,
    max_pool_indices: Annotated[
        bool, typer.Option("--max-pool-indices", help="Also replace ai.onnx's MaxPool if the model uses its indices.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Run both models in ONNX Runtime and compare all outputs, cell by cell.")
    ] = False,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="NAME=FILE|DIR",
            help="Let --check use these inputs: NAME=FILE.npy, NAME=FILE.pb, FILE.npz, or a folder of input_0.pb and "
            "so on.",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace OUT and its external data if they exist.")
    ] = False,
) -> None:
    """Replace the operators of this package with standard ones, which every runtime has.

    With --check, the original model runs with the library of this package and the converted model without, on random
    inputs of several sizes. The exit code is 1 if an output differs; the converted model is written nevertheless.
    """
    if inputs and not check:
        raise InputError(f"--input {inputs[0]}: expected with --check")
    parsed = read_model(model, "check")
    check_operators(only or ())
    sizes = parse_dims(dims or [])
    check_dims(sizes, parsed)
    target = prepare_model(out, model, parsed, overwrite)
    try:
        converted = to_portable(
            model,
            only=only,
            bin_edges=bin_edges,
            control_flow=control_flow,
            dims=sizes,
            max_pool_indices=max_pool_indices,
        )
    except OperatorError as error:
        unknown = error.__cause__
        if not isinstance(unknown, UnknownSizesError) or not unknown.dims:
            raise
        raise InputError(unknown.said(dim_options(unknown.dims))) from None
    original = original_session(model, bin_edges) if check else None  # now, as OUT may be the same file
    write_model(converted, target, external_data=has_external_data(parsed))
    replaced = count_replaced(parsed, only, max_pool_indices)
    Console(highlight=False).print(
        f"wrote {out}: {replaced} operator{'s' * (replaced != 1)} replaced", markup=False, soft_wrap=True
    )
    if original is not None:
        print_check(check_conversion(parsed, original, target, inputs or [], sizes), model, out)


@app.command()
def demo(out: Annotated[Path, typer.Option(help="Write the picture to this PNG file.")] = Path("demo.png")) -> None:
    """Find all regions of a photograph that look like a given region, and draw them."""
    from onnx_maxpool.demo.search import demo as draw_demo

    if out.suffix.lower() != ".png":
        raise InputError(f"--out {out}: expected FILE.png")
    prepare_files(out)
    draw_demo(out)


app.command()(batch)
app.command()(bench)
app.command(cls=ConformanceCommand)(conformance)
app.command()(sample)
app.command()(info)


def check_operators(names: Iterable[str]) -> None:
    """Raise InputError for a name of `--only` that is no operator of ours."""
    known = [version.name for version in newest_versions()]
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"--only {unknown[0]}: expected one of {', '.join(known)}")


def check_dims(sizes: Iterable[str], model: onnx.ModelProto) -> None:
    """Raise InputError for a name of `--dim` that no input of the model has."""
    known = [*named_dims(model.graph), *unnamed_dims(model.graph)]
    if unknown := [name for name in sizes if name not in known]:
        raise InputError(f"--dim {unknown[0]}: no input has that dimension, only {', '.join(known) or 'none'}")


def count_replaced(model: onnx.ModelProto, only: Sequence[str] | None, max_pool_indices: bool) -> int:
    """How many operators of a model `to_portable` replaces; those of a local function once, whoever calls it."""
    ours = sum(only is None or found.node.op_type in only for found in operator_nodes(model))
    if not max_pool_indices:
        return ours
    return ours + sum(map(has_index, model_nodes(model)))


def print_check(found: Check, model: Path, out: Path) -> None:
    """What was compared, and how it came out. Raises typer.Exit(1) for a difference."""
    console = Console(highlight=False)
    runs = f"{found.runs} run{'s' * (found.runs > 1)} on {found.shapes}{' and smaller' * (found.runs > 1)}"
    said = f"checked {', '.join(found.outputs)} of {out} without our library against {model} with it: {runs}"
    console.print(said, markup=False, soft_wrap=True)
    if found.difference is not None:
        console.print(Text(printable(f"different: {found.difference}"), style="red"), soft_wrap=True)
        raise typer.Exit(1)
    console.print(Text("equal in every cell", style="green"))


def print_files(console: Console, paths: Iterable[Path]) -> None:
    """A line for each file that was written."""
    for path in paths:
        console.print(f"wrote {path}", markup=False, soft_wrap=True)


def _options(threads: int, libraries: Sequence[Path]) -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4  # what it logs as an error it also raises, and that is printed once
    register_libraries(options, libraries)
    return options
