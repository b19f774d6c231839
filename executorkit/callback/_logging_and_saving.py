"""Callbacks that write speed and metrics to the log, and checkpoints to files."""

import logging
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from .._support.keyword_arguments import CheckedKeywords
from ..display import ProgressLine
from ..model import save_checkpoint
from ..ndarray import NDArray
from ..symbol import Symbol


def log_train_metric(period: int, auto_reset: bool = False) -> Callable[[Any], None]:
    """Returns a batch callback that logs the training metric at every ``period``-th batch;
    ``auto_reset`` resets it after each line."""

    def report(param: Any) -> None:
        if param.eval_metric is None or param.nbatch % period:
            return
        for name, value in param.eval_metric.get_name_value():
            logging.info("Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value)
        if auto_reset:
            param.eval_metric.reset_local()

    return report


class Speedometer(CheckedKeywords):
    """Logs samples per second and the training metric, every ``frequent`` batches.

        INFO:root:Epoch[0] Batch [0-50] Speed: 21337.61 samples/sec     accuracy=0.912500

    batch_size
        samples in a batch, of all devices together.
    frequent
        batches from one line to the next.
    auto_reset
        True resets the metric after each line; False reports all batches of the epoch so far.

    The clock starts after an epoch's first batch, so without its compilation. Reading the metric
    waits for the device; without a metric this is the speed at which the host asks for batches.
    """

    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True) -> None:
        self.batch_size = batch_size
        self.frequent = frequent
        self.auto_reset = auto_reset
        self.init = False
        self.tic = 0.0
        self.last_count = 0

    def __call__(self, param: Any) -> None:
        # A smaller batch number than before begins a new epoch.
        count = param.nbatch
        if count < self.last_count:
            self.init = False
        self.last_count = count
        if not self.init:
            self.init = True
            self.tic = time.time()
        elif count % self.frequent == 0:
            self._report(param)
            self.tic = time.time()

    def _report(self, param: Any) -> None:
        if param.eval_metric is None:
            logging.info(
                "Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec",
                param.epoch, param.nbatch, self._speed(),
            )  # fmt: skip
            return
        # The metric first: the device may be batches behind the host until it is read.
        metrics = param.eval_metric.get_name_value()
        speed = self._speed()
        begin = 0
        if self.auto_reset:
            param.eval_metric.reset_local()
            begin = param.nbatch - self.frequent
        logging.info(
            "Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec" + "\t%s=%f" * len(metrics),
            param.epoch, begin, param.nbatch, speed, *(part for pair in metrics for part in pair),
        )  # fmt: skip

    def _speed(self) -> float:
        seconds = time.time() - self.tic
        return self.frequent * self.batch_size / seconds if seconds else float("inf")


def module_checkpoint(
    mod: Any, prefix: Any, period: int = 1, save_optimizer_states: bool = False
) -> Callable[..., None]:
    """Returns an epoch callback that writes a module's checkpoint after every ``period`` epochs
    (less than 1 means 1), with ``<prefix>-<epoch>.states`` if ``save_optimizer_states``.

    ``mod`` is anything with ``save_checkpoint(prefix, epoch, save_optimizer_states)``; files are
    named as by :func:`executorkit.model.save_checkpoint`, with the number of completed epochs.
    """
    period = max(1, int(period))

    def checkpoint(iter_no: int, sym: Any = None, arg: Any = None, aux: Any = None) -> None:
        if (iter_no + 1) % period == 0:
            mod.save_checkpoint(prefix, iter_no + 1, save_optimizer_states)

    return checkpoint


def do_checkpoint(prefix: str | os.PathLike[str], period: int = 1) -> Callable[..., None]:
    """Returns an epoch callback that writes the symbol and parameters it is given every ``period``
    epochs, by :func:`executorkit.model.save_checkpoint`, each file whole or not at all."""
    period = max(1, int(period))

    def checkpoint(
        iter_no: int, sym: Symbol | None, arg: Mapping[str, NDArray], aux: Mapping[str, NDArray]
    ) -> None:
        if (iter_no + 1) % period == 0:
            save_checkpoint(prefix, iter_no + 1, sym, arg, aux)

    return checkpoint


class ProgressBar:
    """A batch callback that shows the progress of an epoch, its speed and the time left.

    ``total`` is the number of batches in an epoch; a notebook's bar counts batches beyond it.
    ``length`` is the width in characters, of the bar in the log, or of the whole line with tqdm. In
    a notebook the bar is static HTML, renewed in place; in a terminal it is tqdm's (``pip install
    executorkit[progress]``), otherwise MXNet's line in the log, at level INFO.
    """

    def __init__(self, total: int, length: int = 80) -> None:
        self.bar_len = length
        self.total = total
        self._line = ProgressLine()
        self._epoch: Any = None
        self._last_batch = -1

    def __call__(self, param: Any) -> None:
        if param.epoch != self._epoch or param.nbatch < self._last_batch:
            self._epoch = param.epoch
            self._line.begin(f"Epoch[{param.epoch}]", self.total, self.bar_len)
        self._last_batch = param.nbatch
        self._line.count(param.nbatch)
