"""Lowering: a graph as a pure JAX function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax

from ..ops.schema.attrs import Shape
from ._graph import Graph, GraphStep
from ._infer import inferred_from, resolved_params
from ._interpreter import BodyWrapper, StepRunner, evaluate
from ._passes import disabled_passes
from .reroll import RerollPlan, execute_plan, plan_for


def lower(
    graph: Graph, reroll: bool | None = None, backward_updates: Sequence[GraphStep] = ()
) -> Callable[..., tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """The graph as a pure function ``run(args, aux, key, train) -> (outputs, new_aux)``.

    ``args`` and ``aux`` are sequences in the graph's order. ``key`` is a JAX key array, or None if
    no operator draws random numbers in this mode; every node gets its own key. Auxiliary states
    that no operator updates are returned unchanged. ``reroll`` says whether repetitions become
    loops; by default they do unless that pass is disabled now. Convolutions run channels last
    where that pays, with the same exception. The function's ``wrap_body`` transforms each body of
    a loop, as ``jax.checkpoint`` does. ``backward_updates`` are operators that update shared states
    last (:func:`shared_state_updates`); nothing becomes a loop then.
    """
    channels_last = channels_last_allowed()
    may_reroll = "reroll" not in disabled_passes() if reroll is None else reroll
    may_reroll = may_reroll and not backward_updates

    def run(
        args: Sequence[Any],
        aux: Sequence[Any],
        key: Any = None,
        train: bool = False,
        wrap_body: BodyWrapper | None = None,
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        plan = _plan(graph, args, aux) if may_reroll else None
        if plan is not None:
            runner = StepRunner(key, train, resolved_params(graph, args, aux), channels_last)
            return execute_plan(graph, plan, args, aux, runner, wrap_body)
        values, new_aux = evaluate(
            graph,
            args,
            aux,
            key,
            train,
            channels_last=channels_last,
            backward_updates=backward_updates,
        )
        return tuple(values[i] for i in graph.heads), new_aux

    return run


def _plan(graph: Graph, args: Sequence[Any], aux: Sequence[Any]) -> RerollPlan | None:
    """The plan of a graph's loops for arguments and states of these shapes."""

    def shape_of(number: int) -> Shape:
        for numbers, arrays in ((graph.arg_values, args), (graph.aux_values, aux)):
            if number in numbers:
                return tuple(arrays[numbers.index(number)].shape)
        return inferred_from(graph, args, aux).values[number] or ()

    return plan_for(graph, shape_of)


def channels_last_allowed() -> bool:
    """True if steps may run channels last now: on CPUs, unless that pass is disabled. Compilers for
    accelerators choose layouts themselves."""
    return jax.default_backend() == "cpu" and "channels_last" not in disabled_passes()
