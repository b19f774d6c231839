"""The training loop of modules and of FeedForward, with its callbacks."""

import logging
import time
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from ..metric import EvalMetric
from ..parallel import JointEpoch

#: Argument of a batch callback; MXNet's type calls itself ``BatchEndParams``.
BatchEndParam = namedtuple("BatchEndParams", ["epoch", "nbatch", "eval_metric", "locals"])


class LogValidationMetricsCallback:
    """Logs the metric that an evaluation ended with; for ``eval_end_callback``."""

    def __call__(self, param: Any) -> None:
        if not param.eval_metric:
            return
        for name, value in param.eval_metric.get_name_value():
            logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)


def callback_list(callbacks: Any) -> Sequence[Callable[..., Any]]:
    if callbacks is None:
        return ()
    return callbacks if isinstance(callbacks, list | tuple) else (callbacks,)


@dataclass(frozen=True, slots=True, kw_only=True)
class FitSpec:
    """Arguments of ``fit`` that its epochs need, by their names there."""

    train_data: Any
    eval_metric: EvalMetric
    begin_epoch: int
    num_epoch: int
    arg_params: Any = None
    aux_params: Any = None
    eval_data: Any = None
    validation_metric: Any = None
    epoch_end_callback: Any = None
    batch_end_callback: Any = None
    eval_end_callback: Any = None
    eval_batch_end_callback: Any = None
    monitor: Any = None
    sparse_row_id_fn: Any = None

    @property
    def variables(self) -> dict[str, Any]:
        """The arguments for a callback's ``locals``."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def observers(self) -> list[Any]:
        """Callbacks and monitors that may look at a training batch."""
        groups = (self.batch_end_callback, self.epoch_end_callback, self.monitor)
        return [observer for group in groups for observer in callback_list(group)]


class Lookahead(Iterator[Any]):
    """An iterator whose next element can be looked at before it is taken."""

    def __init__(self, elements: Iterable[Any]) -> None:
        self._elements = iter(elements)
        self._ahead: list[Any] = []

    def peek(self) -> Any:
        """Returns the next element; None at the end."""
        if not self._ahead:
            self._ahead = [next(self._elements, None)]
        return self._ahead[0]

    def __next__(self) -> Any:
        element = self.peek()
        if element is None:
            raise StopIteration
        self._ahead = []
        return element


class TrainingLoop:
    """Epochs of batches, after each of which callbacks are called and other data is scored.

    Subclasses define ``symbol`` and the hooks ``_train_batch`` (forward, backward and update),
    ``_update_metric`` (by the outputs and the labels of a batch), ``_trained_params`` (parameters
    and auxiliary states, after an epoch) and ``_evaluate`` (scores the evaluation data), and
    override the hooks at the end as they need.
    """

    logger: Any
    symbol: Any
    _train_batch: Callable[[Any], None]
    _update_metric: Callable[[EvalMetric, Any], None]
    _trained_params: Callable[[], tuple[Mapping[str, Any], Mapping[str, Any]]]
    _evaluate: Callable[[FitSpec, int], None]
    #: Number of an epoch's first batch for callbacks.
    _first_batch: ClassVar[int] = 0

    def _run_epochs(self, spec: FitSpec) -> None:
        for epoch in range(spec.begin_epoch, spec.num_epoch):
            start = time.time()
            self._begin_epoch(spec, epoch)
            spec.eval_metric.reset()
            steps = JointEpoch()
            for name, value in self._train_epoch(spec, epoch, steps) or ():
                self.logger.info("Epoch[%d] Train-%s=%f", epoch, name, value)
            self.logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - start)
            arg_params, aux_params = self._trained_params()
            spec = replace(spec, arg_params=arg_params, aux_params=aux_params)
            for callback in callback_list(spec.epoch_end_callback):
                callback(epoch, self.symbol, arg_params, aux_params)
            if steps.stops:
                self.logger.warning("Epoch[%d] stops early, after its checkpoint: SIGTERM", epoch)
                raise SystemExit(143)
            if spec.eval_data is not None:
                self._evaluate(spec, epoch)
            self._end_epoch(spec)

    def _train_epoch(
        self, spec: FitSpec, epoch: int, steps: JointEpoch
    ) -> list[tuple[str, Any]] | None:
        """Trains on all batches, as many as all processes have; returns the result of the last
        :meth:`_look_ahead`, None without a batch."""
        batches = Lookahead(self._batches(spec, epoch))
        values = batch = None
        variables = spec.variables
        for nbatch, batch in enumerate(batches, self._first_batch):
            if steps.is_over():
                values = spec.eval_metric.get_global_name_value()
                break
            if spec.monitor is not None:
                spec.monitor.tic()
            self._train_batch(batch)
            steps.end_batch()
            self._update_metric(spec.eval_metric, batch)
            values = self._look_ahead(spec, batches)
            if spec.monitor is not None:
                spec.monitor.toc_print()
            variables["data_batch"] = batch
            self._call_back(spec.batch_end_callback, epoch, nbatch, spec.eval_metric, variables)
        steps.finish(lambda: self._train_batch(batch), self.logger)
        return values

    def _score(
        self, batches: Iterable[tuple[int, Any]], eval_metric: EvalMetric, epoch: int,
        batch_end_callback: Any, end_callback: Any, eval_data: Any,
    ) -> None:  # fmt: skip
        eval_metric.reset()
        count = 0
        variables = {"eval_data": eval_data}
        for nbatch, batch in batches:
            self._update_metric(eval_metric, batch)
            variables["eval_batch"] = batch
            self._call_back(batch_end_callback, epoch, nbatch, eval_metric, variables)
            count += 1
        self._call_back(end_callback, epoch, count, eval_metric, variables)

    def _call_back(
        self, callbacks: Any, epoch: int, nbatch: int, eval_metric: EvalMetric,
        variables: Mapping[str, Any],
    ) -> None:  # fmt: skip
        if callbacks:
            names = {**variables, **self._callback_variables()}
            names |= {"epoch": epoch, "nbatch": nbatch, "eval_metric": eval_metric}
            param = BatchEndParam(epoch, nbatch, eval_metric, names)
            for callback in callback_list(callbacks):
                callback(param)

    def _begin_epoch(self, spec: FitSpec, epoch: int) -> None: ...

    def _end_epoch(self, spec: FitSpec) -> None: ...

    def _batches(self, spec: FitSpec, epoch: int) -> Iterable[Any]:
        return spec.train_data

    def _look_ahead(self, spec: FitSpec, batches: Lookahead) -> list[tuple[str, Any]]:
        return []

    def _callback_variables(self) -> dict[str, Any]:
        return {"self": self}
