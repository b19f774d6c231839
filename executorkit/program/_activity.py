"""Activity analysis: the values that take part in a gradient, read off the graph or a jaxpr."""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any

import jax

from .._support.annotations import Function, Raw
from ..jax_internals import in_x64
from ..jaxprs import Flattener
from ..lowering import Graph, GraphStep
from ..ops.schema.traits import STOPS_GRADIENT

# -- on the graph --------------------------------------------------------------------------------


def active_values(graph: Graph, argnums: Sequence[int]) -> list[bool]:
    """Returns for every value whether it depends on an argument with a gradient."""
    edges = ((step.inputs, step.outputs) for step in graph.steps)
    return _reached(graph, [graph.arg_values[i] for i in argnums], edges)


def _reached(
    graph: Graph, start: Iterable[int], edges: Iterable[tuple[Sequence[int], Sequence[int]]]
) -> list[bool]:
    reached = [False] * graph.n_values
    for i in start:
        reached[i] = True
    for sources, targets in edges:
        if any(reached[i] for i in sources):
            for i in targets:
                reached[i] = True
    return reached


def may_need_head_gradient(graph: Graph, active: Sequence[bool]) -> tuple[bool, ...]:
    """Tells for every output whether some path from an active argument avoids loss operators."""
    edges = ((s.inputs, s.outputs) for s in graph.steps if not s.op.loss(s.params))
    flows = _reached(graph, [i for i in graph.arg_values if active[i]], edges)
    return tuple(flows[i] for i in graph.heads)


def reached_arguments(graph: Graph) -> tuple[bool, ...]:
    """Tells for every argument whether a gradient flows to it: not below operators that stop it."""
    steps = (s for s in reversed(graph.steps) if STOPS_GRADIENT not in s.op.traits)
    reached = _reached(graph, graph.heads, ((s.outputs, s.inputs) for s in steps))
    return tuple(reached[i] for i in graph.arg_values)


def constant_inputs(graph: Graph, steps: Sequence[GraphStep]) -> tuple[tuple[int, float], ...]:
    """Returns (argument position, constant) of the arguments that MXNet overwrites in them."""
    position = {value: n for n, value in enumerate(graph.arg_values)}
    constants = {}
    for step in steps:
        for name, constant in step.op.constant_inputs(step.params).items():
            number = position.get(step.inputs[step.names.index(name)])
            if number is not None:
                constants[number] = constant
    return tuple(sorted(constants.items()))


def differentiable_inputs(step: GraphStep) -> list[int]:
    auxiliary = step.node.aux_names
    return [k for k, name in enumerate(step.names) if name not in auxiliary]


# -- on a jaxpr ----------------------------------------------------------------------------------


def used_inputs(function: Function, first: Sequence[Any], *others: Any) -> tuple[bool, ...]:
    """Tells for every array in ``first`` whether a result of ``function(first, *others)`` uses it.
    Arrays are shapes and dtypes; the function is traced once, and nothing is compiled. A value that
    JAX knows to be zero (the derivative of a comparison, of argmax, of an index) stops a
    dependency; a mere multiplication by zero does not."""
    jaxpr = in_x64(jax.make_jaxpr(function))(first, *others)
    masks = [1 << k if k < len(first) else 0 for k in range(len(jaxpr.in_avals))]
    used = reduce(or_, _Dependencies().flatten(jaxpr, masks), 0)
    return tuple(bool(used >> k & 1) for k in range(len(first)))


def dependent_results(function: Function, *arrays: Raw) -> tuple[bool, ...]:
    """Tells for every result of ``function(*arrays)`` whether it uses an array (as above)."""
    jaxpr = in_x64(jax.make_jaxpr(function))(*arrays)
    return tuple(map(bool, _Dependencies().flatten(jaxpr, [1] * len(jaxpr.in_avals))))


class _Dependencies(Flattener[int]):
    """The inputs, as bit masks, that each value of a jaxpr depends on at most."""

    def constant(self, aval: Any, contents: Raw) -> int:
        return 0

    def equation(self, equation: Any, inputs: tuple[int, ...]) -> Sequence[int]:
        return [reduce(or_, inputs, 0)] * len(equation.outvars)
