"""Metrics of the distance between predictions and labels: MAE, MSE, RMSE."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax.numpy as jnp
import numpy as np

from ._accuracy import make_tally
from ._device_metric import DeviceMetric, Measure, Raw
from ._eval_metric import register


class _Distance(DeviceMetric):
    _distance: Callable[[Any, Any], Any]

    def _measure(self) -> Measure:
        return Measure(_distance_of, (("distance", type(self)._distance),))

    def _check(self, label: Raw, pred: Raw) -> None:
        try:
            np.broadcast_shapes(_columns(label), _columns(pred))
        except ValueError:
            problem = f"labels {label.shape} and predictions {pred.shape} do not broadcast"
            raise self._misfit(problem) from None


def _columns(x: Raw) -> tuple[int, ...]:
    return (*x.shape, 1) if x.ndim == 1 else tuple(x.shape)


def _distance_of(
    xp: ModuleType, label: Raw, pred: Raw, *, distance: Callable[[Any, Any], Any]
) -> Raw:
    # NumPy's promotion, not JAX's: integers and float32 are computed in float64.
    dtype = np.promote_types(label.dtype, pred.dtype)
    label, pred = (x.reshape(_columns(x)).astype(dtype) for x in (label, pred))
    return make_tally(xp, distance(xp, label - pred), 1)


def _mean(xp: ModuleType, x: Any) -> Any:
    return xp.sum(x, dtype=xp.float64) / xp.asarray(x.size, xp.float64)


def _squares(xp: ModuleType, x: Any) -> Any:
    return xp.square(x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(xp.float64))


@register
class MAE(_Distance):
    """The mean over the pairs of mean |label - pred|. (N,) counts as (N, 1); shapes broadcast.

    >>> import executorkit as mx
    >>> metric = MAE()
    >>> metric.update([mx.nd.array([1, 2])], [mx.nd.array([1, 5])])
    >>> metric.get()
    ('mae', 1.5)
    """

    _distance = staticmethod(lambda xp, x: _mean(xp, xp.abs(x)))

    def __init__(self, name: str = "mae", output_names=None, label_names=None) -> None:
        super().__init__(name, output_names, label_names)


@register
class MSE(_Distance):
    """The mean over the pairs of mean (label - pred)^2; shapes as for :class:`MAE`."""

    _distance = staticmethod(lambda xp, x: _mean(xp, _squares(xp, x)))

    def __init__(self, name: str = "mse", output_names=None, label_names=None) -> None:
        super().__init__(name, output_names, label_names)


@register
class RMSE(_Distance):
    """The mean over the pairs of sqrt(mean (label - pred)^2). Shapes as for :class:`MAE`."""

    _distance = staticmethod(lambda xp, x: xp.sqrt(_mean(xp, _squares(xp, x))))

    def __init__(self, name: str = "rmse", output_names=None, label_names=None) -> None:
        super().__init__(name, output_names, label_names)
