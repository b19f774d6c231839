"""CompositeEvalMetric, several metrics as one; and ``create``, metrics by name."""

from collections.abc import Mapping
from typing import Any

from .._support.annotations import Attrs
from ..errors import RegistryError
from ._custom import CustomMetric
from ._eval_metric import Arrays, EvalMetric, alias, create_registered, register


def create(metric: Any, *args: Any, **kwargs: Any) -> EvalMetric:
    """Returns a metric from a registered name, an :class:`EvalMetric` (returned itself), a class of
    metrics, a function of (label, pred) on NumPy arrays, a dict of ``get_config``, or a list of
    these for a :class:`CompositeEvalMetric`. The other arguments are the constructor's.

    >>> create(["acc", "mse"]).get()
    (['accuracy', 'mse'], [nan, nan])
    """
    if isinstance(metric, type) and issubclass(metric, EvalMetric):
        return metric(*args, **kwargs)
    if callable(metric):
        return CustomMetric(metric, *args, **kwargs)
    if isinstance(metric, list):
        return CompositeEvalMetric([create(member, *args, **kwargs) for member in metric])
    return create_registered(metric, *args, **kwargs)


@register
@alias("composite")
class CompositeEvalMetric(EvalMetric):
    """Metrics that are updated together; ``get`` gives lists of their names and values. With
    ``output_names`` and ``label_names``, ``update_dict`` hands the members those entries only."""

    def __init__(
        self, metrics: Any = None, name: str = "composite", output_names=None, label_names=None
    ) -> None:
        self.metrics: list[EvalMetric] = [create(m) for m in metrics or ()]
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def add(self, metric: Any) -> None:
        """Adds a metric, or whatever ``create`` makes one of."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """Returns the member with that number, or raises ValueError (MXNet returns it)."""
        try:
            return self.metrics[index]
        except IndexError:
            problem = f"{len(self.metrics)} members, no number {index}"
            raise RegistryError(f"metric {self.name!r}", problem) from None

    def update_dict(self, labels: Mapping[str, Any], preds: Mapping[str, Any]) -> None:  # type: ignore[override]
        if self.label_names is not None:
            labels = {k: v for k, v in labels.items() if k in self.label_names}
        if self.output_names is not None:
            preds = {k: v for k, v in preds.items() if k in self.output_names}
        for metric in self.metrics:
            metric.update_dict(labels, preds)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self) -> None:
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        for metric in self.metrics:
            metric.reset_local()

    def get(self) -> tuple[list[str], list[Any]]:
        return _split(pair for metric in self.metrics for pair in metric.get_name_value())

    def get_global(self) -> tuple[list[str], list[Any]]:
        return _split(pair for metric in self.metrics for pair in metric.get_global_name_value())

    def get_config(self) -> Attrs:
        return {**super().get_config(), "metrics": [m.get_config() for m in self.metrics]}


def _split(pairs: Any) -> tuple[list[str], list[Any]]:
    members = list(pairs)
    return [name for name, _ in members], [value for _, value in members]
