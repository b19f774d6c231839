"""Events of which handlers are told: begin and end of a training, an epoch and a batch."""

from typing import Any


class EventHandler:
    """Base class of handlers.

    A handler derives from the events that it wants to be told of, and defines their methods. Those
    with a lower ``priority`` (0 without one) are told first, equal ones in the order in which they
    are given.
    """


class TrainBegin(EventHandler):
    """Told when a training begins."""

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
        """``fit`` has been called; nothing is computed yet."""


class TrainEnd(EventHandler):
    """Told when a training ends."""

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
        """The last epoch is over."""


class EpochBegin(EventHandler):
    """Told when an epoch, or an evaluation, begins."""

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
        """No batch of the epoch has been taken."""


class EpochEnd(EventHandler):
    """Told when an epoch, or an evaluation, ends."""

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
        """All batches of the epoch are done. True ends the training."""
        return False


class BatchBegin(EventHandler):
    """Told of each batch before it is used."""

    def batch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
        """``batch=`` has been taken."""


class BatchEnd(EventHandler):
    """Told of each batch after its gradients."""

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
        """``batch=`` is done, with ``pred=``, ``label=`` and ``loss=``, lists with an array for
        each context. True ends the epoch."""
        return False
