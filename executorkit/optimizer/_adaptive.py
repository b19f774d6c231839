"""Rules that scale each element of the gradient by what its past was like."""

from __future__ import annotations

from typing import Any

from ..ndarray import NDArray
from ..ops import adaptive
from ._descent import RATES, off
from ._optimizer import Numbers, Optimizer, register, zeros_like
from ._rule import Rule, State, operator_rule


@register
class Adam(Optimizer):
    """Adam: moving averages of the gradient and of its square, with bias correction.

    ``h = clip(rescale_grad grad + wd weight); mean = beta1 mean + (1 - beta1) h;
    var = beta2 var + (1 - beta2) h^2; weight - lr sqrt(1 - beta2^t) / (1 - beta1^t) mean /
    (sqrt(var) + epsilon)``. ``lazy_update`` is for sparse gradients, which are not served.
    Source: Kingma and Ba, 2015.
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

    def create_state(self, index: Any, weight: NDArray) -> State:
        return zeros_like(weight), zeros_like(weight)

    def _coefficients(self, lr: Any, wd: Any, t: Any, memory: Any) -> tuple[Numbers, Any]:
        rate = lr * (1.0 - self.beta2**t) ** 0.5 / (1.0 - self.beta1**t)
        return (rate, wd, self.rescale_grad), memory

    def _plain_rule(self, index: Any, weight: NDArray) -> Rule:
        return operator_rule(
            adaptive.ADAM,
            RATES,
            beta1=float(self.beta1),
            beta2=float(self.beta2),
            epsilon=float(self.epsilon),
            clip_gradient=off(self.clip_gradient),
        )
