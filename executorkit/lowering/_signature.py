"""Signatures: the structure of a graph as a value, by which equal graphs share results."""

from __future__ import annotations

from functools import lru_cache

from ._graph import Graph


class Signature:
    """A graph's structure as a value: equal when the same computations read the same values.

    Names of nodes and variables do not count, nor do annotations. Comparing two of them costs one
    walk; the hash is computed once.
    """

    __slots__ = ("_hash", "content")

    def __init__(self, graph: Graph) -> None:
        self.content = graph.structure
        self._hash = hash(self.content)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Signature)
            and self._hash == other._hash
            and self.content == other.content
        )


@lru_cache(maxsize=512)
def signature_of(graph: Graph) -> Signature:
    """The signature of a graph, computed once per graph."""
    return Signature(graph)
