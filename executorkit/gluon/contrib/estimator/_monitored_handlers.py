"""Handlers that follow a metric: the end of a training that gets no better, checkpoints."""

import math
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ....errors import ArgumentValueError
from ....metric import CompositeEvalMetric, EvalMetric
from ..._hybrid_block import traced_output
from ._events import BatchEnd, EpochEnd, TrainBegin, Trained, TrainEnd


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
        path = self._path("symbol.json")
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

    def _path(self, end: str) -> Path:
        return Path(self.model_dir, f"{self.model_prefix}-{end}")

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
        latest = self._latest_checkpoint()
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

    def _latest_checkpoint(self) -> tuple[int, int, Path] | None:
        pattern = re.compile(re.escape(self.model_prefix) + r"-epoch(\d+)batch(\d+)\.params")
        paths = Path(self.model_dir).iterdir()
        matches = [(pattern.fullmatch(path.name), path) for path in paths]
        checkpoints = [(int(match[1]), int(match[2]), path) for match, path in matches if match]
        return max(checkpoints, default=None)


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
