"""Which values, steps and outputs of a graph take part in the gradients that are wanted.

Which head gradients can matter, read off the gradient's own jaxpr.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.extend import core

from ..lowering import Graph
from ..lowering._graph import GraphStep


def active_values(graph: Graph, argnums: Sequence[int]) -> list[bool]:
    """For every value, whether it depends on an argument whose gradient is wanted."""
    active_values = [False] * graph.n_values
    for i in argnums:
        active_values[graph.arg_values[i]] = True
    for step in graph.steps:
        if any(active_values[i] for i in step.inputs):
            for k in range(step.n_outputs):
                active_values[step.first_output + k] = True
    return active_values


def on_active_path(step: GraphStep, active_values: Sequence[bool]) -> bool:
    """Whether MXNet runs the step's backward: only then do its auxiliary states change."""
    return active_values[step.first_output]


def may_need_head_gradient(graph: Graph, active_values: Sequence[bool]) -> tuple[bool, ...]:
    """For every output, whether it depends on a wanted argument by a path on which no operator is
    known to ignore the gradient that comes to it."""
    flows = [False] * graph.n_values
    for i in graph.arg_values:
        flows[i] = active_values[i]
    for step in graph.steps:
        open_path = any(flows[i] for i in step.inputs)
        if open_path and not step.op.loss(step.params):
            for k in range(step.n_outputs):
                flows[step.first_output + k] = True
    return tuple(flows[i] for i in graph.heads)


def constant_inputs(graph: Graph, live: Sequence[GraphStep]) -> tuple[tuple[int, float], ...]:
    """(argument position, constant) of the arguments that MXNet overwrites when it runs."""
    position = {value: n for n, value in enumerate(graph.arg_values)}
    found = {}
    for step in live:
        for name, constant in step.op.constant_inputs(step.params).items():
            number = position.get(step.inputs[step.names.index(name)])
            if number is not None:
                found[number] = constant
    return tuple(sorted(found.items()))


def differentiable_inputs(step: GraphStep) -> list[int]:
    """Positions of a step's inputs that are not auxiliary states."""
    auxiliary = step.node.aux_names
    return [k for k, name in enumerate(step.names) if name not in auxiliary]


def used_inputs(function: Callable[..., Any], first: Sequence[Any], *rest: Any) -> tuple[bool, ...]:
    """For every array in ``first``, whether any result of ``function(first, *rest)`` depends on it.

    Arrays are shapes and dtypes; the function is traced once, and nothing is compiled. What JAX
    knows to be zero (the derivative of a comparison, of argmax, of an index) stops a dependency;
    what is merely multiplied by zero does not.
    """
    with jax.enable_x64(True):
        jaxpr = jax.make_jaxpr(function)(first, *rest).jaxpr
    masks = [1 << k if k < len(first) else 0 for k in range(len(jaxpr.invars))]
    reached = 0
    for mask in _flow(jaxpr, masks):
        reached |= mask
    return tuple(bool(reached >> k & 1) for k in range(len(first)))


def dependent_results(function: Callable[..., Any], *arrays: Any) -> tuple[bool, ...]:
    """For every result of ``function(*arrays)``, whether it depends on any of the arrays.

    As :func:`used_inputs`: shapes and dtypes are enough, and nothing is compiled.
    """
    with jax.enable_x64(True):
        jaxpr = jax.make_jaxpr(function)(*arrays).jaxpr
    return tuple(bool(mask) for mask in _flow(jaxpr, [1] * len(jaxpr.invars)))


def _flow(jaxpr: Any, masks: Sequence[int]) -> list[int]:
    """Which inputs (as bit masks) each output of a jaxpr depends on, at most."""
    found = dict(zip(jaxpr.invars, masks, strict=True))

    def read(atom: Any) -> int:
        return 0 if isinstance(atom, core.Literal) else found.get(atom, 0)

    for equation in jaxpr.eqns:
        incoming = [read(x) for x in equation.invars]
        if not any(incoming):
            continue
        if equation.primitive.name == "jit":
            outgoing = _flow(equation.params["jaxpr"].jaxpr, incoming)
        else:
            union = 0
            for mask in incoming:
                union |= mask
            outgoing = [union] * len(equation.outvars)
        found.update(zip(equation.outvars, outgoing, strict=True))
    return [read(x) for x in jaxpr.outvars]
