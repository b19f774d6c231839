"""Metrics of two classes from the counts of right and wrong predictions: F1, MCC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import MetricShapeError, explain
from ._device_metric import DeviceMetric, move_to_device, tally_step, value_and_device, zero_tally
from ._eval_metric import check_label_shapes, register

#: Length of a tally of counts: true positives, false positives, false negatives, true negatives,
#: invalid labels.
_COUNTS = 5


class _Binary(DeviceMetric):
    """A score of the counts: per update and averaged ('macro'), or of all counts ('micro')."""

    _label_requirement = "labels are of two classes, 0 and 1"
    _score: Callable[..., Any]

    def __init__(
        self,
        name: str,
        output_names: Any = None,
        label_names: Any = None,
        average: str = "macro",
    ) -> None:
        self.average = average
        self._tally_size = 3 if average == "macro" else _COUNTS
        super().__init__(name, output_names, label_names)

    def get_config(self) -> dict[str, Any]:
        """A dict from which ``create(**config)`` creates an equal metric, ``average`` included."""
        average = {} if self.average == "macro" else {"average": self.average}
        return {**average, **super().get_config()}

    def _check(self, label: Any, pred: Any) -> None:
        if pred.ndim < 2:
            raise MetricShapeError(
                explain(
                    f"metric {self.name!r}",
                    f"predictions {pred.shape}, expected scores of two classes, (N, 2)",
                )
            )
        check_label_shapes(label, pred)

    def update(self, labels: Any, preds: Any) -> None:
        """Adds a batch; with 'macro' the counts of all its pairs make one score."""
        step = tally_step(_counts)
        if self.average != "macro":
            for label, pred in self._pairs(labels, preds):
                self._run(step, label, pred, _COUNTS)
            return
        counts = []
        for label, pred in self._pairs(labels, preds):
            value, device = value_and_device(pred)
            counts.append(step(zero_tally(device, _COUNTS), move_to_device(label, device), value))
        if counts:
            first = next(iter(counts[0].devices()))
            key = first, self._tally_size
            tally = self._device_tallies.get(key)
            tally = zero_tally(first, self._tally_size) if tally is None else tally
            others = tuple(jax.device_put(c, first) for c in counts[1:])
            score = tally_step(_scored, options=(("score", type(self)._score),))
            self._device_tallies[key] = score(tally, counts[0], others)

    def _sums(self, tally: np.ndarray) -> tuple[float, float]:
        if self.average == "macro":
            return tally[0], tally[1]
        count = tally[:4].sum()
        return float(type(self)._score(np, *tally[:4])) * count, count


def _counts(label: jax.Array, pred: jax.Array) -> jax.Array:
    label = label.astype(jnp.int32)
    invalid = jnp.sum(
        (label != label.min(initial=2**31 - 1)) & (label != label.max(initial=-(2**31)))
    )
    predicted, actual = jnp.argmax(pred, axis=1) == 1, label == 1
    outcomes = [
        predicted & actual,
        predicted & ~actual,
        ~predicted & actual,
        ~predicted & ~actual,
        invalid,
    ]
    return jnp.stack([jnp.sum(x, dtype=jnp.float64) for x in outcomes])


def _scored(counts: jax.Array, others: tuple[jax.Array, ...], *, score: Any) -> jax.Array:
    counts = sum(others, start=counts)
    return jnp.stack([score(jnp, *counts[:4]), jnp.ones(()), counts[4]])


def _ratio(xp: Any, a: Any, b: Any) -> Any:
    """a / b, 0 where b is 0."""
    return xp.where(b == 0, 0.0, a / xp.where(b == 0, 1.0, b))


def _f1(xp: Any, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    precision, recall = _ratio(xp, tp, tp + fp), _ratio(xp, tp, tp + fn)
    return _ratio(xp, 2 * precision * recall, precision + recall)


def _mcc(xp: Any, tp: Any, fp: Any, fn: Any, tn: Any) -> Any:
    product = 1.0
    for term in (tp + fp, tp + fn, tn + fp, tn + fn):
        product = product * xp.where(term == 0, 1.0, term)
    return (tp * tn - fp * fn) / xp.sqrt(product)


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
        self,
        name: str = "f1",
        output_names: Any = None,
        label_names: Any = None,
        average: str = "macro",
    ) -> None:
        super().__init__(name, output_names, label_names, average)


@register
class MCC(_Binary):
    """Matthews' correlation coefficient, for two classes; :class:`PCC` takes more.

    MCC = (TP TN - FP FN) / sqrt((TP + FP) (TP + FN) (TN + FP) (TN + FN)), where factors of 0 are
    left out. Predictions (N, 2), the higher score counts; labels (N,).

    average
        'macro': the mean of the coefficients of the updates; 'micro': that of all counts together.

    Labels of more than two classes raise ValueError when the metric is read.
    """

    _score = staticmethod(_mcc)

    def __init__(
        self,
        name: str = "mcc",
        output_names: Any = None,
        label_names: Any = None,
        average: str = "macro",
    ) -> None:
        super().__init__(name, output_names, label_names, average)
