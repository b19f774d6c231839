"""Handlers that tell how a training goes: lines in a log, a bar that grows."""

import math
import time
from typing import Any

from ....display import ProgressLine
from ....errors import ArgumentValueError, DeferredInitializationError, RefusedCallError
from ....metric import EvalMetric
from ....optimizer import Optimizer
from ._events import BatchBegin, BatchEnd, EpochBegin, EpochEnd, TrainBegin, Trained, TrainEnd
from ._metrics import listed_metrics


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Logs the begin and end of a training, epochs, and batches if asked for.

    log_interval
        'epoch', or the number of batches between lines. Raises ValueError (ArgumentValueError) for
        others.
    metrics
        The metrics to log; reading them waits for the device. Without a metric with 'training' in
        its name the lines report an evaluation.

    Lines go to ``estimator.logger`` at level INFO.
    """

    def __init__(
        self, log_interval: Any = "epoch", metrics: Any = None, priority: float = math.inf
    ) -> None:
        self.metrics = listed_metrics("LoggingHandler: metrics", metrics)
        if log_interval != "epoch" and not (isinstance(log_interval, int) and log_interval > 0):
            problem = f"{log_interval!r}, expected 'epoch' or a number of batches"
            raise ArgumentValueError("LoggingHandler: log_interval", problem)
        self.batch_index = 0
        self.current_epoch = 0
        self.processed_samples = 0
        self.priority = priority
        self.log_interval: Any = log_interval
        self.log_interval_time = 0.0
        self.train_start = self.epoch_start = self.batch_start = 0.0

    def train_begin(self, estimator: Trained, *args: Any, **kwargs: Any) -> None:
        self.train_start = time.time()
        optimizer = estimator.trainer.optimizer
        name = type(optimizer).__name__ if isinstance(optimizer, Optimizer) else "optax"
        rate = _rate(estimator.trainer)
        estimator.logger.info(
            "Training begin: using optimizer %s with current learning rate %s ", name, rate
        )
        if estimator.max_epoch:
            estimator.logger.info("Train for %d epochs.", estimator.max_epoch)
        else:
            estimator.logger.info("Train for %d batches.", estimator.max_batch)
        self.current_epoch = 0
        self.batch_index = 0
        self.processed_samples = 0
        self.log_interval_time = 0.0

    def train_end(self, estimator: Trained, *args: Any, **kwargs: Any) -> None:
        seconds = time.time() - self.train_start
        text = f"Train finished using total {int(seconds)}s with {self.current_epoch} epochs."
        estimator.logger.info(_append_metrics(text, " ", self.metrics))

    def batch_begin(self, estimator: Trained, *args: Any, **kwargs: Any) -> None:
        if self.log_interval != "epoch":
            self.batch_start = time.time()

    def batch_end(self, estimator: Trained, *args: Any, **kwargs: Any) -> None:
        if self.log_interval == "epoch":
            return
        self.processed_samples += kwargs["batch"][0].shape[0]
        self.log_interval_time += time.time() - self.batch_start
        if self.batch_index % self.log_interval == 0:
            text = (
                f"[Epoch {self.current_epoch}][Batch {self.batch_index}]"
                f"[Samples {self.processed_samples}] "
                f"time/interval: {self.log_interval_time:.3f}s"
            )
            estimator.logger.info(_append_metrics(text, " ", self.metrics))
            self.log_interval_time = 0.0
        self.batch_index += 1

    def epoch_begin(self, estimator: Trained, *args: Any, **kwargs: Any) -> None:
        self.epoch_start = time.time()
        if any("training" in metric.name for metric in self.metrics):
            rate = _rate(estimator.trainer)
            text = f"[Epoch {self.current_epoch}] Begin, current learning rate: {rate}"
            estimator.logger.info(text)
        else:
            estimator.logger.info("Validation Begin")

    def epoch_end(self, estimator: Trained, *args: Any, **kwargs: Any) -> None:
        seconds = time.time() - self.epoch_start
        text = f"[Epoch {self.current_epoch}] Finished in {seconds:.3f}s"
        estimator.logger.info(_append_metrics(text, ", ", self.metrics))
        self.current_epoch += 1
        self.batch_index = 0


class ProgressBarHandler(TrainBegin, EpochBegin, BatchEnd, EpochEnd):
    """Shows the progress of each epoch as :class:`executorkit.callback.ProgressBar` does: HTML in a
    notebook, ``tqdm`` in a terminal, otherwise lines in the log. An extension.

    total
        The number of batches in an epoch.
    length
        The width in characters.
    """

    def __init__(self, total: int, length: int = 80, priority: float = math.inf) -> None:
        self.total = total
        self.length = length
        self.priority = priority
        self.current_epoch = 0
        self.current_batch = 0
        self._line = ProgressLine()

    def train_begin(self, estimator: Trained, *args: Any, **kwargs: Any) -> None:
        self.current_epoch = 0

    def epoch_begin(self, estimator: Trained, *args: Any, **kwargs: Any) -> None:
        self.current_batch = 0
        self._line.begin(f"Epoch[{self.current_epoch}]", self.total, self.length)

    def batch_end(self, estimator: Trained, *args: Any, **kwargs: Any) -> None:
        self.current_batch += 1
        self._line.count(self.current_batch)

    def epoch_end(self, estimator: Trained, *args: Any, **kwargs: Any) -> None:
        self.current_epoch += 1
        self._line.close()


def _append_metrics(text: str, separator: str, metrics: list[EvalMetric]) -> str:
    pairs = [pair for metric in metrics for pair in metric.get_name_value()]
    values = ", ".join(f"{name}: {value:.4f}" for name, value in pairs)
    return f"{text}{separator}{values}" if values else text


def _rate(trainer: Any) -> str:
    try:
        return f"{trainer.learning_rate:.4f}"
    except (RefusedCallError, DeferredInitializationError):
        return "unknown"
