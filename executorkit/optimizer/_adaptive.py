"""Optimizers with moving averages of gradients and their squares: Adam, FTML, Adamax, Nadam."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from .._support.annotations import Tree
from ..ndarray import NDArray
from ..ops.optimizer_updates import adaptive_updates as adaptive
from ._descent import attribute_rule, or_negative
from ._optimizer import Optimizer, register, zero_states
from ._rule import Index, Number, NumbersAndState, RowsRule, Rule, StepRule, clipped


@register
class Adam(Optimizer):
    """Adam: moving averages of the gradient and of its square, with bias correction.

    ``mean = beta1 mean + (1 - beta1) h; var = beta2 var + (1 - beta2) h^2; weight - lr sqrt(1 -
    beta2^t) / (1 - beta1^t) mean / (sqrt(var) + epsilon)``. Source: Kingma and Ba, 2015.

    beta1, beta2
        The decay of the mean and of the mean square.
    epsilon
        Added to the divisor.
    lazy_update
        As for :class:`SGD`.

    >>> import executorkit as mx
    >>> weight, adam = mx.nd.zeros((2,)), mx.optimizer.create("adam", learning_rate=0.5)
    >>> adam.update(0, weight, mx.nd.array([10, -0.1]), adam.create_state(0, weight))
    >>> weight.asnumpy().round(3).tolist()
    [-0.5, 0.5]
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        lazy_update: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lazy_update = lazy_update

    create_state = zero_states(2)

    def _hyperparams(
        self, lr: Number, wd: Number, t: Number, shared_state: Tree
    ) -> NumbersAndState:
        rate = lr * (1.0 - self.beta2**t) ** 0.5 / (1.0 - self.beta1**t)
        return (rate, wd, self.rescale_grad), shared_state

    def _base_rule(self, index: Index, weight: NDArray) -> Rule:
        rule = attribute_rule(self, adaptive.ADAM, "beta1", "beta2", "epsilon")
        return RowsRule(rule) if self.lazy_update and index in self.row_sparse else rule


@register
class FTML(Optimizer):
    """FTML, follow the moving leader, at update t. ``beta1``, ``beta2`` and ``epsilon`` are as for
    :class:`Adam`.

    ``v = beta2 v + (1 - beta2) h^2; d' = (1 - beta1^t) / lr (sqrt(v / (1 - beta2^t)) + epsilon); z
    = beta1 z + (1 - beta1) h - (d' - beta1 d) weight; weight = -z / d'``. Zheng and Kwok, 2017.
    """

    def __init__(
        self, beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-8, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    create_state = zero_states(3)

    def _hyperparams(
        self, lr: Number, wd: Number, t: Number, shared_state: Tree
    ) -> NumbersAndState:
        return (lr, wd, self.rescale_grad, t), shared_state

    def _base_rule(self, index: Index, weight: NDArray) -> Rule:
        limit = or_negative(self.clip_gradient)
        betas = ("beta1", "beta2", "epsilon")
        return attribute_rule(self, adaptive.FTML, *betas, more=("t",), clip_grad=limit)


@dataclass(frozen=True)
class _AdamaxRule(StepRule):
    beta1: float
    beta2: float
    limit: float | None

    def step(self, weight, grad, state, rate, wd, rescale_grad):
        mean, norm = state
        g = clipped(grad * rescale_grad + wd * weight, self.limit)
        mean = self.beta1 * mean + (1 - self.beta1) * g
        norm = jnp.maximum(self.beta2 * norm, jnp.abs(g))
        return weight - rate * mean / norm, (mean, norm)


@register
class Adamax(Optimizer):
    """Adamax: Adam with the largest past magnitude in place of the root of the mean square;
    ``beta2`` is its decay.

    ``mean = beta1 mean + (1 - beta1) h; norm = max(beta2 norm, |h|); weight - lr / (1 - beta1^t)
    mean / norm``. An element whose gradient has always been 0 becomes NaN, as in MXNet. Source:
    Kingma and Ba, 2015, section 7.
    """

    def __init__(
        self, learning_rate: float = 0.002, beta1: float = 0.9, beta2: float = 0.999, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2

    create_state = zero_states(2)

    def _hyperparams(
        self, lr: Number, wd: Number, t: Number, shared_state: Tree
    ) -> NumbersAndState:
        return (lr / (1.0 - self.beta1**t), wd, self.rescale_grad), shared_state

    def _base_rule(self, index: Index, weight: NDArray) -> Rule:
        return _AdamaxRule(self.beta1, self.beta2, self.clip_gradient)


@dataclass(frozen=True)
class _NadamRule(StepRule):
    beta1: float
    beta2: float
    epsilon: float
    limit: float | None

    def step(self, weight, grad, state, *hyperparams):
        lr, wd, rescale_grad, grad_factor, mean_factor, unbias = hyperparams
        mean, var = state
        g = clipped(grad * rescale_grad + wd * weight, self.limit)
        mean = self.beta1 * mean + (1 - self.beta1) * g
        var = self.beta2 * var + (1 - self.beta2) * jnp.square(g)
        direction = (grad_factor * g + mean_factor * mean) / (jnp.sqrt(var * unbias) + self.epsilon)
        return weight - lr * direction, (mean, var)


@register
class Nadam(Optimizer):
    """Nadam: :class:`Adam` with Nesterov's momentum, whose schedule has the decay
    ``schedule_decay``.

    With Adam's mean and var, ``m(t) = beta1 (1 - 0.96^(t schedule_decay) / 2)``, and s the product
    of all m so far: ``weight - lr ((1 - m(t)) h / (1 - s) + m(t+1) mean / (1 - s m(t+1))) /
    (sqrt(var / (1 - beta2^t)) + epsilon)``. As in MXNet, s is one number for all parameters and
    each update of any of them multiplies it. Source: Dozat, 2015.
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        schedule_decay: float = 0.004,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.schedule_decay = schedule_decay
        self.m_schedule = 1.0

    create_state = zero_states(2)

    @property
    def shared_state(self) -> Tree:
        return self.m_schedule

    @shared_state.setter
    def shared_state(self, shared_state: Tree) -> None:
        self.m_schedule = shared_state

    def _hyperparams(
        self, lr: Number, wd: Number, t: Number, shared_state: Tree
    ) -> NumbersAndState:
        momentum, next_momentum = (
            self.beta1 * (1.0 - 0.5 * 0.96 ** (n * self.schedule_decay)) for n in (t, t + 1)
        )
        new_schedule = shared_state * momentum
        grad_factor = (1.0 - momentum) / (1.0 - new_schedule)
        mean_factor = next_momentum / (1.0 - new_schedule * next_momentum)
        unbias = 1.0 / (1.0 - self.beta2**t)
        return (lr, wd, self.rescale_grad, grad_factor, mean_factor, unbias), new_schedule

    def _base_rule(self, index: Index, weight: NDArray) -> Rule:
        return _NadamRule(self.beta1, self.beta2, self.epsilon, self.clip_gradient)
