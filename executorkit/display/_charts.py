"""Charts: sparklines, bars, curves and heat maps, as SVG and as characters."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ._parts import clipped, drawn_or_read, escape, tag

_SPARKLINE_BARS = " ▁▂▃▄▅▆▇█"
_SPARKLINE_HEIGHT = 16
_SPARKLINE_STEP = 4


@dataclass(frozen=True, slots=True)
class Sparkline:
    """A histogram for a table's cell: bars relative to the highest; any non-zero bar is visible.

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
    """A progress bar; ``done`` is the filled fraction, from 0 to 1."""

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
_MARGIN_LEFT, _MARGIN_RIGHT, _MARGIN_TOP, _MARGIN_BOTTOM = 56, 12, 22, 34
#: Maximum numbers of ticks of the vertical and the horizontal axis.
_TICKS_DOWN, _TICKS_ACROSS = 6, 9
#: Maximum number of points drawn of a curve.
_MAX_POINTS = 400
#: Maximum number of points of a curve that are marked by dots, and of its bars in text.
_MAX_DOTS = 40
_COLOURS = ("var(--mark)", "var(--bad)", "var(--soft)", "var(--fg)")

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Curve:
    name: str
    points: Sequence[Point]

    def finite(self) -> list[Point]:
        """Returns the finite points, thinned out evenly; the last one stays."""
        points = [(x, y) for x, y in self.points if math.isfinite(x) and math.isfinite(y)]
        step = max(1, -(-len(points) // _MAX_POINTS))
        return points[::-1][::step][::-1]


@dataclass(frozen=True, slots=True)
class Curves:
    """Several curves over a common axis called ``axis``, with ticks at round numbers; at whole ones
    if ``whole`` (epochs, say).

    >>> print(Curves([Curve("loss", [(0, 3.0), (1, 1.5), (2, 1.0)])], "epoch").text())
    loss  █▃▁  1 epoch 0 to 2
    """

    curves: Sequence[Curve]
    axis: str = ""
    whole: bool = False

    def html(self) -> str:
        drawn = [(curve.name, curve.finite()) for curve in self.curves]
        every = [point for _, points in drawn for point in points]
        if not every:
            return tag("p", "nothing to draw yet")
        xs, ys = _range([x for x, _ in every]), _range([y for _, y in every])
        curves, entries = [], []
        for i, (name, points) in enumerate(drawn):
            colour = _COLOURS[i % len(_COLOURS)]
            curves.append(_line([_place(p, xs, ys) for p in points], colour))
            words = f"{name} {points[-1][1]:.6g}" if points else name
            bars = _bars([y for _, y in points])
            entries.append(f"{_entry(i / len(drawn), words, colour)}  {bars}\n")
        frame = _frame(xs, ys, self.axis, self.whole)
        size = f'width="{_CURVES_WIDTH}" height="{_CURVES_HEIGHT}"'
        return drawn_or_read(f"<svg {size}>{''.join(entries)}{frame}{''.join(curves)}</svg>")

    def text(self) -> str:
        width = max((len(curve.name) for curve in self.curves), default=0)
        lines = []
        for curve in self.curves:
            ys = [y for _, y in curve.finite()]
            last = f"{curve.points[-1][1]:.6g}" if curve.points else "-"
            lines.append(f"{curve.name.ljust(width)}  {_bars(ys)}  {last}")
        xs = [x for curve in self.curves for x, _ in curve.finite()]
        if xs and self.axis:
            lines.append(f"{self.axis} {min(xs):.4g} to {max(xs):.4g}")
        return "\n".join(lines)


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _place(point: Point, xs: Point, ys: Point) -> Point:
    x = (point[0] - xs[0]) / (xs[1] - xs[0])
    y = (point[1] - ys[0]) / (ys[1] - ys[0])
    wide = _CURVES_WIDTH - _MARGIN_LEFT - _MARGIN_RIGHT
    high = _CURVES_HEIGHT - _MARGIN_TOP - _MARGIN_BOTTOM
    return _MARGIN_LEFT + x * wide, _MARGIN_TOP + (1 - y) * high


def _line(points: Sequence[Point], colour: str) -> str:
    if not points:
        return ""
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    drawn = f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.5"></path>'
    if len(points) > _MAX_DOTS:
        return drawn
    dots = "".join(f"M{x - 2:.1f} {y:.1f}a2 2 0 1 0 4 0a2 2 0 1 0-4 0" for x, y in points)
    return f'{drawn}<path d="{dots}" fill="{colour}"></path>'


def _entry(fraction: float, words: str, colour: str) -> str:
    x = _MARGIN_LEFT + fraction * (_CURVES_WIDTH - _MARGIN_LEFT)
    style = f"fill:{colour};text-anchor:start"
    return f'<text x="{x:.0f}" y="13" style="{style}">{escape(words)}</text>'


def ticks(low: float, high: float, most: int, whole: bool = False) -> list[float]:
    """Returns up to ``most`` multiples of 1, 2 or 5 times a power of ten from ``low`` to ``high``.

    >>> ticks(0.0, 1.0, 6), ticks(0.13, 0.17, 3), ticks(0, 3, 8, whole=True)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.14, 0.16], [0, 1, 2, 3])
    """
    power = math.floor(math.log10((high - low) / most)) if high > low else 0
    for factor in (1, 2, 5, 10, 20, 50):
        # Powers of ten below one are divisors: multiples of 0.1 would not be round.
        step, divisor = (factor * 10**power, 1) if power >= 0 else (factor, 10**-power)
        if whole and step % divisor:
            continue
        first, last = math.ceil(low * divisor / step), math.floor(high * divisor / step)
        if last - first < most:
            return [n * step // divisor if whole else n * step / divisor
                    for n in range(first, last + 1)]  # fmt: skip
    return []


def _frame(xs: Point, ys: Point, axis: str, whole: bool) -> str:
    right, bottom = _CURVES_WIDTH - _MARGIN_RIGHT, _CURVES_HEIGHT - _MARGIN_BOTTOM
    words, grid, marks = [], "", ""
    for y in ticks(*ys, _TICKS_DOWN):
        _, at = _place((xs[0], y), xs, ys)
        grid += f"M{_MARGIN_LEFT} {at:.0f}H{right}"
        words.append((_MARGIN_LEFT - 5, at + 4, "end", f"{y:.6g}"))
    for x in ticks(*xs, _TICKS_ACROSS, whole):
        at, _ = _place((x, ys[0]), xs, ys)
        marks += f"M{at:.0f} {bottom}v4"
        words.append((at, bottom + 15, "middle", f"{x:.6g}"))
    words.append((right, bottom + 27, "end", axis))
    lines = (
        f'<path d="{grid}" fill="none" stroke="var(--rule)"></path>'
        f'<path class="e" d="M{_MARGIN_LEFT} {_MARGIN_TOP}V{bottom}H{right}{marks}"></path>'
    )
    return lines + " ".join(
        f'<text class="d" x="{x:.0f}" y="{y:.0f}" style="text-anchor:{side}">{escape(text)}</text>'
        for x, y, side, text in words
    )


def _bars(values: Sequence[float], width: int = _MAX_DOTS) -> str:
    count = min(width, len(values))
    if not count:
        return ""
    cuts = [i * len(values) // count for i in range(count + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(cuts)]
    low, high = _range(means)
    return Sparkline([0.15 + (m - low) / (high - low) for m in means]).text()


_MAP_LEVELS = 8
_MAP_BARS = "▁▂▃▄▅▆▇█"
_MAP_BAD, _MAP_MISSING = "!", " "
_CELL_HEIGHT, _CELL_WIDTHS = 14, (4, 24)
_MAP_WIDTH, _NAMES_WIDTH, _NAME_LENGTH = 720, 260, 40
#: Maximum numbers: rows of the drawing, lines of the text, columns of the drawing, of the text.
_MAX_ROWS, _MAX_LINES, _MAX_COLUMNS, _MAX_LETTERS = 300, 60, 240, 60


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A row of values for each name, None for a missing one; the darker the larger.

    The scale is logarithmic and the same for all rows; zero is the lightest. NaNs and infinities
    stand out. Too many columns are thinned out evenly, without losing the first, the last, NaNs and
    infinities.

    >>> print(HeatMap(["a", "b_c"], ["1", "2", "3"], [[1, 10, 100], [0, None, math.nan]]).text())
    a    ▁▅█ b_c  ▁ ! 1 to 3, from 1 (▁) to 100 (█)
    """

    names: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]

    def html(self) -> str:
        if not self.names or not self.columns:
            return tag("p", "nothing to show yet")
        cuts = _cuts(len(self.columns), _MAX_COLUMNS)
        letter_cuts = _cuts(len(self.columns), _MAX_LETTERS)
        low, high = self._ends()
        count = len(cuts) - 1
        wide = max(_CELL_WIDTHS[0], min(_CELL_WIDTHS[1], (_MAP_WIDTH - _NAMES_WIDTH) // count))
        cells: dict[int | None, list[str]] = {}
        labels = []
        for y, (name, row) in enumerate(zip(self.names, self.values, strict=True)):
            if y == _MAX_ROWS:
                break
            top = y * _CELL_HEIGHT
            words = escape(clipped(name, _NAME_LENGTH))
            if len(name) > _NAME_LENGTH + 1:
                words += f"<title>{escape(name)}</title>"
            at = f'x="{_NAMES_WIDTH - 6}" y="{top + 11}" style="text-anchor:end"'
            letters = "".join(_letter(v, low, high) for v in _thinned(row, letter_cuts))
            labels.append(f"<text {at}>{words}</text>  {letters}\n")
            for x, value in enumerate(_thinned(row, cuts)):
                if value is not None:
                    outline = f"M{_NAMES_WIDTH + x * wide} {top}h{wide}v{_CELL_HEIGHT}h-{wide}z"
                    cells.setdefault(_level(value, low, high), []).append(outline)
        paths = "".join(_filled(level, "".join(outlines)) for level, outlines in cells.items())
        width = _NAMES_WIDTH + count * wide + 2
        height = min(len(self.names), _MAX_ROWS) * _CELL_HEIGHT
        hidden = len(self.names) - _MAX_ROWS
        legend = tag("p", escape(self._legend() + (f"; {hidden} more rows" if hidden > 0 else "")))
        svg = f'<svg width="{width}" height="{height}">{paths}{"".join(labels)}</svg>'
        return tag("div", drawn_or_read(svg), class_="x") + legend

    def text(self) -> str:
        if not self.names or not self.columns:
            return "nothing to show yet"
        cuts = _cuts(len(self.columns), _MAX_LETTERS)
        low, high = self._ends()
        names = [clipped(name, _NAME_LENGTH) for name in self.names[:_MAX_LINES]]
        width = max(map(len, names))
        lines = []
        for name, row in zip(names, self.values, strict=False):
            letters = "".join(_letter(v, low, high) for v in _thinned(row, cuts))
            lines.append(f"{name.ljust(width)}  {letters}".rstrip())
        if len(self.names) > _MAX_LINES:
            lines.append(f"... {len(self.names) - _MAX_LINES} more")
        return "\n".join([*lines, self._legend()])

    def _ends(self) -> tuple[float, float]:
        sizes = [abs(v) for row in self.values for v in row if v and math.isfinite(v)]
        return (min(sizes), max(sizes)) if sizes else (1.0, 1.0)

    def _legend(self) -> str:
        low, high = self._ends()
        scale = f"from {low:.4g} ({_MAP_BARS[0]}) to {high:.4g} ({_MAP_BARS[-1]})"
        return f"{self.columns[0]} to {self.columns[-1]}, {scale}"


def _cuts(count: int, limit: int) -> list[int]:
    stretches = min(count, limit)
    return [i * count // stretches for i in range(stretches + 1)]


def _thinned(row: Sequence[float | None], cuts: Sequence[int]) -> list[float | None]:
    values = []
    for a, b in pairwise(cuts):
        stretch = [v for v in row[a:b] if v is not None]
        not_finite = [v for v in stretch if not math.isfinite(v)]
        values.append((not_finite or stretch or [None])[-1])
    return values


def _level(value: float, low: float, high: float) -> int | None:
    if not math.isfinite(value):
        return None
    if not value:
        return 0
    if high <= low:
        return _MAP_LEVELS // 2
    place = (math.log(abs(value)) - math.log(low)) / (math.log(high) - math.log(low))
    return min(_MAP_LEVELS - 1, max(0, int(place * _MAP_LEVELS)))


def _letter(value: float | None, low: float, high: float) -> str:
    if value is None:
        return _MAP_MISSING
    level = _level(value, low, high)
    return _MAP_BAD if level is None else _MAP_BARS[level]


def _filled(level: int | None, outlines: str) -> str:
    if level is None:
        return f'<path d="{outlines}" fill="var(--bad)"></path>'
    opacity = f"{(level + 1) / _MAP_LEVELS:.3g}"
    return f'<path d="{outlines}" fill="var(--mark)" fill-opacity="{opacity}"></path>'
