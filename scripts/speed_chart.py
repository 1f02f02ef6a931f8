"""The README's chart of speed as SVG text: a row for each case, a dot for each runtime, on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

COLORS = {
    "ONNX Runtime": "#0d6efd",
    "OpenVINO": "#7c3aed",
    "torch": "#e8590c",
    "Paddle": "#0a9396",
    "MNN": "#c2255c",
}
LEFT, WIDTH, ROW, TOP = 330, 900, 26, 64
"""Where the dots begin, the width of the picture, the height of a row, and where the rows begin, in pixels."""
TICKS = (1, 2, 5, 10, 20, 50, 100, 200)
STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #24292f }
.small { font-size: 12px; fill: #57606a }
.line { stroke: #d0d7de }
.one { stroke: #57606a; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .small { fill: #9da7b3 } .line { stroke: #3d444d } .one { stroke: #9da7b3 }
}
"""


def speed_chart(rows: Sequence[tuple[str, Mapping[str, float]]]) -> str:
    """Of what each runtime takes, as a multiple of ours, by the case's name."""
    ratios = [ratio for _, found in rows for ratio in found.values()]
    low, high = min(0.8, *ratios) / 1.1, max(ratios) * 1.15
    height = TOP + ROW * len(rows) + 34

    def x(ratio: float) -> float:
        return round(LEFT + (WIDTH - LEFT - 20) * math.log(ratio / low) / math.log(high / low), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<title>How many times as long other runtimes take as onnx-maxpool</title>",
        f"<style>{STYLE}</style>",
    ]
    peers = [name for name in COLORS if any(name in found for _, found in rows)]
    for number, name in enumerate(peers):
        at = LEFT + sum(44 + 8 * len(before) for before in peers[:number])
        parts.append(f'<circle cx="{at}" cy="20" r="5.5" fill="{COLORS[name]}"/>')
        parts.append(f'<text x="{at + 11}" y="24.5">{escape(name)}</text>')
    bottom = TOP + ROW * len(rows) - 6
    for tick in TICKS:
        if low <= tick <= high:
            kind = "one" if tick == 1 else "line"
            parts.append(f'<line class="{kind}" x1="{x(tick)}" x2="{x(tick)}" y1="{TOP - 18}" y2="{bottom}"/>')
            label = "1 = ours" if tick == 1 else f"{tick}×"
            parts.append(f'<text class="small" x="{x(tick)}" y="{bottom + 17}" text-anchor="middle">{label}</text>')
    for number, (name, found) in enumerate(rows):
        y = TOP + ROW * number
        parts.append(f'<text class="small" x="{LEFT - 16}" y="{y + 4}" text-anchor="end">{escape(name)}</text>')
        for peer, ratio in sorted(found.items(), key=lambda item: item[1]):
            mark = f"{peer} takes {ratio:.3g} times as long"
            parts.append(
                f'<circle cx="{x(ratio)}" cy="{y}" r="5.5" fill="{COLORS[peer]}"><title>{escape(mark)}</title></circle>'
            )
    parts.append(
        f'<text class="small" x="{LEFT}" y="{height - 3}">time of the other runtime / ours, logarithmic axis</text>'
    )
    return "\n".join([*parts, "</svg>"]) + "\n"
