"""Construction of numbered graphs from the heads of a symbol."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ..ops import Params
from ..ops.schema.attrs import BODIES
from ..symbol.node import EDIT_HOOKS, Entry, Node, auxiliary_nodes, topological_order
from ._graph import Graph, GraphStep, StateWrite
from ._subgraphs import LoweredBody


@lru_cache(maxsize=512)
def graph_of(heads: tuple[Entry, ...]) -> Graph:
    """The numbered graph of a symbol's heads; built once per tuple of heads."""
    return _number(heads)


EDIT_HOOKS.append(graph_of.cache_clear)


def _number(heads: Sequence[Entry]) -> Graph:
    nodes = topological_order(heads)
    auxiliary = auxiliary_nodes(nodes)
    first: dict[Node, int] = {}
    count = 0
    for node in nodes:
        first[node] = count
        count += node.n_outputs
    args = tuple(n for n in nodes if n.op is None and n not in auxiliary)
    aux = tuple(n for n in nodes if n.op is None and n in auxiliary)
    aux_number = {node: i for i, node in enumerate(aux)}
    steps = []
    n_random = 0
    for index, node in enumerate(nodes):
        if node.op is None or node.params is None:
            continue
        names, states = node.input_names, node.aux_names
        written = [
            (position, aux_number.get(node.inputs[position][0]))
            for position, name in enumerate(names)
            if name in states
        ]
        steps.append(
            GraphStep(
                node=node,
                op=node.op,
                params=_with_bodies(node, node.params),
                index=index,
                names=names,
                inputs=tuple(first[child] + k for child, k in node.inputs),
                first_output=first[node],
                n_outputs=node.n_outputs,
                aux_writes=tuple(
                    StateWrite(position, node.n_outputs + i, number)
                    for i, (position, number) in enumerate(written)
                    if number is not None
                ),
                random_number=n_random,
            )
        )
        n_random += node.op.key_name is not None
    return Graph(
        nodes=tuple(nodes),
        steps=tuple(steps),
        args=args,
        aux=aux,
        arg_values=tuple(first[n] for n in args),
        aux_values=tuple(first[n] for n in aux),
        heads=tuple(first[n] + k for n, k in heads),
        head_entries=tuple(heads),
        n_values=count,
        has_effects=any(s.op.effects or _has_effects(s.params) for s in steps),
        has_open_shapes=any(s.op.open_shape(s.params) is not None for s in steps),
    )


def _with_bodies(node: Node, params: Params) -> Params:
    """A step's attributes; those of loops and branches hold their subgraphs as functions."""
    if not node.subgraphs:
        return params
    bodies = tuple(LoweredBody(graph_of(heads)) for heads in node.subgraphs)
    return Params({**params, BODIES: bodies})


def _has_effects(params: Params) -> bool:
    return any(body.graph.has_effects for body in params.get(BODIES, ()))
