"""``mx.optimizer.contrib``: AdaGrad with one rate per row."""

from dataclasses import dataclass
from typing import Any

from ..errors import ArgumentValueError, ParameterShapeError
from ..ndarray import NDArray, zeros
from ..ops.optimizer_updates.adaptive_updates import group_adagrad_update
from ._descent import or_negative
from ._optimizer import Optimizer, register
from ._rule import Index, Number, NumbersAndState, Rule, State, StepRule, as_float32


@dataclass(frozen=True)
class _GroupAdaGradRule(StepRule):
    epsilon: float
    limit: float

    def step(self, weight, grad, state, lr, wd, rescale_grad):
        limits = {"clip_gradient": self.limit, "epsilon": self.epsilon}
        rates = {"lr": lr, "rescale_grad": rescale_grad}
        return group_adagrad_update(weight, grad, state, **rates, **limits)


@register
class GroupAdaGrad(Optimizer):
    """AdaGrad with one rate for each row of a matrix.

    ``history = history + mean(g^2)`` over each row; ``weight - lr g / sqrt(history + eps)``. Weight
    decay is refused (AssertionError), as are weights that are not matrices. Meant for embeddings.
    """

    def __init__(self, eps: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Index, weight: NDArray) -> State:
        if weight.ndim != 2:
            problem = f"weight {index!r} is {weight.shape}, expected a matrix"
            raise ParameterShapeError("GroupAdaGrad", problem)
        return zeros((weight.shape[0], 1), weight.context, dtype=weight.dtype)

    def _hyperparams(
        self, lr: Number, wd: Number, t: Number, shared_state: State
    ) -> NumbersAndState:
        if wd != 0:
            problem = f"wd is {wd}, but it has no weight decay"
            raise ArgumentValueError("GroupAdaGrad", problem, hint="wd=0")
        return super()._hyperparams(lr, wd, t, shared_state)

    def _base_rule(self, index: Index, weight: NDArray) -> Rule:
        return _GroupAdaGradRule(as_float32(self.float_stable_eps), or_negative(self.clip_gradient))
