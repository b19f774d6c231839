"""Optimizers with a step that depends on norms of whole parameters: LARS, LAMB, LBSGD."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ..ndarray import NDArray
from ..ops.optimizer_updates import layerwise_updates as lamb
from ..ops.optimizer_updates.sgd_updates import SGD_MOMENTUM
from ._descent import aggregation_size, attribute_rule, or_negative, sgd_rule
from ._mixed_precision import Float32Rule, MasterWeightRule
from ._optimizer import Optimizer, momentum_state, register, zero_states, zeros_like
from ._rule import Index, Number, NumbersAndState, Rule, State, as_float32, is_half


def _sum_of_squares(x: Array) -> Array:
    return jnp.sum(jnp.square(x.astype(jnp.promote_types(x.dtype, jnp.float32))))


@dataclass(frozen=True)
class _LayerRateRule(Rule):
    """Another rule at a rate in proportion to the norms of weight and gradient."""

    rule: Rule
    eta: float
    epsilon: float

    def __call__(self, weight, grad, state, hyperparams, key=None):
        lr, dtype = hyperparams[0], hyperparams.dtype
        w, g = (_sum_of_squares(x).astype(dtype) for x in (weight, grad))
        wd, options = hyperparams[1], {"eta": self.eta, "eps": self.epsilon}
        rate = lamb.multi_lars(lr, w, g, wd, **options, rescale_grad=hyperparams[2])  # type: ignore[arg-type]
        return self.rule(weight, grad, state, hyperparams.at[0].set(rate), key)


@register
class LARS(Optimizer):
    """LARS: gradient descent with a rate per layer.

    ``rate = lr eta |weight| / (|g| + wd |weight| + eps)``, or lr where a norm is 0; then as
    :class:`SGD`. The gradient is clipped after its norm is computed. Parameters whose name ends in
    gamma, beta or bias keep lr; only names with ``_weight`` at the end are decayed. Source: You et
    al., 2017.

    eta, eps
        The ratio of the rate, and a number added to the divisor.
    momentum_correction
        Whether the momentum is multiplied by the rate's change since the last update; as in MXNet
        only for the first few parameters of a step (``aggregate_num``).
    """

    _skips_update = True
    _master_last = True

    def __init__(
        self,
        momentum: float = 0.0,
        lazy_update: bool = True,
        eta: float = 0.001,
        eps: float = 0,
        momentum_correction: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.momentum_correction = momentum_correction
        self.lazy_update = lazy_update
        self.aggregate_num = aggregation_size(4)
        self.eta = eta
        self.eps = eps
        self.skip = 0
        self.last_lr: float | None = None
        self.cur_lr: float | None = None

    create_state = momentum_state
    _rules_by_index = True

    def _decays(self, name: str) -> bool:
        return name.endswith("_weight")

    @property
    def shared_state(self) -> State:
        return self.cur_lr, self.last_lr

    @shared_state.setter
    def shared_state(self, shared_state: State) -> None:
        self.cur_lr, self.last_lr = shared_state

    def _begin_step(self, rate: Number, shared_state: State) -> State:
        current, _ = shared_state
        return rate, rate if current is None else current

    def _hyperparams(
        self, lr: Number, wd: Number, t: Number, shared_state: State
    ) -> NumbersAndState:
        hyperparams = lr, wd, self.rescale_grad
        if self.momentum <= 0:
            return hyperparams, shared_state
        rate, last_rate = shared_state
        momentum = self.momentum
        if self.momentum_correction:
            # After a rate of 0 the momentum is unchanged; the term avoids a division by 0.
            was_zero = last_rate == 0
            momentum = momentum * ((rate + was_zero * (1 - rate)) / (last_rate + was_zero))
        return (*hyperparams, momentum), shared_state

    def _descent(self) -> Rule:
        if self.momentum <= 0:
            return sgd_rule(0.0, self.clip_gradient)
        return attribute_rule(self, SGD_MOMENTUM, more=("momentum",))

    def _at_layer_rate(self, index: Index, rule: Rule) -> Rule:
        if self.idx2name.get(index, str(index)).endswith(("gamma", "beta", "bias")):
            return rule
        return _LayerRateRule(rule, as_float32(self.eta), as_float32(self.eps))

    def _base_rule(self, index: Index, weight: NDArray) -> Rule:
        return self._at_layer_rate(index, self._descent())

    def _master_weight_rule(self, index: Index, weight: NDArray) -> Rule:
        # The norms are of the half precision arrays.
        return self._at_layer_rate(index, MasterWeightRule(self._descent(), master_last=True))


@register
class LAMB(Optimizer):
    """LAMB: Adam with steps in proportion to the norm of the parameter, ``lower_bound`` and
    ``upper_bound`` (None for none) being limits of that norm.

    mean (beta1) and var (beta2) are moving averages of g and g^2, divided by 1 - beta^t with
    ``bias_correction``; ``h = mean / (sqrt(var) + epsilon) + wd weight; weight - lr |weight| / |h|
    h``, where the ratio is 1 if a norm is 0. Source: You et al., 2020.
    """

    _skips_update = True

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        bias_correction: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        self.bias_correction = bias_correction
        self.aggregate_num = max(1, min(45, aggregation_size(45)))

    create_state = zero_states(2)

    def _hyperparams(
        self, lr: Number, wd: Number, t: Number, shared_state: State
    ) -> NumbersAndState:
        return (lr, wd, self.rescale_grad, t), shared_state

    def _base_rule(self, index: Index, weight: NDArray) -> Rule:
        bounds = {n: or_negative(getattr(self, n)) for n in ("lower_bound", "upper_bound")}
        bounds["bias_correction"] = bool(self.bias_correction)
        return attribute_rule(self, lamb.LAMB, "beta1", "beta2", "epsilon", more=("t",), **bounds)


@dataclass(frozen=True)
class _LargeBatchRule(Rule):
    """Another rule, applied to the mean of ``scale`` gradients where hyperparameter 3 is 1."""

    rule: Rule
    scale: int
    adaptive: bool

    def __call__(self, weight, grad, state, hyperparams, key=None):
        inner, total = (state, grad) if self.scale == 1 else (state[0], state[1] + grad)
        mean = total / self.scale
        if self.adaptive:
            w, g = _sum_of_squares(weight), _sum_of_squares(mean)
            ratio = jnp.sqrt(w / (g + hyperparams[1].astype(w.dtype) * w + 1e-18))
            ratio = jnp.clip(ratio, 0.01, 100).astype(hyperparams.dtype)
            hyperparams = hyperparams.at[0].multiply(ratio)
        new = self.rule(weight, mean, inner, hyperparams[:3], key)
        if self.scale == 1:
            return new
        is_due = hyperparams[3] != 0
        weight, inner = jax.tree.map(lambda x, old: jnp.where(is_due, x, old), new, (weight, inner))
        return weight, (inner, jnp.where(is_due, 0, total))


@register
class LBSGD(Optimizer):
    """LBSGD: gradient descent for large batches, composed of ``batch_scale`` small ones.

    After every ``batch_scale`` updates the mean of their gradients is applied like :class:`SGD`'s.
    A scheduler is asked before an update is counted, not after it.

    warmup_strategy
        'linear', 'power2' or 'sqrt' is the course of a factor of the rate from 1 to ``batch_scale``
        during the warm-up; 'lars' has the factor ``sqrt(|weight|^2 / (|g|^2 + wd |weight|^2))``,
        within 0.01 and 100, instead.
    warmup_epochs
        The length of the warm-up in epochs of ``updates_per_epoch`` updates.
    batch_scale
        The number of gradients of an update. Above 1 a state is a pair: SGD's, and the sum of the
        gradients so far, which MXNet keeps in the optimizer.
    """

    def __init__(
        self,
        momentum: float = 0.0,
        multi_precision: bool = False,
        warmup_strategy: str = "linear",
        warmup_epochs: int = 5,
        batch_scale: int = 1,
        updates_per_epoch: int = 32,
        begin_epoch: int = 0,
        num_epochs: int = 60,
        **kwargs: Any,
    ) -> None:
        super().__init__(multi_precision=multi_precision, **kwargs)
        logging.info("Running Large-Batch SGD Algorithm")
        logging.info(
            "(Batch_scale=%f, warmup_epochs=%d, warmup_strategy=%s, updates_per_epoch=%d)",
            batch_scale,
            warmup_epochs,
            warmup_strategy,
            updates_per_epoch,
        )
        self.momentum = momentum
        self.warmup_strategy = warmup_strategy
        self.warmup_epochs = warmup_epochs
        self.batch_scale = batch_scale
        self.updates_per_epoch = updates_per_epoch
        self.init_updates = begin_epoch * updates_per_epoch
        self.num_epochs = num_epochs
        self.lbmult = 1
        self.cumgrads: dict[Index, State] = {}
        self.adaptive = False
        self.admult = 1
        self._rates: dict[Index, float] = {}

    def create_state(self, index: Index, weight: NDArray) -> State:
        mixed = self.multi_precision and is_half(weight.dtype)
        master = weight.astype(np.float32) if mixed else weight
        state: State = zeros_like(master) if self.momentum != 0.0 else None
        if mixed:
            state = (state, master)
        return state if self.batch_scale == 1 else (state, zeros_like(weight))

    def _update_count(self, index: Index) -> None:
        for i in index if isinstance(index, list | tuple) else (index,):
            self.__dict__.setdefault("_rates", {})[i] = self._get_lr(i)
            super()._update_count(i)

    def _counted_lrs(self, indices: Sequence[Index]) -> list[float]:
        return [self._rates[i] for i in indices]

    def _schedule_count(self, position: int, count: Number) -> Number:
        return count - 1 if position == 0 else count

    def _hyperparams(
        self, lr: Number, wd: Number, t: Number, shared_state: State
    ) -> NumbersAndState:
        done = t - self.begin_num_update + self.init_updates
        rate = lr if self.warmup_strategy == "lars" else lr * self._warmup(done)
        return (rate, wd, self.rescale_grad, done % self.batch_scale == 0), shared_state

    def _warmup(self, done: Any) -> Any:
        warmup_updates, final = self.warmup_epochs * self.updates_per_epoch, float(self.batch_scale)
        if warmup_updates <= 1:
            return final
        power = {"linear": 1.0, "power2": 2.0, "sqrt": 0.5}.get(self.warmup_strategy)
        finished = done >= warmup_updates
        if power is None:
            return 1.0 + (final - 1.0) * finished
        return 1.0 + (final - 1.0) * (finished + (1 - finished) * done / warmup_updates) ** power

    def _base_rule(self, index: Index, weight: NDArray) -> Rule:
        return self._accumulated(sgd_rule(self.momentum, self.clip_gradient))

    def _update_rule(self, index: Index, weight: NDArray) -> Rule:
        plain = sgd_rule(self.momentum, self.clip_gradient)
        if not is_half(weight.dtype):
            return self._accumulated(plain)
        if self.multi_precision:
            return self._accumulated(MasterWeightRule(plain, master_last=True))
        return Float32Rule(self._accumulated(plain))

    def _accumulated(self, rule: Rule) -> Rule:
        return _LargeBatchRule(rule, self.batch_scale, self.warmup_strategy == "lars")
