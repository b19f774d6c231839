"""Loss: the mean of outputs that are losses themselves; and its aliases."""

from types import ModuleType
from typing import Any

from ..ndarray import NDArray
from ._accuracy import make_tally
from ._device_metric import DeviceMetric, Measure
from ._eval_metric import Arrays, register


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
