"""Histograms small enough for a cell of a table.

How much of something is done.

Curves over a common axis: an SVG drawing, or one line of text each.

Heat maps: values by name and over steps, as SVG or as a line of characters for each name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ._parts import clipped, escape, tag

_SPARKLINE_BARS = " ▁▂▃▄▅▆▇█"
_SPARKLINE_HEIGHT = 16
_SPARKLINE_STEP = 4


@dataclass(frozen=True, slots=True)
class Sparkline:
    """Bars of the given heights, relative to the highest; any that is not zero is visible.

    >>> Sparkline([0, 1, 4, 8]).text()
    ' ▁▄█'
    """

    counts: Sequence[float]

    def _heights(self, top: int) -> list[int]:
        highest = max(self.counts, default=0)
        if highest <= 0:
            return [0] * len(self.counts)
        return [max(1, round(top * c / highest)) if c > 0 else 0 for c in self.counts]

    def html(self) -> str:
        bars = "".join(
            f"M{i * _SPARKLINE_STEP} {_SPARKLINE_HEIGHT}v-{h}h{_SPARKLINE_STEP - 1}v{h}z"
            for i, h in enumerate(self._heights(_SPARKLINE_HEIGHT))
            if h
        )
        size = f'width="{len(self.counts) * _SPARKLINE_STEP}" height="{_SPARKLINE_HEIGHT}"'
        # The text is not drawn; pages that strip SVG show it instead.
        return f'<svg class="s" {size}>{self.text()}<path d="{bars}"></path></svg>'

    def text(self) -> str:
        return "".join(_SPARKLINE_BARS[h] for h in self._heights(len(_SPARKLINE_BARS) - 1))


_BAR_WIDTH, _BAR_HEIGHT, _BAR_CHARACTERS = 320, 10, 40


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar that is filled as far as ``done`` says, from 0 to 1.

    >>> Bar(0.25).text()
    '██████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░'
    """

    done: float

    def html(self) -> str:
        filled = round(_BAR_WIDTH * min(1.0, max(0.0, self.done)))
        return (
            f'<svg width="{_BAR_WIDTH}" height="{_BAR_HEIGHT}">'
            f'<path d="M0 0h{_BAR_WIDTH}v{_BAR_HEIGHT}h-{_BAR_WIDTH}z" fill="var(--rule)"></path>'
            f'<path d="M0 0h{filled}v{_BAR_HEIGHT}h-{filled}z" fill="var(--mark)"></path></svg>'
        )

    def text(self) -> str:
        filled = round(_BAR_CHARACTERS * min(1.0, max(0.0, self.done)))
        return "█" * filled + "░" * (_BAR_CHARACTERS - filled)


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


_LEVELS = 8
_MAP_BARS = "▁▂▃▄▅▆▇█"
_BAD, _MISSING = "!", " "
_CELL_HEIGHT, _CELL_WIDTHS = 14, (4, 24)
_MAP_WIDTH, _NAMES, _NAME = 720, 260, 40
#: No more rows are drawn, and written; so many columns are shown in either form.
_MAX_ROWS, _MAX_LINES, _MAX_COLUMNS, _MAX_LETTERS = 300, 60, 240, 60


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A row of values for each name, None where there is none; the darker the larger.

    The scale is logarithmic and the same for all rows; zero is the lightest. What is not finite
    stands out. More columns than there is room for are thinned out evenly, those of the ends stay,
    and what is not finite is never left out.

    >>> print(HeatMap(["a", "b_c"], ["1", "2", "3"], [[1, 10, 100], [0, None, math.nan]]).text())
    a    ▁▅█
    b_c  ▁ !
    1 to 3, from 1 (▁) to 100 (█)
    """

    names: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]

    def html(self) -> str:
        if not self.names or not self.columns:
            return tag("p", "nothing to show yet")
        cuts = _cuts(len(self.columns), _MAX_COLUMNS)
        low, high = self._ends()
        count = len(cuts) - 1
        wide = max(_CELL_WIDTHS[0], min(_CELL_WIDTHS[1], (_MAP_WIDTH - _NAMES) // count))
        cells: dict[int | None, list[str]] = {}
        labels = []
        for y, (name, row) in enumerate(zip(self.names, self.values, strict=True)):
            if y == _MAX_ROWS:
                break
            top = y * _CELL_HEIGHT
            words = f"<title>{escape(name)}</title>{escape(clipped(name, _NAME))}"
            at = f'x="{_NAMES - 6}" y="{top + 11}" style="text-anchor:end"'
            labels.append(f"<text {at}>{words}</text>")
            for x, value in enumerate(_thinned(row, cuts)):
                if value is not None:
                    outline = f"M{_NAMES + x * wide} {top}h{wide}v{_CELL_HEIGHT}h-{wide}z"
                    cells.setdefault(_level(value, low, high), []).append(outline)
        paths = "".join(_filled(level, "".join(found)) for level, found in cells.items())
        width, height = _NAMES + count * wide + 2, min(len(self.names), _MAX_ROWS) * _CELL_HEIGHT
        more = len(self.names) - _MAX_ROWS
        legend = tag("p", escape(self._legend() + (f"; {more} more rows" if more > 0 else "")))
        svg = f'<svg width="{width}" height="{height}">{paths}{"".join(labels)}</svg>'
        return tag("div", svg, class_="x") + legend

    def text(self) -> str:
        if not self.names or not self.columns:
            return "nothing to show yet"
        cuts = _cuts(len(self.columns), _MAX_LETTERS)
        low, high = self._ends()
        shown = [clipped(name, _NAME) for name in self.names[:_MAX_LINES]]
        width = max(map(len, shown))
        lines = []
        for name, row in zip(shown, self.values, strict=False):
            letters = "".join(_letter(v, low, high) for v in _thinned(row, cuts))
            lines.append(f"{name.ljust(width)}  {letters}".rstrip())
        if len(self.names) > _MAX_LINES:
            lines.append(f"... {len(self.names) - _MAX_LINES} more")
        return "\n".join([*lines, self._legend()])

    def _ends(self) -> tuple[float, float]:
        """The smallest and the largest size of what is finite and not zero."""
        sizes = [abs(v) for row in self.values for v in row if v and math.isfinite(v)]
        return (min(sizes), max(sizes)) if sizes else (1.0, 1.0)

    def _legend(self) -> str:
        low, high = self._ends()
        scale = f"from {low:.4g} ({_MAP_BARS[0]}) to {high:.4g} ({_MAP_BARS[-1]})"
        return f"{self.columns[0]} to {self.columns[-1]}, {scale}"


def _cuts(count: int, limit: int) -> list[int]:
    """Where columns are cut into as many stretches as there is room for."""
    stretches = min(count, limit)
    return [i * count // stretches for i in range(stretches + 1)]


def _thinned(row: Sequence[float | None], cuts: Sequence[int]) -> list[float | None]:
    """The last value of each stretch; one that is not finite before all others."""
    found = []
    for a, b in pairwise(cuts):
        there = [v for v in row[a:b] if v is not None]
        odd = [v for v in there if not math.isfinite(v)]
        found.append((odd or there or [None])[-1])
    return found


def _level(value: float, low: float, high: float) -> int | None:
    """From 0 to ``_LEVELS`` - 1; None for what is not finite."""
    if not math.isfinite(value):
        return None
    if not value:
        return 0
    if high <= low:
        return _LEVELS // 2
    place = (math.log(abs(value)) - math.log(low)) / (math.log(high) - math.log(low))
    return min(_LEVELS - 1, max(0, int(place * _LEVELS)))


def _letter(value: float | None, low: float, high: float) -> str:
    if value is None:
        return _MISSING
    level = _level(value, low, high)
    return _BAD if level is None else _MAP_BARS[level]


def _filled(level: int | None, outlines: str) -> str:
    if level is None:
        return f'<path d="{outlines}" fill="var(--bad)"></path>'
    opacity = f"{(level + 1) / _LEVELS:.3g}"
    return f'<path d="{outlines}" fill="var(--mark)" fill-opacity="{opacity}"></path>'
