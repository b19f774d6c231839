"""Metrics of two classes from the counts of right and wrong predictions: F1, MCC."""

import math
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any

import jax
import numpy as np
from jax import Array

from .._support.annotations import Attrs
from ..arrays.values import to_device
from ..context import Device
from ._device_metric import (
    DeviceMetric,
    Measure,
    Raw,
    move_to_device,
    tally_step,
    value_and_device,
    zero_tally,
)
from ._eval_metric import Arrays, check_label_shapes, register

#: Length of a tally of counts: true positives, false positives, false negatives, true negatives,
#: invalid labels.
_COUNTS = 5


class _Binary(DeviceMetric):
    """A score of counts: averaged over updates ('macro'), or of all counts ('micro'). Counts stay
    on the device; scores are computed on the host when the metric is read or a table is full."""

    _label_requirement = "labels are of two classes, 0 and 1"
    _score: Callable[..., float]

    def __init__(
        self, name: str, output_names=None, label_names=None, average: str = "macro"
    ) -> None:
        self.average = average
        self._tally_size = 3 if average == "macro" else _COUNTS
        super().__init__(name, output_names, label_names)

    def _clear_tallies(self) -> None:
        super()._clear_tallies()
        #: Tables of counts by device, a row for each update since the last fetch.
        self._tables: dict[Device, Array] = {}
        #: Counts of these updates that were made on the host.
        self._host_rows: list[np.ndarray] = []

    def get_config(self) -> Attrs:
        average = {} if self.average == "macro" else {"average": self.average}
        return {**average, **super().get_config()}

    def _check(self, label: Raw, pred: Raw) -> None:
        if pred.ndim < 2:
            raise self._misfit(f"predictions {pred.shape}, expected scores of two classes, (N, 2)")
        check_label_shapes(label, pred)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        pairs = self._pairs(labels, preds)
        if self.average != "macro":
            for label, pred in pairs:
                self._add(_COUNTING, label, pred, _COUNTS)
            return
        step = tally_step(_COUNTING)
        on_host = np.zeros(_COUNTS)
        tallies: dict[Device, Array] = {}
        for label, pred in pairs:
            value, device = value_and_device(pred)
            label_value = move_to_device(label, device)
            if self._is_for_host(label, pred, value, device):
                on_host += _COUNTING.on_host(label_value, value)
            else:
                tally = tallies.get(device)
                tally = zero_tally(device, _COUNTS) if tally is None else tally
                tallies[device] = step(tally, label_value, value)
        row, add_row = len(self._host_rows), tally_step(_STORING)
        for device, tally in tallies.items():
            table = self._tables.get(device)
            table = _empty_table(device) if table is None else table
            self._tables[device] = add_row(table, np.int64(row), tally)
        self._host_rows.append(on_host)
        if row + 1 == _ROWS:
            self._fetch_tallies()

    def _fetch_tallies(self) -> None:
        super()._fetch_tallies()
        if self._host_rows:
            rows = np.stack(self._host_rows)
            tables, self._tables, self._host_rows = list(self._tables.values()), {}, []
            for table in jax.device_get(tables):
                rows += table[: len(rows)]
            for counts in rows.tolist():
                self._add_on_host(np.array([type(self)._score(*counts[:4]), 1.0, counts[4]]))

    def _sums(self, tally: np.ndarray) -> tuple[float, float]:
        if self.average == "macro":
            return tally[0], tally[1]
        count = tally[:4].sum()
        return type(self)._score(*tally[:4].tolist()) * count, count


#: Number of updates whose counts a device holds.
_ROWS = 256


@lru_cache(maxsize=64)
def _empty_table(device: Device) -> Array:
    return to_device(np.zeros((_ROWS, _COUNTS)), device)


def _with_row(table: Any, numbered_row: Any) -> Any:
    row, counts = numbered_row
    return table.at[row].set(counts)


def _counts(xp: ModuleType, label: Raw, pred: Raw) -> Raw:
    label = label.astype(xp.int32)
    lowest, highest = label.min(initial=2**31 - 1), label.max(initial=-(2**31))
    predicted, actual = xp.argmax(pred, axis=1) == 1, label == 1
    outcomes = [
        predicted & actual,
        predicted & ~actual,
        ~predicted & actual,
        ~predicted & ~actual,
        (label != lowest) & (label != highest),
    ]
    return xp.stack([xp.sum(x, dtype=xp.float64) for x in outcomes])


def _ratio(a: float, b: float) -> float:
    return a / b if b else 0.0


def _f1(tp: float, fp: float, fn: float, tn: float) -> float:
    precision, recall = _ratio(tp, tp + fp), _ratio(tp, tp + fn)
    return _ratio(2 * precision * recall, precision + recall)


def _mcc(tp: float, fp: float, fn: float, tn: float) -> float:
    product = 1.0
    for term in (tp + fp, tp + fn, tn + fp, tn + fn):
        product *= term or 1.0
    return (tp * tn - fp * fn) / math.sqrt(product)


#: The counts of a pair.
_COUNTING = Measure(_counts)
#: The storing of counts as a numbered row of a table.
_STORING = Measure(lambda xp, row, counts: (row, counts), merge=_with_row)


@register
class F1(_Binary):
    """The harmonic mean of precision and recall, for two classes.

    F1 = 2 P R / (P + R), P = TP / (TP + FP), R = TP / (TP + FN); 0 where a denominator is. Class 1
    is the positive one. Predictions (N, 2), the higher score counts; labels (N,).

    average
        'macro': the mean of the scores of the updates; 'micro': the score of all counts together.

    Labels of more than two classes raise ValueError when the metric is read.

    >>> import executorkit as mx
    >>> metric = F1()
    >>> scores = mx.nd.array([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7], [0.4, 0.6]])
    >>> metric.update([mx.nd.array([1, 0, 1, 0])], [scores])
    >>> metric.get()
    ('f1', 0.8)
    """

    _score = staticmethod(_f1)

    def __init__(
        self, name: str = "f1", output_names=None, label_names=None, average: str = "macro"
    ) -> None:
        super().__init__(name, output_names, label_names, average)


@register
class MCC(_Binary):
    """Matthews' correlation coefficient, for two classes; :class:`PCC` takes more.

    MCC = (TP TN - FP FN) / sqrt((TP + FP) (TP + FN) (TN + FP) (TN + FN)), where factors of 0 are
    left out. Predictions (N, 2), the higher score counts; labels (N,).

    average
        'macro': the mean of the updates' coefficients; 'micro': the coefficient of all counts.

    Labels of more than two classes raise ValueError when the metric is read.
    """

    _score = staticmethod(_mcc)

    def __init__(
        self, name: str = "mcc", output_names=None, label_names=None, average: str = "macro"
    ) -> None:
        super().__init__(name, output_names, label_names, average)
