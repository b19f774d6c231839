"""Metrics of a training run as pandas data frames."""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping
from typing import Any

from ..errors import MissingDependencyError, explain
from ._reading import read_training


class PandasLogger:
    """Records training and validation metrics, and epochs, in a data frame each.

    batch_size
        examples in a batch.
    frequent
        training metrics are recorded every so many batches.

    ``train_df`` and ``eval_df`` have one column per metric, and ``batches_per_sec``,
    ``records_per_sec``, ``elapsed`` (since the logger was made), ``minibatch_count`` and ``epoch``;
    ``epoch_df`` has ``elapsed`` and ``epoch_time``. Frames are made when they are asked for.
    MXNet has the two speeds the wrong way round.

    Raises :class:`MissingDependencyError`, an ImportError, if pandas is not installed.
    """

    def __init__(self, batch_size: int, frequent: int = 50) -> None:
        try:
            import pandas
        except ImportError:
            raise MissingDependencyError(
                explain(
                    "PandasLogger",
                    "pandas is not installed",
                    hint="pip install pandas, or LiveLearningCurve, which needs none",
                )
            ) from None
        self._frame = pandas.DataFrame
        self.batch_size = batch_size
        self.frequent = frequent
        self._rows: dict[str, list[dict[str, Any]]] = {"train": [], "eval": [], "epoch": []}
        self._frames: dict[str, Any] = {}
        self.last_time = time.time()
        self.start_time = datetime.datetime.now()
        self.last_epoch_time = self.start_time

    @property
    def train_df(self) -> Any:
        """Metrics of training batches."""
        return self.all_dataframes["train"]

    @property
    def eval_df(self) -> Any:
        """Metrics of evaluations, one row per epoch."""
        return self.all_dataframes["eval"]

    @property
    def epoch_df(self) -> Any:
        """How long each epoch took."""
        return self.all_dataframes["epoch"]

    @property
    def all_dataframes(self) -> dict[str, Any]:
        """The three frames by name: 'train', 'eval', 'epoch'."""
        for name, rows in self._rows.items():
            if name not in self._frames:
                self._frames[name] = self._frame(rows)
        return dict(self._frames)

    def elapsed(self) -> datetime.timedelta:
        """The time since the logger was made."""
        return datetime.datetime.now() - self.start_time

    def append_metrics(self, metrics: Mapping[str, Any], df_name: str) -> None:
        """Adds a row to one of the frames; new names become new columns."""
        self._rows[df_name].append(dict(metrics))
        self._frames.pop(df_name, None)

    def train_cb(self, param: Any) -> None:
        """For ``batch_end_callback``."""
        if param.nbatch % self.frequent == 0:
            self._record(param, "train")

    def eval_cb(self, param: Any) -> None:
        """For ``eval_end_callback``."""
        self._record(param, "eval")

    def epoch_cb(self, *_: Any) -> None:
        """For ``epoch_end_callback``."""
        now = datetime.datetime.now()
        self.append_metrics(
            {"elapsed": self.elapsed(), "epoch_time": now - self.last_epoch_time}, "epoch"
        )
        self.last_epoch_time = now

    def callback_args(self) -> dict[str, Any]:
        """The arguments of ``fit`` that have it call this logger."""
        return {
            "batch_end_callback": self.train_cb,
            "eval_end_callback": self.eval_cb,
            "epoch_end_callback": self.epoch_cb,
        }

    def _record(self, param: Any, name: str) -> None:
        metrics: dict[str, Any] = {}
        if param.eval_metric is not None:
            training = name == "train"
            found = read_training(param) if training else param.eval_metric.get_name_value()
            metrics.update(found)
        now = time.time()
        seconds = now - self.last_time
        speed = self.frequent / seconds if seconds else float("inf")
        metrics["batches_per_sec"] = speed
        metrics["records_per_sec"] = speed * self.batch_size
        metrics["elapsed"] = self.elapsed()
        metrics["minibatch_count"] = param.nbatch
        metrics["epoch"] = param.epoch
        self.append_metrics(metrics, name)
        self.last_time = now
