"""The values of a graph while it is traced, some of them held channels last.

One step of a graph, run: with a key of its own, under its node's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ..errors import MXNetError, explain
from ..ops import Params
from ..ops.schema.attrs import Shape
from ..ops.schema.channels_last import LayoutRewrite
from ._graph import GraphStep


class Values:
    """Arrays by number, as they are in the graph: an array that is held channels last is moved back
    when someone asks for it."""

    def __init__(self, count: int) -> None:
        self._arrays: list[Any] = [None] * count
        self._last: dict[int, Any] = {}

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(len(self._arrays)))

    def __getitem__(self, number: int) -> Any:
        if self._arrays[number] is None and number in self._last:
            self._arrays[number] = jnp.moveaxis(self._last[number], -1, 1)
        return self._arrays[number]

    def __setitem__(self, number: int, array: Any) -> None:
        self._arrays[number] = array

    def export(self, number: int) -> dict[bool, Any]:
        """The value in the form that it is held in, channels last or not, for :meth:`take`."""
        return {True: self._last[number]} if number in self._last else {False: self[number]}

    def take(self, number: int, export: dict[bool, Any]) -> None:
        """The value is what another one of these has handed over."""
        ((last, array),) = export.items()
        (self._last if last else self._arrays)[number] = array

    def put_channels_last(self, number: int, array: Any) -> None:
        """The value is what ``array`` is with its last axis as axis 1."""
        self._last[number] = array

    def last(self, number: int) -> Any:
        """The value with its channels moved from axis 1 to the end."""
        if number not in self._last:
            self._last[number] = jnp.moveaxis(self[number], 1, -1)
        return self._last[number]

    def shape(self, number: int) -> Shape:
        if self._arrays[number] is None and number in self._last:
            n, *spatial, c = self._last[number].shape
            return (n, c, *spatial)
        return tuple(self[number].shape)

    def moved(self, step: GraphStep, params: Params) -> LayoutRewrite | None:
        """The form in which a step runs on channels-last data, if that is better here: if it is
        worth moving its data for, or some of it has been moved already."""
        if step.op.last is None:
            return None
        form = step.op.last(params, [self.shape(i) for i in step.inputs])
        if form and (form.profitable or any(step.inputs[k] in self._last for k in form.inputs)):
            return form
        return None


#: ``observe(step, inputs)`` sees every step and may replace its inputs.
Observer = Callable[[GraphStep, list[Any]], list[Any]]


def run_step(
    step: GraphStep,
    values: Values,
    states: Mapping[int, Any],
    key: Any,
    train: bool,
    filled: Params | None,
    channels_last: bool,
    observe: Observer | None = None,
) -> tuple[Any, ...]:
    """Runs a step on the values that it reads, stores what it makes, and returns all results.

    ``states`` are the auxiliary states as they are now, by position among the inputs.
    ``channels_last`` lets the step choose that form.
    """
    moved = values.moved(step, filled or step.params) if channels_last else None
    to_move = moved.inputs if moved else ()
    with jax.named_scope(scope(step)):
        inputs = [
            values.last(i) if k in to_move else states[k] if k in states else values[i]
            for k, i in enumerate(step.inputs)
        ]
    if observe is not None:
        inputs = observe(step, inputs)
    results = call(step, inputs, node_key(step, key, train), train, filled, moved)
    for k in range(step.n_outputs):
        if moved and k < moved.outputs:
            values.put_channels_last(step.first_output + k, results[k])
        else:
            values[step.first_output + k] = results[k]
    return results


def node_key(step: GraphStep, key: Any, train: bool) -> Any:
    """The step's own PRNG key, or None if it draws nothing in this mode."""
    if not step.op.uses_rng(step.params, train):
        return None
    return jax.random.fold_in(required(step, key), step.random_number)


def required(step: GraphStep, key: Any) -> Any:
    """The run's key, which must be there for a step that draws."""
    if key is None:
        raise MXNetError(
            explain(where(step), "it draws random numbers", hint="pass a key: jax.random.key(0)")
        )
    return key


def call(
    step: GraphStep,
    inputs: Sequence[Any],
    own_key: Any,
    train: bool,
    filled: Params | None = None,
    moved: LayoutRewrite | None = None,
) -> tuple[Any, ...]:
    """The results of a step: its outputs, then its new auxiliary states.

    ``filled`` are its attributes with inferred ones filled in, ``moved`` is its form for inputs
    that are channels last. An error gets a note with node, operator, attributes and input shapes.
    """
    op = step.op
    params, function = (moved.params, moved.function) if moved else (filled or step.params, None)
    try:
        with jax.named_scope(scope(step)):
            return op.apply(params, inputs, key=own_key, train=train, function=function)
    except Exception as error:
        shapes = ", ".join(
            f"{name} {getattr(x, 'dtype', '?')}{tuple(getattr(x, 'shape', ()))}"
            for name, x in zip(step.names, inputs, strict=True)
        )
        attrs = ", ".join(f"{k}={v!r}" for k, v in params.items())
        form = ", run channels last" if moved else ""
        error.add_note(f"in {where(step)}{form}: {shapes}; {attrs}")
        raise


def scope(step: GraphStep) -> str:
    """The name under which a step's computation shows in the compiled program."""
    return step.node.name or step.op.name


def where(step: GraphStep) -> str:
    return f"node {step.node.name!r} ({step.op.name})"
