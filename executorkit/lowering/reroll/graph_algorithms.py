"""Cycles and orders of directed graphs, given as the successors of every vertex."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Hashable, Mapping
from typing import Any, TypeVar

V = TypeVar("V", bound=Hashable)


def strongly_connected_components(successors: Mapping[V, Collection[V]]) -> list[list[V]]:
    """The strongly connected components, by Tarjan's algorithm (Depth-First Search and Linear
    Graph Algorithms, 1972), without recursion."""
    number: dict[V, int] = {}
    low: dict[V, int] = {}
    open_: dict[V, None] = {}
    found: list[list[V]] = []
    for root in successors:
        if root in number:
            continue
        number[root] = low[root] = len(number)
        open_[root] = None
        stack = [(root, iter(successors[root]))]
        while stack:
            vertex, rest = stack[-1]
            for after in rest:
                if after not in number:
                    number[after] = low[after] = len(number)
                    open_[after] = None
                    stack.append((after, iter(successors[after])))
                    break
                if after in open_:
                    low[vertex] = min(low[vertex], number[after])
            else:
                stack.pop()
                if stack:
                    low[stack[-1][0]] = min(low[stack[-1][0]], low[vertex])
                if low[vertex] == number[vertex]:
                    component = []
                    while not component or component[-1] != vertex:
                        component.append(open_.popitem()[0])
                    found.append(component)
    return found


def reachable(successors: Mapping[V, Collection[V]], start: Collection[V]) -> set[V]:
    """The vertices behind some others."""
    found: set[V] = set()
    waiting = list(start)
    while waiting:
        for after in successors[waiting.pop()]:
            if after not in found:
                found.add(after)
                waiting.append(after)
    return found


def topological(successors: Mapping[V, Collection[V]], rank: Mapping[V, Any]) -> list[V]:
    """All vertices of a graph without cycles, each before its successors; of those that may come
    next, the one of the lowest rank."""
    missing = dict.fromkeys(successors, 0)
    for after in successors.values():
        for vertex in after:
            missing[vertex] += 1
    names = sorted(successors, key=lambda v: rank[v])
    at = {vertex: i for i, vertex in enumerate(names)}
    ready = [at[v] for v, count in missing.items() if not count]
    heapq.heapify(ready)
    order: list[V] = []
    while ready:
        vertex = names[heapq.heappop(ready)]
        order.append(vertex)
        for after in successors[vertex]:
            missing[after] -= 1
            if not missing[after]:
                heapq.heappush(ready, at[after])
    return order
