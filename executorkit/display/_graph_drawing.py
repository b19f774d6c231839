"""Drawings of graphs as SVG: boxes in layers, arrows, and blocks that unfold between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ._parts import KINDS, PICTURE_SHEET, Part, clipped, drawn_or_read, escape, tag

# Layout: layers, few crossings, straight chains

Edge = tuple[int, int]
Point = tuple[float, float]

#: Maximum number of bends of all edges together; beyond it, edges are drawn straight.
_MAX_BENDS = 1500
_SWEEPS = 4
_BEND_WIDTH = 14.0


@dataclass(frozen=True, slots=True)
class GraphLayout:
    centres: list[Point]
    paths: list[list[Point]]
    width: float
    height: float


def layout(
    count: int, edges: Sequence[Edge], box: tuple[float, float], gap: tuple[float, float]
) -> GraphLayout:
    """Places boxes in layers; edges lead to higher numbers, between the boxes that they pass."""
    layers = _layers(count, edges)
    spans = [layers[b] - layers[a] - 1 for a, b in edges]
    bend = sum(spans) <= _MAX_BENDS
    rows: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
    for i in range(count):
        rows[layers[i]].append(i)
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    chains = []
    for (a, b), span in zip(edges, spans, strict=True):
        chain = [a]
        for k in range(span if bend else 0):
            chain.append(len(above))
            above.append([])
            below.append([])
            rows[layers[a] + 1 + k].append(chain[-1])
        chain.append(b)
        for upper, lower in pairwise(chain):
            below[upper].append(lower)
            above[lower].append(upper)
        chains.append(chain)
    widths = [box[0] if i < count else _BEND_WIDTH for i in range(len(above))]
    x = _columns(rows, above, below, widths, gap[0])
    left = min((x[i] - widths[i] / 2 for row in rows for i in row), default=0.0)
    step = box[1] + gap[1]
    y = [0.0] * len(above)
    for k, row in enumerate(rows):
        for i in row:
            x[i] -= left
            y[i] = k * step + box[1] / 2
    width = max((x[i] + widths[i] / 2 for i in range(len(x))), default=0.0)
    places = list(zip(x, y, strict=True))
    paths = [_path([places[i] for i in chain], box[1] / 2) for chain in chains]
    return GraphLayout(places[:count], paths, width, max(0.0, len(rows) * step - gap[1]))


def _layers(count: int, edges: Sequence[Edge]) -> list[int]:
    layers = [0] * count
    first_reader = [-1] * count
    for a, b in sorted(edges, key=lambda edge: edge[1]):
        layers[b] = max(layers[b], layers[a] + 1)
    has_input = {b for _, b in edges}
    for a, b in edges:
        if a not in has_input:
            earlier = first_reader[a]
            first_reader[a] = layers[b] if earlier < 0 else min(earlier, layers[b])
    for a, reader in enumerate(first_reader):
        if reader > 0:
            layers[a] = reader - 1
    return layers


def _columns(
    rows: list[list[int]],
    above: list[list[int]],
    below: list[list[int]],
    widths: list[float],
    gap: float,
) -> list[float]:
    x = [0.0] * len(above)
    for row in rows:
        _pack(row, x, dict.fromkeys(row, 0.0), widths, gap)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else rows[::-1]:
            target = {}
            for i in row:
                near = (above if down else below)[i]
                target[i] = sum(x[n] for n in near) / len(near) if near else x[i]
            row.sort(key=target.__getitem__)
            _pack(row, x, target, widths, gap)
    return x


def _pack(
    row: list[int], x: list[float], target: dict[int, float], widths: list[float], gap: float
) -> None:
    edge = float("-inf")
    for i in row:
        x[i] = max(target[i], edge + widths[i] / 2)
        edge = x[i] + widths[i] / 2 + gap
    shift = sum(target[i] - x[i] for i in row) / max(1, len(row))
    for i in row:
        x[i] += shift


def _path(points: list[Point], half: float) -> list[Point]:
    (ax, ay), (bx, by) = points[0], points[-1]
    return [(ax, ay + half), *points[1:-1], (bx, by - half)]


# Drawing

_GAP_X, _GAP_Y, _MARGIN = 16.0, 22.0, 6.0
_LINE, _PADDING = 13.0, 4.0
#: Width of a box without words, of a character, and the least width of a box, in pixels.
_SIDES, _CHARACTER, _MIN_WIDTH = 18.0, 6.2, 112.0
#: Maximum number of characters of a line in a box, and of the name that pointing at it shows.
_MAX_WORDS, _MAX_POINTED = 40, 100
#: Length of the arrow to a box from whatever stands above the drawing.
_ENTRY = 16.0


@dataclass(frozen=True, slots=True)
class Box:
    name: str
    lines: tuple[str, ...] = ()
    kind: str = "other"
    round: bool = False


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes and edges; an edge leads from a lower number to a higher one. ``entries`` name the node
    above the drawing that uppermost boxes read. The first ``n_outside`` boxes stand for nodes of
    other drawings."""

    boxes: Sequence[Box]
    edges: Sequence[Edge]
    entries: Mapping[int, str] = field(default_factory=dict)
    n_outside: int = 0
    most_lines: int = 60

    def html(self) -> str:
        return drawn_or_read(self.svg(is_readable=True))

    def svg(self, style: str = "", is_readable: bool = False) -> str:
        """Returns the SVG element, coloured by page or ``style``, with text if ``is_readable``."""
        height = 2 * _PADDING + _LINE * (1 + max((len(b.lines) for b in self.boxes), default=0))
        longest = max((len(w) for b in self.boxes for w in (b.name, *b.lines)), default=0)
        size = (max(_MIN_WIDTH, _SIDES + _CHARACTER * min(longest, _MAX_WORDS + 1)), height)
        placement = layout(len(self.boxes), self.edges, size, (_GAP_X, _GAP_Y))
        top = _MARGIN + (_ENTRY if self.entries else 0)
        width = round(placement.width + 2 * _MARGIN)
        whole = round(placement.height + top + _MARGIN)
        places = [(x + _MARGIN, y + top) for x, y in placement.centres]
        paths = [[(x + _MARGIN, y + top) for x, y in path] for path in placement.paths]
        for i in self.entries:
            x, y = places[i]
            paths.append([(x, 0.0), (x, y - height / 2)])
        sheet = style and (
            f'<style>{style}</style><rect width="{width}" height="{whole}" fill="var(--bg)"></rect>'
        )
        arrows = f'<path class="e" d="{"".join(map(_arrow, paths))}"></path>' if paths else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{whole}" '
            f'viewBox="0 0 {width} {whole}">{sheet}{arrows}'
            f"{self._shapes(places, size)}{self._texts(places, is_readable)}</svg>"
        )

    def _shapes(self, places: Sequence[Point], size: tuple[float, float]) -> str:
        # One path for all boxes of a kind: a tenth of the size of one element for each box.
        outlines: dict[str, list[str]] = {}
        for box, place in zip(self.boxes, places, strict=True):
            corner = size[1] / 2 if box.round else 3
            kind = box.kind if box.kind in KINDS else "other"
            outlines.setdefault(kind, []).append(_outline(place, size, corner))
        return "".join(f'<path class="n {k}" d="{"".join(d)}"></path>' for k, d in outlines.items())

    def _texts(self, places: Sequence[Point], is_readable: bool) -> str:
        lines = []
        for box, (x, y), sources in zip(self.boxes, places, self._sources(), strict=True):
            at = y - _LINE * len(box.lines) / 2 + 4
            texts = []
            for k, words in enumerate((box.name, *box.lines)):
                style = ' class="d"' if k else ""
                place = f'x="{x:.0f}" y="{at + k * _LINE:.0f}"'
                text = f"<text {place}{style}>{_shortened(words)}</text>"
                texts.append(f" [{text}]" if k and is_readable else text)
            read = f" &lt;- {escape(', '.join(sources))}" if sources and is_readable else ""
            lines.append("".join(texts) + read)
        return ("\n" if is_readable else "").join(lines)

    def _sources(self) -> list[list[str]]:
        sources: list[list[str]] = [[] for _ in self.boxes]
        for i, name in self.entries.items():
            sources[i].append(name)
        for a, b in self.edges:
            sources[b].append(self.boxes[a].name)
        return sources

    def picture(self) -> str:
        """Returns the drawing as an SVG file, in light or dark colours as the viewer prefers."""
        return self.svg(PICTURE_SHEET)

    def text(self) -> str:
        lines = []
        boxes = self.boxes[self.n_outside :]
        shown = zip(boxes[: self.most_lines], self._sources()[self.n_outside :], strict=False)
        for box, sources in shown:
            words = " ".join(w for w in (box.name, *(f"[{line}]" for line in box.lines)) if w)
            lines.append(words + (f" <- {', '.join(sources)}" if sources else ""))
        if len(boxes) > self.most_lines:
            lines.append(f"... {len(boxes) - self.most_lines} more")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class BlockFold:
    """A block of nodes that unfolds, without ``unread`` parts as text. ``follows`` a part above."""

    title: str
    words: str
    parts: Sequence[Part]
    unread: Sequence[Part] = ()
    follows: bool = False
    is_open_in_text: bool = True

    def html(self) -> str:
        arrow = tag("div", "↓", class_="a") if self.follows else ""
        summary = tag("summary", tag("b", escape(self.title)), " ", escape(self.words))
        inner = tag("div", *(part.html() for part in (*self.parts, *self.unread)), class_="i")
        return f"{arrow}{tag('details', summary, inner, class_='k')}"

    def text(self) -> str:
        title = f"{self.title}: {self.words}"
        if not self.is_open_in_text:
            return title
        inner = "\n".join(part.text() for part in self.parts)
        return "\n".join([title, *(f"  {line}" if line else "" for line in inner.split("\n"))])


@dataclass(frozen=True, slots=True)
class Flow:
    """Drawings and blocks one below the other, in a frame that scrolls both ways."""

    parts: Sequence[Part]

    def html(self) -> str:
        return tag("div", *(part.html() for part in self.parts), class_="g")

    def text(self) -> str:
        return "\n".join(part.text() for part in self.parts)


def _shortened(words: str) -> str:
    if len(words) <= _MAX_WORDS + 1:
        return escape(words)
    pointed = escape(clipped(words, _MAX_POINTED))
    return f"{escape(clipped(words, _MAX_WORDS))}<title>{pointed}</title>"


def _outline(place: Point, size: tuple[float, float], corner: float) -> str:
    (x, y), (width, height) = place, size
    w, h, r = f"{width - 2 * corner:.0f}", f"{height - 2 * corner:.0f}", f"{corner:.0f}"
    return (
        f"M{x - width / 2 + corner:.0f} {y - height / 2:.0f}h{w}q{r} 0 {r} {r}v{h}q0 {r}-{r} {r}"
        f"h-{w}q-{r} 0-{r}-{r}v-{h}q0-{r} {r}-{r}z"
    )


def _arrow(points: Sequence[Point]) -> str:
    x, y = points[0]
    words = [f"M{x:.0f} {y:.0f}"]
    for bx, by in points[1:]:
        if abs(bx - x) < 1:
            words.append(f"V{by:.0f}")
        else:
            middle = (y + by) / 2
            words.append(f"C{x:.0f} {middle:.0f} {bx:.0f} {middle:.0f} {bx:.0f} {by:.0f}")
        x, y = bx, by
    return "".join(words) + "m-3-6l3 6l3-6"
