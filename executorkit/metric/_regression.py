"""Metrics of the distance between predictions and labels: MAE, MSE, RMSE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import MetricShapeError, explain
from ..program import InstrumentedJit
from ._accuracy import make_tally
from ._device_metric import DeviceMetric, tally_step
from ._eval_metric import register


class _Distance(DeviceMetric):
    """The mean over the pairs of one number for each."""

    _distance: Callable[[jax.Array], jax.Array]

    def _step(self) -> InstrumentedJit:
        return tally_step(_distance_of, options=(("distance", type(self)._distance),))

    def _check(self, label: Any, pred: Any) -> None:
        try:
            np.broadcast_shapes(_columns(label), _columns(pred))
        except ValueError:
            raise MetricShapeError(
                explain(
                    f"metric {self.name!r}",
                    f"labels {label.shape} and predictions {pred.shape} do not broadcast",
                )
            ) from None


def _columns(x: Any) -> tuple[int, ...]:
    """The shape of an array, a column if it has one axis."""
    return (*x.shape, 1) if x.ndim == 1 else tuple(x.shape)


def _distance_of(
    label: jax.Array, pred: jax.Array, *, distance: Callable[[jax.Array], jax.Array]
) -> jax.Array:
    # NumPy's promotion, not JAX's: integers and float32 are computed in float64.
    dtype = np.promote_types(label.dtype, pred.dtype)
    label, pred = (x.reshape(_columns(x)).astype(dtype) for x in (label, pred))
    return make_tally(distance(label - pred), 1)


def _mean(x: jax.Array) -> jax.Array:
    return jnp.mean(x, dtype=jnp.float64)


def _squares(x: jax.Array) -> jax.Array:
    return jnp.square(x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(jnp.float64))


@register
class MAE(_Distance):
    """The mean over the pairs of mean |label - pred|. Arrays (N,) count as (N, 1); shapes
    broadcast.

    >>> import executorkit as mx
    >>> metric = MAE()
    >>> metric.update([mx.nd.array([1, 2])], [mx.nd.array([1, 5])])
    >>> metric.get()
    ('mae', 1.5)
    """

    _distance = staticmethod(lambda x: _mean(jnp.abs(x)))

    def __init__(
        self, name: str = "mae", output_names: Any = None, label_names: Any = None
    ) -> None:
        super().__init__(name, output_names, label_names)


@register
class MSE(_Distance):
    """The mean over the pairs of mean (label - pred)^2. Arrays (N,) count as (N, 1); shapes
    broadcast.

    >>> import executorkit as mx
    >>> metric = MSE()
    >>> metric.update([mx.nd.array([1, 2])], [mx.nd.array([1, 5])])
    >>> metric.get()
    ('mse', 4.5)
    """

    _distance = staticmethod(lambda x: _mean(_squares(x)))

    def __init__(
        self, name: str = "mse", output_names: Any = None, label_names: Any = None
    ) -> None:
        super().__init__(name, output_names, label_names)


@register
class RMSE(_Distance):
    """The mean over the pairs of sqrt(mean (label - pred)^2): each pair has its own root. Arrays
    (N,) count as (N, 1); shapes broadcast.

    >>> import executorkit as mx
    >>> metric = RMSE()
    >>> metric.update([mx.nd.array([2, 2])], [mx.nd.array([5, -1])])
    >>> metric.get()
    ('rmse', 3.0)
    """

    _distance = staticmethod(lambda x: jnp.sqrt(_mean(_squares(x))))

    def __init__(
        self, name: str = "rmse", output_names: Any = None, label_names: Any = None
    ) -> None:
        super().__init__(name, output_names, label_names)
