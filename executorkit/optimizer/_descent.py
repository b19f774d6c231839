"""Optimizers that follow the gradient, its momentum or its sign: SGD, NAG, Signum and others."""

import os
from functools import lru_cache
from typing import Any

from ..ndarray import NDArray
from ..ops.optimizer_updates import sgd_updates as sgd
from ..ops.optimizer_updates.update_common import UpdateRule
from ._optimizer import Optimizer, momentum_state, register
from ._rule import Index, RowsRule, Rule, operator_rule

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
