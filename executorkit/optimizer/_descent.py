"""Optimizers that follow the gradient, its momentum or its sign: SGD, NAG, Signum and others."""

import os
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from ..ndarray import NDArray
from ..ops.optimizer_updates import sgd_updates as sgd
from ..ops.optimizer_updates.update_common import UpdateRule
from ..ops.random.sampling_functions import sampling_dtype
from ._optimizer import Optimizer, momentum_state, register, zero_states, zeros_like
from ._rule import Index, RowsRule, Rule, State, StepRule, clipped, operator_rule

RATE_NAMES = ("lr", "wd", "rescale_grad")


def aggregation_size(default: int) -> int:
    """Returns the number of weights of one call of MXNet; some hyperparameters depend on it."""
    return int(os.environ.get("MXNET_OPTIMIZER_AGGREGATION_SIZE", default))


def or_negative(limit: float | None) -> float:
    return float(limit) if limit else -1.0


@lru_cache(maxsize=64)
def sgd_rule(momentum: float, clip_gradient: float | None) -> Rule:
    limit = or_negative(clip_gradient)
    if momentum > 0:
        momentum = float(momentum)
        return operator_rule(sgd.SGD_MOMENTUM, RATE_NAMES, momentum=momentum, clip_gradient=limit)
    return operator_rule(sgd.SGD, RATE_NAMES, clip_gradient=limit)


def attribute_rule(
    optimizer: Any, update: UpdateRule, *constants: str, more: tuple[str, ...] = (), **others: Any
) -> Rule:
    """Returns an update operator's rule whose constants are attributes of an optimizer; ``more``
    are names of hyperparameters besides the rates."""
    others |= {n: float(getattr(optimizer, n)) for n in constants}
    if "clip_grad" not in others:
        others["clip_gradient"] = or_negative(optimizer.clip_gradient)
    return operator_rule(update, (*RATE_NAMES, *more), **others)


@register
class SGD(Optimizer):
    """Stochastic gradient descent, ``mom = momentum mom - lr (g + wd weight); weight = weight +
    mom``.

    momentum
        The share of the last step that is repeated.
    lazy_update
        Whether a gradient whose storage type is row_sparse changes nothing, momentum included, in
        the rows where it is zero.

    >>> import executorkit as mx
    >>> weight, sgd = mx.nd.ones((2,)), mx.optimizer.SGD(learning_rate=0.5)
    >>> sgd.update(0, weight, mx.nd.array([1, -1]), sgd.create_state(0, weight))
    >>> weight.asnumpy().tolist()
    [0.5, 1.5]
    """

    _skips_update = True
    _master_last = True

    def __init__(self, momentum: float = 0.0, lazy_update: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.lazy_update = lazy_update
        self.aggregate_num = aggregation_size(4)

    create_state = momentum_state

    def _base_rule(self, index: Index, weight: NDArray) -> Rule:
        rule = sgd_rule(self.momentum, self.clip_gradient)
        return RowsRule(rule) if self.lazy_update and index in self.row_sparse else rule


@register
class ccSGD(SGD):  # noqa: N801 - MXNet's name
    """SGD under another name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)


@register
class NAG(Optimizer):
    """NAG, Nesterov's accelerated gradient.

    ``s = lr (g + wd weight); new = weight + momentum (momentum mom - s) - s; mom = momentum mom -
    lr (g + wd new)``. As in MXNet, the momentum contains the decay of the new weight.
    """

    _skips_update = True
    _master_last = True

    def __init__(self, momentum: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum

    create_state = momentum_state

    def _base_rule(self, index: Index, weight: NDArray) -> Rule:
        if self.momentum == 0.0:
            return sgd_rule(0.0, self.clip_gradient)
        # MXNet's operator overwrites the weight before it computes the new momentum.
        momentum = max(float(self.momentum), 0.0)
        return attribute_rule(self, sgd.NESTEROV_OUT_OF_PLACE, momentum=momentum)


@register
class Signum(Optimizer):
    """Signum: descent by the sign of the momentum, or of the gradient with ``momentum=0``.

    ``mom = momentum mom - (1 - momentum) (g + wd weight); weight = (1 - lr wd_lh) weight + lr
    sign(mom)``: ``wd_lh`` is a weight decay that acts on the weight itself. Source: Bernstein et
    al., signSGD, 2018.
    """

    def __init__(
        self, learning_rate: float = 0.01, momentum: float = 0.9, wd_lh: float = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.momentum = momentum
        self.wd_lh = wd_lh

    create_state = momentum_state

    def _base_rule(self, index: Index, weight: NDArray) -> Rule:
        if self.momentum == 0.0:
            return operator_rule(sgd.SIGN_SGD, RATE_NAMES)
        momentum, wd_lh = max(float(self.momentum), 0.0), float(self.wd_lh or 0.0)
        return attribute_rule(self, sgd.SIGNUM, momentum=momentum, wd_lh=wd_lh)


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


@dataclass(frozen=True)
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
