"""Optax transformations as updates of a training step, with scaling of losses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax

Arrays = Sequence[Any]


@dataclass(frozen=True)
class OptaxUpdate:
    """Updates by an optax transformation, which sees a dict of parameters by name.

    names
        the parameters, in the order of the weights.
    rescale
        gradients are multiplied by it first.
    """

    transformation: optax.GradientTransformation
    names: tuple[str, ...]
    rescale: float = 1.0

    def init(self, weights: Arrays) -> Any:
        """The state before the first step."""
        with jax.enable_x64(_needs_x64(weights)):
            return self.transformation.init(dict(zip(self.names, weights, strict=True)))

    def __call__(
        self, weights: Arrays, grads: Arrays, state: Any, hyperparams: Any, key_data: Any
    ) -> tuple[Arrays, Any]:
        params = dict(zip(self.names, weights, strict=True))
        # Schedules and counts are 32-bit numbers in optax unless the parameters are wider.
        with jax.enable_x64(_needs_x64(weights)):
            if self.rescale != 1.0:
                grads = [g * self.rescale for g in grads]
            updates, new_state = self.transformation.update(
                dict(zip(self.names, grads, strict=True)), state, params
            )
            new: Any = optax.apply_updates(params, updates)
            new_state = jax.tree.map(lambda x, old: x.astype(old.dtype), new_state, state)
        return tuple(new[n] for n in self.names), new_state


def _needs_x64(weights: Arrays) -> bool:
    return any(jnp.dtype(w.dtype).itemsize == 8 for w in weights)


@dataclass(frozen=True)
class LossScale:
    """Losses are multiplied by a number, so that half precision gradients do not vanish.

    Gradients are divided by it in the type of the weights. Where one of them is not finite, the
    step changes no parameter and the number is halved; after ``period`` good steps it is doubled.

    initial
        the first number, a power of two.
    period
        good steps until it is doubled; None keeps it as it is, but for halving.

    Source: Micikevicius et al., Mixed Precision Training, 2018.
    """

    initial: float = 2.0**15
    period: int | None = 2000


@dataclass(frozen=True)
class LossScaledUpdate:
    """An update by gradients of scaled losses; the state has the scale and the good steps."""

    update: OptaxUpdate
    scale: LossScale

    def init(self, weights: Arrays) -> Any:
        """The state before the first step."""
        first = jnp.asarray(self.scale.initial, jnp.float32)
        return first, jnp.asarray(0, jnp.int32), self.update.init(weights)

    def loss_scale(self, state: Any) -> jax.Array:
        """The number that losses of this step are multiplied by."""
        return state[0]

    def __call__(
        self, weights: Arrays, grads: Arrays, state: Any, hyperparams: Any, key_data: Any
    ) -> tuple[Arrays, Any]:
        scale, good, inner = state
        grads = [(g / scale.astype(g.dtype)).astype(g.dtype) for g in grads]
        finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(g)) for g in grads]))
        new, new_inner = self.update(weights, grads, inner, hyperparams, key_data)
        new, new_inner = jax.tree.map(
            lambda x, old: jnp.where(finite, x, old),
            (tuple(new), new_inner),
            (tuple(weights), inner),
        )
        good = jnp.where(finite, good + 1, 0).astype(jnp.int32)
        if self.scale.period is not None:
            due = good >= self.scale.period
            scale = jnp.where(due, scale * 2, scale)
            good = jnp.where(due, 0, good).astype(jnp.int32)
        scale = jnp.where(finite, scale, jnp.maximum(scale / 2, 1.0)).astype(jnp.float32)
        return new, (scale, good, new_inner)
