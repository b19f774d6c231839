"""Events of which handlers are told, start and end of a training, an epoch and a batch, and
handlers: of the end, metrics, validation, the update, logs, checkpoints."""

import math
import re
import time
import warnings
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ...._support.annotations import Function
from ....display import ProgressLine
from ....errors import ArgumentValueError, DeferredInitializationError, RefusedCallError
from ....metric import CompositeEvalMetric, EvalMetric, Loss
from ....optimizer import Optimizer
from ..._hybrid_block import traced_output
from ._metrics import listed_metrics

#: The Estimator whose training it is; its module imports this one.
Trained: TypeAlias = Any


class EventHandler:
    """Base class of handlers, which derive from the events that they receive and define their
    methods. Those of lower ``priority`` (0 by default) run first, equal ones in the given order."""


class TrainBegin(EventHandler):
    """Event at the start of a training."""

    def train_begin(self, estimator: Trained, *args: Any, **kwargs: Any) -> Any:
        """Runs before anything is computed."""


class TrainEnd(EventHandler):
    """Event at the end of a training."""

    def train_end(self, estimator: Trained, *args: Any, **kwargs: Any) -> Any:
        """Runs after the last epoch."""


class EpochBegin(EventHandler):
    """Event at the start of an epoch or an evaluation."""

    def epoch_begin(self, estimator: Trained, *args: Any, **kwargs: Any) -> Any:
        """Runs before the first batch."""


class EpochEnd(EventHandler):
    """Event at the end of an epoch or an evaluation."""

    def epoch_end(self, estimator: Trained, *args: Any, **kwargs: Any) -> Any:
        """Runs after the last batch. Returns True to end the training."""
        return False


class BatchBegin(EventHandler):
    """Event at the start of a batch."""

    def batch_begin(self, estimator: Trained, *args: Any, **kwargs: Any) -> Any:
        """Runs with the batch (``batch=``)."""


class BatchEnd(EventHandler):
    """Event at the end of a batch."""

    def batch_end(self, estimator: Trained, *args: Any, **kwargs: Any) -> Any:
        """Runs with ``batch=``, ``pred=``, ``label=`` and ``loss=``: lists with an array for each
        context. Returns True to end the epoch."""
        return False


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


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Logs the start and end of a training, epochs, and batches if asked for.

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


class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd):
    """Ends a training when a metric has not improved for more than ``patience`` epochs.

    monitor
        A metric of ``estimator.train_metrics`` or ``estimator.val_metrics``, not a composite one.
        Raises ValueError (ArgumentValueError) for others.
    min_delta
        The smallest difference that counts as an improvement.
    patience
        The number of epochs without an improvement that ends the training; 0 is the same as 1.
    mode
        'min' or 'max': which values are better. 'auto' is 'max' for every metric, with a warning,
        as in MXNet; say 'min' for a loss.
    baseline
        The value that the first epoch must exceed.
    """

    def __init__(
        self,
        monitor: EvalMetric,
        min_delta: float = 0,
        patience: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
    ) -> None:
        _check_monitor("EarlyStoppingHandler: monitor", monitor)
        if isinstance(monitor, CompositeEvalMetric):
            problem = f"{monitor.name!r} has several values, expected a metric of one"
            raise ArgumentValueError("EarlyStoppingHandler: monitor", problem)
        self.monitor = monitor
        self.baseline = baseline
        self.patience = patience
        self.monitor_op = _comparison("EarlyStoppingHandler", monitor, mode)
        self.min_delta = -min_delta if self.monitor_op is np.less else min_delta
        self.wait = 0
        self.stopped_epoch = 0
        self.current_epoch = 0
        self.stop_training = False
        self.best = _worst(self.monitor_op)

    def train_begin(self, estimator: Trained, *args: Any, **kwargs: Any) -> None:
        self.wait = 0
        self.stopped_epoch = 0
        self.current_epoch = 0
        self.stop_training = False
        self.best = _worst(self.monitor_op) if self.baseline is None else self.baseline

    def epoch_end(self, estimator: Trained, *args: Any, **kwargs: Any) -> bool:
        name, value = self.monitor.get()
        if np.isnan(value):
            _warn_of_no_value("EarlyStoppingHandler", name)
        elif self.monitor_op(value - self.min_delta, self.best):
            self.best = value
            self.wait = 0
        else:
            self.wait += 1
            if self.wait >= self.patience:
                self.stopped_epoch = self.current_epoch
                self.stop_training = True
        self.current_epoch += 1
        return self.stop_training

    def train_end(self, estimator: Trained, *args: Any, **kwargs: Any) -> None:
        if self.stop_training:
            estimator.logger.info(
                "[Epoch %d] EarlyStoppingHandler: the training ends, since %s does not improve",
                self.stopped_epoch, self.monitor.name,
            )  # fmt: skip


class CheckpointHandler(TrainBegin, BatchEnd, EpochEnd):
    """Writes checkpoints of parameters and of the trainer's states, and resumes from them.

    model_dir
        The folder of the files; it is created.
    model_prefix
        The beginning of their names: ``model-symbol.json`` once, for a traced network;
        ``model-epoch0batch20.params`` and ``.states`` for each checkpoint, with the numbers of
        epochs and batches; ``model-best.params`` and ``.states``.
    monitor
        The metric of ``save_best``, as for :class:`EarlyStoppingHandler`, which describes ``mode``,
        too.
    verbose
        Whether to log each checkpoint.
    save_best
        Whether to keep the best model, too; the best model before a resumption does not count.
    epoch_period, batch_period
        The number of epochs or batches between checkpoints, or None.
    max_checkpoints
        The number of checkpoints to keep; older ones are removed.
    resume_from_checkpoint
        Whether to begin with the latest checkpoint in ``model_dir``. What is done counts as part of
        the epochs or batches of ``fit``; checkpoints must be by epochs if ``fit`` is, by batches
        otherwise (else AssertionError, ArgumentValueError). Raises ValueError if nothing remains to
        be done.

    Each file is written completely or not at all, states before parameters.
    """

    def __init__(
        self,
        model_dir: str,
        model_prefix: str = "model",
        monitor: EvalMetric | None = None,
        verbose: int = 0,
        save_best: bool = False,
        mode: str = "auto",
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        max_checkpoints: int = 5,
        resume_from_checkpoint: bool = False,
    ) -> None:
        self.monitor = monitor
        self.verbose = verbose
        self.model_dir = model_dir
        self.model_prefix = model_prefix
        self.save_best = save_best
        self.epoch_period = epoch_period
        self.batch_period = batch_period
        self.current_batch = 0
        self.current_epoch = 0
        self.max_checkpoints = max_checkpoints
        self.resume_from_checkpoint = resume_from_checkpoint
        self.saved_checkpoints: list[str] = []
        self._first_epoch = self._first_batch = 0
        if save_best:
            _check_monitor("CheckpointHandler: monitor of save_best", monitor)
            self.monitor_op = _comparison("CheckpointHandler", monitor, mode)
            self.best = _worst(self.monitor_op)
        Path(model_dir).mkdir(parents=True, exist_ok=True)

    def train_begin(self, estimator: Trained, *args: Any, **kwargs: Any) -> None:
        self.current_epoch = 0
        self.current_batch = 0
        self._first_epoch = self._first_batch = 0
        if self.save_best:
            self.best = _worst(self.monitor_op)
        if self.resume_from_checkpoint:
            self._check_periods(estimator)
            self._resume_from_checkpoint(estimator)

    def batch_end(self, estimator: Trained, *args: Any, **kwargs: Any) -> None:
        if self.current_batch == 0:
            self._save_symbol(estimator)
        if self.batch_period and (self.current_batch + 1) % self.batch_period == 0:
            self._save_checkpoint(estimator)
        self.current_batch += 1

    def epoch_end(self, estimator: Trained, *args: Any, **kwargs: Any) -> None:
        if self.epoch_period and (self.current_epoch + 1) % self.epoch_period == 0:
            self._save_checkpoint(estimator)
        self.current_epoch += 1

    # -- writing -----------------------------------------------------------------------------------

    def _save_symbol(self, estimator: Trained) -> None:
        path = Path(self.model_dir, f"{self.model_prefix}-symbol.json")
        output = traced_output(estimator.net)
        if output is None:
            estimator.logger.info(
                "CheckpointHandler: %s is not written, the network was never traced", path
            )
        else:
            output.save(str(path))

    def _save_checkpoint(self, estimator: Trained) -> None:
        epoch = self._first_epoch + self.current_epoch
        batch = self._first_batch + self.current_batch
        name = f"{self.model_prefix}-epoch{epoch}batch{batch}"
        self._save_params_and_trainer(estimator, name)
        self._log(estimator, "saved %s in %s", name, self.model_dir)
        if name in self.saved_checkpoints:
            self.saved_checkpoints.remove(name)
        self.saved_checkpoints.append(name)
        while len(self.saved_checkpoints) > self.max_checkpoints:
            oldest = self.saved_checkpoints.pop(0)
            for suffix in ("params", "states"):
                Path(self.model_dir, f"{oldest}.{suffix}").unlink(missing_ok=True)
        if self.save_best:
            self._save_best(estimator)

    def _save_best(self, estimator: Trained) -> None:
        assert self.monitor is not None
        name, value = self.monitor.get()
        if np.isnan(value):
            _warn_of_no_value("CheckpointHandler", name)
        elif self.monitor_op(value, self.best):
            best = f"{self.model_prefix}-best"
            self._save_params_and_trainer(estimator, best)
            text = "%s improved from %.5f to %.5f, saved %s in %s"
            self._log(estimator, text, name, self.best, value, best, self.model_dir)
            self.best = value
        else:
            self._log(estimator, "%s did not improve from %.5f", name, self.best)

    def _save_params_and_trainer(self, estimator: Trained, file_prefix: str) -> None:
        estimator.trainer.save_states(str(Path(self.model_dir, f"{file_prefix}.states")))
        estimator.net.save_parameters(str(Path(self.model_dir, f"{file_prefix}.params")))

    def _log(self, estimator: Trained, text: str, *values: Any) -> None:
        if self.verbose > 0:
            estimator.logger.info(
                f"[Epoch %d] CheckpointHandler: {text}", self.current_epoch, *values
            )

    # -- resuming ----------------------------------------------------------------------------------

    def _check_periods(self, estimator: Trained) -> None:
        by_epochs = bool(self.epoch_period and not self.batch_period)
        by_batches = bool(self.batch_period and not self.epoch_period)
        if (estimator.max_epoch and not by_epochs) or (estimator.max_batch and not by_batches):
            problem = (
                f"epoch_period is {self.epoch_period}, batch_period {self.batch_period}, and "
                f"fit is called with {'epochs' if estimator.max_epoch else 'batches'}"
            )
            hint = "that period alone, and None for the other one"
            raise ArgumentValueError(
                "CheckpointHandler: resume_from_checkpoint", problem, hint=hint
            )

    def _resume_from_checkpoint(self, estimator: Trained) -> None:
        pattern = re.compile(re.escape(self.model_prefix) + r"-epoch(\d+)batch(\d+)\.params")
        paths = Path(self.model_dir).iterdir()
        matches = [(pattern.fullmatch(path.name), path) for path in paths]
        checkpoints = [(int(match[1]), int(match[2]), path) for match, path in matches if match]
        latest = max(checkpoints, default=None)
        if latest is None:
            text = "CheckpointHandler: no checkpoint in %s, training begins from scratch"
            estimator.logger.info(text, self.model_dir)
            return
        epoch, batch, path = latest
        by_epochs = bool(estimator.max_epoch)
        unit, total, done = "batches", estimator.max_batch, batch + 1
        if by_epochs:
            unit, total, done = "epochs", estimator.max_epoch, epoch + 1
        where = f"CheckpointHandler: {self.model_dir}"
        if done >= total:
            problem = f"its latest checkpoint has {done} {unit}, fit is called with {total}"
            hint = "more of them, or resume_from_checkpoint=False"
            raise ArgumentValueError(where, problem, hint=hint)
        states = path.with_suffix(".states")
        if not states.exists():
            problem = f"{path.name} has no {states.name} beside it"
            hint = f"delete {path.name}, or restore {states.name}"
            raise ArgumentValueError(where, problem, hint=hint)
        estimator.net.load_parameters(str(path), ctx=estimator.context)
        estimator.trainer.load_states(str(states))
        if by_epochs:
            estimator.max_epoch = total - done
        else:
            estimator.max_batch = total - done
        self._first_epoch = epoch + 1
        self._first_batch = batch if by_epochs else done
        text = "CheckpointHandler: training goes on from %s, %d %s remain"
        estimator.logger.warning(text, path.name, total - done, unit)


def _check_monitor(where: str, monitor: Any) -> None:
    if not isinstance(monitor, EvalMetric):
        problem = f"{monitor!r}, expected a metric"
        hint = "one of estimator.train_metrics, estimator.val_metrics"
        raise ArgumentValueError(where, problem, hint=hint)


def _comparison(handler: str, monitor: Any, mode: str) -> Any:
    if mode not in ("auto", "min", "max"):
        text = f"{handler}: mode {mode!r} is unknown, expected 'auto', 'min' or 'max'; 'auto' holds"
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    if mode in ("min", "max"):
        return np.less if mode == "min" else np.greater
    text = (
        f"{handler}: mode 'auto' takes greater values of {monitor.name!r} for better ones; "
        f"mode='min' for a loss, mode='max' for no warning"
    )
    warnings.warn(text, UserWarning, stacklevel=3)
    return np.greater


def _worst(comparison: Any) -> float:
    return math.inf if comparison is np.less else -math.inf


def _warn_of_no_value(handler: str, name: Any) -> None:
    text = f"{handler}: {name!r} has no value; monitor one of the estimator's metrics that is used"
    warnings.warn(text, RuntimeWarning, stacklevel=3)
