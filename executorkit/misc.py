"""``mx.misc``: MXNet's first learning rate schedules; new scripts use ``mx.lr_scheduler``."""

import logging

from .errors import ArgumentValueError, NotSupportedError


class LearningRateScheduler:
    """Base of the schedules; ``base_lr`` is the rate at the start."""

    def __init__(self) -> None:
        self.base_lr = 0.01

    def __call__(self, iteration: int) -> float:
        problem = "it does not define __call__"
        raise NotSupportedError(type(self).__name__, problem, hint="FactorScheduler")


class FactorScheduler(LearningRateScheduler):
    """Multiplies the rate by ``factor`` once in ``step`` updates.

    >>> [FactorScheduler(10, 0.5)(n) for n in (0, 9, 10, 20)]
    [0.01, 0.01, 0.005, 0.0025]
    """

    def __init__(self, step: int, factor: float = 0.1) -> None:
        super().__init__()
        if step < 1:
            raise ArgumentValueError("FactorScheduler", f"step is {step}, expected 1 or more")
        if factor >= 1:
            raise ArgumentValueError("FactorScheduler", f"factor is {factor}, expected less than 1")
        self.step = step
        self.factor = factor
        self.old_lr = self.base_lr
        self.init = False

    def __call__(self, iteration: int) -> float:
        if not self.init:
            self.init = True
            self.old_lr = self.base_lr
        rate = self.base_lr * self.factor ** (iteration // self.step)
        if rate != self.old_lr:
            self.old_lr = rate
            logging.info("At Iteration [%d]: Swith to new learning rate %.5f", iteration, rate)
        return rate
