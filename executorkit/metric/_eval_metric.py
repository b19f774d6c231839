"""EvalMetric, the base class: a name, sums over the batches so far, and their quotient."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from .._support.annotations import Attrs
from .._support.keyword_arguments import CheckedKeywords
from ..display import brief
from ..errors import MetricShapeError
from ..ndarray import NDArray
from ..registry import get_alias_func, get_create_func, get_register_func

#: NDArrays or NumPy arrays, as a list or a single one.
Arrays: TypeAlias = Any


def check_label_shapes(
    labels: Arrays, preds: Arrays, wrap: bool = False, shape: bool = False
) -> tuple[Any, Any]:
    """Returns labels and predictions if their lengths (``shape``: their shapes) are equal, else
    raises ValueError; ``wrap`` makes lists of single NDArrays."""
    sizes = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if sizes[0] != sizes[1]:
        kind = "shape" if shape else "length"
        raise MetricShapeError("metric", f"labels have {kind} {sizes[0]}, predictions {sizes[1]}")
    if wrap:
        labels = [labels] if isinstance(labels, NDArray) else labels
        preds = [preds] if isinstance(preds, NDArray) else preds
    return labels, preds


class EvalMetric(CheckedKeywords):
    """Base class of metrics: a subclass adds to ``sum_metric`` and ``num_inst`` in ``update``.

    name
        label of the value.
    output_names, label_names
        entries that ``update_dict`` takes; None takes all. Every metric has these three arguments.
    kwargs
        constructor arguments of the subclass, kept for ``get_config``; ``has_global_stats=True``
        says that it also adds to ``global_sum_metric`` and ``global_num_inst``, which
        ``reset_local`` does not clear.
    """

    num_inst: Any
    sum_metric: Any
    global_num_inst: Any
    global_sum_metric: Any

    def __init__(
        self,
        name: str,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._has_global_stats = kwargs.pop("has_global_stats", False)
        self._kwargs = kwargs
        self.reset()

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"

    def __repr__(self) -> str:
        return brief(self, None, [f"{name} {value}" for name, value in self.get_name_value()])

    def get_config(self) -> Attrs:
        """Returns a dict from which ``create(**config)`` creates an equal metric."""
        return {
            **self._kwargs,
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }

    def update_dict(self, label: Mapping[str, Any], pred: Mapping[str, Any]) -> None:
        """Calls ``update`` with labels and predictions given by name."""
        preds = _chosen(pred, self.output_names)
        self.update(_chosen(label, self.label_names), preds)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Adds a batch: lists of labels and of predictions, pair by pair."""
        raise NotImplementedError(f"{type(self).__name__}.update")

    def reset(self) -> None:
        """Clears the sums."""
        self.num_inst = self.global_num_inst = 0
        self.sum_metric = self.global_sum_metric = 0.0

    def reset_local(self) -> None:
        """Clears the sums, except the global ones."""
        self.num_inst = 0
        self.sum_metric = 0.0

    def get(self) -> tuple[Any, Any]:
        """Returns the name and the value over the batches since the last reset; NaN without any."""
        return self.name, ratio_or_nan(self.sum_metric, self.num_inst)

    def get_global(self) -> tuple[Any, Any]:
        """Returns the name and the value over all batches, also those before ``reset_local``."""
        if not self._has_global_stats:
            return self.get()
        return self.name, ratio_or_nan(self.global_sum_metric, self.global_num_inst)

    def get_name_value(self) -> list[tuple[str, Any]]:
        """Returns ``get`` as a list of (name, value)."""
        return _pairs(*self.get())

    def get_global_name_value(self) -> list[tuple[str, Any]]:
        """Returns ``get_global`` as a list of (name, value)."""
        return _pairs(*self.get_global()) if self._has_global_stats else self.get_name_value()


def ratio_or_nan(total: Any, count: Any) -> Any:
    if count == 0:
        return float("nan")
    value = total / count
    return value.item() if isinstance(value, np.generic) else value


def _chosen(arrays: Mapping[str, Any], names: Sequence[str] | None) -> list[Any]:
    return list(arrays.values()) if names is None else [arrays[name] for name in names]


def _pairs(names: Any, values: Any) -> list[tuple[str, Any]]:
    columns = (x if isinstance(x, list) else [x] for x in (names, values))
    return list(zip(*columns, strict=True))


register = get_register_func(EvalMetric, "metric")
alias = get_alias_func(EvalMetric, "metric")
create_registered = get_create_func(EvalMetric, "metric")
