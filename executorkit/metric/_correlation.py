"""Metrics of correlation: PearsonCorrelation, and PCC for classes."""

from types import ModuleType
from typing import Any

import jax.numpy as jnp
import numpy as np

from .._support.annotations import Attrs
from ._accuracy import make_tally
from ._device_metric import DeviceMetric, Measure, Raw, value_and_device
from ._eval_metric import Arrays, alias, check_label_shapes, register


@register
@alias("pearsonr")
class PearsonCorrelation(DeviceMetric):
    """Pearson's correlation of all elements of labels and predictions, which agree in shape.

    average
        'macro': the mean over the pairs of the correlation of each; 'micro': the correlation over
        all pairs together. With 'micro', ``reset_local`` starts over and ``get_global`` does not;
        in MXNet the first has no effect and the second gives 0.
    """

    def __init__(
        self, name: str = "pearsonr", output_names=None, label_names=None, average: str = "macro"
    ) -> None:
        self.average = average
        self._tally_size = 3 if average == "macro" else _MOMENTS
        super().__init__(name, output_names, label_names)

    def get_config(self) -> Attrs:
        average = {} if self.average == "macro" else {"average": self.average}
        return {**average, **super().get_config()}

    def reset_micro(self) -> None:
        """Forgets all pairs of a correlation over all pairs together."""
        if self.average == "micro":
            self._clear_tallies()

    def _measure(self) -> Measure:
        return _PEARSON if self.average == "macro" else _JOINING

    def _check(self, label: Raw, pred: Raw) -> None:
        check_label_shapes(label, pred, shape=True)

    def _merge(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return a + b if self.average == "macro" else _merge_moments(a, b)

    def _sums(self, tally: np.ndarray) -> tuple[float, float]:
        if self.average == "macro":
            return tally[0], tally[1]
        pairs, _, _, _, labels, preds, together, _ = tally
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.divide(together, np.sqrt(labels) * np.sqrt(preds)) * pairs, pairs


#: Length of a tally of moments: pairs, elements, means of labels and predictions, their sums of
#: squared deviations, the sum of products of deviations, invalid labels.
_MOMENTS = 8


def _moments(xp: ModuleType, label: Raw, pred: Raw) -> Raw:
    y, p = (x.ravel().astype(xp.float64) for x in (label, pred))
    means = [xp.sum(x) / xp.asarray(x.size, xp.float64) for x in (y, p)]
    y, p = y - means[0], p - means[1]
    moments = (1, y.size, *means, xp.sum(y * y), xp.sum(p * p), xp.sum(y * p), 0)
    return xp.stack([xp.asarray(x, xp.float64) for x in moments])


def _merge_moments(a: Any, b: Any) -> Any:
    xp = np if isinstance(a, np.ndarray) else jnp
    count = a[1] + b[1]
    weight = b[1] / xp.maximum(count, 1)
    d = b[2:4] - a[2:4]
    means = a[2:4] + d * weight
    scale = a[1] * weight
    products = xp.stack([d[0] * d[0], d[1] * d[1], d[0] * d[1]])
    squares = a[4:7] + b[4:7] + products * scale
    return xp.concatenate([xp.stack([a[0] + b[0], count]), means, squares, a[7:] + b[7:]])


def _pearson(xp: ModuleType, label: Raw, pred: Raw) -> Raw:
    *_, labels, preds, together, _ = _moments(xp, label, pred)
    return make_tally(xp, xp.clip(together / (xp.sqrt(labels) * xp.sqrt(preds)), -1, 1), 1)


#: The correlation of a pair.
_PEARSON = Measure(_pearson)
#: The moments of a pair, merged with earlier moments.
_JOINING = Measure(_moments, merge=_merge_moments)


@register
class PCC(DeviceMetric):
    """The correlation of predicted and true classes, Matthews' coefficient for any number of them.

    PCC = sum_k (n C_kk - x_k y_k) / sqrt(sum_k x_k (n - x_k) sum_k y_k (n - y_k)), where C counts
    the examples by predicted and true class, n is their number, x and y are C's row and column
    sums; NaN if all examples are of one class, or predicted so.

    Predictions (N, C) of scores, the highest counts; labels of N classes from 0 to C - 1, others
    raise ValueError when the metric is read (in MXNet they increase the number of classes).
    Predictions of the labels' shape are class numbers, and every update copies them to the host.
    """

    _tally_size = 1
    _label_requirement = "a label is a class from 0 to C - 1, C being the number of scores"

    def __init__(
        self, name: str = "pcc", output_names=None, label_names=None, has_global_stats: bool = True
    ) -> None:
        super().__init__(name, output_names, label_names)

    def _clear_tallies(self) -> None:
        super()._clear_tallies()
        self._updates = self._global_updates = 0

    def reset_local(self) -> None:
        super().reset_local()
        self._updates = 0

    def _check(self, label: Raw, pred: Raw) -> None:
        if pred.shape == label.shape:
            return
        if pred.ndim < 2 or label.size * pred.shape[1] != pred.size:
            expected = "a score for each class, (N, C), or class numbers"
            problem = f"labels {label.shape} for predictions {pred.shape}, expected {expected}"
            raise self._misfit(problem)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        for label, pred in self._pairs(labels, preds):
            if pred.shape == label.shape:
                self._count(label, pred)
            else:
                self._add(_CONFUSION, label, pred, max(pred.shape[1], 2) ** 2 + 1)
        self._updates += 1
        self._global_updates += 1

    def _count(self, label: Raw, pred: Raw) -> None:
        y, p = (np.asarray(value_and_device(x)[0]).astype(np.int32).ravel() for x in (label, pred))
        classes = int(max(y.max(initial=1), p.max(initial=1))) + 1
        tally = np.zeros(classes**2 + 1)
        np.add.at(tally, p * classes + y, 1)
        self._add_on_host(tally)

    def _merge(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        small, large = sorted((first, second), key=len)
        matrix, part = _matrix(large).copy(), _matrix(small)
        matrix[: len(part), : len(part)] += part
        return np.append(matrix, first[-1] + second[-1])

    def _read(self, all_batches: bool) -> tuple[float, float]:
        value, _ = super()._read(all_batches)
        updates = float(self._global_updates if all_batches else self._updates)
        return value * updates, updates

    def _sums(self, tally: np.ndarray) -> tuple[float, float]:
        counts = _matrix(tally)
        n, x, y = counts.sum(), counts.sum(axis=1), counts.sum(axis=0)
        spread = np.sum(x * (n - x)) * np.sum(y * (n - y))
        if spread == 0:
            return float("nan"), 1
        return np.sum(counts.diagonal() * n - x * y) / np.sqrt(spread), 1


def _matrix(tally: np.ndarray) -> np.ndarray:
    classes = round((len(tally) - 1) ** 0.5)
    return tally[:-1].reshape(classes, classes)


def _confusion(xp: ModuleType, label: Raw, pred: Raw) -> Raw:
    classes = max(pred.shape[1], 2)
    predicted = xp.argmax(pred, axis=1).ravel()
    actual = label.astype(xp.int32).ravel()
    entry = xp.where((actual >= 0) & (actual < classes), predicted * classes + actual, classes**2)
    if xp is np:
        return np.bincount(entry, minlength=classes**2 + 1)
    return jnp.zeros(classes**2 + 1).at[entry].add(1)


#: The counts of a pair by predicted and true class.
_CONFUSION = Measure(_confusion)
