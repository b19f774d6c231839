"""Graphs as SVG: boxes with lines of text, and arrows between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ._html import escape
from ._layout import Edge, Point, layout
from ._style import KINDS, PICTURE_SHEET
from ._words import clipped

_WIDTH, _GAP_X, _GAP_Y, _MARGIN = 168.0, 16.0, 22.0, 6.0
_LINE, _PADDING = 13.0, 4.0
_MAX_WORDS, _MAX_POINTED = 26, 70


@dataclass(frozen=True, slots=True)
class Box:
    """A node of a drawing: its name, further lines, and the kind that gives it its colour."""

    name: str
    lines: tuple[str, ...] = ()
    kind: str = "other"
    round: bool = False


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes and edges; an edge goes from a lower number to a higher one."""

    boxes: Sequence[Box]
    edges: Sequence[Edge]
    #: So many lines has its text form.
    most_lines: int = 60

    def html(self) -> str:
        return f'<div class="x">{self.svg()}</div>'

    def svg(self, style: str = "") -> str:
        """The drawing alone; its colours are those of the sheet around it, or of ``style``."""
        height = 2 * _PADDING + _LINE * (1 + max((len(b.lines) for b in self.boxes), default=0))
        found = layout(len(self.boxes), self.edges, (_WIDTH, height), (_GAP_X, _GAP_Y))
        width, whole = (round(n + 2 * _MARGIN) for n in (found.width, found.height))
        places = [(x + _MARGIN, y + _MARGIN) for x, y in found.centres]
        paths = [[(x + _MARGIN, y + _MARGIN) for x, y in path] for path in found.paths]
        size = f'width="{width}" height="{whole}" viewBox="0 0 {width} {whole}"'
        sheet = style and f"<style>{style}</style>"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{sheet}'
            f'<path class="e" d="{"".join(map(_arrow, paths))}"></path>'
            f"{self._shapes(places, height)}{self._texts(places, height)}</svg>"
        )

    def _shapes(self, places: Sequence[Point], height: float) -> str:
        """One path for all boxes of a kind: a tenth of the size of an element for each."""
        outlines: dict[str, list[str]] = {}
        for box, (x, y) in zip(self.boxes, places, strict=True):
            corner = height / 2 if box.round else 3
            kind = box.kind if box.kind in KINDS else "other"
            outlines.setdefault(kind, []).append(_outline(x, y, height, corner))
        return "".join(f'<path class="n {k}" d="{"".join(d)}"></path>' for k, d in outlines.items())

    def _texts(self, places: Sequence[Point], height: float) -> str:
        parts = []
        for box, (x, y) in zip(self.boxes, places, strict=True):
            at = y - _LINE * len(box.lines) / 2 + 4
            texts = []
            for k, words in enumerate((box.name, *box.lines)):
                style = ' class="d"' if k else ""
                start = f'<text x="{x:.0f}" y="{at + k * _LINE:.0f}"{style}>'
                texts.append(f"{start}{_shortened(words)}</text>")
            parts.append(" ".join(texts))
        # What stands between the texts is not drawn: it is for pages that strip foreign SVG, as
        # notebooks do that are not trusted.
        return ", ".join(parts)

    def picture(self) -> str:
        """The drawing as an SVG file, in light colours."""
        return self.svg(PICTURE_SHEET)

    def text(self) -> str:
        read: dict[int, list[str]] = {}
        for a, b in self.edges:
            read.setdefault(b, []).append(self.boxes[a].name)
        lines = []
        for i, box in enumerate(self.boxes[: self.most_lines]):
            words = " ".join(w for w in (box.name, *(f"[{line}]" for line in box.lines)) if w)
            lines.append(words + (f" <- {', '.join(read[i])}" if i in read else ""))
        if len(self.boxes) > self.most_lines:
            lines.append(f"... {len(self.boxes) - self.most_lines} more")
        return "\n".join(lines)


def _shortened(words: str) -> str:
    """Names that are too long for a box lose their middle; a pointer over them shows more."""
    if len(words) <= _MAX_WORDS:
        return escape(words)
    pointed = escape(clipped(words, _MAX_POINTED))
    return f"{escape(clipped(words, _MAX_WORDS))}<title>{pointed}</title>"


def _outline(x: float, y: float, height: float, corner: float) -> str:
    w, h, r = f"{_WIDTH - 2 * corner:.0f}", f"{height - 2 * corner:.0f}", f"{corner:.0f}"
    return (
        f"M{x - _WIDTH / 2 + corner:.0f} {y - height / 2:.0f}h{w}q{r} 0 {r} {r}v{h}q0 {r}-{r} {r}"
        f"h-{w}q-{r} 0-{r}-{r}v-{h}q0-{r} {r}-{r}z"
    )


def _arrow(points: Sequence[Point]) -> str:
    """A smooth line through the points, with a head at its end."""
    (x, y), rest = points[0], points[1:]
    words = [f"M{x:.0f} {y:.0f}"]
    for bx, by in rest:
        if abs(bx - x) < 1:
            words.append(f"V{by:.0f}")
        else:
            middle = (y + by) / 2
            words.append(f"C{x:.0f} {middle:.0f} {bx:.0f} {middle:.0f} {bx:.0f} {by:.0f}")
        x, y = bx, by
    return "".join(words) + "m-3-6l3 6l3-6"
