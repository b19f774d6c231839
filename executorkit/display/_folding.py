"""Folding of graphs: repeated blocks of nodes, found in the graph and not by names.

Nodes are alike if their kinds are, and the distances to the near nodes that they read. A run of
equal stretches becomes one item, then runs of such items are searched, and so on.
"""

from __future__ import annotations

import heapq
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

_SEPARATOR, _NUMBER = re.compile(r"[_/.]+"), re.compile(r"\d+")
#: Maximum number of blocks or nodes of a level, and of nodes that are not divided into blocks.
_MAX_PARTS, _MAX_FLAT = 40, 24
#: Maximum number of nodes of a run that is shown node by node, if there is room.
_MAX_SINGLES = 12
#: Minimum number of equal blocks that are shown as one.
_MIN_TIMES = 3
#: Maximum distance of two nodes, one of which reads the other, that is a part of the structure.
_NEAR = 4
#: Maximum number of names that are compared to find where a stretch begins.
_MAX_COMPARED = 200
#: Maximum number of items of the shortest repeated stretch.
_MAX_PERIOD = 1000


@dataclass(frozen=True, slots=True)
class GraphNodes:
    """The nodes of a graph in topological order, and the numbers of the nodes that each reads.
    Nodes of equal ``kinds`` may stand for each other in a block; blocks are the same where
    ``details`` are equal, too."""

    names: Sequence[str]
    kinds: Sequence[Hashable]
    details: Sequence[Hashable]
    reads: Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Block:
    """The nodes from ``start`` to before ``stop``; ``parts`` divide them, none for a single node.
    Nodes are in topological order and blocks are consecutive, so that the graph between the blocks
    has no cycles either. If ``is_repeated`` is true the parts are equal."""

    label: str
    start: int
    stop: int
    parts: tuple[Block, ...] = ()
    is_repeated: bool = False

    @property
    def size(self) -> int:
        return self.stop - self.start


def folded(nodes: GraphNodes, *, keep_order: bool = False) -> tuple[list[int], tuple[Block, ...]]:
    """Returns the numbers of the nodes in a topological order, and the blocks that divide this
    order; ``keep_order`` leaves the nodes in the given order.

    >>> reads = [[], *([i] for i in range(90))]
    >>> kinds = ["in", *(["conv", "relu", "pool"] * 30)]
    >>> nodes = GraphNodes([f"n{i}" for i in range(91)], kinds, kinds, reads)
    >>> [(block.label, block.size) for block in folded(nodes)[1]]
    [('n0', 1), ('n1 … n90', 90)]
    """
    inner, sources = (list(range(len(nodes.names))), []) if keep_order else _ordered(nodes.reads)
    number = {node: i for i, node in enumerate(inner)}
    reads = [[number[j] for j in nodes.reads[node] if j in number] for node in inner]
    inner_nodes = GraphNodes(
        [nodes.names[n] for n in inner],
        [(nodes.kinds[n], len(nodes.reads[n])) for n in inner],
        [nodes.details[n] for n in inner],
        reads,
    )
    reads_source = [len(nodes.reads[n]) > len(r) for n, r in zip(inner, reads, strict=True)]
    tree = _Folder(inner_nodes, reads_source).tree()
    readers: dict[int, list[int]] = {source: [] for source in sources}
    for i, node in enumerate(inner):
        for j in nodes.reads[node]:
            if j in readers:
                readers[j].append(i)
    return _with_sources(tree, inner, readers, nodes.names)


# Order


def _ordered(reads: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    # Made from the last node backwards: of the nodes whose readers are all placed, the one nearest
    # to the inputs comes next, so that a short branch stays near its readers.
    depths: list[int] = []
    unplaced = [0] * len(reads)
    for sources in reads:
        depths.append(max((depths[j] + 1 for j in sources), default=0))
        for j in sources:
            unplaced[j] += 1
    order: list[int] = []
    ready: list[tuple[int, int]] = []
    for head in [i for i in reversed(range(len(reads))) if not unplaced[i] and reads[i]]:
        heapq.heappush(ready, (depths[head], -head))
        while ready:
            node = -heapq.heappop(ready)[1]
            order.append(node)
            for j in reads[node]:
                unplaced[j] -= 1
                if not unplaced[j] and reads[j]:
                    heapq.heappush(ready, (depths[j], -j))
    return order[::-1], [i for i in range(len(reads)) if not reads[i]]


def _with_sources(
    tree: tuple[Block, ...],
    inner: Sequence[int],
    readers: dict[int, list[int]],
    names: Sequence[str],
) -> tuple[list[int], tuple[Block, ...]]:
    whole = Block("", 0, len(inner), tree)
    spans = {
        source: (min(positions), max(positions)) if positions else (0, len(inner))
        for source, positions in readers.items()
    }
    places: dict[tuple[int, int], list[int]] = {}
    todo = [(whole, list(spans))]
    while todo:
        level, sources = todo.pop()
        deeper: set[int] = set()
        for block, own in _sources_below(level, sources, spans):
            # Equal blocks have equal numbers of parts, so none of them is a source.
            below = _sources_below(block, own, spans) if block.is_repeated else [(block, own)]
            todo += below
            deeper.update(source for _, inside in below for source in inside)
        for source in sources:
            if source not in deeper:
                first = spans[source][0]
                k = bisect_right(level.parts, first, key=lambda part: part.start) - 1
                start = level.parts[k].start if level.parts else 0
                places.setdefault((id(level), start), []).append(source)
    order: list[int] = []

    def numbered(block: Block) -> Block:
        start = len(order)
        if not block.parts:
            order.extend(inner[block.start : block.stop])
        parts = []
        for part in block.parts:
            for source in places.get((id(block), part.start), ()):
                parts.append(Block(names[source], len(order), len(order) + 1))
                order.append(source)
            parts.append(numbered(part))
        return replace(block, start=start, stop=len(order), parts=tuple(parts))

    if not tree:
        order.extend(readers)
        return order, tuple(Block(names[n], i, i + 1) for i, n in enumerate(order))
    return order, numbered(whole).parts


def _sources_below(
    level: Block, sources: Sequence[int], spans: dict[int, tuple[int, int]]
) -> list[tuple[Block, list[int]]]:
    # Sources of few blocks among others (the input of a network, initial states) stay outside.
    blocks = [part for part in level.parts if part.parts]
    below: dict[int, tuple[Block, list[int]]] = {}
    for source in sources:
        first, last = spans[source]
        k = bisect_right(blocks, first, key=lambda block: block.start) - 1
        if k >= 0 and last < blocks[k].stop:
            below.setdefault(k, (blocks[k], []))[1].append(source)
    if level.is_repeated and 2 * len(below) <= len(blocks):
        return []
    return [
        (block, own)
        for block, own in below.values()
        if block.is_repeated or level.is_repeated or 2 * len(below) > max(2, len(blocks))
    ]


# Repetitions


@dataclass(frozen=True, slots=True)
class _Item:
    """A node, or a run of equal stretches (``repetitions``); items of equal ``key`` are alike."""

    key: int
    start: int
    stop: int
    repetitions: tuple[tuple[_Item, ...], ...] = ()


class _Folder:
    def __init__(self, nodes: GraphNodes, reads_source: Sequence[bool]) -> None:
        self.nodes = nodes
        self._reads_source = reads_source
        self._widths = _widths(nodes.reads)
        self._keys: dict[Hashable, int] = {}
        self._words = [[w for w in _SEPARATOR.split(name) if w] or [name] for name in nodes.names]

    def tree(self) -> tuple[Block, ...]:
        kinds = enumerate(self.nodes.kinds)
        items = [_Item(self._key((kind, self._near(i))), i, i + 1) for i, kind in kinds]
        if len(items) <= _MAX_PARTS:
            return self._singles(0, len(items))
        return self._blocks(self._runs(items))

    def _near(self, i: int) -> tuple[int, ...]:
        return tuple(i - j for j in self.nodes.reads[i] if i - j <= _NEAR)

    def _key(self, content: Hashable) -> int:
        return self._keys.setdefault(content, len(self._keys))

    # -- runs of equal stretches

    def _runs(self, items: list[_Item]) -> list[_Item]:
        period = 1
        while period <= min(len(items) // 2, _MAX_PERIOD):
            shorter = self._runs_of(items, period)
            period = period + 1 if len(shorter) == len(items) else 1
            items = shorter
        return items

    def _runs_of(self, items: list[_Item], period: int) -> list[_Item]:
        keys = np.array([item.key for item in items])
        equal = np.flatnonzero(keys[period:] == keys[:-period])
        if len(equal) < period:
            return items
        breaks = np.flatnonzero(np.diff(equal) > 1)
        first = equal[np.concatenate(([0], breaks + 1))]
        last = equal[np.concatenate((breaks, [len(equal) - 1]))]
        result: list[_Item] = []
        done = 0
        for a, b in zip(first.tolist(), last.tolist(), strict=True):
            start = max(a, done)
            run = self._run(items, (done, start, b + 1 + period), period)
            if run is None:
                continue
            begin, end = run
            stretches = tuple(tuple(items[i : i + period]) for i in range(begin, end, period))
            key = self._key(("run", *(item.key for item in stretches[-1])))
            item = _Item(key, items[begin].start, items[end - 1].stop, stretches)
            result += [*items[done:begin], item]
            done = end
        return [*result, *items[done:]]

    def _run(
        self, items: list[_Item], bounds: tuple[int, int, int], period: int
    ) -> tuple[int, int] | None:
        # Cut where the fewest values pass from one stretch to the next, then where the names of a
        # stretch have the most in common.
        floor, start, stop = bounds
        size = items[min(start + period, stop) - 1].stop - items[start].start
        least = 2 if size >= _MIN_TIMES else _MIN_TIMES
        if stop - start < least * period:
            return None
        runs = [
            self._extended(items, floor, begin, period)
            for begin in range(start, start + min(period, stop - start - least * period + 1))
        ]

        def cost(run: tuple[int, int]) -> tuple[int, int, int]:
            _, a = run
            first = items[a].start, items[a + period - 1].stop
            times = (stop - run[0]) // period
            return self._widths[first[1] - 1], -self._coherence(*first), -times

        begin = min(runs, key=cost)[0]
        return begin, begin + (stop - begin) // period * period

    def _extended(self, items: list[_Item], floor: int, begin: int, period: int) -> tuple[int, int]:
        first = begin
        while first - period >= floor and self._is_first(
            items[first - period : first], items[first : first + period]
        ):
            first -= period
        return first, begin

    def _is_first(self, stretch: Sequence[_Item], following: Sequence[_Item]) -> bool:
        # The first stretch may read a source of the graph where the others read the stretch before.
        return all(a.key == b.key or self._starts(a, b) for a, b in
                   zip(stretch, following, strict=True))  # fmt: skip

    def _starts(self, item: _Item, other: _Item) -> bool:
        if item.repetitions or other.repetitions:
            return False
        i, j = item.start, other.start
        if self.nodes.kinds[i] != self.nodes.kinds[j] or not self._reads_source[i]:
            return False
        return set(self._near(i)) < set(self._near(j))

    def _coherence(self, start: int, stop: int) -> int:
        if stop - start > _MAX_COMPARED:
            return 0
        common = 0
        for depth in range(1, 4):
            counts = Counter(tuple(w[:depth]) for w in self._words[start:stop] if len(w) > depth)
            common += max(counts.values(), default=0)
        names = self.nodes.names[start:stop]
        numbers = Counter(n for name in names for n in set(_NUMBER.findall(name)))
        return common * len(names) + sum(count * count for count in numbers.values())

    # -- blocks

    def _blocks(self, items: Sequence[_Item]) -> tuple[Block, ...]:
        parts: list[Block] = []
        room = _MAX_PARTS - len(items)
        for item in items:
            opened = self._opened(item, room)
            room -= len(opened) - 1
            parts += opened
        return self._grouped(parts)

    def _opened(self, item: _Item, room: int) -> tuple[Block, ...]:
        if not item.repetitions or item.stop - item.start <= min(_MAX_SINGLES, room + 1):
            return self._singles(item.start, item.stop)
        stretches = tuple(self._stretch(items) for items in item.repetitions)
        is_repeated = len(stretches) >= _MIN_TIMES and self._are_same(item)
        if not is_repeated and len(stretches) <= room + 1:
            return stretches
        label = self._run_label(stretches) if is_repeated else self._label(item.start, item.stop)
        parts = stretches if is_repeated else self._grouped(stretches)
        return (Block(label, item.start, item.stop, parts, is_repeated),)

    def _stretch(self, items: Sequence[_Item]) -> Block:
        start, stop = items[0].start, items[-1].stop
        if stop - start == 1:
            return Block(self.nodes.names[start], start, stop)
        parts = self._singles(start, stop) if stop - start <= _MAX_FLAT else self._blocks(items)
        return Block(self._label(start, stop), start, stop, parts)

    def _singles(self, start: int, stop: int) -> tuple[Block, ...]:
        return tuple(Block(self.nodes.names[i], i, i + 1) for i in range(start, stop))

    def _are_same(self, run: _Item) -> bool:
        details = self.nodes.details
        first = run.repetitions[0]
        size = first[-1].stop - first[0].start
        if (run.stop - run.start) != size * len(run.repetitions):
            return False
        return all(details[i] == details[i - size] for i in range(run.start + size, run.stop))

    def _grouped(self, parts: Sequence[Block]) -> tuple[Block, ...]:
        if len(parts) <= _MAX_PARTS:
            return tuple(parts)
        step = max(_MAX_FLAT // 2, -(-len(parts) // _MAX_FLAT))
        cuts = [0]
        while len(parts) - cuts[-1] > step + step // 2:
            near = range(cuts[-1] + step // 2 + 1, cuts[-1] + step + step // 2 + 1)
            middle = near[len(near) // 2]
            cuts.append(
                min(near, key=lambda k: (self._widths[parts[k].start - 1], abs(k - middle)))
            )
        groups = []
        for a, b in pairwise([*cuts, len(parts)]):
            start, stop = parts[a].start, parts[b - 1].stop
            groups.append(Block(self._label(start, stop), start, stop, self._grouped(parts[a:b])))
        return self._grouped(groups)

    def _run_label(self, stretches: Sequence[Block]) -> str:
        first, last = stretches[0], stretches[-1]
        if first.label == last.label or "…" in first.label + last.label:
            return f"{self.nodes.names[first.start]} … {self.nodes.names[last.stop - 1]}"
        return f"{first.label} … {last.label}"

    def _label(self, start: int, stop: int) -> str:
        words = self._words[start:stop]
        prefix: list[str] = []
        while True:
            counts: dict[str, int] = {}
            for one in words:
                if len(one) > len(prefix) + 1 and one[: len(prefix)] == prefix:
                    counts[one[len(prefix)]] = counts.get(one[len(prefix)], 0) + 1
            word = max(counts, key=counts.__getitem__, default=None)
            if word is None or 2 * counts[word] < len(words):
                break
            prefix.append(word)
        if prefix:
            return "_".join(prefix)
        return f"{self.nodes.names[start]} … {self.nodes.names[stop - 1]}"


def _widths(reads: Sequence[Sequence[int]]) -> list[int]:
    # The values that pass each node by or leave it, and are read after it.
    last = list(range(len(reads)))
    for i, sources in enumerate(reads):
        for j in sources:
            last[j] = i
    change = [0] * (len(reads) + 1)
    for j, end in enumerate(last):
        change[j] += 1
        change[end] -= 1
    return np.cumsum(change).tolist()
