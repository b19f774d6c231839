"""Heat maps: values by name and over steps, as SVG or as a line of characters for each name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ._html import escape, tag
from ._words import clipped

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
