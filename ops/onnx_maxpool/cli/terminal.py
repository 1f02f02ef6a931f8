"""How the commands' results look on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.console import Group
from rich.table import Table
from rich.text import Text

from onnx_maxpool.cli.comparison import MISSING, Comparison, NodeComparison
from onnx_maxpool.cli.inspection import ModelFacts, NodeFacts, StockAnswer, TensorFacts
from onnx_maxpool.cli.outputs import summary
from onnx_maxpool.difference import Difference
from onnx_maxpool.errors import printable, shape
from onnx_maxpool.types import Array, element_type


def milliseconds(seconds: float) -> str:
    """`1.23 ms`."""
    return f"{seconds * 1e3:.2f} ms"


def plain_table(*columns: str) -> Table:
    """An empty table; cells must be Text, as a shape like `[N]` would read as markup."""
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def output_table(outputs: Mapping[str, Array]) -> Table:
    """One row per output: type, shape, and its values in brief."""
    table = plain_table("output", "type", "shape", "min", "max", "mean", "NaN")
    for name, array in outputs.items():
        brief = summary(array)
        values = ("-" if x is None else f"{x:.6g}" for x in (brief.least, brief.greatest, brief.mean))
        add_row(table, name, element_type(array), shape(array.shape), *values, str(brief.nans))
    return table


def comparison_table(result: Comparison, tolerance: float | None) -> Table:
    """One row per output: type, shape, its largest differences, and `equal`, `within tolerance` or the first."""
    table = plain_table("output", "type", "shape", "absolute", "relative", "verdict")
    for name, difference in result.differences.items():
        expected, apart = result.expected[name], result.deviations[name]
        array = expected if expected is not MISSING else result.actual[name]
        said = verdict(difference)
        if difference is not None and result.within(name, tolerance):
            said = Text("within tolerance", style="green")
        amounts = (f"{apart.absolute:.2g}", f"{apart.relative:.2g}")
        add_row(table, name, element_type(array), shape(array.shape), *amounts, said)
    return table


def node_table(nodes: Sequence[NodeComparison], path: Path | None) -> Table | Text:
    """One row per node of ours: where it is, how often it ran, and `equal`, the first difference or why there is none.

    `path` is the model's, where there are two.
    """
    of_which = f" of {path}" if path else ""
    if not nodes:
        return Text(printable(f"{path or 'The model'} has none of this package's operators."))
    table = plain_table(f"operator{of_which}", "node", "runs", "verdict")
    for node in nodes:
        add_row(table, node.operator, node.label.removeprefix("node "), str(node.runs), node_verdict(node))
    return table


def node_verdict(node: NodeComparison) -> Text:
    """`equal` in green, a difference in red, and in yellow why there is nothing to compare."""
    if node.not_compared is not None:
        return Text(printable(f"not compared: {node.not_compared}"), style="yellow")
    if node.difference is not None:
        return Text(printable(node.difference), style="red")
    return Text("equal", style="green") if node.runs else Text("did not run on these inputs", style="yellow")


def conclusion(nodes: Sequence[NodeComparison], result: Comparison, tolerance: float | None) -> Text:
    """What the tables come to, in a line."""
    text = Text()
    differing = sum(node.difference is not None for node in nodes)
    left_out = sum(node.difference is None and not node.runs for node in nodes)
    if nodes:
        equal = len(nodes) - differing - left_out
        counts = {"equal": equal, "different": differing, "not compared": left_out}
        said = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
        text.append(f"Our nodes: {said}. ", style="red" if differing else "")
    apart = [name for name in result.differences if not result.within(name, tolerance)]
    largest = max((deviation.relative for deviation in result.deviations.values()), default=0.0)
    if apart:
        text.append(printable(f"Outputs beyond the tolerance: {', '.join(apart)}."), style="red")
    else:
        text.append(
            "Outputs are equal." if not largest else f"Outputs differ by at most {largest:.2g} of their largest value."
        )
    return text


def add_row(table: Table, *cells: str | Text) -> None:
    """A row of literal text."""
    table.add_row(*(cell if isinstance(cell, Text) else Text(printable(cell)) for cell in cells))


def verdict(difference: Difference | None) -> Text:
    """`equal` in green, or the difference in red."""
    return Text("equal", style="green") if difference is None else Text(str(difference), style="red")


def node_lines(node: NodeFacts, onnxruntime: str) -> Group:
    """A heading and a line for each fact."""
    version = f"-{node.since_version}" if node.since_version else ""
    domain = node.domain or "ai.onnx"
    heading = Text(f"{node.operator}{version}", style="bold")
    name = f" '{node.name}'" if node.name else ""
    opset = "is not imported" if node.opset is None else f"opset {node.opset}"
    heading.append(printable(f"{name} in {node.place} ({domain} {opset})"), style="not bold")
    grid = Table.grid(padding=(0, 2))
    grid.add_column()
    grid.add_column(overflow="fold")
    for facts in (*node.inputs, *node.outputs):
        add_row(grid, f"  {facts.parameter}", tensor_text(facts))
    for name, value in node.attributes.items():
        add_row(grid, f"  {name}", str(value))
    add_row(grid, f"  onnxruntime {onnxruntime} without our library", stock_text(node.stock))
    return Group(heading, grid, "")


def tensor_text(facts: TensorFacts) -> str:
    """`float[N,3,?,?] 'image'`, with `[...]` for an unknown rank."""
    dims = "..." if facts.shape is None else ",".join("?" if dim is None else str(dim) for dim in facts.shape)
    return f"{facts.element_type}[{dims}] '{facts.value}'"


def stock_text(answers: Iterable[StockAnswer]) -> Text:
    """`runs it`, or the refusals; with the types in front where there are several answers."""
    answers = list(answers)
    text = Text()
    for i, answer in enumerate(answers):
        text.append("\n" if i else "")
        text.append(f"{', '.join(answer.element_types)}: " if len(answers) > 1 else "")
        if answer.refusal is None:
            text.append("runs it", style="green")
        else:
            text.append(printable(f"rejects it: {answer.refusal}"), style="yellow")
    return text if answers else Text("not asked, as an attribute's value is not known", style="yellow")


def verdict_line(facts: ModelFacts) -> Text:
    """What the model check says to the whole."""
    if not facts.nodes:
        return Text("The model has none of this package's operators.")
    if facts.refusal is not None:
        return Text(printable(f"Rejected by the model check: {facts.refusal}"), style="red")
    count = len(facts.nodes)
    return Text(f"{count} operator{'s' * (count > 1)}, accepted by the model check.", style="green")
