"""Curves over a common axis: an SVG drawing, or one line of text each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ._html import escape, tag
from ._sparkline import Sparkline

_CURVES_WIDTH, _CURVES_HEIGHT = 520, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 12, 22, 30
#: No more points of a curve are drawn.
_POINTS = 400
#: Curves of so few points show each of them.
_FEW = 40
_COLOURS = ("var(--mark)", "var(--bad)", "var(--soft)", "var(--fg)")

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Curve:
    """A named sequence of points, from left to right."""

    name: str
    points: Sequence[Point]

    def finite(self) -> list[Point]:
        """The points that can be drawn, thinned out evenly; the last one stays."""
        found = [(x, y) for x, y in self.points if math.isfinite(x) and math.isfinite(y)]
        step = max(1, -(-len(found) // _POINTS))
        return found[::-1][::step][::-1]


@dataclass(frozen=True, slots=True)
class Curves:
    """Several curves, with the extremes written at the axes.

    >>> print(Curves([Curve("loss", [(0, 3.0), (1, 1.5), (2, 1.0)])], "s").text())
    loss  █▃▁  1
    """

    curves: Sequence[Curve]
    axis: str = ""

    def html(self) -> str:
        drawn = [(curve.name, curve.finite()) for curve in self.curves]
        every = [point for _, points in drawn for point in points]
        if not every:
            return tag("p", "nothing to draw yet")
        xs, ys = _range([x for x, _ in every]), _range([y for _, y in every])
        parts = [_frame(xs, ys, self.axis)]
        for i, (name, points) in enumerate(drawn):
            colour = _COLOURS[i % len(_COLOURS)]
            parts.append(_line([_placed(p, xs, ys) for p in points], colour))
            words = f"{name} {points[-1][1]:.6g}" if points else name
            parts.append(_entry(i / len(drawn), words, colour))
        return f'<svg width="{_CURVES_WIDTH}" height="{_CURVES_HEIGHT}">{"".join(parts)}</svg>'

    def text(self) -> str:
        names = [curve.name for curve in self.curves]
        width = max(map(len, names), default=0)
        lines = []
        for curve in self.curves:
            ys = [y for _, y in curve.finite()]
            last = f"{curve.points[-1][1]:.6g}" if curve.points else "-"
            lines.append(f"{curve.name.ljust(width)}  {_bars(ys)}  {last}")
        return "\n".join(lines)


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _placed(point: Point, xs: Point, ys: Point) -> Point:
    x = (point[0] - xs[0]) / (xs[1] - xs[0])
    y = (point[1] - ys[0]) / (ys[1] - ys[0])
    wide, high = _CURVES_WIDTH - _LEFT - _RIGHT, _CURVES_HEIGHT - _TOP - _BOTTOM
    return _LEFT + x * wide, _TOP + (1 - y) * high


def _line(points: Sequence[Point], colour: str) -> str:
    if not points:
        return ""
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    drawn = f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.5"></path>'
    if len(points) > _FEW:
        return drawn
    dots = "".join(f"M{x - 2:.1f} {y:.1f}a2 2 0 1 0 4 0a2 2 0 1 0-4 0" for x, y in points)
    return f'{drawn}<path d="{dots}" fill="{colour}"></path>'


def _entry(place: float, words: str, colour: str) -> str:
    """A curve's name and last value, above the drawing; ``place`` from 0 at the left to 1."""
    x = _LEFT + place * (_CURVES_WIDTH - _LEFT)
    style = f"fill:{colour};text-anchor:start"
    return f'<text x="{x:.0f}" y="13" style="{style}">{escape(words)}</text>'


def _frame(xs: Point, ys: Point, axis: str) -> str:
    right, bottom = _CURVES_WIDTH - _RIGHT, _CURVES_HEIGHT - _BOTTOM
    lines = f'<path class="e" d="M{_LEFT} {_TOP}V{bottom}H{right}"></path>'
    words = [
        (_LEFT - 4, bottom, "end", f"{ys[0]:.4g}"),
        (_LEFT - 4, _TOP + 8, "end", f"{ys[1]:.4g}"),
        (_LEFT, bottom + 14, "start", f"{xs[0]:.4g}"),
        (right, bottom + 14, "end", f"{xs[1]:.4g} {axis}".rstrip()),
    ]
    return lines + "".join(
        f'<text class="d" x="{x}" y="{y}" style="text-anchor:{anchor}">{escape(text)}</text>'
        for x, y, anchor, text in words
    )


def _bars(values: Sequence[float], width: int = _FEW) -> str:
    """Means of as many stretches as fit; the lowest is the smallest bar."""
    count = min(width, len(values))
    if not count:
        return ""
    cuts = [i * len(values) // count for i in range(count + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(cuts)]
    low, high = _range(means)
    return Sparkline([0.15 + (m - low) / (high - low) for m in means]).text()
