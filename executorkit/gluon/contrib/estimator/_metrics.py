"""Metrics of an estimator: what may be given, defaults, and whether a handler has others."""

from collections.abc import Iterable
from typing import Any

from ....errors import ArgumentValueError
from ....metric import CompositeEvalMetric, EvalMetric


def listed_metrics(where: str, metrics: Any) -> list[EvalMetric]:
    """Returns metrics as a list, or raises ValueError (ArgumentValueError) for other objects."""
    if isinstance(metrics, CompositeEvalMetric):
        return metrics.metrics
    if isinstance(metrics, EvalMetric):
        return [metrics]
    result = metrics if isinstance(metrics, list) else metrics or []
    if isinstance(result, list | tuple) and all(isinstance(m, EvalMetric) for m in result):
        return result if isinstance(result, list) else list(result)
    problem = f"{metrics!r}, expected metrics"
    raise ArgumentValueError(where, problem, hint="mx.metric.create(...), or a list of metrics")


def check_references(handler: Any, metrics: Iterable[EvalMetric]) -> None:
    """Raises ValueError (ArgumentValueError) if a handler's metric is not among ``metrics``, so
    that it would never be updated."""
    known = {id(metric) for metric in metrics}
    for name in dir(handler):
        if "metric" not in name:
            continue
        value = getattr(handler, name)
        for metric in value if isinstance(value, list | tuple) else [value]:
            if isinstance(metric, EvalMetric) and id(metric) not in known:
                problem = f"its {name} has {metric.name!r}, which is not a metric of the estimator"
                hint = "one of estimator.train_metrics, estimator.val_metrics"
                raise ArgumentValueError(f"Estimator: {type(handler).__name__}", problem, hint=hint)
