"""From a graph to a pure JAX function: one loop over the steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax

from ..errors import MXNetError, explain
from ..ops import Params
from ..ops.schema.attrs import Shape
from ._graph import Graph, graph_of
from ._infer import infer, resolve_open_shapes
from ._interpreter import Observer, Values, run_step
from ._passes import disabled_passes
from .reroll.execute import BodyWrapper, execute_plan
from .reroll.fold import fused_plan_of, plan_of
from .reroll.fuse import fusion_pays
from .reroll.ir import Plan


def lower(
    graph: Graph, reroll: bool | None = None
) -> Callable[..., tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """The graph as a pure function ``run(args, aux, key, train) -> (outputs, new_aux)``.

    ``args`` and ``aux`` are sequences in the graph's order. ``key`` is a JAX key array, or None if
    no operator draws random numbers in this mode; every node gets its own key. Auxiliary states
    that no operator updates come back as they went in. ``reroll`` says whether repetitions become
    loops; by default they do unless that pass is switched off now. Convolutions run channels last
    where that pays, with the same exception. ``around`` makes what is called for one turn of a loop
    of the function that computes it (``jax.checkpoint``).
    """
    last = channels_last_allowed()
    rolled = "reroll" not in disabled_passes() if reroll is None else reroll

    def run(
        args: Sequence[Any],
        aux: Sequence[Any],
        key: Any = None,
        train: bool = False,
        wrap_body: BodyWrapper | None = None,
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        plan = _plan(graph, args, aux) if rolled else None
        if plan is not None:
            filled = resolved_params(graph, args, aux) if graph.has_open_shapes else {}
            return execute_plan(graph, plan, args, aux, key, train, filled, last, wrap_body)
        values, new_aux = evaluate(graph, args, aux, key, train, channels_last=last)
        return tuple(values[i] for i in graph.heads), new_aux

    return run


def _plan(graph: Graph, args: Sequence[Any], aux: Sequence[Any]) -> Plan | None:
    """The plan of a graph's loops for arguments and states of these shapes."""
    plan = plan_of(graph)
    joined = fused_plan_of(graph)
    if joined is None:
        return plan
    shapes = {
        number: tuple(array.shape)
        for numbers, arrays in ((graph.arg_values, args), (graph.aux_values, aux))
        for number, array in zip(numbers, arrays, strict=True)
    }

    def shape(number: int) -> Shape:
        return shapes[number] if number in shapes else _inferred(graph, args, aux).values[number]

    return joined if fusion_pays(joined, shape) else plan


def channels_last_allowed() -> bool:
    """Whether what is lowered now may run channels last: on CPUs, unless that pass is switched off.
    Compilers for accelerators choose layouts themselves."""
    return jax.default_backend() == "cpu" and "channels_last" not in disabled_passes()


def evaluate(
    graph: Graph,
    args: Sequence[Any],
    aux: Sequence[Any],
    key: Any,
    train: bool,
    observe: Observer | None = None,
    channels_last: bool = False,
) -> tuple[Values, tuple[Any, ...]]:
    """All values of the graph, by number, and the new auxiliary states.

    ``channels_last`` lets steps run in that form; ``observe`` then sees their inputs in it.

    A state that several operators update passes through them in topological order. (MXNet updates
    in the order in which it goes back; that differs where one of them depends on another.)
    """
    values = Values(graph.n_values)
    for i, array in zip(graph.arg_values, args, strict=True):
        values[i] = array
    for i, array in zip(graph.aux_values, aux, strict=True):
        values[i] = array
    new_aux = list(aux)
    filled = resolved_params(graph, args, aux) if graph.has_open_shapes else {}
    for step in graph.steps:
        states = {position: new_aux[number] for position, _, number in step.aux_writes}
        results = run_step(
            step, values, states, key, train, filled.get(step.index), channels_last, observe
        )
        for _, result, number in step.aux_writes:
            new_aux[number] = results[result]
    return values, tuple(new_aux)


def resolved_params(graph: Graph, args: Iterable[Any], aux: Iterable[Any]) -> Mapping[int, Params]:
    return resolve_open_shapes(graph, _inferred(graph, args, aux).values)


def _inferred(graph: Graph, args: Iterable[Any], aux: Iterable[Any]) -> Any:
    arrays = dict(zip(graph.arg_names, args, strict=True))
    arrays.update(zip(graph.aux_names, aux, strict=True))
    return infer(graph, {name: array.shape for name, array in arrays.items()})


def to_jax(symbol: Any) -> Callable[..., tuple[tuple[Any, ...], dict[str, Any]]]:
    """A symbol as a pure function of dictionaries, for jit, grad, vmap and shard_map of your own.

    ``f(args, aux={}, key=None, train=False) -> (outputs, new_aux)``: ``args`` and ``aux`` map
    names to arrays; ``outputs`` is a tuple in the order of ``list_outputs``, ``new_aux`` maps
    every auxiliary state to its new value. 64-bit dtypes are kept only if your own tracing runs
    with 64-bit types enabled.

    Derivatives are taken backwards, again and again if need be (``grad``, ``vjp``, ``jacrev``).
    Forwards (``jvp``, ``jacfwd``, ``hessian``) works only without the operators that have a rule
    of their own for backward, such as Convolution, BatchNorm, SoftmaxOutput and rolled up
    recurrences: JAX raises TypeError.
    """
    graph = graph_of(symbol.heads)
    run = lower(graph)

    def pick(arrays: Mapping[str, Any], names: Sequence[str], what: str) -> list[Any]:
        missing = [n for n in names if n not in arrays]
        if missing:
            raise MXNetError(explain("to_jax function", f"missing {what}: {', '.join(missing)}"))
        return [arrays[n] for n in names]

    def function(
        args: Mapping[str, Any],
        aux: Mapping[str, Any] | None = None,
        key: Any = None,
        train: bool = False,
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        outputs, new_aux = run(
            pick(args, graph.arg_names, "arguments"),
            pick(aux or {}, graph.aux_names, "auxiliary states"),
            key,
            train,
        )
        return outputs, dict(zip(graph.aux_names, new_aux, strict=True))

    return function
