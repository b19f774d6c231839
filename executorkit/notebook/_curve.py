"""A learning curve that is drawn while the network learns."""

from __future__ import annotations

import sys
import time
from typing import Any

from ..display import Curve, Curves, Live, View, Viewed
from ..errors import UnknownNameError, explain
from ._reading import read_training


class LiveLearningCurve(Viewed):
    """Draws a metric over the time, of training batches and of evaluations.

    metric_name
        the metric's name, ``"accuracy"`` say: ``metric.get()[0]``.
    display_freq
        seconds between drawings; an evaluation is drawn at once.
    frequent
        the training metric is recorded every so many batches.

    In a notebook one drawing is renewed in place: static SVG, nothing to be installed but what
    notebooks have. In a terminal every drawing is two lines on standard output::

        training    ▁▂▃▅▆▆▇▇█  0.912
        validation  ▁▅█  0.884

    The object itself is shown the same way, also afterwards.
    """

    def __init__(self, metric_name: str, display_freq: float = 10, frequent: int = 50) -> None:
        self.metric_name = metric_name
        self.display_freq = display_freq
        self.frequent = frequent
        self.start_time = time.time()
        self.last_update = self.start_time
        self._points: dict[str, list[tuple[float, float]]] = {"training": [], "validation": []}
        self._live = Live()

    def batch_cb(self, param: Any) -> None:
        """For ``batch_end_callback``."""
        if param.nbatch % self.frequent == 0:
            self._record(param, "training")
        if time.time() - self.last_update > self.display_freq:
            self._draw()

    def eval_cb(self, param: Any) -> None:
        """For ``eval_end_callback``."""
        self._record(param, "validation")
        self._draw()

    def callback_args(self) -> dict[str, Any]:
        """The arguments of ``fit`` that have it call this object."""
        return {"batch_end_callback": self.batch_cb, "eval_end_callback": self.eval_cb}

    def _record(self, param: Any, which: str) -> None:
        if param.eval_metric is None:
            return
        training = which == "training"
        metrics = read_training(param) if training else dict(param.eval_metric.get_name_value())
        if self.metric_name not in metrics:
            raise UnknownNameError(
                explain(
                    "LiveLearningCurve",
                    f"there is no metric {self.metric_name!r}",
                    hint=" or ".join(map(repr, metrics)),
                )
            )
        elapsed = time.time() - self.start_time
        self._points[which].append((elapsed, float(metrics[self.metric_name])))

    def _draw(self) -> None:
        self.last_update = time.time()
        if not self._live.show(self):
            sys.stdout.write(self._curves().text() + "\n")

    def _curves(self) -> Curves:
        drawn = [Curve(name, points) for name, points in self._points.items() if points]
        return Curves(drawn, axis="s")

    def _as_view(self) -> View:
        return View(self.metric_name, [self._curves()])
