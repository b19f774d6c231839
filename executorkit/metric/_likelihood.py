"""Metrics of the label's predicted probability, cross entropy and perplexity, and of losses."""

import math
from types import ModuleType
from typing import Any

import numpy as np

from .._support.annotations import Attrs
from ..ndarray import NDArray
from ..ops.tensor.indexing import pick
from ._accuracy import make_tally
from ._device_metric import DeviceMetric, Measure, Raw
from ._eval_metric import Arrays, alias, register


class _Likelihood(DeviceMetric):
    _label_requirement = "a label is a class from -C to C - 1, negative ones counted from the end"

    def __init__(self, eps: float, name: str, output_names: Any, label_names: Any) -> None:
        self.eps = eps
        super().__init__(name, output_names, label_names, eps=eps)

    def _measure(self) -> Measure:
        return Measure(_likelihood, (("eps", self.eps),))

    def _check(self, label: Raw, pred: Raw) -> None:
        if pred.ndim < 2:
            problem = f"predictions {pred.shape}, expected a probability for each class, (N, C)"
            raise self._misfit(problem)
        if label.size != pred.shape[0]:
            problem = f"{label.size} labels for {pred.shape[0]} predictions"
            because = f"labels are {label.shape}, predictions {pred.shape}"
            raise self._misfit(problem, because=because)


def _likelihood(xp: ModuleType, label: Raw, pred: Raw, *, eps: float) -> Raw:
    classes = pred.shape[1]
    chosen = label.ravel().astype(xp.int64)
    invalid = xp.sum((chosen < -classes) | (chosen >= classes))
    chosen = xp.clip(xp.where(chosen < 0, chosen + classes, chosen), 0, classes - 1)
    loss = -xp.log(pred[xp.arange(pred.shape[0]), chosen] + eps)
    return make_tally(xp, xp.sum(loss, dtype=xp.float64), pred.shape[0], invalid)


@register
@alias("ce")
class CrossEntropy(_Likelihood):
    """The mean of -log(p + eps) over the examples, p being the probability of the label.
    Predictions (N, C) of probabilities, labels of N elements. A label beyond the classes raises
    IndexError when the metric is read."""

    def __init__(
        self, eps: float = 1e-12, name: str = "cross-entropy", output_names=None, label_names=None
    ) -> None:
        super().__init__(eps, name, output_names, label_names)


@register
@alias("nll_loss")
class NegativeLogLikelihood(_Likelihood):
    """:class:`CrossEntropy` under another name, as in MXNet."""

    def __init__(
        self, eps: float = 1e-12, name: str = "nll-loss", output_names=None, label_names=None
    ) -> None:
        super().__init__(eps, name, output_names, label_names)


@register
class Perplexity(DeviceMetric):
    """exp of the mean of -log(max(p, 1e-10)), p being the probability of the label.

    Predictions (N, C) of probabilities along ``axis``; labels in any shape of N elements, clipped
    to the classes. Labels equal to ``ignore_label`` do not count (None: all do).
    """

    def __init__(
        self,
        ignore_label: int | None,
        axis: int = -1,
        name: str = "perplexity",
        output_names=None,
        label_names=None,
    ) -> None:
        self.ignore_label = ignore_label
        self.axis = axis
        super().__init__(name, output_names, label_names, ignore_label=ignore_label)

    def get_config(self) -> Attrs:
        return {**({} if self.axis == -1 else {"axis": self.axis}), **super().get_config()}

    def _measure(self) -> Measure:
        return Measure(_perplexity, (("ignore_label", self.ignore_label), ("axis", self.axis)))

    def _check(self, label: Raw, pred: Raw) -> None:
        if pred.ndim != 2 or not -2 <= self.axis < 2 or label.size != pred.shape[1 - self.axis % 2]:
            raise self._misfit(
                f"labels {label.shape} for predictions {pred.shape}, expected N labels for "
                f"predictions of two axes with the classes along axis {self.axis}",
                hint="reshape predictions to (N, C)",
            )

    def _final(self, value: float) -> float:
        try:
            return math.exp(value)
        except OverflowError:
            return math.inf


def _perplexity(
    xp: ModuleType, label: Raw, pred: Raw, *, ignore_label: int | None, axis: int
) -> Raw:
    label = label.ravel()
    classes = label.astype(xp.int32)
    if xp is np:
        rows = pred if axis % 2 else pred.T
        chosen = rows[np.arange(len(rows)), np.clip(classes, 0, rows.shape[1] - 1)]
    else:
        chosen = pick(xp.asarray(pred), xp.asarray(classes), axis=axis)
    count = label.size
    if ignore_label is not None:
        ignored = label == ignore_label
        chosen = xp.where(ignored, xp.asarray(1, chosen.dtype), chosen)
        count = count - xp.sum(ignored)
    loss = -xp.log(xp.maximum(chosen, xp.asarray(1e-10, chosen.dtype)))
    return make_tally(xp, xp.sum(loss, dtype=xp.float64), count)


@register
class Loss(DeviceMetric):
    """The mean of all elements of the outputs. Labels are ignored and may be None."""

    def __init__(self, name: str = "loss", output_names=None, label_names=None) -> None:
        super().__init__(name, output_names, label_names)

    def _measure(self) -> Measure:
        return _SUM

    def _pairs(self, labels: Arrays, preds: Arrays) -> list[tuple[Any, Any]]:
        return [(None, p) for p in ([preds] if isinstance(preds, NDArray) else preds)]


def _sum(xp: ModuleType, label: None, pred: Any) -> Any:
    return make_tally(xp, xp.sum(pred, dtype=xp.float64), pred.size)


#: The sum of an output.
_SUM = Measure(_sum)


@register
class Torch(Loss):
    """:class:`Loss` under the name that MXNet's Torch plugin uses."""

    def __init__(self, name: str = "torch", output_names=None, label_names=None) -> None:
        super().__init__(name, output_names, label_names)


@register
class Caffe(Loss):
    """:class:`Loss` under the name that MXNet's Caffe plugin uses."""

    def __init__(self, name: str = "caffe", output_names=None, label_names=None) -> None:
        super().__init__(name, output_names, label_names)
