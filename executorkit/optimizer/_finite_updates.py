"""Updates that change nothing where a gradient is not finite: mixed precision skips such steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from ..calls.update_call import UpdateCall
from ..ndarray import NDArray
from ..program import UpdateFunction


def all_finite(grads: Sequence[Array]) -> Array:
    """True if all elements of all arrays are finite."""
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(grad)) for grad in grads]))


def choose(condition: Array, new: Any, old: Any) -> Any:
    """The pytree ``new`` if a condition holds, else ``old``."""
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), new, old)


@dataclass(frozen=True)
class FiniteUpdate:
    """An update that leaves weights and state where a gradient is not finite.

    Its state is that of ``update``, and an array (1,) in which it writes 1 if it has changed them,
    else 0. A ``program.UpdateFunction``.
    """

    update: UpdateFunction

    def __call__(
        self,
        weights: Sequence[Any],
        grads: Sequence[Any],
        state: Any,
        hyperparams: Any,
        key_data: Any,
    ) -> tuple[Sequence[Any], Any]:
        """The new weights and the new state."""
        inner, flag = state
        finite = all_finite(grads)
        new, new_inner = self.update(weights, grads, inner, hyperparams, key_data)
        old = tuple(weights), inner
        new_weights, new_inner = choose(finite, (tuple(new), new_inner), old)
        return new_weights, (new_inner, finite.astype(flag.dtype).reshape(1))


def finite_call(call: UpdateCall, flag: NDArray) -> UpdateCall:
    """The call of an update as a :class:`FiniteUpdate`, which writes in ``flag``."""
    return UpdateCall(
        FiniteUpdate(call.update), (call.state, flag), call.hyperparams, call.key_data,
        call.undo, call.age,
    )  # fmt: skip
