"""Update rules: pure functions of one weight, its gradient, its state and hyperparameters.

Rules are frozen and compare by value, so that they can be the key of a compiled program. Constants
of a training run (betas, limits) are their fields. Numbers that change from step to step (rate,
weight decay, coefficients that depend on the step) are the argument ``hyperparams``, so that a
change compiles nothing. Rules are traced with 64-bit types enabled.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from .._support.annotations import DType
from ..ndarray import NDArray
from ..ops import Params
from ..ops.optimizer_updates.update_common import UpdateRule

#: An optimizer's key of a parameter, mostly a number or a name.
Index = Hashable
#: A number, or an array of one while an update is traced.
Number = float | Array
#: A state: None, an array, or a tuple of states.
State = Any
#: The hyperparameters of one parameter at one step: rate, weight decay, and others of its rule.
Hyperparams = tuple[Any, ...]
#: The hyperparameters of one parameter, and the shared state after them.
NumbersAndState = tuple[Hyperparams, Any]

_HALF = frozenset({"float16", "bfloat16"})


@lru_cache(maxsize=64)
def is_half(dtype: DType) -> bool:
    return jnp.dtype(dtype).name in _HALF


def as_float32(number: float) -> float:
    return float(np.float32(number))


def clipped(grad: Array, limit: float | None) -> Array:
    return grad if limit is None else jnp.clip(grad, -limit, limit)


@dataclass(frozen=True)
class Rule:
    """The update of one parameter by an optimizer.

    Called with a weight and its gradient (of one shape and dtype), a state of ``create_state``, and
    a float64 vector of hyperparameters, the rate and the weight decay first. Returns the new weight
    and the new state, with unchanged dtypes.
    """

    #: True if the rule draws random numbers and so needs a key.
    uses_rng: ClassVar[bool] = False

    def __call__(
        self, weight: Array, grad: Array, state: State, hyperparams: Array, key: Array | None = None
    ) -> tuple[Array, State]:
        raise NotImplementedError


def _numbers(hyperparams: Any, weight: Array) -> Any:
    # A tuple has them in the weight's dtype.
    return hyperparams if isinstance(hyperparams, tuple) else hyperparams.astype(weight.dtype)


class StepRule(Rule):
    """A rule defined by :meth:`step`, a function of the single hyperparameters."""

    def __call__(self, weight, grad, state, hyperparams, key=None):
        return self.step(weight, grad, state, *_numbers(hyperparams, weight))

    def step(
        self, weight: Array, grad: Array, state: State, *hyperparams: Array
    ) -> tuple[Array, State]:
        """Returns the new weight and state; hyperparameters have the dtype of the weight."""
        raise NotImplementedError


@dataclass(frozen=True)
class OperatorRule(Rule):
    """A rule with the equation of an update operator: a function of named parameters, weight,
    gradient and ``states`` states (0: unchanged). ``names`` are its names of hyperparameters."""

    equation: Callable[..., tuple[Array, ...]]
    states: int
    names: tuple[str, ...]
    constants: tuple[tuple[str, Any], ...]

    def __call__(self, weight, grad, state, hyperparams, key=None):
        values = _numbers(hyperparams, weight)
        p = Params({**dict(self.constants), **dict(zip(self.names, values, strict=True))})
        is_tuple = isinstance(state, tuple | list)
        arrays = (() if not self.states else state if is_tuple else (state,))[: self.states]
        new, *states = self.equation(p, weight, grad, *arrays)
        if not self.states:
            return new, state
        return new, tuple(states) if is_tuple else states[0]


def operator_rule(update: UpdateRule, names: tuple[str, ...], **constants: Any) -> OperatorRule:
    """Returns the rule of an update operator, with constants rounded to float32 as in MXNet."""
    rounded = {k: as_float32(v) if isinstance(v, float) else v for k, v in constants.items()}
    return OperatorRule(update.step, len(update.states), names, tuple(rounded.items()))


@dataclass(frozen=True)
class RowsRule(Rule):
    """A rule applied to the rows whose gradient is not zero: a lazy update in MXNet."""

    rule: Rule

    def __call__(self, weight, grad, state, hyperparams, key=None):
        rows = (grad != 0).any(axis=tuple(range(1, grad.ndim)), keepdims=True)
        new = self.rule(weight, grad, state, hyperparams, key)
        return jax.tree.map(lambda x, old: jnp.where(rows, x, old), new, (weight, state))


class RuleProvider(Protocol):
    """The properties of an optimizer that an optax transformation needs; see ``Optimizer``."""

    _master_last: ClassVar[bool]

    aggregate_num: int
    begin_num_update: int
    idx2name: dict[Index, str]
    lr: float | None
    lr_mult: dict[Index, float]
    lr_scheduler: Any
    multi_precision: bool
    param_dict: Mapping[Any, Any]
    wd: float
    wd_mult: dict[Index, float]

    @property
    def shared_state(self) -> State: ...

    @property
    def _is_pure(self) -> bool: ...

    def _begin_step(self, rate: Number, shared_state: State) -> State: ...

    def _decays(self, name: str) -> bool: ...

    def _hyperparams(
        self, lr: Number, wd: Number, t: Number, shared_state: State
    ) -> NumbersAndState: ...

    def _multiplier(self, index: Index, kind: str) -> float: ...

    def _pure_rule(self, index: Index, weight: NDArray) -> Rule | None: ...

    def _schedule_count(self, position: int, count: Number) -> Number: ...

    def create_state(self, index: Index, weight: NDArray) -> State: ...
