"""A long sequence of named nodes as a tree of blocks, by the prefixes of their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SEPARATOR = re.compile(r"[_/.]+")
#: So many nodes of another prefix, between nodes of one, still belong to its block.
_STRANGERS = 2
#: So few nodes are no block if there is room for each of them.
_FEW = 4
#: Further words of a name make no blocks of their own.
_DEEPEST = 12


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
    deepest = min(_DEEPEST, max(len(words[i]) for i in range(start, stop)))
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
    """Runs of few nodes as single nodes, while there is room for them."""
    room = limit - len(runs)
    opened = []
    for a, b in runs:
        if b - a <= min(_FEW, room + 1):
            room -= b - a - 1
            opened += [(i, i + 1) for i in range(a, b)]
        else:
            opened.append((a, b))
    return opened


def _runs(words: Sequence[list[str]], start: int, stop: int, depth: int) -> list[tuple[int, int]]:
    """Neighbours of one word at ``depth``; few strangers among them are taken along."""
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
    """The last run of a word, if few nodes came since."""
    strangers = 0
    for k in reversed(range(len(runs))):
        found, a, b = runs[k]
        if found == word:
            return k
        strangers += b - a
        if strangers > _STRANGERS:
            break
    return None
