"""Lowering: a graph as a pure JAX function, and the order in which its backward updates states."""

from collections.abc import Callable, Iterator, Sequence

import jax

from ..ops.schema.attrs import Shape
from ..ops.schema.traits import CALLS_PYTHON
from ._graph import Graph, GraphStep
from ._infer import inferred_from, resolved_params
from ._interpreter import BodyWrapper, Key, StepRunner, evaluate
from ._passes import disabled_passes
from .reroll import RerollPlan, execute_plan, plan_for


def lower(
    graph: Graph, reroll: bool | None = None, backward_updates: Sequence[GraphStep] = ()
) -> Callable[..., tuple[tuple[jax.Array, ...], tuple[jax.Array, ...]]]:
    """Returns the graph as a pure function ``run(args, aux, key, train) -> (outputs, new_aux)``.
    ``args`` and ``aux`` are sequences in the graph's order; ``key`` is a JAX key array, or None if
    no operator draws random numbers in this mode. ``reroll`` turns repetitions into loops; by
    default unless that pass is disabled. Convolutions run channels last where that pays. The
    function's ``wrap_body`` transforms each body of a loop, as ``jax.checkpoint`` does. With
    ``backward_updates`` (:func:`shared_state_updates`) nothing becomes a loop."""
    channels_last = channels_last_allowed()
    may_reroll = "reroll" not in disabled_passes() if reroll is None else reroll
    may_reroll = may_reroll and not backward_updates

    def run(
        args: Sequence[jax.Array],
        aux: Sequence[jax.Array],
        key: Key = None,
        train: bool = False,
        wrap_body: BodyWrapper | None = None,
    ) -> tuple[tuple[jax.Array, ...], tuple[jax.Array, ...]]:
        plan = _plan(graph, args, aux) if may_reroll else None
        if plan is not None:
            runner = StepRunner(key, train, resolved_params(graph, args, aux), channels_last)
            return execute_plan(graph, plan, args, aux, runner, wrap_body)
        values, new_aux = evaluate(
            graph, args, aux, key, train, channels_last=channels_last,
            backward_updates=backward_updates,
        )  # fmt: skip
        return tuple(values[i] for i in graph.heads), new_aux

    return run


def _plan(graph: Graph, args: Sequence[jax.Array], aux: Sequence[jax.Array]) -> RerollPlan | None:
    def shape_of(number: int) -> Shape:
        for numbers, arrays in ((graph.arg_values, args), (graph.aux_values, aux)):
            if number in numbers:
                return tuple(arrays[numbers.index(number)].shape)
        return inferred_from(graph, args, aux).values[number] or ()

    return plan_for(graph, shape_of)


def channels_last_allowed() -> bool:
    """Returns whether steps may run channels last. Accelerators' compilers choose layouts."""
    return jax.default_backend() == "cpu" and "channels_last" not in disabled_passes()


def shared_state_updates(graph: Graph, argnums: Sequence[int]) -> tuple[GraphStep, ...]:
    """Returns the operators that update in backward a state that another one updates too, in the
    order of MXNet's backward for gradients of these arguments; none in nearly all graphs. MXNet
    visits its gradient graph depth first: an operator's backward follows the backwards of its
    readers, later readers first. Forward reads all states unchanged."""
    writers: dict[int, list[GraphStep]] = {}
    for step in graph.steps:
        for write in step.aux_writes:
            writers.setdefault(write.state, []).append(step)
    sharing = {
        step.index
        for steps in writers.values()
        if len(steps) > 1 and not any(CALLS_PYTHON in s.op.traits for s in steps)
        for step in steps
    }
    if not sharing:
        return ()
    return tuple(s for s in _backward_order(graph, argnums) if s.index in sharing)


def _backward_order(graph: Graph, argnums: Sequence[int]) -> Iterator[GraphStep]:
    readers: dict[int, list[GraphStep]] = {}
    for step in reversed(graph.steps):
        states = {write.position for write in step.aux_writes}
        for k, value in enumerate(step.inputs):
            if k not in states:
                readers.setdefault(value, []).append(step)

    def above(step: GraphStep) -> Iterator[GraphStep]:
        if not step.op.loss(step.params):
            for number in step.outputs:
                yield from readers.get(number, ())

    visited: set[int] = set()
    for i in argnums:
        pending = [iter(readers.get(graph.arg_values[i], ()))]
        path: list[GraphStep] = []
        while pending:
            step = next(pending[-1], None)
            if step is None:
                pending.pop()
                if path:
                    yield path.pop()
            elif step.index not in visited:
                visited.add(step.index)
                path.append(step)
                pending.append(above(step))
