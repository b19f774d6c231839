"""``mx.lr_scheduler``: learning rates as functions of the number of updates. A scheduler is called
with a number of updates that never decreases, and remembers how far it got, as in MXNet.
``scheduler.to_optax()`` is the same schedule as a pure function, for programs."""

import itertools
import logging
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
from jax import Array

from ._support.keyword_arguments import CheckedKeywords
from ._support.unserved import attribute_getter
from .display import brief, changed_values
from .errors import ArgumentValueError, InputTypeError, NotSupportedError

__all__ = [
    "CosineScheduler",
    "FactorScheduler",
    "LRScheduler",
    "MultiFactorScheduler",
    "PolyScheduler",
]

_CHANGED = "Change learning rate to %0.5e"

#: A pure function from a count, which may be traced, to a rate.
Schedule = Callable[[Any], Array]


class LRScheduler(CheckedKeywords):
    """Base class of schedulers: the rate ``base_lr``, which they change over time, and its warm-up.

    The warm-up of ``warmup_steps`` updates begins at ``warmup_begin_lr`` and ends at the first
    ``base_lr``; ``warmup_mode`` 'linear' lets the rate rise, 'constant' keeps it.
    """

    def __init__(
        self,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        _check_integer(self, "warmup_steps", warmup_steps)
        self.base_lr = base_lr
        self.warmup_steps = warmup_steps
        self.warmup_final_lr = base_lr
        self.warmup_begin_lr = warmup_begin_lr
        self.warmup_mode = warmup_mode
        problem = f"warmup_begin_lr is {warmup_begin_lr}, expected at most base_lr, {base_lr}"
        _check(self, warmup_begin_lr <= base_lr, problem)
        _check(self, warmup_steps >= 0, f"warmup_steps is {warmup_steps}, expected 0 or more")
        _check_mode(self)

    def __repr__(self) -> str:
        return brief(self, None, [f"rate {self.base_lr:.4g}", *changed_values(self, {"base_lr"})])

    def get_warmup_lr(self, num_update: int) -> float:
        """Returns the rate at update ``num_update`` of the warm-up; InputTypeError (an
        AssertionError) later."""
        if not num_update < self.warmup_steps:
            problem = f"update {num_update} is not among the {self.warmup_steps} of the warm-up"
            raise InputTypeError(type(self).__name__, problem)
        return self._warmup(num_update)

    def _warmup(self, n: Any) -> Any:
        _check_mode(self)
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        rise = self.warmup_final_lr - self.warmup_begin_lr
        return self.warmup_begin_lr + rise * n / self.warmup_steps

    def __call__(self, num_update: int) -> float:
        raise NotSupportedError(type(self).__name__, "it does not define __call__(num_update)")

    def to_optax(self, begin: int = 0) -> Schedule:
        """Returns the rates from now on as a pure, traceable function of a count.

        ``schedule(count)`` is ``scheduler(begin + count)``. An optax transformation counts from 0,
        an optimizer here from 1: for the same rates in both give ``begin=1``. Later calls of the
        scheduler do not change the schedule. NotSupportedError for a class with only ``__call__``.
        """
        rate_after_warmup, warmup_steps = self._rate(), self.warmup_steps
        warmup = self._warmup

        def schedule(count: object) -> Array:
            update = jnp.asarray(count) + begin
            after = rate_after_warmup(update)
            if not warmup_steps:
                return jnp.asarray(after)
            return jnp.where(update < warmup_steps, warmup(update), after)

        return schedule

    def _rate(self) -> Callable[[Any], Any]:
        problem = "its rates are computed by Python code, so that a program cannot"
        hint = "define _rate(self), a function of a traced count, or use an optax schedule"
        raise NotSupportedError(type(self).__name__, problem, hint=hint)


class FactorScheduler(LRScheduler):
    """Multiplies the rate by ``factor`` after every ``step`` updates, down to ``stop_factor_lr``.
    At update n it is ``max(base_lr factor^k, stop_factor_lr)`` with k = (n - 1) // step. Other
    arguments are as for :class:`LRScheduler`.

    >>> rate = FactorScheduler(step=2, factor=0.5, base_lr=1.0)
    >>> [rate(n) for n in range(1, 6)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    def __init__(
        self,
        step: int,
        factor: float = 1,
        stop_factor_lr: float = 1e-8,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        _check(self, step >= 1, f"step is {step}, expected 1 or more")
        _check_factor(self, factor)
        self.step = step
        self.factor = factor
        self.stop_factor_lr = stop_factor_lr
        self.count = 0

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while num_update > self.count + self.step:
            self.count += self.step
            self.base_lr *= self.factor
            stopped = self.base_lr < self.stop_factor_lr
            if stopped:
                self.base_lr = self.stop_factor_lr
            # Programs that read logs look for these lines.
            message = "now learning rate arrived at %0.5e, will not change in the future"
            message = "Update[%d]: " + (message if stopped else _CHANGED)
            logging.info(message, num_update, self.base_lr)
        return self.base_lr

    def _rate(self) -> Callable[[Any], Any]:
        base, count, step = self.base_lr, self.count, self.step
        factor, stop = self.factor, self.stop_factor_lr

        def rate(n: Any) -> Array:
            decays = jnp.maximum(n - count - 1, 0) // step
            return jnp.where(decays > 0, jnp.maximum(base * _power(factor, decays), stop), base)

        return rate


class MultiFactorScheduler(LRScheduler):
    """Multiplies the rate by ``factor`` after each of the numbers of updates in ``step``. Other
    arguments are as for :class:`LRScheduler`.

    >>> rate = MultiFactorScheduler(step=[2, 3], factor=0.5, base_lr=1.0)
    >>> [rate(n) for n in range(1, 6)]
    [1.0, 1.0, 0.5, 0.25, 0.25]
    """

    def __init__(
        self,
        step: list[int],
        factor: float = 1,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if not isinstance(step, list) or not step:
            problem = f"step is {step!r}, expected a list of numbers"
            raise InputTypeError(type(self).__name__, problem)
        text = f"step is {step}, expected numbers of updates, from 1 on, each greater than the last"
        _check(self, step[0] >= 1 and all(a < b for a, b in itertools.pairwise(step)), text)
        _check_factor(self, factor)
        self.step = step
        self.cur_step_ind = 0
        self.factor = factor
        self.count = 0

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.count = self.step[self.cur_step_ind]
            self.cur_step_ind += 1
            self.base_lr *= self.factor
            logging.info("Update[%d]: " + _CHANGED, num_update, self.base_lr)
        return self.base_lr

    def _rate(self) -> Callable[[Any], Any]:
        base, factor, steps = self.base_lr, self.factor, self.step[self.cur_step_ind :]

        def rate(n: Any) -> Array:
            return base * _power(factor, jnp.asarray(sum((n > s).astype(jnp.int32) for s in steps)))

        return rate


class _Decay(LRScheduler):
    """Decay from base_lr to final_lr between the warm-up and ``max_update``, along a curve."""

    base_lr_orig: float
    max_update: int
    final_lr: float

    def _set_range(self, max_update: int, final_lr: float) -> None:
        _check_integer(self, "max_update", max_update)
        _check(self, max_update >= 1, f"max_update is {max_update}, expected 1 or more")
        self.base_lr_orig = self.base_lr
        self.max_update = max_update
        self.final_lr = final_lr
        self.max_steps = max_update - self.warmup_steps

    def _curve(self, progress: object) -> Any:
        raise NotImplementedError

    def _at(self, n: Any) -> Any:
        return self._decayed((n - self.warmup_steps) / self.max_steps)

    def _decayed(self, progress: object) -> Any:
        return self.final_lr + (self.base_lr_orig - self.final_lr) * self._curve(progress)

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        if num_update <= self.max_update:
            self.base_lr = self._at(num_update)
        return self.base_lr

    def _rate(self) -> Callable[[Any], Any]:
        # Compilers multiply by the reciprocal and fuse that with a subtraction: a progress of 1
        # then leaves -1e-17, whose root is NaN.
        last, end = self.max_update - 1, self._decayed(1.0)
        return lambda n: jnp.where(n > last, end, self._at(jnp.minimum(n, last)))


class PolyScheduler(_Decay):
    """``final_lr + (base_lr - final_lr) (1 - x)^pwr``, x being the share of the updates done. The
    rate stays at ``final_lr`` after ``max_update`` updates. Other arguments are as for
    :class:`LRScheduler`.

    >>> rate = PolyScheduler(max_update=4, base_lr=1.0, pwr=2)
    >>> [rate(n) for n in (0, 1, 2, 4, 9)]
    [1.0, 0.5625, 0.25, 0.0, 0.0]
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        pwr: float = 2,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self._set_range(max_update, final_lr)
        self.power = pwr

    def _curve(self, progress: Any) -> Any:
        return (1 - progress) ** self.power


class CosineScheduler(_Decay):
    """``final_lr + (base_lr - final_lr) (1 + cos(pi x)) / 2``, x being the share of the updates
    done. The rate stays at ``final_lr`` after ``max_update`` updates. Other arguments are as for
    :class:`LRScheduler`.

    >>> rate = CosineScheduler(max_update=10, base_lr=1.0, warmup_steps=2)
    >>> [round(rate(n), 3) for n in (0, 1, 2, 6, 10)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self._set_range(max_update, final_lr)

    def _curve(self, progress: Any) -> Any:
        cos = jnp.cos if isinstance(progress, Array) else math.cos
        return (1 + cos(math.pi * progress)) / 2


def _power(factor: float, exponent: Array) -> Array:
    return jnp.asarray(factor, jnp.result_type(float)) ** exponent


def _check(scheduler: LRScheduler, valid: bool, problem: str) -> None:
    if not valid:
        raise ArgumentValueError(type(scheduler).__name__, problem)


def _check_mode(scheduler: LRScheduler) -> None:
    mode = scheduler.warmup_mode
    problem = f"warmup_mode is {mode!r}, expected 'linear' or 'constant'"
    _check(scheduler, mode in ("linear", "constant"), problem)


def _check_factor(scheduler: LRScheduler, factor: float) -> None:
    _check(scheduler, factor <= 1, f"factor is {factor}, expected at most 1: rates decrease")


def _check_integer(scheduler: LRScheduler, name: str, number: object) -> None:
    if not isinstance(number, int):
        raise InputTypeError(type(scheduler).__name__, f"{name} is {number!r}, expected an integer")


if not TYPE_CHECKING:
    __getattr__ = attribute_getter(__name__)
