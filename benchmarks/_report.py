"""Tables and a plot of the results of ``run``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import log2
from typing import Any

Row = Mapping[str, Any]
MODES = {"forward": "inference", "read": "inference, read", "step": "training"}
OTHERS = {"jax": "jax.jit by hand", "scan": "lax.scan by hand", "mxnet": "MXNet 1.9.1",
          "torch": "PyTorch", "onnx": "ONNX Runtime"}  # fmt: skip
COLOURS = {"jax": "#8a8f98", "scan": "#c3c7cd", "mxnet": "#2c7fb8", "torch": "#e6550d",
           "onnx": "#756bb1"}  # fmt: skip


def report(results: Mapping[str, Any]) -> tuple[str, str]:
    """The tables as Markdown, and the plot as SVG."""
    rows = results["rows"]
    others = [k for k in OTHERS if any(k in r for r in rows)]
    steps = [r for r in rows if r["mode"] == "step"]
    parts = [
        results["machine"],
        markdown_table(
            ["network", "mode", "executorkit", *(f"{OTHERS[k]} / ours" for k in others)],
            [
                [r["network"], MODES[r["mode"]], _ms(r["ours"]),
                 *(_ratio(r.get(k)) for k in others)]
                for r in rows
            ],
        ),
        markdown_table(
            ["bind and first training call", "cold", "from disk cache", "MXNet / cold",
             "MXNet / from disk cache"],
            [
                [r["network"], _s(r["cold"]), _s(r["cached"]), _over(r, "mxnet_cold", "cold"),
                 _over(r, "mxnet_cold", "cached")]
                for r in steps if "cached" in r
            ],
        ),
        markdown_table(
            ["memory of a training step", "peak by XLA", "by hand / ours", "process", "MXNet's"],
            [
                [r["network"], _mb(r.get("peak")), _over(r, "jax_peak", "peak"),
                 _mb(r.get("executorkit_memory")), _mb(r.get("mxnet_memory"))]
                for r in steps
            ],
        ),
    ]  # fmt: skip
    return "\n\n".join(parts), _plot(rows, others)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _ms(value: float) -> str:
    return f"{value * 1e3:.1f} us" if value < 0.1 else f"{value:,.3g} ms"


def _s(value: float) -> str:
    return f"{value:.2f} s"


def _mb(value: float | None) -> str:
    return "" if value is None else f"{value / 2**20:,.0f} MiB"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _over(row: Row, above: str, below: str) -> str:
    return _ratio(row[above] / row[below]) if row.get(above) and row.get(below) else ""


def _plot(rows: Sequence[Row], others: Sequence[str]) -> str:
    """One line per network and mode, a dot for each ratio on a logarithmic axis; right of 1
    executorkit is faster."""
    left, wide, high, top = 300, 420, 22, 46
    low, span = -2.0, 5.0

    def x(ratio: float) -> float:
        return left + wide * (min(max(log2(ratio), low), low + span) - low) / span

    height = top + high * len(rows) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + wide + 30}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{left + wide + 30}" height="{height}" fill="white"/>',
    ]
    for i, name in enumerate(others):
        at = 10 + 145 * i
        parts.append(f'<circle cx="{at}" cy="12" r="5" fill="{COLOURS[name]}"/>')
        parts.append(f'<text x="{at + 9}" y="16">{escape(OTHERS[name])}</text>')
    for power in range(int(low), int(low + span) + 1):
        at, colour = x(2.0**power), "#444" if power == 0 else "#ddd"
        parts.append(
            f'<line x1="{at}" x2="{at}" y1="{top - 8}" y2="{height - 8}" stroke="{colour}"/>'
        )
        parts.append(f'<text x="{at}" y="{top - 12}" text-anchor="middle">{2.0**power:g}</text>')
    for i, row in enumerate(rows):
        y = top + high * i + high / 2
        title = escape(f"{row['network']}, {MODES[row['mode']]}")
        parts.append(f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{title}</text>')
        parts += [
            f'<circle cx="{x(row[name]):.1f}" cy="{y}" r="5" fill="{COLOURS[name]}">'
            f"<title>{escape(OTHERS[name])}: {row[name]:.2f}</title></circle>"
            for name in others
            if name in row
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"
