"""Shared parts of the scripts: data, first values of parameters, a callback that records losses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.models import parameter

DATA = Path(__file__).parents[2] / "executorkit" / "data"
_TRAINING = 1440


def digits() -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Handwritten digits: images (n, 1, 8, 8) and labels to train with, and to test with."""
    with np.load(DATA / "digits.npz") as stored:
        images = stored["images"][:, None].astype(np.float32) / 16
        labels = stored["labels"].astype(np.float32)
    return (images[:_TRAINING], labels[:_TRAINING]), (images[_TRAINING:], labels[_TRAINING:])


def by_name(mx: Any) -> Any:
    """An initializer whose values depend on the parameters' names alone."""

    class ByName(mx.init.Initializer):
        def __call__(self, desc: Any, arr: Any) -> None:
            arr[:] = parameter(str(desc), arr.shape)

    return ByName()


class Losses:
    """Batch callback that records the metric of each of the first steps."""

    def __init__(self, steps: int = 20) -> None:
        self.steps = steps
        self.values: list[list[float]] = []

    def __call__(self, param: Any) -> None:
        if len(self.values) < self.steps:
            self.values.append([float(v) for _, v in param.eval_metric.get_name_value()])
        param.eval_metric.reset_local()
