"""Metrics computed by a user's function of NumPy arrays: CustomMetric, np."""

from collections.abc import Callable
from typing import Any

from .._support.annotations import Attrs
from ._eval_metric import Arrays, EvalMetric, check_label_shapes, register


@register
class CustomMetric(EvalMetric):
    """The mean of ``feval(label, pred)`` over the pairs, on NumPy arrays: every update copies its
    arrays to the host.

    feval
        returns the value for a pair, or (sum, count).
    name
        by default the function's; 'custom(<lambda>)' for one without.
    allow_extra_outputs
        allows more predictions than labels; the surplus is ignored.
    """

    def __init__(
        self,
        feval: Callable[[Any, Any], Any],
        name: str | None = None,
        allow_extra_outputs: bool = False,
        output_names=None,
        label_names=None,
    ) -> None:
        if name is None:
            name = feval.__name__
            name = f"custom({name})" if "<" in name else name
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        if not self._allow_extra_outputs:
            labels, preds = check_label_shapes(labels, preds, wrap=True)
        for label, pred in zip(labels, preds, strict=False):
            result = self._feval(label.asnumpy(), pred.asnumpy())
            total, count = result if isinstance(result, tuple) else (result, 1)
            self.sum_metric += total
            self.global_sum_metric += total
            self.num_inst += count
            self.global_num_inst += count

    def get_config(self) -> Attrs:
        raise NotImplementedError(f"metric {self.name!r}: a function has no configuration")


def np(
    numpy_feval: Callable[[Any, Any], Any],
    name: str | None = None,
    allow_extra_outputs: bool = False,
) -> CustomMetric:
    """Returns a :class:`CustomMetric` of a function of NumPy arrays."""
    return CustomMetric(numpy_feval, name, allow_extra_outputs)
