"""``mx.notebook.callback``: callbacks of ``fit`` that record metrics and draw them.

    curve = mx.notebook.callback.LiveLearningCurve("accuracy", display_freq=2)
    log = mx.notebook.callback.PandasLogger(batch_size=64)
    module.fit(train, num_epoch=10, **mx.notebook.callback.args_wrapper(curve, log))
    log.train_df.plot(x="elapsed", y="accuracy")

Both reset the training metric whenever they read it, as in MXNet: a value covers the batches since
the last one. At the same batch both get the same value; a Speedometer, which resets the metric too,
should report at other batches. The metric of an evaluation is not reset: MXNet resets it, and
``fit`` then logs NaN. MXNet's Bokeh charts are not included.
"""

import datetime
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from math import isnan
from typing import Any
from weakref import WeakKeyDictionary

from ..display import Curve, Curves, Live, View, Viewed, view_of
from ..errors import MissingDependencyError, UnknownNameError

#: The last reading of each metric: (epoch, batch) and the values.
_LAST_READ: WeakKeyDictionary[Any, tuple[tuple[int, int], dict[str, float]]] = WeakKeyDictionary()


def read_training(param: Any) -> dict[str, float]:
    """Returns names and values of a training metric, which is then reset. A second reader at the
    same batch, before the next update, gets the same values."""
    batch = (param.epoch, param.nbatch)
    values = dict(param.eval_metric.get_name_value())
    last = _LAST_READ.get(param.eval_metric)
    if last is not None and last[0] == batch and all(map(isnan, values.values())):
        return dict(last[1])
    param.eval_metric.reset()
    _LAST_READ[param.eval_metric] = (batch, values)
    return dict(values)


class LiveLearningCurve(Viewed):
    """A learning curve drawn during training: a metric of batches and evaluations over the epochs.
    (MXNet's axis is seconds.) A batch lies between the ends of its epoch and the one before; the
    first epoch counts batches.

    metric_name
        the metric's name, ``metric.get()[0]``.
    display_freq
        seconds between drawings; an evaluation is drawn at once.
    frequent
        number of batches between records of the training metric.

    In a notebook one static SVG is replaced in place. In a terminal every drawing is a few lines::

        training    ▁▂▃▅▆▆▇▇█  0.912 validation  ▁▅█  0.884 epoch 0.25 to 3

    The object itself is displayed the same way, also after training.
    """

    def __init__(self, metric_name: str, display_freq: float = 10, frequent: int = 50) -> None:
        self.metric_name = metric_name
        self.display_freq = display_freq
        self.frequent = frequent
        self.start_time = time.time()
        self.last_update = self.start_time
        #: (epoch, batch, value) of each record; the batch is None for the end of the epoch.
        self._records: dict[str, list[tuple[int, int | None, float]]] = {
            "training": [], "validation": [],
        }  # fmt: skip
        #: Number of batches seen, by epoch.
        self._lengths: dict[int, int] = {}
        self._live = Live()

    def batch_cb(self, param: Any) -> None:
        """Records a training metric: a ``batch_end_callback``."""
        self._lengths[param.epoch] = max(self._lengths.get(param.epoch, 0), param.nbatch + 1)
        if param.nbatch % self.frequent == 0:
            self._record(param, "training")
        if time.time() - self.last_update > self.display_freq:
            self._draw()

    def eval_cb(self, param: object) -> None:
        """Records an evaluation: an ``eval_end_callback``."""
        self._record(param, "validation")
        self._draw()

    def callback_args(self) -> dict[str, Any]:
        """Returns the arguments of ``fit`` that make it call this object."""
        return {"batch_end_callback": self.batch_cb, "eval_end_callback": self.eval_cb}

    def _record(self, param: Any, which: str) -> None:
        if param.eval_metric is None:
            return
        training = which == "training"
        metrics = read_training(param) if training else dict(param.eval_metric.get_name_value())
        if self.metric_name not in metrics:
            problem = f"unknown metric {self.metric_name!r}"
            hint = " or ".join(map(repr, metrics))
            raise UnknownNameError("LiveLearningCurve", problem, hint=hint)
        batch = param.nbatch if training else None
        self._records[which].append((param.epoch, batch, float(metrics[self.metric_name])))

    def _draw(self) -> None:
        self.last_update = time.time()
        if not self._live.show(self):
            sys.stdout.write(self.curves().text() + "\n")

    def curves(self) -> Curves:
        """Returns the curves of all metrics, over epochs, or over the batches of the first."""
        is_first = len(self._lengths) == 1 and not self._records["validation"]
        drawn = []
        for name, records in self._records.items():
            points = [
                ((batch or 0) + 1 if is_first else self._place(epoch, batch), value)
                for epoch, batch, value in records
            ]
            if points:
                drawn.append(Curve(name, points))
        return Curves(drawn, "batch" if is_first else "epoch", whole=True)

    def _place(self, epoch: int, batch: int | None) -> float:
        # The present epoch is taken for as long as the one before.
        if batch is None:
            return epoch + 1
        length = max(self._lengths[epoch], self._lengths.get(epoch - 1, 0))
        if epoch + 1 in self._lengths:
            length = self._lengths[epoch]
        return epoch + (batch + 1) / length


@view_of.register
def _(curve: LiveLearningCurve) -> View:
    return View(curve.metric_name, [curve.curves()])


class PandasLogger:
    """Records of training metrics, validation metrics and epochs, in one data frame each.
    ``batch_size`` is the examples in a batch, ``frequent`` the number of batches between records.

    ``train_df`` and ``eval_df`` have a column per metric, ``batches_per_sec`` and
    ``records_per_sec`` (which MXNet exchanges), ``elapsed``, ``minibatch_count`` and ``epoch``;
    ``epoch_df`` has ``elapsed`` and ``epoch_time``. Frames are built on access.
    MissingDependencyError without pandas.
    """

    def __init__(self, batch_size: int, frequent: int = 50) -> None:
        try:
            import pandas
        except ImportError:
            problem = "pandas is not installed"
            hint = "pip install pandas, or LiveLearningCurve, which needs none"
            raise MissingDependencyError("PandasLogger", problem, hint=hint) from None
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
        """Duration of each epoch."""
        return self.all_dataframes["epoch"]

    @property
    def all_dataframes(self) -> dict[str, Any]:
        """The three frames by name: 'train', 'eval', 'epoch'."""
        for name, rows in self._rows.items():
            if name not in self._frames:
                self._frames[name] = self._frame(rows)
        return dict(self._frames)

    def elapsed(self) -> datetime.timedelta:
        """Returns the time since the logger was made."""
        return datetime.datetime.now() - self.start_time

    def append_metrics(self, metrics: Mapping[str, object], df_name: str) -> None:
        """Adds a row to one of the frames; new names become new columns."""
        self._rows[df_name].append(dict(metrics))
        self._frames.pop(df_name, None)

    def train_cb(self, param: Any) -> None:
        """Records a training metric: a ``batch_end_callback``."""
        if param.nbatch % self.frequent == 0:
            self._record(param, "train")

    def eval_cb(self, param: object) -> None:
        """Records an evaluation: an ``eval_end_callback``."""
        self._record(param, "eval")

    def epoch_cb(self, *_: object) -> None:
        """Records an epoch: an ``epoch_end_callback``."""
        now = datetime.datetime.now()
        duration = now - self.last_epoch_time
        self.append_metrics({"elapsed": self.elapsed(), "epoch_time": duration}, "epoch")
        self.last_epoch_time = now

    def callback_args(self) -> dict[str, Any]:
        """Returns the arguments of ``fit`` that make it call this logger."""
        return {
            "batch_end_callback": self.train_cb,
            "eval_end_callback": self.eval_cb,
            "epoch_end_callback": self.epoch_cb,
        }

    def _record(self, param: Any, name: str) -> None:
        metrics: dict[str, Any] = {}
        if param.eval_metric is not None:
            training = name == "train"
            metrics.update(read_training(param) if training else param.eval_metric.get_name_value())
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


def args_wrapper(*args: Any) -> dict[str, Any]:
    """Returns the arguments of ``fit`` that make it call several of these objects, anything with a
    method ``callback_args()``."""
    joined: dict[str, list[Any]] = defaultdict(list)
    for callback in args:
        for name, function in callback.callback_args().items():
            joined[name].append(function)
    return dict(joined)
