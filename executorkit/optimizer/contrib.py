"""``mx.optimizer.contrib``: AdaGrad with one rate per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax

from ..errors import AttributeValueError, ShapeError, explain
from ..ndarray import NDArray, zeros
from ..ops.adaptive import group_adagrad_update
from ._descent import off
from ._optimizer import Numbers, Optimizer, register
from ._rule import Rule, State, single

__all__ = ["GroupAdaGrad"]


class DecayError(AttributeValueError, AssertionError):
    """Weight decay is asked for where there is none."""


@dataclass(frozen=True)
class _GroupAdaGrad(Rule):
    epsilon: float
    limit: float

    def __call__(
        self,
        weight: jax.Array,
        grad: jax.Array,
        state: State,
        numbers: jax.Array,
        key: jax.Array | None = None,
    ) -> tuple[jax.Array, State]:
        lr, _, rescale = numbers.astype(weight.dtype)
        return group_adagrad_update(
            weight,
            grad,
            state,
            lr=lr,  # type: ignore[arg-type]
            rescale_grad=rescale,  # type: ignore[arg-type]
            clip_gradient=self.limit,
            epsilon=self.epsilon,
        )


@register
class GroupAdaGrad(Optimizer):
    """AdaGrad with one rate for each row of a matrix.

    ``history = history + mean(g^2)`` over each row; ``weight - lr g / sqrt(history + eps)``, where
    g is the gradient times rescale_grad, then clipped. Weight decay is refused (AssertionError), as
    are weights that are no matrices. For embeddings.
    """

    def __init__(self, eps: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Any, weight: NDArray) -> State:
        if weight.ndim != 2:
            raise NotAMatrixError(
                explain("GroupAdaGrad", f"weight {index!r} is {weight.shape}, expected a matrix")
            )
        return zeros((weight.shape[0], 1), weight.context, dtype=weight.dtype)

    def _coefficients(self, lr: Any, wd: Any, t: Any, memory: Any) -> tuple[Numbers, Any]:
        if wd != 0:
            raise DecayError(
                explain("GroupAdaGrad", f"wd is {wd}, but it has no weight decay", hint="wd=0")
            )
        return super()._coefficients(lr, wd, t, memory)

    def _plain_rule(self, index: Any, weight: NDArray) -> Rule:
        return _GroupAdaGrad(single(self.float_stable_eps), off(self.clip_gradient))


class NotAMatrixError(ShapeError, AssertionError):
    """A weight has no rows."""
