"""Events of which handlers are told: begin and end of a training, an epoch and a batch."""

from typing import Any, TypeAlias

#: The Estimator whose training it is; its module imports this one.
Trained: TypeAlias = Any


class EventHandler:
    """Base class of handlers, which derive from the events that they receive and define their
    methods. Those of lower ``priority`` (0 by default) run first, equal ones in the given order."""


class TrainBegin(EventHandler):
    def train_begin(self, estimator: Trained, *args: Any, **kwargs: Any) -> Any:
        """Runs before anything is computed."""


class TrainEnd(EventHandler):
    def train_end(self, estimator: Trained, *args: Any, **kwargs: Any) -> Any:
        """Runs after the last epoch."""


class EpochBegin(EventHandler):
    """Event at the begin of an epoch or an evaluation."""

    def epoch_begin(self, estimator: Trained, *args: Any, **kwargs: Any) -> Any:
        """Runs before the first batch."""


class EpochEnd(EventHandler):
    """Event at the end of an epoch or an evaluation."""

    def epoch_end(self, estimator: Trained, *args: Any, **kwargs: Any) -> Any:
        """Runs after the last batch. Returns True to end the training."""
        return False


class BatchBegin(EventHandler):
    def batch_begin(self, estimator: Trained, *args: Any, **kwargs: Any) -> Any:
        """Runs with the batch (``batch=``)."""


class BatchEnd(EventHandler):
    def batch_end(self, estimator: Trained, *args: Any, **kwargs: Any) -> Any:
        """Runs with ``batch=``, ``pred=``, ``label=`` and ``loss=``: lists with an array for each
        context. Returns True to end the epoch."""
        return False
