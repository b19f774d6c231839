"""Mixed precision: rules for half precision weights, and updates that change nothing where a
gradient is not finite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from ..program import UpdateFunction
from ._rule import Rule, State


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


@dataclass(frozen=True)
class MasterWeightRule(Rule):
    """A rule applied to the float32 master of a half precision weight, which is the master rounded.
    The state is (master, state of the rule), or the other way round with ``master_last``."""

    rule: Rule
    master_last: bool = False

    @property
    def uses_rng(self) -> bool:
        return self.rule.uses_rng

    def __call__(self, weight, grad, state, hyperparams, key=None):
        inner, master = state if self.master_last else (state[1], state[0])
        master, inner = self.rule(master, grad.astype(master.dtype), inner, hyperparams, key)
        state = (inner, master) if self.master_last else (master, inner)
        return master.astype(weight.dtype), state


@dataclass(frozen=True)
class Float32Rule(Rule):
    """A rule applied to a half precision weight without a master. The step is computed in float32
    and rounded once, so that constants such as 1e-8 do not become 0 (in MXNet they do)."""

    rule: Rule

    @property
    def uses_rng(self) -> bool:
        return self.rule.uses_rng

    def __call__(self, weight, grad, state, hyperparams, key=None):
        wide, g, inner = jax.tree.map(lambda x: x.astype(jnp.float32), (weight, grad, state))
        new = self.rule(wide, g, inner, hyperparams, key)
        return jax.tree.map(lambda x, old: x.astype(old.dtype), new, (weight, state))
