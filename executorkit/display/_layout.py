"""Places for the boxes of a drawing: layers from top to bottom, few crossings, straight chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

Edge = tuple[int, int]
Point = tuple[float, float]

#: Longer edges than fit into so many bends in all are drawn straight.
_MAX_BENDS = 1500
_SWEEPS = 4
_BEND_WIDTH = 14.0


@dataclass(frozen=True, slots=True)
class GraphLayout:
    """Centres of the boxes, the points that each edge passes, and the size of the whole."""

    centres: list[Point]
    paths: list[list[Point]]
    width: float
    height: float


def layout(
    count: int, edges: Sequence[Edge], box: tuple[float, float], gap: tuple[float, float]
) -> GraphLayout:
    """Boxes 0 to ``count - 1`` of one size. Edges go from lower numbers to higher ones.

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
    """Each box below all that it reads; what reads nothing, right above its first reader."""
    layers = [0] * count
    first_reader = [-1] * count
    for a, b in sorted(edges, key=lambda edge: edge[1]):
        layers[b] = max(layers[b], layers[a] + 1)
    has_input = {b for _, b in edges}
    for a, b in edges:
        if a not in has_input:
            known = first_reader[a]
            first_reader[a] = layers[b] if known < 0 else min(known, layers[b])
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
    """Horizontal centres: each near the mean of its neighbours, none on another."""
    x = [0.0] * len(above)
    for row in rows:
        _pack(row, x, dict.fromkeys(row, 0.0), widths, gap)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else rows[::-1]:
            wanted = {}
            for i in row:
                near = (above if down else below)[i]
                wanted[i] = sum(x[n] for n in near) / len(near) if near else x[i]
            row.sort(key=wanted.__getitem__)
            _pack(row, x, wanted, widths, gap)
    return x


def _pack(
    row: list[int], x: list[float], wanted: dict[int, float], widths: list[float], gap: float
) -> None:
    """Puts a row where it is wanted, pushed apart from left to right, then centred again."""
    edge = float("-inf")
    for i in row:
        x[i] = max(wanted[i], edge + widths[i] / 2)
        edge = x[i] + widths[i] / 2 + gap
    shift = sum(wanted[i] - x[i] for i in row) / max(1, len(row))
    for i in row:
        x[i] += shift


def _path(points: list[Point], half: float) -> list[Point]:
    (ax, ay), (bx, by) = points[0], points[-1]
    return [(ax, ay + half), *points[1:-1], (bx, by - half)]
