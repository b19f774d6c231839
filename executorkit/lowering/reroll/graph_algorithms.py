"""Algorithms on directed graphs, each a mapping from every vertex to its successors."""

import heapq
from collections.abc import Collection, Hashable, Mapping
from typing import Any, TypeVar

V = TypeVar("V", bound=Hashable)


def strongly_connected_components(successors: Mapping[V, Collection[V]]) -> list[list[V]]:
    """Finds the components by Tarjan's algorithm (1972), without recursion."""
    number: dict[V, int] = {}
    low: dict[V, int] = {}
    unassigned: dict[V, None] = {}
    components: list[list[V]] = []
    for root in successors:
        if root in number:
            continue
        number[root] = low[root] = len(number)
        unassigned[root] = None
        stack = [(root, iter(successors[root]))]
        while stack:
            vertex, remaining = stack[-1]
            for successor in remaining:
                if successor not in number:
                    number[successor] = low[successor] = len(number)
                    unassigned[successor] = None
                    stack.append((successor, iter(successors[successor])))
                    break
                if successor in unassigned:
                    low[vertex] = min(low[vertex], number[successor])
            else:
                stack.pop()
                if stack:
                    low[stack[-1][0]] = min(low[stack[-1][0]], low[vertex])
                if low[vertex] == number[vertex]:
                    component = []
                    while not component or component[-1] != vertex:
                        component.append(unassigned.popitem()[0])
                    components.append(component)
    return components


def reachable(successors: Mapping[V, Collection[V]], sources: Collection[V]) -> set[V]:
    visited: set[V] = set()
    pending = list(sources)
    while pending:
        for successor in successors[pending.pop()]:
            if successor not in visited:
                visited.add(successor)
                pending.append(successor)
    return visited


def ranked_topological_order(
    successors: Mapping[V, Collection[V]], rank: Mapping[V, Any]
) -> list[V]:
    """Orders vertices before their successors, the lowest rank first."""
    in_degree = dict.fromkeys(successors, 0)
    for targets in successors.values():
        for vertex in targets:
            in_degree[vertex] += 1
    by_rank = sorted(successors, key=lambda v: rank[v])
    position = {vertex: i for i, vertex in enumerate(by_rank)}
    ready = [position[v] for v, degree in in_degree.items() if not degree]
    heapq.heapify(ready)
    order: list[V] = []
    while ready:
        vertex = by_rank[heapq.heappop(ready)]
        order.append(vertex)
        for successor in successors[vertex]:
            in_degree[successor] -= 1
            if not in_degree[successor]:
                heapq.heappush(ready, position[successor])
    return order
