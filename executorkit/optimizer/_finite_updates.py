"""Updates that change nothing where a gradient is not finite: mixed precision skips such steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from ..calls.update_call import UpdateCall
from ..ndarray import NDArray
from ..program import UpdateFunction
from ._rule import State


def update_if_finite(
    update: UpdateFunction,
    weights: Sequence[Array],
    grads: Sequence[Array],
    state: State,
    hyperparams: Array,
    key_data: Array | None,
) -> tuple[Sequence[Array], State, Array]:
    """Returns new or unchanged weights and state, and whether all gradients are finite."""
    finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(grad)) for grad in grads]))
    new_weights, new_state = update(weights, grads, state, hyperparams, key_data)
    new, old = (tuple(new_weights), new_state), (tuple(weights), state)
    chosen = jax.tree.map(lambda x, y: jnp.where(finite, x, y), new, old)
    return *chosen, finite


@dataclass(frozen=True)
class FiniteUpdate:
    """An update that changes nothing where a gradient is not finite. Its state has the state of
    ``update``, and an array (1,): 1 after an update, else 0."""

    update: UpdateFunction

    def __call__(
        self,
        weights: Sequence[Array],
        grads: Sequence[Array],
        state: State,
        hyperparams: Array,
        key_data: Array | None,
    ) -> tuple[Sequence[Array], State]:
        inner, flag = state
        new_weights, inner, finite = update_if_finite(
            self.update, weights, grads, inner, hyperparams, key_data
        )
        return new_weights, (inner, finite.astype(flag.dtype).reshape(1))


def finite_call(call: UpdateCall, flag: NDArray) -> UpdateCall:
    update = FiniteUpdate(call.update)
    return UpdateCall(update, (call.state, flag), call.hyperparams, call.key_data, call.undo)
