"""Log and files of callbacks."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from ._facts import attempt, log, metric, script, update_metric


def _epochs(mx: Any, callback: Any, metric: Any, batches: int, epochs: int = 2) -> Any:
    """The log of a loop that calls ``callback``, and the metric afterwards."""
    with log() as lines:
        for epoch in range(epochs):
            if metric is not None:
                metric.reset()
            for nbatch in range(batches):
                if metric is not None:
                    update_metric(mx, metric, [nbatch])
                callback(mx.model.BatchEndParam(epoch, nbatch, metric, {}))
    if metric is None:
        return {"log": lines}
    return {"log": lines, "local": metric.get(), "global": metric.get_global()}


@script
def speedometer(mx: Any) -> Any:
    answers = {}
    for auto_reset in (True, False):
        for name in ("acc", ["acc", "ce"], None):
            callback = mx.callback.Speedometer(4, 3, auto_reset)
            chosen = None if name is None else mx.metric.create(name)
            answers[f"{name} {auto_reset}"] = _epochs(mx, callback, chosen, 8)
    answers["defaults"] = _epochs(mx, mx.callback.Speedometer(4), metric(mx), 101, 1)
    answers["one batch"] = _epochs(mx, mx.callback.Speedometer(4, 1), metric(mx), 1, 3)
    return answers


@script
def train_metric(mx: Any) -> Any:
    return {
        f"{period} {reset}": _epochs(
            mx, mx.callback.log_train_metric(period, reset), mx.metric.create(["acc", "mse"]), 5
        )
        for period in (1, 2)
        for reset in (True, False)
    } | {"no metric": _epochs(mx, mx.callback.log_train_metric(1), None, 2)}


@script
def validation_metrics(mx: Any) -> Any:
    callback = mx.callback.LogValidationMetricsCallback()
    answers = {}
    for name in ("acc", ["acc", "ce"]):
        with log() as lines:
            callback(mx.model.BatchEndParam(3, 7, metric(mx, 2, name), None))
        answers[str(name)] = lines
    with log() as lines:
        callback(mx.model.BatchEndParam(3, 7, None, None))
    answers["none"] = lines
    return answers


@script
def progress(mx: Any) -> Any:
    return {
        f"{total} {length}": _epochs(mx, mx.callback.ProgressBar(total, length), None, 6, 1)
        for total, length in ((5, 80), (7, 10), (3, 33), (6, 5))
    } | {"default": _epochs(mx, mx.callback.ProgressBar(4), None, 5, 1)}


@script
def checkpoints(mx: Any) -> Any:
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    params = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.ones((2,))}
    answers = {}
    for period in (1, 2, 0, -3, 2.9):
        with tempfile.TemporaryDirectory() as folder, log() as lines:
            callback = mx.callback.do_checkpoint(os.path.join(folder, "m"), period)
            for epoch in range(5):
                callback(epoch, net, params, {})
            names = sorted(os.listdir(folder))
        answers[period] = [names, [[level, text.replace(folder, "#")] for level, text in lines]]
    answers["one argument"] = attempt(mx, lambda: mx.callback.do_checkpoint("m")(0))
    return answers


@script
def module_checkpoints(mx: Any) -> Any:
    answers = {}

    class Recorder:
        def save_checkpoint(self, *args: Any) -> None:
            calls.append(args)

    for period in (1, 2, 0, 2.9):
        for states in (True, False):
            calls: list[Any] = []
            callback = mx.callback.module_checkpoint(Recorder(), "m", period, states)
            for epoch in range(5):
                callback(epoch)
            callback(5, None, {}, {})
            answers[f"{period} {states}"] = calls
    return answers
