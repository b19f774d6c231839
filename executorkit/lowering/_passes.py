"""Passes: graph rewrites before lowering, and what can be switched off.

A rewrite is one function from heads to heads. It keeps the names of what it keeps and the order of
variables. Operators that draw random numbers, call back into Python or update auxiliary states are
never merged or dropped. Other passes choose how the graph that results is lowered, and leave it as
it is. All can be switched off one by one (:func:`disabled`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

from ..symbol.node import EDIT_HOOKS, Entry, Node, topological_order

Heads = tuple[Entry, ...]
Pass = Callable[[Heads], Heads]

_off: ContextVar[frozenset[str]] = ContextVar("passes_off", default=frozenset())


def _rewrite(heads: Heads, replace: Callable[[Node, tuple[Entry, ...]], Entry | Node]) -> Heads:
    """Rebuilds a graph bottom-up. ``replace(node, new_inputs)`` gives the node to use (whose
    outputs take the old ones' places), or the entry that stands for its only output."""
    done: dict[Entry, Entry] = {}
    for node in topological_order(heads):
        inputs = tuple(done[e] for e in node.inputs)
        new = replace(node, inputs)
        for k in range(node.n_outputs):
            done[node, k] = (new, k) if isinstance(new, Node) else new
    return tuple(done[e] for e in heads)


def _with_inputs(node: Node, inputs: tuple[Entry, ...]) -> Node:
    if inputs == node.inputs:
        return node
    return Node(node.op, node.name, node.attrs, node.params, inputs, node.subgraphs)


def drop_identities(heads: Heads) -> Heads:
    """Removes ``_copy`` nodes, except where one is an output of the graph (its name shows)."""
    shown = {node for node, _ in heads}

    def replace(node: Node, inputs: tuple[Entry, ...]) -> Entry | Node:
        if node.op is not None and node.op.name == "_copy" and node not in shown:
            return inputs[0]
        return _with_inputs(node, inputs)

    return _rewrite(heads, replace)


def merge_common_subexpressions(heads: Heads) -> Heads:
    """Computes equal operator calls on equal inputs once; the first one's name stays."""
    shown = {node for node, _ in heads}
    seen: dict[object, Node] = {}

    def replace(node: Node, inputs: tuple[Entry, ...]) -> Entry | Node:
        if node.op is None or node.params is None or not _is_pure(node):
            return _with_inputs(node, inputs)
        key = (node.op, node.params.key, inputs, node.attrs.get("__ctx_group__"))
        if node in shown:
            return _with_inputs(node, inputs)
        if key not in seen:
            seen[key] = _with_inputs(node, inputs)
        return seen[key]

    return _rewrite(heads, replace)


def _is_pure(node: Node) -> bool:
    op = node.op
    return (
        op is not None
        and node.params is not None
        and op.key_name is None
        and not op.effects
        and not op.aux_of(node.params)
        and not node.subgraphs
    )


#: The rewrites in the order in which they run.
PASSES: dict[str, Pass] = {
    "identities": drop_identities,
    "common_subexpressions": merge_common_subexpressions,
}
#: The passes that choose how a graph is lowered.
LOWERING_PASSES = ("reroll", "channels_last")


@contextmanager
def disabled(*names: str) -> Iterator[None]:
    """Symbols bound inside the ``with`` block are lowered without these passes (all, if none is
    named)."""
    every = (*PASSES, *LOWERING_PASSES)
    unknown = set(names) - set(every)
    if unknown:
        raise ValueError(f"no pass named {sorted(unknown)}; there are {', '.join(every)}")
    token = _off.set(_off.get() | frozenset(names or every))
    try:
        yield
    finally:
        _off.reset(token)


def disabled_passes() -> frozenset[str]:
    """The names of the passes that are disabled here and now."""
    return _off.get()


def optimized(heads: Heads) -> Heads:
    """The heads after all passes that are not disabled."""
    return _optimized(heads, _off.get())


@lru_cache(maxsize=512)
def _optimized(heads: Heads, off: frozenset[str]) -> Heads:
    for name, rewrite in PASSES.items():
        if name not in off:
            heads = rewrite(heads)
    return heads


EDIT_HOOKS.append(_optimized.cache_clear)
