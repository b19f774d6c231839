"""Optax transformations as updates of a training step, with scaling of losses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax

from .._support.annotations import Raw, Tree
from ..errors import StepError
from ..optimizer import OptaxUpdate, is_transformation, update_if_finite

Arrays = Sequence[Any]


@dataclass(frozen=True)
class LossScale:
    """A factor of losses, so that half precision gradients do not vanish.

    Gradients are divided by it in the type of the weights. A step with a gradient that is not
    finite changes no parameter and halves the factor; ``period`` good steps double it (None:
    never). ``initial`` is the first factor, a power of two.

    Source: Micikevicius et al., Mixed Precision Training, 2018.
    """

    initial: float = 2.0**15
    period: int | None = 2000


@dataclass(frozen=True)
class LossScaledUpdate:
    update: OptaxUpdate
    scale: LossScale

    def init(self, weights: Arrays) -> Tree:
        first = jnp.asarray(self.scale.initial, jnp.float32)
        return first, jnp.asarray(0, jnp.int32), self.update.init(weights)

    @property
    def names(self) -> tuple[str, ...]:
        return self.update.names

    def loss_scale(self, state: Tree) -> jax.Array:
        return state[0]

    def __call__(
        self, weights: Arrays, grads: Arrays, state: Tree, hyperparams: Raw, key_data: Raw
    ) -> tuple[Arrays, Tree]:
        scale, good, inner = state
        grads = [(g / scale.astype(g.dtype)).astype(g.dtype) for g in grads]
        new, inner, finite = update_if_finite(
            self.update, weights, grads, inner, hyperparams, key_data
        )
        good = jnp.where(finite, good + 1, 0).astype(jnp.int32)
        if self.scale.period is not None:
            due = good >= self.scale.period
            scale = jnp.where(due, scale * 2, scale)
            good = jnp.where(due, 0, good).astype(jnp.int32)
        scale = jnp.where(finite, scale, jnp.maximum(scale / 2, 1.0)).astype(jnp.float32)
        return new, (scale, good, inner)


def build_transformation(
    optimizer: Any, clip_global_norm: float | None, accumulate: int
) -> optax.GradientTransformation:
    if not is_transformation(optimizer):
        raise StepError(
            "Step: optimizer",
            f"a {type(optimizer).__name__}, expected an optax.GradientTransformation, an "
            "Optimizer or the name of one",
            hint="optax.adam(1e-3)",
        )
    if clip_global_norm is not None:
        optimizer = optax.chain(optax.clip_by_global_norm(clip_global_norm), optimizer)
    if accumulate > 1:
        optimizer = optax.MultiSteps(optimizer, accumulate).gradient_transformation()
    return optimizer


def reject_options(**options: object) -> None:
    named = [name for name, is_set in options.items() if is_set]
    if named:
        problem = f"{', '.join(named)} cannot be combined with MXNet's optimizers"
        hint = "optimizer.to_optax(names), or the optimizer's own rescale_grad"
        raise StepError("Step", problem, hint=hint)
