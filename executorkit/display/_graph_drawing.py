"""Drawings of graphs: nodes grouped into blocks by name, placed in layers, drawn as SVG.

:func:`blocks` divides a long sequence of named nodes into a tree of blocks, :func:`layout` places
the boxes of one drawing in layers from top to bottom, and :class:`Drawing` draws boxes and arrows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ._parts import KINDS, PICTURE_SHEET, clipped, escape

# Blocks: the tree of a drawing

_SEPARATOR = re.compile(r"[_/.]+")
#: Maximum number of nodes of other prefixes that a block includes between nodes of its own.
_MAX_FOREIGN = 2
#: Maximum number of nodes that are shown one by one instead of as a block, if there is room.
_MAX_SINGLES = 4
#: Maximum nesting of blocks: further words of a name make no blocks of their own.
_MAX_DEPTH = 12


@dataclass(frozen=True, slots=True)
class Block:
    """The nodes from ``start`` to before ``stop``; ``parts`` divide them, none for a single node.

    Nodes are in topological order and blocks are consecutive, so that the graph between the blocks
    has no cycles either.
    """

    label: str
    start: int
    stop: int
    parts: tuple[Block, ...] = ()

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.stop - self.start


def blocks(names: Sequence[str], limit: int = 40) -> tuple[Block, ...]:
    """Nodes in at most ``limit`` blocks, each with at most ``limit`` parts, and so on.

    Neighbours whose names begin with the same word (``stage1_unit1_conv1``) are a block; one that
    would have too many parts is cut evenly.

    >>> [b.label for b in blocks(["in", "a_u", "a_v", "_plus0", "a_w", "a_x", "out"], limit=3)]
    ['in', 'a', 'out']
    """
    words = [[w for w in _SEPARATOR.split(name) if w] or [name] for name in names]
    return _divided(names, words, 0, len(names), 0, limit)


def _divided(
    names: Sequence[str], words: Sequence[list[str]], start: int, stop: int, depth: int, limit: int
) -> tuple[Block, ...]:
    if stop - start <= limit:
        return tuple(Block(names[i], i, i + 1) for i in range(start, stop))
    deepest = min(_MAX_DEPTH, max(len(words[i]) for i in range(start, stop)))
    while depth < deepest:
        runs = _runs(words, start, stop, depth)
        if len(runs) > limit:
            break
        depth += 1
        if len(runs) > 1:
            runs = _opened(runs, limit)
            return tuple(_block(names, words, a, b, depth, limit) for a, b in runs)
    step = max(limit, -(-(stop - start) // limit))
    cuts = [(i, min(i + step, stop)) for i in range(start, stop, step)]
    return tuple(
        Block(f"{names[a]} to {names[b - 1]}", a, b, _divided(names, words, a, b, depth, limit))
        for a, b in cuts
    )


def _block(
    names: Sequence[str], words: Sequence[list[str]], start: int, stop: int, depth: int, limit: int
) -> Block:
    if stop - start == 1:
        return Block(names[start], start, stop)
    label = "_".join(words[start][:depth])
    return Block(label, start, stop, _divided(names, words, start, stop, depth, limit))


def _opened(runs: list[tuple[int, int]], limit: int) -> list[tuple[int, int]]:
    """Short runs split into single nodes, while there is room for them."""
    room = limit - len(runs)
    opened = []
    for a, b in runs:
        if b - a <= min(_MAX_SINGLES, room + 1):
            room -= b - a - 1
            opened += [(i, i + 1) for i in range(a, b)]
        else:
            opened.append((a, b))
    return opened


def _runs(words: Sequence[list[str]], start: int, stop: int, depth: int) -> list[tuple[int, int]]:
    """Runs of nodes with one word at ``depth``, with up to ``_MAX_FOREIGN`` others among them."""
    runs: list[tuple[str, int, int]] = []
    for i in range(start, stop):
        word = words[i][min(depth, len(words[i]) - 1)]
        earlier = _run_of(word, runs)
        if earlier is None:
            runs.append((word, i, i + 1))
        else:
            runs[earlier:] = [(word, runs[earlier][1], i + 1)]
    return [(a, b) for _, a, b in runs]


def _run_of(word: str, runs: Sequence[tuple[str, int, int]]) -> int | None:
    """The index of the last run of ``word``, if at most ``_MAX_FOREIGN`` nodes follow it."""
    foreign = 0
    for k in reversed(range(len(runs))):
        run_word, a, b = runs[k]
        if run_word == word:
            return k
        foreign += b - a
        if foreign > _MAX_FOREIGN:
            break
    return None


# Layout: layers, few crossings, straight chains

Edge = tuple[int, int]
Point = tuple[float, float]

#: Maximum number of bends of all edges together; beyond it, edges are drawn straight.
_MAX_BENDS = 1500
_SWEEPS = 4
_BEND_WIDTH = 14.0


@dataclass(frozen=True, slots=True)
class GraphLayout:
    """Centres of the boxes, the points that each edge passes, and the size of the drawing."""

    centres: list[Point]
    paths: list[list[Point]]
    width: float
    height: float


def layout(
    count: int, edges: Sequence[Edge], box: tuple[float, float], gap: tuple[float, float]
) -> GraphLayout:
    """Places boxes 0 to ``count - 1`` of one size; edges go from lower numbers to higher ones.

    An edge that passes layers by is led between their boxes.
    """
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
    """The layer of each box: below its inputs; without inputs, right above its first reader."""
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
    """Horizontal centres: each near the mean of its neighbours, without overlaps."""
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
    """Places a row near its target positions: spread from left to right, then centred again."""
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
    #: Maximum number of lines of the text form.
    most_lines: int = 60

    def html(self) -> str:
        return f'<div class="x">{self.svg()}</div>'

    def svg(self, style: str = "") -> str:
        """The SVG element, coloured by the page's style sheet or by ``style``."""
        height = 2 * _PADDING + _LINE * (1 + max((len(b.lines) for b in self.boxes), default=0))
        placement = layout(len(self.boxes), self.edges, (_WIDTH, height), (_GAP_X, _GAP_Y))
        width, whole = (round(n + 2 * _MARGIN) for n in (placement.width, placement.height))
        places = [(x + _MARGIN, y + _MARGIN) for x, y in placement.centres]
        paths = [[(x + _MARGIN, y + _MARGIN) for x, y in path] for path in placement.paths]
        size = f'width="{width}" height="{whole}" viewBox="0 0 {width} {whole}"'
        sheet = style and f"<style>{style}</style>"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{sheet}'
            f'<path class="e" d="{"".join(map(_arrow, paths))}"></path>'
            f"{self._shapes(places, height)}{self._texts(places, height)}</svg>"
        )

    def _shapes(self, places: Sequence[Point], height: float) -> str:
        """One path for all boxes of a kind: a tenth of the size of one element for each box."""
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
        # The separators are not drawn: they are for pages that strip foreign SVG, as untrusted
        # notebooks do.
        return ", ".join(parts)

    def picture(self) -> str:
        """The drawing as an SVG file, in light colours."""
        return self.svg(PICTURE_SHEET)

    def text(self) -> str:
        inputs: dict[int, list[str]] = {}
        for a, b in self.edges:
            inputs.setdefault(b, []).append(self.boxes[a].name)
        lines = []
        for i, box in enumerate(self.boxes[: self.most_lines]):
            words = " ".join(w for w in (box.name, *(f"[{line}]" for line in box.lines)) if w)
            lines.append(words + (f" <- {', '.join(inputs[i])}" if i in inputs else ""))
        if len(self.boxes) > self.most_lines:
            lines.append(f"... {len(self.boxes) - self.most_lines} more")
        return "\n".join(lines)


def _shortened(words: str) -> str:
    """The words, without their middle if they are too long for a box; hovering shows more."""
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
