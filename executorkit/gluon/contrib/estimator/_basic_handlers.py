"""Handlers that every training has: its end, its metrics, validation, the update."""

from typing import Any

from ...._support.annotations import Function
from ....metric import Loss
from ._events import BatchEnd, EpochBegin, EpochEnd, TrainBegin, Trained
from ._metrics import listed_metrics


class StoppingHandler(TrainBegin, BatchEnd, EpochEnd):
    """Ends a training after ``fit``'s epochs or batches, else ``max_epoch`` or ``max_batch``."""

    def __init__(self, max_epoch: int | None = None, max_batch: int | None = None) -> None:
        self.max_epoch = max_epoch
        self.max_batch = max_batch
        self.current_batch = 0
        self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator: Trained, *args: Any, **kwargs: Any) -> None:
        self.max_epoch = estimator.max_epoch
        self.max_batch = estimator.max_batch
        self.current_batch = 0
        self.current_epoch = 0
        self.stop_training = False

    def batch_end(self, estimator: Trained, *args: Any, **kwargs: Any) -> bool:
        self.current_batch += 1
        if self.current_batch == self.max_batch:
            self.stop_training = True
        return self.stop_training

    def epoch_end(self, estimator: Trained, *args: Any, **kwargs: Any) -> bool:
        self.current_epoch += 1
        if self.current_epoch == self.max_epoch:
            self.stop_training = True
        return self.stop_training


class MetricHandler(EpochBegin, BatchEnd):
    """Updates metrics after each batch, and resets them when an epoch begins.
    :class:`executorkit.metric.Loss` gets the losses, other metrics get labels and predictions.
    Metrics add up on the device, without waiting."""

    def __init__(self, metrics: Any, priority: float = -1000) -> None:
        self.metrics = listed_metrics("MetricHandler: metrics", metrics)
        self.priority = priority

    def epoch_begin(self, estimator: Trained, *args: Any, **kwargs: Any) -> None:
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator: Trained, *args: Any, **kwargs: Any) -> None:
        for metric in self.metrics:
            if isinstance(metric, Loss):
                metric.update(0, kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])


class ValidationHandler(TrainBegin, BatchEnd, EpochEnd):
    """Evaluates on validation data, every ``epoch_period`` epochs or ``batch_period`` batches, by
    ``eval_fn(val_data=, batch_axis=, event_handlers=)``, such as ``estimator.evaluate``."""

    def __init__(
        self,
        val_data: Any,
        eval_fn: Function,
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        priority: float = -1000,
        event_handlers: Any = None,
    ) -> None:
        self.val_data = val_data
        self.eval_fn = eval_fn
        self.epoch_period = epoch_period
        self.batch_period = batch_period
        self.current_batch = 0
        self.current_epoch = 0
        self.priority = priority
        self.event_handlers = event_handlers

    def train_begin(self, estimator: Trained, *args: Any, **kwargs: Any) -> None:
        self.current_batch = 0
        self.current_epoch = 0

    def batch_end(self, estimator: Trained, *args: Any, **kwargs: Any) -> None:
        self.current_batch += 1
        if self.batch_period and self.current_batch % self.batch_period == 0:
            self._evaluate(estimator)

    def epoch_end(self, estimator: Trained, *args: Any, **kwargs: Any) -> None:
        self.current_epoch += 1
        if self.epoch_period and self.current_epoch % self.epoch_period == 0:
            self._evaluate(estimator)

    def _evaluate(self, estimator: Trained) -> None:
        self.eval_fn(
            val_data=self.val_data,
            batch_axis=estimator.batch_axis,
            event_handlers=self.event_handlers,
        )


class GradientUpdateHandler(BatchEnd):
    """Takes the trainer's step after each batch, with gradients divided by the number of losses. It
    runs before handlers that read values, so that a batch is one program."""

    def __init__(self, priority: float = -2000) -> None:
        self.priority = priority

    def batch_end(self, estimator: Trained, *args: Any, **kwargs: Any) -> None:
        losses = kwargs["loss"]
        losses = losses if isinstance(losses, list | tuple) else [losses]
        estimator.trainer.step(sum(loss.shape[0] if loss.shape else 1 for loss in losses))
