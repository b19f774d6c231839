"""Metrics of the label's predicted probability: cross entropy, perplexity."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from ..errors import MetricShapeError, explain
from ..ops.tensor.indexing import pick
from ..program import InstrumentedJit
from ._accuracy import make_tally
from ._device_metric import DeviceMetric, tally_step
from ._eval_metric import alias, register


class _Likelihood(DeviceMetric):
    """The mean of -log(p + eps) over the examples, p being the probability of the label."""

    _label_requirement = "a label is a class from -C to C - 1, negative ones counted from the end"

    def __init__(self, eps: float, name: str, output_names: Any, label_names: Any) -> None:
        self.eps = eps
        super().__init__(name, output_names, label_names, eps=eps)

    def _step(self) -> InstrumentedJit:
        return tally_step(_likelihood, options=(("eps", self.eps),))

    def _check(self, label: Any, pred: Any) -> None:
        if pred.ndim < 2:
            raise MetricShapeError(
                explain(
                    f"metric {self.name!r}",
                    f"predictions {pred.shape}, expected a probability for each class, (N, C)",
                )
            )
        if label.size != pred.shape[0]:
            raise MetricShapeError(
                explain(
                    f"metric {self.name!r}",
                    f"{label.size} labels for {pred.shape[0]} predictions",
                    because=f"labels are {label.shape}, predictions {pred.shape}",
                )
            )


def _likelihood(label: jax.Array, pred: jax.Array, *, eps: float) -> jax.Array:
    classes = pred.shape[1]
    chosen = label.ravel().astype(jnp.int64)
    invalid = jnp.sum((chosen < -classes) | (chosen >= classes))
    chosen = jnp.clip(jnp.where(chosen < 0, chosen + classes, chosen), 0, classes - 1)
    loss = -jnp.log(pred[jnp.arange(len(pred)), chosen] + eps)
    return make_tally(jnp.sum(loss, dtype=jnp.float64), len(pred), invalid)


@register
@alias("ce")
class CrossEntropy(_Likelihood):
    """The mean of -log(p + eps) over the examples, p being the probability of the label.

    Predictions (N, C) of probabilities, labels of N elements. A label beyond the classes raises
    IndexError when the metric is read.
    """

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "cross-entropy",
        output_names: Any = None,
        label_names: Any = None,
    ) -> None:
        super().__init__(eps, name, output_names, label_names)


@register
@alias("nll_loss")
class NegativeLogLikelihood(_Likelihood):
    """The same as :class:`CrossEntropy` under another name, as in MXNet."""

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "nll-loss",
        output_names: Any = None,
        label_names: Any = None,
    ) -> None:
        super().__init__(eps, name, output_names, label_names)


@register
class Perplexity(DeviceMetric):
    """exp of the mean of -log(max(p, 1e-10)), p being the probability of the label.

    Predictions (N, C) of probabilities along ``axis``; labels in any shape of N elements, clipped
    to the classes. Labels equal to ``ignore_label`` do not count (None: all do).

    >>> import executorkit as mx
    >>> metric = mx.metric.Perplexity(ignore_label=None)
    >>> metric.update([mx.nd.array([0, 1, 1])], [mx.nd.array([[0.3, 0.7], [0, 1], [0.4, 0.6]])])
    >>> name, value = metric.get()
    >>> round(value, 4)
    1.7711
    """

    def __init__(
        self,
        ignore_label: int | None,
        axis: int = -1,
        name: str = "perplexity",
        output_names: Any = None,
        label_names: Any = None,
    ) -> None:
        self.ignore_label = ignore_label
        self.axis = axis
        super().__init__(name, output_names, label_names, ignore_label=ignore_label)

    def get_config(self) -> dict[str, Any]:
        """A dict from which ``create(**config)`` creates an equal metric, ``axis`` included."""
        axis = {} if self.axis == -1 else {"axis": self.axis}
        return {**axis, **super().get_config()}

    def _step(self) -> InstrumentedJit:
        options = (("ignore_label", self.ignore_label), ("axis", self.axis))
        return tally_step(_perplexity, options=options)

    def _check(self, label: Any, pred: Any) -> None:
        if pred.ndim != 2 or not -2 <= self.axis < 2 or label.size != pred.shape[1 - self.axis % 2]:
            raise MetricShapeError(
                explain(
                    f"metric {self.name!r}",
                    f"labels {label.shape} for predictions {pred.shape}, expected N labels for "
                    f"predictions of two axes with the classes along axis {self.axis}",
                    hint="reshape predictions to (N, C)",
                )
            )

    def _final(self, value: float) -> float:
        try:
            return math.exp(value)
        except OverflowError:
            return math.inf


def _perplexity(
    label: jax.Array, pred: jax.Array, *, ignore_label: int | None, axis: int
) -> jax.Array:
    label = label.ravel()
    chosen = pick(pred, label.astype(jnp.int32), axis=axis)
    count = label.size
    if ignore_label is not None:
        ignored = label == ignore_label
        chosen = jnp.where(ignored, 1, chosen)
        count = count - jnp.sum(ignored)
    loss = -jnp.log(jnp.maximum(chosen, 1e-10))
    return make_tally(jnp.sum(loss, dtype=jnp.float64), count)
