"""Passes: graph rewrites before lowering, and the choices of lowering that can be disabled.

A rewrite maps heads to heads; it keeps the names of the nodes that stay and the order of variables.
Operators that draw random numbers, call back into Python or update auxiliary states are never
merged or dropped.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

from ..ops import lookup
from ..ops.schema.traits import CALLS_PYTHON, IDENTITY
from ..symbol.node import EDIT_HOOKS, Entry, Node, topological_order

Heads = tuple[Entry, ...]
Pass = Callable[[Heads], Heads]

_disabled: ContextVar[frozenset[str]] = ContextVar("passes_disabled", default=frozenset())


def rebuild(heads: Heads, replace: Callable[[Node, tuple[Entry, ...]], Entry | Node]) -> Heads:
    """Rebuilds a graph bottom-up. ``replace(node, new_inputs)`` returns a node, or an entry."""
    rebuilt: dict[Entry, Entry] = {}
    for node in topological_order(heads):
        inputs = tuple(rebuilt[e] for e in node.inputs)
        new = replace(node, inputs)
        for k in range(node.n_outputs):
            rebuilt[node, k] = (new, k) if isinstance(new, Node) else new
    return tuple(rebuilt[e] for e in heads)


def with_inputs(node: Node, inputs: tuple[Entry, ...]) -> Node:
    if inputs == node.inputs:
        return node
    return Node(node.op, node.name, node.attrs, node.params, inputs, node.subgraphs)


def drop_identities(heads: Heads) -> Heads:
    """Removes identities (``_copy``), except outputs of the graph, whose names show."""
    head_nodes = {node for node, _ in heads}

    def replace(node: Node, inputs: tuple[Entry, ...]) -> Entry | Node:
        if node.op is not None and IDENTITY in node.op.traits and node not in head_nodes:
            return inputs[0]
        return with_inputs(node, inputs)

    return rebuild(heads, replace)


def merge_common_subexpressions(heads: Heads) -> Heads:
    """Merges equal operator calls on equal inputs, except outputs, whose names show."""
    return _merged(heads, {node for node, _ in heads})


def _merged(heads: Heads, kept: Set[Node]) -> Heads:
    first_equal: dict[object, Node] = {}

    def replace(node: Node, inputs: tuple[Entry, ...]) -> Entry | Node:
        if node.op is None or node.params is None or not _is_pure(node) or node in kept:
            return with_inputs(node, inputs)
        key = (node.op, node.params.key, inputs, node.attrs.get("__ctx_group__"))
        if key not in first_equal:
            first_equal[key] = with_inputs(node, inputs)
        return first_equal[key]

    return rebuild(heads, replace)


def _is_pure(node: Node) -> bool:
    # Zeros of shape (0, 4) are two arrays if their users have different batch sizes.
    op = node.op
    return (
        op is not None
        and node.params is not None
        and op.key_name is None
        and CALLS_PYTHON not in op.traits
        and not op.aux_of(node.params)
        and op.open_shape(node.params) is None
        and not node.subgraphs
    )


#: The rewrites in the order in which they run.
PASSES: dict[str, Pass] = {
    "identities": drop_identities,
    "common_subexpressions": merge_common_subexpressions,
}
_SWITCHES = {
    "MXNET_ELIMINATE_COMMON_EXPR": "common_subexpressions",
    "EXECUTORKIT_NATIVE": "native_convolutions",
}
#: The passes that choose how a graph is lowered.
LOWERING_PASSES = ("reroll", "channels_last", "batch_norms", "native_convolutions")


@contextmanager
def disabled(*names: str) -> Iterator[None]:
    """Disables these passes (all, if none is named) for symbols bound inside the ``with`` block."""
    all_names = (*PASSES, *LOWERING_PASSES)
    unknown = set(names) - set(all_names)
    if unknown:
        raise ValueError(f"no pass named {sorted(unknown)}; there are {', '.join(all_names)}")
    token = _disabled.set(_disabled.get() | frozenset(names or all_names))
    try:
        yield
    finally:
        _disabled.reset(token)


def disabled_passes() -> frozenset[str]:
    """Returns the passes that are disabled in this context or by the environment:
    ``MXNET_ELIMINATE_COMMON_EXPR=0`` disables 'common_subexpressions', ``EXECUTORKIT_NATIVE=0``
    'native_convolutions'."""
    return _disabled.get() | {n for v, n in _SWITCHES.items() if os.environ.get(v) == "0"}


def optimized(heads: Heads) -> Heads:
    return _optimized(heads, disabled_passes())


@lru_cache(maxsize=512)
def _optimized(heads: Heads, disabled_names: frozenset[str]) -> Heads:
    for name, rewrite in PASSES.items():
        if name not in disabled_names:
            heads = rewrite(heads)
    return heads


def with_merged_heads(heads: Heads) -> Heads:
    """Returns :func:`optimized` heads; as in MXNet, equal outputs become ``NAME_0_copy``."""
    heads = optimized(heads)
    if "common_subexpressions" in disabled_passes():
        return heads
    while (merged := _merged(heads, frozenset())) != heads:
        heads = _with_copies(merged)
    return heads


def _with_copies(heads: Heads) -> Heads:
    copy = lookup("_copy")
    assert copy is not None
    copies: Counter[Entry] = Counter()
    apart: dict[Entry, None] = {}
    for entry in heads:
        if entry in apart:
            name = f"{entry[0].name}_{copies[entry]}_copy"
            copies[entry] += 1
            entry = Node(copy, name, {}, copy.parse({}), (entry,)), 0
        apart[entry] = None
    return tuple(apart)


EDIT_HOOKS.append(_optimized.cache_clear)
