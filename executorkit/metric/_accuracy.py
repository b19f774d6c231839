"""Metrics of predicted classes: Accuracy, TopKAccuracy."""

from types import ModuleType
from typing import Any

import numpy as np
from jax import lax

from ..errors import MetricShapeError
from ._device_metric import DeviceMetric, Measure, Raw
from ._eval_metric import alias, check_label_shapes, register


def make_tally(xp: ModuleType, total: Any, count: Any, invalid: Any = 0) -> Any:
    if xp is np:
        return np.array((total, count, invalid), np.float64)
    return xp.stack([xp.asarray(x, xp.float64) for x in (total, count, invalid)])


@register
@alias("acc")
class Accuracy(DeviceMetric):
    """The share of labels that are predicted.

    Predictions (N, ..., C, ...) of the classes' scores count as the class with the highest one
    along ``axis``; predictions of the labels' own shape are class numbers. Labels (N, ...) in any
    shape of as many elements. Both are truncated to integers.

    >>> import executorkit as mx
    >>> metric = mx.metric.Accuracy()
    >>> metric.update([mx.nd.array([0, 1, 1])], [mx.nd.array([[0.3, 0.7], [0, 1], [0.4, 0.6]])])
    >>> metric.get()
    ('accuracy', 0.6666666666666666)
    """

    def __init__(
        self, axis: int = 1, name: str = "accuracy", output_names=None, label_names=None
    ) -> None:
        self.axis = axis
        super().__init__(name, output_names, label_names, axis=axis)

    def _measure(self) -> Measure:
        return Measure(_accuracy, (("axis", self.axis),))

    def _check(self, label: Raw, pred: Raw) -> None:
        count = pred.size
        if pred.shape != label.shape:
            if not -pred.ndim <= self.axis < pred.ndim:
                problem = f"predictions {pred.shape} have no axis {self.axis}"
                raise self._misfit(problem, hint="axis=..., the axis of the classes")
            count = count // max(pred.shape[self.axis], 1)
        if label.size != count:
            problem = f"labels {label.shape} for predictions {pred.shape}, expected {count} labels"
            raise self._misfit(problem)


def _accuracy(xp: ModuleType, label: Raw, pred: Raw, *, axis: int) -> Raw:
    if pred.shape != label.shape:
        pred = pred.argmax(axis)
    right = pred.astype(xp.int32).ravel() == label.astype(xp.int32).ravel()
    count = np.count_nonzero(right) if xp is np else xp.sum(right, dtype=xp.float64)
    return make_tally(xp, count, right.size)


@register
@alias("top_k_accuracy", "top_k_acc")
class TopKAccuracy(DeviceMetric):
    """The share of labels that are among the ``top_k`` classes of highest score.

    Predictions (N, C) with C >= ``top_k`` > 1, labels (N,) or (N, 1). Of equal scores the lower
    class counts as higher (in MXNet: any of them). ``_<top_k>`` is added to the name. Class numbers
    as predictions are an error; MXNet compares labels with a permutation of the examples there.
    """

    def __init__(
        self, top_k: int = 1, name: str = "top_k_accuracy", output_names=None, label_names=None
    ) -> None:
        if top_k <= 1:
            problem = f"top_k is {top_k}, expected at least 2"
            raise MetricShapeError(f"metric {name!r}", problem, hint="Accuracy()")
        self.top_k = top_k
        # The name in a configuration has the suffix already.
        name = f"{name.removesuffix(f'_{top_k}')}_{top_k}"
        super().__init__(name, output_names, label_names, top_k=top_k)

    def _measure(self) -> Measure:
        return Measure(_top_k, (("top_k", self.top_k),))

    def _check(self, label: Raw, pred: Raw) -> None:
        if pred.ndim != 2 or pred.shape[1] < self.top_k:
            expected = f"scores of at least {self.top_k} classes for each example, (N, C)"
            raise self._misfit(f"predictions {pred.shape}, expected {expected}")
        check_label_shapes(label, pred)
        if label.size != label.shape[0]:
            raise self._misfit(f"labels {label.shape}, expected {label.shape[:1]}")


def _top_k(xp: ModuleType, label: Raw, pred: Raw, *, top_k: int) -> Raw:
    scores = pred.astype(xp.float32)
    if xp is np:
        # NaN counts as the highest score, as for lax.top_k.
        scores = np.where(np.isnan(scores), np.inf, scores)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :top_k]
    else:
        _, best = lax.top_k(scores, top_k)
    right = best == label.astype(xp.int32).reshape(-1, 1)
    return make_tally(xp, xp.sum(right, dtype=xp.float64), pred.shape[0])
