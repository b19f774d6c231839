"""Callbacks at the end of a batch: their argument, how they are called, FeedForward's default."""

from __future__ import annotations

import logging
from collections import namedtuple
from typing import Any

#: Argument of a batch callback; MXNet's type calls itself ``BatchEndParams``.
BatchEndParam = namedtuple("BatchEndParams", ["epoch", "nbatch", "eval_metric", "locals"])


def call_callbacks(callbacks: Any, *args: Any) -> None:
    """Calls a callback, each of a list of them, or none (None)."""
    for callback in callbacks if isinstance(callbacks, list) else [callbacks]:
        if callback:
            callback(*args)


class LogValidationMetricsCallback:
    """Logs the metric that an evaluation ended with; for ``eval_end_callback``."""

    def __call__(self, param: Any) -> None:
        if not param.eval_metric:
            return
        for name, value in param.eval_metric.get_name_value():
            logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)
