"""Interpreter: runs the steps of a graph in topological order, each under its node's name.

Values may be channels last between steps that compute faster in that layout.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .._support.annotations import Raw
from ..errors import MXNetError
from ..ops import Params
from ..ops.schema.attrs import Shape
from ..ops.schema.channels_last import LayoutRewrite
from ..ops.tracing import read_by_convolution
from ._graph import Graph, GraphStep, written_states
from ._infer import resolved_params

#: A PRNG key; None where nothing is drawn.
Key = jax.Array | None
#: ``observe(step, inputs)`` sees every step and may replace its inputs.
Observer = Callable[[GraphStep, list[jax.Array]], list[jax.Array]]
#: Transforms the function that computes one iteration or segment, as ``jax.checkpoint`` does.
BodyWrapper = Callable[[Callable[..., Any]], Callable[..., Any]]


class ValueStore:
    """Arrays by number, in the graph's layout; channels-last arrays change at the first read."""

    def __init__(self, count: int) -> None:
        self._arrays: list[Raw] = [None] * count
        self._channels_last: dict[int, jax.Array] = {}

    def __iter__(self) -> Iterator[jax.Array]:
        return (self[number] for number in range(len(self._arrays)))

    def __getitem__(self, number: int) -> Raw:
        if self._arrays[number] is None and number in self._channels_last:
            array = self._channels_last[number]
            axes = (0, array.ndim - 1, *range(1, array.ndim - 1))
            self._arrays[number] = lax.transpose(array, axes)
        return self._arrays[number]

    def __setitem__(self, number: int, array: jax.Array) -> None:
        self._arrays[number] = array

    def update(self, arrays: Iterable[tuple[int, jax.Array]]) -> None:
        for number, array in arrays:
            self[number] = array

    def export(self, number: int) -> dict[bool, jax.Array]:
        """Returns the value in its present layout, keyed by whether that is channels last."""
        if number in self._channels_last:
            return {True: self._channels_last[number]}
        return {False: self[number]}

    def adopt(self, number: int, exported: dict[bool, jax.Array]) -> None:
        ((is_channels_last, array),) = exported.items()
        (self._channels_last if is_channels_last else self._arrays)[number] = array

    def channels_last(self, number: int) -> jax.Array:
        if number not in self._channels_last:
            array = self[number]
            self._channels_last[number] = lax.transpose(array, (0, *range(2, array.ndim), 1))
        return self._channels_last[number]

    def shape(self, number: int) -> Shape:
        if self._arrays[number] is None and number in self._channels_last:
            n, *spatial, c = self._channels_last[number].shape
            return (n, c, *spatial)
        return tuple(self[number].shape)

    def layout_rewrite(self, step: GraphStep, params: Params) -> LayoutRewrite | None:
        """Returns the channels-last form of a step where it pays."""
        if step.op.layout_rule is None:
            return None
        rewrite = step.op.layout_rule(params, [self.shape(i) for i in step.inputs])
        if rewrite and (
            rewrite.profitable or any(step.inputs[k] in self._channels_last for k in rewrite.inputs)
        ):
            return rewrite
        return None


def evaluate(
    graph: Graph,
    args: Sequence[jax.Array],
    aux: Sequence[jax.Array],
    key: Key,
    train: bool,
    observe: Observer | None = None,
    channels_last: bool = False,
    backward_updates: Sequence[GraphStep] = (),
) -> tuple[ValueStore, tuple[jax.Array, ...]]:
    """Computes all values of the graph, by number, and the new auxiliary states. ``channels_last``
    lets steps run in that layout; ``observe`` then sees their inputs in it. A state that several
    operators update passes through them in topological order, then through ``backward_updates``."""
    values = ValueStore(graph.n_values)
    values.update(graph.numbered(args, aux))
    states = list(aux)
    resolved = resolved_params(graph, args, aux)
    run = StepRunner(key, train, resolved, channels_last, observe, graph.convolved)
    walk(graph.steps, partial(run, values), states, written_states(backward_updates))
    walk(backward_updates, partial(run.again, values), states)
    return values, tuple(states)


def walk(
    steps: Iterable[GraphStep],
    run: Callable[[GraphStep, dict[int, jax.Array]], Sequence[jax.Array]],
    states: list[jax.Array] | dict[int, jax.Array],
    late: Collection[int] = (),
) -> None:
    """Runs steps in order, and passes the auxiliary states (by number) through them. ``run(step,
    read)`` stores the outputs of a step and returns all of its results; ``read`` has the present
    states by position among its inputs. Steps in ``late`` do not change states."""
    for step in steps:
        results = run(step, {write.position: states[write.state] for write in step.aux_writes})
        for write in step.aux_writes:
            if write.state not in late:
                states[write.state] = results[write.result]


@dataclass(frozen=True, slots=True)
class StepRunner:
    """One run of steps; ``resolved`` are attributes of :func:`resolved_params`."""

    key: Key
    train: bool
    resolved: Mapping[int, Params]
    channels_last: bool = False
    observe: Observer | None = None
    #: Values that convolutions read.
    convolved: frozenset[int] = frozenset()

    def __call__(
        self, values: ValueStore, step: GraphStep, states: Mapping[int, jax.Array]
    ) -> tuple[jax.Array, ...]:
        """Runs a step, stores its outputs, returns all results; ``states`` by input position."""
        results, rewrite = self._results(values, step, states, self.observe)
        for k, number in enumerate(step.outputs):
            values.adopt(number, {rewrite is not None and k < rewrite.outputs: results[k]})
        return results

    def again(
        self, values: ValueStore, step: GraphStep, states: Mapping[int, jax.Array]
    ) -> tuple[jax.Array, ...]:
        return self._results(values, step, states, None)[0]

    def _results(
        self,
        values: ValueStore,
        step: GraphStep,
        states: Mapping[int, jax.Array],
        observe: Observer | None,
    ) -> tuple[tuple[jax.Array, ...], LayoutRewrite | None]:
        resolved = self.resolved.get(step.index)
        params = resolved or step.params
        rewrite = values.layout_rewrite(step, params) if self.channels_last else None
        rewritten = rewrite.inputs if rewrite else ()
        with jax.named_scope(scope_name(step)):
            inputs = [
                values.channels_last(i)
                if k in rewritten
                else states[k]
                if k in states
                else values[i]
                for k, i in enumerate(step.inputs)
            ]
        if observe is not None:
            inputs = observe(step, inputs)
        own_key = node_key(step, self.key, self.train)
        token = read_by_convolution.set(step.first_output in self.convolved)
        try:
            return apply_step(step, inputs, own_key, self.train, resolved, rewrite), rewrite
        finally:
            read_by_convolution.reset(token)


def node_key(step: GraphStep, key: Key, train: bool) -> Key:
    """Returns the step's own PRNG key, or None if it draws nothing in this mode. ``key`` is one for
    the run, or has a row of key data for each of the graph's random operators."""
    if not step.op.uses_rng(step.params, train):
        return None
    return node_keys(require_key(step, key), step.random_number)


def node_keys(key: jax.Array, random_number: jax.Array | np.ndarray | int) -> jax.Array:
    if jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        return jax.random.fold_in(key, random_number)
    return jax.random.wrap_key_data(key[random_number], impl="threefry2x32")


def require_key(step: GraphStep, key: Key) -> jax.Array:
    if key is None:
        problem = "it draws random numbers"
        raise MXNetError(step_label(step), problem, hint="pass a key: jax.random.key(0)")
    return key


def apply_step(
    step: GraphStep,
    inputs: Sequence[jax.Array],
    key: Key,
    train: bool,
    resolved: Params | None = None,
    rewrite: LayoutRewrite | None = None,
) -> tuple[jax.Array, ...]:
    """Returns the results of a step: its outputs, then its new auxiliary states. ``key`` is the
    step's own, ``rewrite`` its form for channels-last inputs. An error gets a note with node,
    operator, attributes and input shapes."""
    op = step.op
    params, function = resolved or step.params, None
    if rewrite:
        params, function = rewrite.params, rewrite.function
    try:
        with jax.named_scope(scope_name(step)):
            return op.apply(params, inputs, key=key, train=train, function=function)
    except Exception as error:
        shapes = ", ".join(
            f"{name} {getattr(x, 'dtype', '?')}{tuple(getattr(x, 'shape', ()))}"
            for name, x in zip(step.names, inputs, strict=True)
        )
        attrs = ", ".join(f"{k}={v!r}" for k, v in params.items())
        layout = ", run channels last" if rewrite else ""
        error.add_note(f"in {step_label(step)}{layout}: {shapes}; {attrs}")
        raise


def scope_name(step: GraphStep) -> str:
    return step.node.name or step.op.name


def step_label(step: GraphStep) -> str:
    return f"node {step.node.name!r} ({step.op.name})"
