"""Histograms small enough for a cell of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
