"""One step of a graph, run: with a key of its own, under its node's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from ..errors import MXNetError, explain
from ..ops import Params
from ..ops._layouts import LayoutRewrite
from ._graph import GraphStep
from ._values import Values

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
