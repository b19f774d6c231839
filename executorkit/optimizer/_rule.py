"""Update rules: pure functions of one weight, its gradient, its state and this step's numbers.

Rules are frozen and compare by value, so that they can be the key of a compiled program. What is
fixed while training goes on (betas, limits) are their fields; what changes from step to step (rate,
weight decay, coefficients that depend on the step) comes as ``numbers``, so that it compiles
nothing. They are traced with 64-bit types allowed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..ops import Params
from ..ops.optimizer_updates.update_common import UpdateRule

#: A state: None, an array, or a tuple of states.
State = Any

_HALF = frozenset({"float16", "bfloat16"})


@lru_cache(maxsize=64)
def is_half(dtype: Any) -> bool:
    """Whether a dtype is one of the half precision ones, which may have a float32 master weight."""
    return jnp.dtype(dtype).name in _HALF


def as_float32(number: float) -> float:
    """A constant rounded to float32, as it reaches MXNet's update operators."""
    return float(np.float32(number))


def clipped(grad: jax.Array, limit: float | None) -> jax.Array:
    """``grad`` within [-limit, limit]; as it is for None."""
    return grad if limit is None else jnp.clip(grad, -limit, limit)


@dataclass(frozen=True)
class Rule:
    """What an optimizer does to one parameter.

    Called with a weight and its gradient (of one shape and dtype), the state that ``create_state``
    made, and a float64 vector of numbers, the rate and the weight decay first. Returns the new
    weight and the new state, in the dtypes of the old ones.
    """

    @property
    def uses_rng(self) -> bool:
        """Whether it draws random numbers, so that it needs a key."""
        return False

    def __call__(
        self,
        weight: jax.Array,
        grad: jax.Array,
        state: State,
        hyperparams: jax.Array,
        key: jax.Array | None = None,
    ) -> tuple[jax.Array, State]:
        raise NotImplementedError


@dataclass(frozen=True)
class OperatorRule(Rule):
    """A rule that an update operator has the equation of.

    step
        the operator's function, of named parameters, weight, gradient and states.
    states
        how many states it has; without any, whatever state there is stays.
    names
        what the numbers are called in the equation, in order.
    constants
        the other parameters.
    """

    step: Callable[..., tuple[jax.Array, ...]]
    states: int
    names: tuple[str, ...]
    constants: tuple[tuple[str, Any], ...]

    def __call__(
        self,
        weight: jax.Array,
        grad: jax.Array,
        state: State,
        hyperparams: jax.Array,
        key: jax.Array | None = None,
    ) -> tuple[jax.Array, State]:
        values = hyperparams.astype(weight.dtype)
        p = Params({**dict(self.constants), **dict(zip(self.names, values, strict=True))})
        several = isinstance(state, tuple | list)
        arrays = (() if not self.states else state if several else (state,))[: self.states]
        new, *states = self.step(p, weight, grad, *arrays)
        if not self.states:
            return new, state
        return new, tuple(states) if several else states[0]


def operator_rule(update: UpdateRule, names: tuple[str, ...], **constants: Any) -> OperatorRule:
    """The rule of an update operator; float constants are rounded to float32, as MXNet's are."""
    rounded = {k: as_float32(v) if isinstance(v, float) else v for k, v in constants.items()}
    return OperatorRule(update.step, len(update.states), names, tuple(rounded.items()))


@dataclass(frozen=True)
class MasterWeightRule(Rule):
    """A rule applied to the float32 master of a half precision weight, which follows it rounded.

    The state is (master, state of the rule), or the other way round with ``master_last``.
    """

    rule: Rule
    master_last: bool = False

    @property
    def uses_rng(self) -> bool:
        return self.rule.uses_rng

    def __call__(
        self,
        weight: jax.Array,
        grad: jax.Array,
        state: State,
        hyperparams: jax.Array,
        key: jax.Array | None = None,
    ) -> tuple[jax.Array, State]:
        inner, master = state if self.master_last else (state[1], state[0])
        master, inner = self.rule(master, grad.astype(master.dtype), inner, hyperparams, key)
        return master.astype(weight.dtype), (
            (inner, master) if self.master_last else (master, inner)
        )


@dataclass(frozen=True)
class Float32Rule(Rule):
    """A rule applied to a half precision weight that has no master.

    The step is computed in float32 and rounded once, where MXNet computes it in half precision:
    constants such as 1e-8 do not become 0.
    """

    rule: Rule

    @property
    def uses_rng(self) -> bool:
        return self.rule.uses_rng

    def __call__(
        self,
        weight: jax.Array,
        grad: jax.Array,
        state: State,
        hyperparams: jax.Array,
        key: jax.Array | None = None,
    ) -> tuple[jax.Array, State]:
        wide, g, inner = jax.tree.map(lambda x: x.astype(jnp.float32), (weight, grad, state))
        new = self.rule(wide, g, inner, hyperparams, key)
        return jax.tree.map(lambda x, old: x.astype(old.dtype), new, (weight, state))
