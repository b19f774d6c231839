"""One step of a graph, called: with a key of its own, under its node's name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from ..errors import MXNetError, explain
from ..ops import Params
from ._graph import Step


def node_key(step: Step, key: Any, train: bool) -> Any:
    """The step's own PRNG key, or None if it draws nothing in this mode."""
    if not step.op.draws(step.params, train):
        return None
    return jax.random.fold_in(required(step, key), step.random_number)


def required(step: Step, key: Any) -> Any:
    """The run's key, which must be there for a step that draws."""
    if key is None:
        raise MXNetError(
            explain(where(step), "it draws random numbers", hint="pass a key: jax.random.key(0)")
        )
    return key


def call(
    step: Step, inputs: Sequence[Any], own_key: Any, train: bool, filled: Params | None = None
) -> tuple[Any, ...]:
    """The results of a step: its outputs, then its new auxiliary states.

    ``filled`` are its attributes with inferred ones filled in. An error gets a note with node,
    operator, attributes and input shapes.
    """
    op = step.op
    try:
        with jax.named_scope(scope(step)):
            return op.apply(filled or step.params, inputs, key=own_key, train=train)
    except Exception as error:
        shapes = ", ".join(
            f"{name} {getattr(x, 'dtype', '?')}{tuple(getattr(x, 'shape', ()))}"
            for name, x in zip(step.names, inputs, strict=True)
        )
        attrs = ", ".join(f"{k}={v!r}" for k, v in step.params.items())
        error.add_note(f"in {where(step)}: {shapes}; {attrs}")
        raise


def scope(step: Step) -> str:
    """The name under which a step's computation shows in the compiled program."""
    return step.node.name or step.op.name


def where(step: Step) -> str:
    return f"node {step.node.name!r} ({step.op.name})"
