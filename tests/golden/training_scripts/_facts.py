"""Registry, log and small parameters shared by the scripts on training tools."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._scripts import Scripts
from ..executor_scripts._facts import attempt, numbers, plain

SCRIPTS = script = Scripts()


def run(name: str, mx: Any) -> Any:
    """Observations of a script run with ``mx``."""
    mx.random.seed(7)
    with mx.name.NameManager():
        return plain(mx, SCRIPTS[name](mx))


class _LogLines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[list[str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = re.sub(r"Speed: \S+ samples", "Speed: # samples", record.getMessage())
        text = re.sub(r"Time cost=\S+", "Time cost=#", text)
        self.lines.append([record.levelname, text])


@contextmanager
def log() -> Iterator[list[list[str]]]:
    """The log from level INFO on, [level, text], without anything that depends on the clock."""
    root, handler = logging.getLogger(), _LogLines()
    level = root.level
    root.setLevel(logging.INFO)
    root.addHandler(handler)
    try:
        yield handler.lines
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def metric(mx: Any, batches: int = 1, name: str = "acc") -> Any:
    """A metric that has seen some batches."""
    new = mx.metric.create(name)
    update_metric(mx, new, range(batches))
    return new


def update_metric(mx: Any, metric: Any, batches: Any) -> None:
    """Updates a metric with the batches of these numbers."""
    for number in batches:
        label = mx.nd.array(abs(numbers(f"label {number}", (4,)) * 10).astype(int) % 3)
        pred = mx.nd.softmax(mx.nd.array(numbers(f"pred {number}", (4, 3))))
        metric.update([label], [pred])


__all__ = ["SCRIPTS", "attempt", "log", "metric", "numbers", "run", "script", "update_metric"]
