"""``Estimator``: the loops of training and evaluation, with events that handlers are told of."""

import copy
import logging
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .... import initializer as init
from ....context import Context, cpu, gpu, num_gpus
from ....errors import ArgumentValueError, InputTypeError
from ....io import DataIter
from ....metric import Accuracy, EvalMetric, Loss as LossMetric
from ....ndarray import NDArray
from ..._block import Block
from ..._types import Init
from ...loss import Loss, SoftmaxCrossEntropyLoss
from ...trainer import Trainer
from ._metrics import check_references, listed_metrics
from .batch_processor import BatchProcessor
from .event_handler import (
    BatchBegin,
    BatchEnd,
    EpochBegin,
    EpochEnd,
    EventHandler,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
)


class Estimator:
    """Trains and evaluates a network.

        estimator = Estimator(net, gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
        estimator.fit(train_batches, validation_batches, epochs=5)

    A batch is recorded, differentiated and followed by the trainer's step: one program.

    net
        Any Block; parameters without values are initialized on the contexts.
    loss
        A :class:`executorkit.gluon.loss.Loss`.
    train_metrics
        Metrics of training, whose names get 'training' in front. By default the loss, and the
        accuracy for a loss of classes.
    val_metrics
        Metrics of evaluations, whose names get 'validation' in front. By default copies of
        ``train_metrics``.
    initializer
        The initializer of a network that is not initialized; by default Uniform.
    trainer
        A Trainer; by default SGD with a rate of 0.001, with a warning.
    context
        A context, or a list of contexts over which batches are divided; by default the first GPU,
        or the CPU. Raises AssertionError (ArgumentValueError) for a GPU that does not exist.
    val_net, val_loss
        Another network or loss for evaluations.
    batch_processor
        The :class:`BatchProcessor` that computes a batch.

    Lines go to ``logger``, its own logger, which writes to stdout. Raises ValueError
    (ArgumentValueError) for arguments of other types.

    >>> import executorkit as mx
    >>> net = mx.gluon.nn.Dense(1, in_units=1, use_bias=False)
    >>> net.initialize(mx.init.Zero())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> estimator = Estimator(net, mx.gluon.loss.L2Loss(), trainer=trainer)
    >>> estimator.logger.setLevel(logging.ERROR)
    >>> estimator.fit([(mx.nd.ones((4, 1)), mx.nd.ones((4, 1)))], epochs=2)
    >>> estimator.train_metrics[0].get()
    ('training l2loss', 0.125)
    """

    def __init__(
        self,
        net: Block,
        loss: Loss,
        train_metrics: Any = None,
        val_metrics: Any = None,
        initializer: Init = None,
        trainer: Trainer | None = None,
        context: Context | Sequence[Context] | None = None,
        val_net: Block | None = None,
        val_loss: Loss | None = None,
        batch_processor: Any = None,
    ) -> None:
        if not isinstance(net, Block):
            raise InputTypeError("Estimator: net", f"a {type(net).__name__}, expected a Block")
        self.net = net
        self.loss = _checked_loss("loss", loss)
        self._train_metrics: list[EvalMetric] = listed_metrics(
            "Estimator: train_metrics", train_metrics
        )
        self._val_metrics = listed_metrics("Estimator: val_metrics", val_metrics)
        self.val_net = net if val_net is None else val_net
        self.val_loss = loss if val_loss is None else _checked_loss("val_loss", val_loss)
        self.context = _checked_contexts(context)
        self.batch_processor = _checked_processor(batch_processor)
        self.max_epoch: int | None = None
        self.max_batch: int | None = None
        self.batch_axis = 0
        self.logger = logging.Logger("Estimator", logging.INFO)
        self.logger.addHandler(logging.StreamHandler(sys.stdout))
        self._initialize(initializer)
        self.trainer = self._checked_trainer(trainer)
        if not self._train_metrics:
            classifies = isinstance(self.loss, SoftmaxCrossEntropyLoss)
            self._train_metrics = [Accuracy()] if classifies else []
            self._train_metrics.append(LossMetric(self.loss.name.rstrip("0123456789")))
        _add_prefix("training", self._train_metrics)
        if not self._val_metrics:
            self._val_metrics = [copy.deepcopy(metric) for metric in self._train_metrics]
            for metric in self._val_metrics:
                metric.name = metric.name.removeprefix("training ")
        _add_prefix("validation", self._val_metrics)

    @property
    def train_metrics(self) -> list[EvalMetric]:
        """The metrics of training."""
        return self._train_metrics

    @property
    def val_metrics(self) -> list[EvalMetric]:
        """The metrics of evaluations."""
        return self._val_metrics

    # -- construction ------------------------------------------------------------------------------

    def _is_initialized(self) -> bool:
        try:
            for parameter in self.net.collect_params().values():
                parameter.list_ctx()
        except RuntimeError:
            return False
        return True

    def _initialize(self, initializer: Init) -> None:
        if not self._is_initialized():
            self.net.initialize(init=initializer or init.Uniform(), ctx=self.context)
        elif initializer is not None:
            warnings.warn(
                "Estimator: the network is initialized already, so initializer= is not used; "
                "net.initialize(init=..., force_reinit=True) does it again",
                stacklevel=3,
            )

    def _checked_trainer(self, trainer: Any) -> Trainer:
        if trainer is None:
            text = "Estimator: no trainer is given, SGD with a rate of 0.001 is used"
            warnings.warn(text, stacklevel=3)
            return Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.001})
        if not isinstance(trainer, Trainer):
            problem = f"a {type(trainer).__name__}, expected a Trainer"
            hint = "gluon.Trainer(net.collect_params(), ...)"
            raise ArgumentValueError("Estimator: trainer", problem, hint=hint)
        return trainer

    # -- loops -------------------------------------------------------------------------------------

    def fit(
        self,
        train_data: Iterable[Any],
        val_data: Iterable[Any] | None = None,
        epochs: int | None = None,
        event_handlers: Any = None,
        batches: int | None = None,
        batch_axis: int = 0,
    ) -> None:
        """Trains for a number of epochs, or of batches.

        train_data
            A ``gluon.data.DataLoader``, or (an extension) any iterable of pairs of data and label,
            which is iterated in each epoch.
        val_data
            The same for an evaluation at the end of each epoch.
        epochs, batches
            One of these two numbers.
        event_handlers
            A handler or several, added to the default ones: the trainer's step, metrics, the
            evaluation, the end, the log. A handler replaces the default one of its class, except
            for the end. A list is not changed (MXNet adds to it).
        batch_axis
            The axis along which batches are divided over contexts.

        Raises ValueError (ArgumentValueError) for other arguments, for an epoch without batches
        (MXNet goes on), and for handlers whose metrics are not the estimator's.
        """
        _check_batches("train_data", train_data)
        if val_data is not None:
            _check_batches("val_data", val_data)
        if bool(epochs) == bool(batches) or (epochs or batches or 0) < 0:
            problem = f"epochs={epochs!r}, batches={batches!r}, expected one of them, above 0"
            raise ArgumentValueError("Estimator.fit", problem)
        self.max_epoch, self.max_batch, self.batch_axis = epochs, batches, batch_axis
        handlers = self._prepare_default_handlers(val_data, event_handlers)
        for handler in _of(TrainBegin, handlers):
            handler.train_begin(self)
        while True:
            for handler in _of(EpochBegin, handlers):
                handler.epoch_begin(self)
            self._fit_epoch(train_data, handlers)
            ends = [handler.epoch_end(self) for handler in _of(EpochEnd, handlers)]
            if any(ends):
                break
        for handler in _of(TrainEnd, handlers):
            handler.train_end(self)

    def _fit_epoch(self, train_data: Iterable[Any], handlers: Sequence[Any]) -> None:
        n_batches = 0
        for batch in train_data:
            n_batches += 1
            for handler in _of(BatchBegin, handlers):
                handler.batch_begin(self, batch=batch)
            results = self.batch_processor.fit_batch(self, batch, self.batch_axis)
            if any(self._end_batch(batch, results, handlers)):
                break
        if not n_batches:
            problem = "an epoch has no batch"
            because = (
                "an iterable without a second iteration, such as a generator, has no second epoch"
            )
            hint = "a list of batches, or gluon.data.DataLoader"
            raise ArgumentValueError(
                "Estimator.fit: train_data", problem, because=because, hint=hint
            )

    def evaluate(
        self, val_data: Iterable[Any], batch_axis: int = 0, event_handlers: Any = None
    ) -> None:
        """Computes ``val_metrics`` over all batches. Handlers receive the epoch and its batches;
        the default ones update and log the metrics. For arguments and errors see :meth:`fit`."""
        _check_batches("val_data", val_data)
        handlers = self._prepare_default_validation_handlers(event_handlers)
        for handler in _of(EpochBegin, handlers):
            handler.epoch_begin(self)
        for batch in val_data:
            for handler in _of(BatchBegin, handlers):
                handler.batch_begin(self, batch=batch)
            results = self.batch_processor.evaluate_batch(self, batch, batch_axis)
            self._end_batch(batch, results, handlers)
        for handler in _of(EpochEnd, handlers):
            handler.epoch_end(self)

    def _end_batch(self, batch: Any, results: Any, handlers: Sequence[Any]) -> list[Any]:
        _, label, pred, loss = results
        return [
            handler.batch_end(self, batch=batch, pred=pred, label=label, loss=loss)
            for handler in _of(BatchEnd, handlers)
        ]

    # -- handlers ----------------------------------------------------------------------------------

    def _prepare_default_handlers(self, val_data: Any, event_handlers: Any) -> list[Any]:
        handlers = _checked_handlers(event_handlers)
        defaults: list[EventHandler] = []
        if not any(isinstance(h, GradientUpdateHandler) for h in handlers):
            defaults.append(GradientUpdateHandler())
        if not any(isinstance(h, MetricHandler) for h in handlers):
            defaults.append(MetricHandler(self.train_metrics))
        if val_data is not None and not any(isinstance(h, ValidationHandler) for h in handlers):
            defaults.append(ValidationHandler(val_data, self.evaluate))
        defaults.append(StoppingHandler(self.max_epoch, self.max_batch))
        if not any(isinstance(h, LoggingHandler) for h in handlers):
            defaults.append(LoggingHandler(metrics=self.train_metrics))
        return _ordered(handlers + defaults, self.train_metrics + self.val_metrics)

    def _categorize_handlers(self, event_handlers: Sequence[Any]) -> tuple[list[Any], ...]:
        events = TrainBegin, EpochBegin, BatchBegin, BatchEnd, EpochEnd, TrainEnd
        return tuple([*_of(event, event_handlers)] for event in events)

    def _prepare_default_validation_handlers(self, event_handlers: Any) -> list[Any]:
        handlers = _checked_handlers(event_handlers)
        if not any(isinstance(h, MetricHandler) for h in handlers):
            handlers.append(MetricHandler(self.val_metrics))
        if not any(isinstance(h, LoggingHandler) for h in handlers):
            handlers.append(LoggingHandler(metrics=self.val_metrics))
        return _ordered(handlers, self.val_metrics)


def _of(event: type, handlers: Sequence[Any]) -> Iterator[Any]:
    return (handler for handler in handlers if isinstance(handler, event))


def _ordered(handlers: list[Any], metrics: list[EvalMetric]) -> list[Any]:
    for handler in handlers:
        check_references(handler, metrics)
    return sorted(handlers, key=lambda handler: getattr(handler, "priority", 0))


def _checked_handlers(handlers: Any) -> list[Any]:
    if handlers is None:
        return []
    listed = list(handlers) if isinstance(handlers, list | tuple) else [handlers]
    for handler in listed:
        if not isinstance(handler, EventHandler):
            problem = f"{handler!r} is not an EventHandler"
            hint = "an instance of a class that derives from BatchEnd, EpochEnd, ..."
            raise ArgumentValueError("Estimator: event_handlers", problem, hint=hint)
    return listed


def _check_batches(argument: str, batches: Any) -> None:
    refused = DataIter, NDArray, np.ndarray, Mapping, str
    if isinstance(batches, refused) or not isinstance(batches, Iterable):
        problem = f"a {type(batches).__name__}, expected batches of data and label"
        hint = "gluon.data.DataLoader(dataset, batch_size), or a list of pairs"
        raise ArgumentValueError(f"Estimator: {argument}", problem, hint=hint)


def _checked_loss(argument: str, loss: Any) -> Loss:
    if not isinstance(loss, Loss):
        problem = f"{loss!r}, expected a gluon.loss.Loss"
        hint = "a class that derives from gluon.loss.Loss, for a loss of one's own"
        raise ArgumentValueError(f"Estimator: {argument}", problem, hint=hint)
    return loss


def _checked_contexts(context: Any) -> list[Context]:
    if context is None:
        return [gpu(0) if num_gpus() else cpu(0)]
    contexts = list(context) if isinstance(context, list | tuple) else [context]
    if not contexts or not all(isinstance(ctx, Context) for ctx in contexts):
        problem = f"{context!r}, expected a Context or a list of them"
        raise ArgumentValueError("Estimator: context", problem, hint="mx.cpu(), [mx.gpu(0)]")
    for ctx in contexts:
        if ctx.device_type == "gpu" and ctx.device_id >= num_gpus():
            raise ArgumentValueError("Estimator: context", f"{ctx} does not exist", hint="mx.cpu()")
    return contexts


def _checked_processor(processor: Any) -> Any:
    if processor is None:
        return BatchProcessor()
    methods = (getattr(processor, name, None) for name in ("fit_batch", "evaluate_batch"))
    if not all(map(callable, methods)):
        problem = f"{processor!r} has no methods fit_batch and evaluate_batch"
        hint = "a class that derives from BatchProcessor"
        raise ArgumentValueError("Estimator: batch_processor", problem, hint=hint)
    return processor


def _add_prefix(prefix: str, metrics: list[EvalMetric]) -> None:
    for metric in metrics:
        if not metric.name.startswith(f"{prefix} "):
            metric.name = f"{prefix} {metric.name}"
