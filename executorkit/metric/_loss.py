"""Loss: the mean of outputs that are losses themselves; and its aliases."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ..ndarray import NDArray
from ..program import InstrumentedJit
from ._accuracy import make_tally
from ._device_metric import DeviceMetric, tally_step
from ._eval_metric import register


@register
class Loss(DeviceMetric):
    """The mean of all elements of the outputs. Labels are ignored and may be None."""

    def __init__(
        self, name: str = "loss", output_names: Any = None, label_names: Any = None
    ) -> None:
        super().__init__(name, output_names, label_names)

    def _step(self) -> InstrumentedJit:
        return tally_step(_sum)

    def _pairs(self, labels: Any, preds: Any) -> list[tuple[Any, Any]]:
        return [(None, p) for p in ([preds] if isinstance(preds, NDArray) else preds)]


def _sum(label: None, pred: jax.Array) -> jax.Array:
    return make_tally(jnp.sum(pred, dtype=jnp.float64), pred.size)


@register
class Torch(Loss):
    """:class:`Loss` under the name that MXNet's Torch plugin uses."""

    def __init__(
        self, name: str = "torch", output_names: Any = None, label_names: Any = None
    ) -> None:
        super().__init__(name, output_names, label_names)


@register
class Caffe(Loss):
    """:class:`Loss` under the name that MXNet's Caffe plugin uses."""

    def __init__(
        self, name: str = "caffe", output_names: Any = None, label_names: Any = None
    ) -> None:
        super().__init__(name, output_names, label_names)
