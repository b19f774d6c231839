"""Optimizers that follow delayed or noisy gradients: DCASGD, SGLD; and MXNet's ``Test``."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from ..ndarray import NDArray
from ..ops.random.sampling_functions import sampling_dtype
from ._optimizer import Optimizer, register, zero_states, zeros_like
from ._rule import Index, Rule, State, StepRule, clipped


@dataclass(frozen=True)
class _DelayCompensatedRule(StepRule):
    momentum: float
    lamda: float
    limit: float | None

    def step(self, weight, grad, state, lr, wd, rescale_grad):
        mom, previous = state
        g = clipped(grad * rescale_grad, self.limit)
        step = -lr * (g + wd * weight + self.lamda * jnp.square(g) * (weight - previous))
        if mom is None:
            return weight + step, (None, weight)
        mom = self.momentum * mom + step
        return weight + mom, (mom, weight)


@register
class DCASGD(Optimizer):
    """DCASGD, asynchronous descent with delay compensation.

    ``mom = momentum mom - lr (g + wd weight + lamda g^2 (weight - previous)); weight = weight +
    mom``, where previous is the weight before the last update. MXNet raises an error if momentum is
    not 0. Source: Zheng et al., 2017.
    """

    def __init__(self, momentum: float = 0.0, lamda: float = 0.04, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.weight_previous: dict[Index, State] = {}
        self.lamda = lamda

    def create_state(self, index: Index, weight: NDArray) -> State:
        return (zeros_like(weight) if self.momentum != 0.0 else None), weight.copy()

    def _base_rule(self, index: Index, weight: NDArray) -> Rule:
        return _DelayCompensatedRule(self.momentum, self.lamda, self.clip_gradient)


@dataclass(frozen=True)
class _LangevinRule(Rule):
    limit: float | None
    uses_rng: ClassVar[bool] = True

    def __call__(self, weight, grad, state, hyperparams, key=None):
        assert key is not None
        lr, wd, rescale_grad = hyperparams.astype(weight.dtype)
        g = clipped(grad * rescale_grad, self.limit)
        kind = sampling_dtype(weight.dtype)
        scale = jnp.sqrt(hyperparams[0]).astype(kind)
        noise = (scale * jax.random.normal(key, weight.shape, kind)).astype(weight.dtype)
        return weight - lr / 2 * (g + wd * weight) + noise, state


@register
class SGLD(Optimizer):
    """SGLD, stochastic gradient Langevin dynamics.

    ``weight - lr / 2 (g + wd weight) + noise``, where noise is normal with variance lr, drawn as by
    ``mx.nd.random.normal(0, sqrt(lr), shape, dtype)``; its numbers differ from MXNet's. Source:
    Patterson and Teh, 2013.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    def _base_rule(self, index: Index, weight: NDArray) -> Rule:
        return _LangevinRule(self.clip_gradient)


class _AdditionRule(Rule):
    def __call__(self, weight, grad, state, hyperparams, key=None):
        new = weight + grad * hyperparams[2].astype(weight.dtype)
        return new, new


@register
class Test(Optimizer):
    """Adds the gradient times rescale_grad to the weight; the state is the new weight."""

    __test__ = False

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    create_state = zero_states(1)

    def _base_rule(self, index: Index, weight: NDArray) -> Rule:
        return _AdditionRule()
