"""What optimizers raise."""

from __future__ import annotations

from ..errors import MXNetError


class OptimizerTypeError(MXNetError, AssertionError, TypeError):
    """An optimizer is given something of the wrong kind."""


class SchedulerInChargeError(MXNetError, UserWarning):
    """A learning rate is set by hand although a scheduler decides on it."""


class RemovedError(MXNetError, DeprecationWarning):
    """A method that MXNet itself refuses to run."""


class NoUpdateError(MXNetError, NotImplementedError):
    """An optimizer class does not say how it updates a weight."""
