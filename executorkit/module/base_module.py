"""What every module has: the methods that kinds of modules fill in, and what is built on them.

Running a module over data without training it: score, predict, iter_predict.

``BaseModule``: what all modules share, training included.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import metric
from .. import ndarray as nd
from ..context import cpu
from ..debugging.finite_report import FiniteReport
from ..display import Line, Part, View, Viewed
from ..errors import (
    DataArgumentError,
    EmptyIteratorError,
    FileFormatError,
    ModuleUsageError,
    NotSupportedError,
    explain,
)
from ..initializer import Uniform
from ..io import DataBatch, DataDesc, DataIter
from ..model import BatchEndParam
from ..ndarray import NDArray
from ._optimizer_state import discard_gradients
from ._preconditions import check_input_names, data_descs, require


class Interface(Viewed):
    """The methods that a kind of module provides; NotImplementedError where it does not.

    binded, params_initialized, optimizer_initialized
        what has been done already.
    for_training, inputs_need_grad
        what it was bound for.
    """

    def __init__(self, logger: Any = logging) -> None:
        self.logger = logger
        self.binded = False
        self.for_training = False
        self.inputs_need_grad = False
        self.params_initialized = False
        self.optimizer_initialized = False
        self._symbol: Any = None

    def _not_provided(self, what: str) -> NotSupportedError:
        return NotSupportedError(
            explain(what, f"{type(self).__name__} does not have it", hint="define it in a subclass")
        )

    def _as_view(self) -> View:
        return View(type(self).__name__, self._parts())

    def _parts(self) -> list[Part]:
        """What views of this module consist of."""
        purpose = "training" if self.for_training else "inference"
        words = [f"bound for {purpose}" if self.binded else "not bound"]
        words.append("parameters are there" if self.params_initialized else "no parameters yet")
        words.append("with an optimizer" if self.optimizer_initialized else "no optimizer")
        return [Line(", ".join(words))]

    # Descriptions

    @property
    def symbol(self) -> Any:
        """The network; that of the current bucket with bucketing, None for modules in Python."""
        return self._symbol

    @property
    def data_names(self) -> Any:
        """Names of the inputs."""
        raise self._not_provided("data_names")

    @property
    def output_names(self) -> Any:
        """Names of the outputs."""
        raise self._not_provided("output_names")

    @property
    def data_shapes(self) -> Any:
        """(name, shape) of the inputs, once bound."""
        raise self._not_provided("data_shapes")

    @property
    def label_shapes(self) -> Any:
        """(name, shape) of the labels, once bound; None without labels."""
        raise self._not_provided("label_shapes")

    @property
    def output_shapes(self) -> Any:
        """(name, shape) of the outputs for the whole batch, once bound."""
        raise self._not_provided("output_shapes")

    # Setting up

    def bind(
        self,
        data_shapes: Any,
        label_shapes: Any = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Any = None,
        grad_req: Any = "write",
    ) -> None:
        """Allocates the arrays for batches of these shapes."""
        raise self._not_provided("bind")

    def init_params(
        self,
        initializer: Any = Uniform(0.01),  # noqa: B008 - MXNet's default; it has no state
        arg_params: Any = None,
        aux_params: Any = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Gives the parameters their first values."""
        raise self._not_provided("init_params")

    def init_optimizer(
        self,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Makes the optimizer that ``update`` uses."""
        raise self._not_provided("init_optimizer")

    def install_monitor(self, mon: Any) -> None:
        """Has a monitor look at all executors."""
        raise self._not_provided("install_monitor")

    # Running

    def prepare(self, data_batch: Any, sparse_row_id_fn: Any = None) -> None:
        """Gets ready for a batch that comes next."""
        if sparse_row_id_fn is not None:
            warnings.warn(
                f"sparse_row_id_fn is not called by {type(self).__name__}",
                UserWarning,
                stacklevel=2,
            )

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Computes the outputs; ``is_train`` None means as the module is bound."""
        raise self._not_provided("forward")

    def backward(self, out_grads: Any = None) -> None:
        """Computes the gradients; outputs of no loss need head gradients."""
        raise self._not_provided("backward")

    def forward_backward(self, data_batch: Any) -> None:
        """A training ``forward`` and a ``backward``. Nothing is looked at in between, so that they
        and a following ``update`` can be one program."""
        self.forward(data_batch, is_train=True)
        self.backward()

    def update(self) -> None:
        """Changes the parameters as the optimizer says, by the gradients of the last backward."""
        raise self._not_provided("update")

    def check_finite(self, out_grads: Any = None, *, raise_error: bool = False) -> FiniteReport:
        """Finds the first node that made a NaN or an infinity in the last batch.

        out_grads
            head gradients, as ``backward`` takes them; by default those that were used last.
        raise_error
            raises NotFiniteError (a FloatingPointError) if something is not finite.

        See :meth:`Executor.check_finite`; with several devices findings say whose rows they are of.
        """
        raise self._not_provided("check_finite")

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the last forward: whole batches, or a list per output with all devices'."""
        raise self._not_provided("get_outputs")

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the inputs, merged or not as in :meth:`get_outputs`."""
        raise self._not_provided("get_input_grads")

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Has a metric take the last outputs into account."""
        raise self._not_provided("update_metric")

    # Contents

    def get_params(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Parameters and auxiliary states by name, as they are now."""
        raise self._not_provided("get_params")

    def set_params(
        self,
        arg_params: Any,
        aux_params: Any,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Sets parameters and auxiliary states by name; all of them unless ``allow_missing``."""
        self.init_params(None, arg_params, aux_params, allow_missing, force_init, allow_extra)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """The states that are carried from batch to batch; none here."""
        require(self, "get_states", "binded", "params_initialized")
        if merge_multi_context:
            problem = "states are not merged"
            raise ModuleUsageError(
                explain("get_states", problem, hint="get_states(merge_multi_context=False)")
            )
        return []

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Sets the states; AssertionError for a module that has none."""
        require(self, "set_states", "binded", "params_initialized")
        if states or value:
            raise ModuleUsageError(explain("set_states", f"{type(self).__name__} has no states"))


Outputs = list[NDArray]


class Evaluation(Interface):
    """Scores and predictions of any module."""

    def score(
        self,
        eval_data: Any,
        eval_metric: Any,
        num_batch: int | None = None,
        batch_end_callback: Any = None,
        score_end_callback: Any = None,
        reset: bool = True,
        epoch: int = 0,
        sparse_row_id_fn: Any = None,
    ) -> list[tuple[str, Any]]:
        """(name, value) pairs of a metric over the batches of an iterator.

        eval_metric
            a metric, its name, or a list of them.
        num_batch
            no more than so many batches.
        batch_end_callback, score_end_callback
            functions, or lists of them, called with a BatchEndParam after each batch, and at the
            end, when its ``nbatch`` is the number of batches.
        reset
            begins at the first batch.
        epoch
            what callbacks are told.

        AssertionError unless bound and initialised.
        """
        require(self, "score", "binded", "params_initialized")
        eval_metric = metric.create(eval_metric)
        eval_metric.reset()
        seen = 0
        for nbatch, batch in self._predicted(eval_data, num_batch, reset, sparse_row_id_fn):
            update_metric_of(self, eval_metric, batch)
            call_batch_callbacks(
                batch_end_callback, self, epoch, nbatch, eval_metric,
                eval_data=eval_data, eval_batch=batch,
            )  # fmt: skip
            seen += 1
        call_batch_callbacks(
            score_end_callback, self, epoch, seen, eval_metric, eval_data=eval_data
        )
        return eval_metric.get_name_value()

    def iter_predict(
        self,
        eval_data: Any,
        num_batch: int | None = None,
        reset: bool = True,
        sparse_row_id_fn: Any = None,
    ) -> Iterator[tuple[Outputs, int, Any]]:
        """Yields (outputs, number of the batch, batch), the outputs without what only fills the
        batch (``pad``). They are overwritten by the next batch: copy what you keep."""
        require(self, "iter_predict", "binded", "params_initialized")
        for nbatch, batch in self._predicted(eval_data, num_batch, reset, sparse_row_id_fn):
            yield self._unpadded(batch), nbatch, batch

    def predict(
        self,
        eval_data: Any,
        num_batch: int | None = None,
        merge_batches: bool = True,
        reset: bool = True,
        always_output_list: bool = False,
        sparse_row_id_fn: Any = None,
    ) -> Any:
        """Outputs for an iterator, or for one array.

        eval_data
            an iterator; or an NDArray or NumPy array, which is one batch, and gives the first
            output. It is run for inference (as MXNet's module is bound, so in training mode for one
            that is bound for training).
        merge_batches
            concatenates the batches: an NDArray for a network with one output, else (or if
            ``always_output_list``) a list with one for each output. Otherwise a list of the
            batches' lists. Without any batch: an empty list.

        Raises ValueError if ``eval_data`` is something else, AssertionError unless bound and
        initialised, and if batches to be merged differ in their number of outputs.
        """
        require(self, "predict", "binded", "params_initialized")
        if isinstance(eval_data, NDArray | np.ndarray):
            array = eval_data if isinstance(eval_data, NDArray) else nd.array(eval_data)
            self.forward(DataBatch([array]), is_train=False)
            return self.get_outputs()[0]
        if not isinstance(eval_data, DataIter):
            kind = type(eval_data).__name__
            raise DataArgumentError(
                explain("predict", f"a {kind}, expected an NDArray or a DataIter")
            )
        batches = [
            [output.copy() for output in self._unpadded(batch)]
            for _, batch in self._predicted(eval_data, num_batch, reset, sparse_row_id_fn)
        ]
        if not batches or not merge_batches:
            return batches
        counts = sorted({len(outputs) for outputs in batches})
        if len(counts) > 1:
            raise ModuleUsageError(
                explain(
                    "predict",
                    f"batches have {' and '.join(map(str, counts))} outputs",
                    because="buckets may differ in their number of outputs",
                    hint="merge_batches=False",
                )
            )
        merged = [nd.concatenate(list(arrays)) for arrays in zip(*batches, strict=True)]
        return merged[0] if len(merged) == 1 and not always_output_list else merged

    def _predicted(
        self, eval_data: Any, num_batch: int | None, reset: bool, sparse_row_id_fn: Any
    ) -> Iterator[tuple[int, Any]]:
        """The batches with their numbers, each after its forward."""
        if reset:
            eval_data.reset()
        for nbatch, batch in enumerate(eval_data):
            if nbatch == num_batch:
                break
            self.prepare(batch, sparse_row_id_fn=sparse_row_id_fn)
            self.forward(batch, is_train=False)
            yield nbatch, batch

    def _unpadded(self, batch: Any) -> Outputs:
        pad = getattr(batch, "pad", None) or 0
        outputs = self.get_outputs()
        return [o[0 : o.shape[0] - pad] for o in outputs] if pad else outputs


def update_metric_of(module: Any, eval_metric: Any, batch: Any) -> None:
    """Updates a metric with a batch's labels, or with those of a list of batches."""
    if isinstance(batch, list):
        module.update_metric(eval_metric, [b.label for b in batch], pre_sliced=True)
    else:
        module.update_metric(eval_metric, batch.label)


def call_batch_callbacks(
    callbacks: Any, module: Any, epoch: int, nbatch: int, eval_metric: Any, **more: Any
) -> None:
    """Calls batch callbacks. Their ``locals`` are what is named here, not the caller's."""
    if not callbacks:
        return
    seen = {"self": module, "epoch": epoch, "nbatch": nbatch, "eval_metric": eval_metric, **more}
    param = BatchEndParam(epoch, nbatch, eval_metric, seen)
    for callback in as_sequence(callbacks):
        callback(param)


def as_sequence(callbacks: Any) -> Sequence[Callable[..., Any]]:
    """Callbacks as a sequence: given as one, several, or None."""
    if callbacks is None:
        return ()
    return callbacks if isinstance(callbacks, list | tuple) else (callbacks,)


__all__ = ["BaseModule"]

#: Modules that users write import this, and the two functions below, from MXNet's file.
_check_input_names = check_input_names


def _as_list(obj: Any) -> Any:
    """One thing as a list; a list or a tuple as it is."""
    return obj if isinstance(obj, list | tuple) else [obj]


def _parse_data_desc(
    data_names: Sequence[str], label_names: Sequence[str], data_shapes: Any, label_shapes: Any
) -> tuple[list[DataDesc], list[DataDesc] | None]:
    """Shapes as DataDescs. ValueError for other names than those of the data; for others than
    those of the labels a warning."""
    return data_descs(data_names, label_names, data_shapes, label_shapes, "bind")


class BaseModule(Evaluation):
    """A network that is bound, initialised, given an optimizer and trained, in this order.

    ``fit`` does all of it; ``score``, ``predict`` and ``iter_predict`` use what was trained. The
    steps can also be taken one by one::

        module.bind(data_shapes=iterator.provide_data, label_shapes=iterator.provide_label)
        module.init_params(mx.init.Xavier())
        module.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.1})
        for batch in iterator:
            module.forward_backward(batch)
            module.update()
            module.update_metric(metric, batch.label)

    A step that is taken too early raises AssertionError (and MXNetError) with what is to be done
    first. Subclasses provide the methods that raise NotImplementedError here.
    """

    def fit(
        self,
        train_data: Any,
        eval_data: Any = None,
        eval_metric: Any = "acc",
        epoch_end_callback: Any = None,
        batch_end_callback: Any = None,
        kvstore: Any = "local",
        optimizer: Any = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        eval_end_callback: Any = None,
        eval_batch_end_callback: Any = None,
        initializer: Any = Uniform(0.01),  # noqa: B008 - MXNet's default; it has no state
        arg_params: Any = None,
        aux_params: Any = None,
        allow_missing: bool = False,
        force_rebind: bool = False,
        force_init: bool = False,
        begin_epoch: int = 0,
        num_epoch: int | None = None,
        validation_metric: Any = None,
        monitor: Any = None,
        sparse_row_id_fn: Any = None,
    ) -> None:
        """Trains on the batches of an iterator.

        train_data, eval_data
            iterators; the second is scored after each epoch.
        eval_metric, validation_metric
            what is measured on them (by default the same): a metric, a name, or a list of them.
        epoch_end_callback
            called with (epoch, symbol, arg_params, aux_params); here and below a list is taken too.
        batch_end_callback, eval_batch_end_callback, eval_end_callback
            called with a BatchEndParam after each batch, and after the evaluation. Its ``locals``
            are the module, the iterator, the batch and what else the param has, by MXNet's names.
        kvstore, optimizer, optimizer_params
            as in :meth:`init_optimizer`.
        initializer, arg_params, aux_params, allow_missing, force_init
            as in :meth:`init_params`.
        force_rebind
            binds anew if bound already.
        begin_epoch, num_epoch
            number of the first epoch, and of the one before which to end.
        monitor
            installed, and printed after each batch.

        Gradients are not stored where nothing can look at them: no callback that is not this
        package's own, and no monitor. Looking at one after ``fit`` is then an error.

        Progress is logged at level INFO. AssertionError without ``num_epoch``.
        """
        if num_epoch is None:
            raise ModuleUsageError(explain("fit", "num_epoch is missing", hint="fit(num_epoch=10)"))
        self.bind(
            data_shapes=train_data.provide_data,
            label_shapes=train_data.provide_label,
            for_training=True,
            force_rebind=force_rebind,
        )
        if monitor is not None:
            self.install_monitor(monitor)
        self.init_params(
            initializer=initializer,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
        )
        self.init_optimizer(kvstore=kvstore, optimizer=optimizer, optimizer_params=optimizer_params)
        validation_metric = eval_metric if validation_metric is None else validation_metric
        eval_metric = metric.create(eval_metric)
        for epoch in range(begin_epoch, num_epoch):
            started = time.time()
            watching = [
                *as_sequence(batch_end_callback),
                *as_sequence(epoch_end_callback),
                *as_sequence(monitor),
            ]
            with discard_gradients(watching):
                values = self._train_epoch(
                    train_data, epoch, eval_metric, batch_end_callback, monitor, sparse_row_id_fn
                )
            for name, value in values:
                self.logger.info("Epoch[%d] Train-%s=%f", epoch, name, value)
            self.logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - started)
            # Devices whose parameters differ (kvstore=None) go on with the mean, as it is saved.
            arg_params, aux_params = self.get_params()
            self.set_params(arg_params, aux_params)
            for callback in as_sequence(epoch_end_callback):
                callback(epoch, self.symbol, arg_params, aux_params)
            if eval_data is not None:
                for name, value in self.score(
                    eval_data,
                    validation_metric,
                    score_end_callback=eval_end_callback,
                    batch_end_callback=eval_batch_end_callback,
                    epoch=epoch,
                ):
                    self.logger.info("Epoch[%d] Validation-%s=%f", epoch, name, value)
            train_data.reset()

    def _train_epoch(
        self,
        train_data: Any,
        epoch: int,
        eval_metric: Any,
        batch_end_callback: Any,
        monitor: Any,
        sparse_row_id_fn: Any,
    ) -> list[tuple[str, Any]]:
        """One epoch, and what the metric says of all of it."""
        eval_metric.reset()
        batches = iter(train_data)
        following = next(batches, None)
        if following is None:
            raise EmptyIteratorError(
                explain("fit: train_data", "it has no batch", hint="reset() an iterator first")
            )
        values = []
        nbatch = 0
        while following is not None:
            batch = following
            if monitor is not None:
                monitor.tic()
            self.forward_backward(batch)
            self.update()
            update_metric_of(self, eval_metric, batch)
            following = next(batches, None)
            if following is not None:
                self.prepare(following, sparse_row_id_fn=sparse_row_id_fn)
            if monitor is not None:
                monitor.toc_print()
            if following is None:
                values = eval_metric.get_global_name_value()
            call_batch_callbacks(
                batch_end_callback, self, epoch, nbatch, eval_metric,
                train_data=train_data, data_batch=batch,
            )  # fmt: skip
            nbatch += 1
        return values

    def save_params(self, fname: str) -> None:
        """Writes the parameters to a file, which is there whole or not at all."""
        arg_params, aux_params = self.get_params()
        stored = {f"arg:{name}": value for name, value in arg_params.items()}
        stored |= {f"aux:{name}": value for name, value in aux_params.items()}
        nd.save(fname, {key: value.as_in_context(cpu()) for key, value in stored.items()})

    def load_params(self, fname: str) -> None:
        """Sets the parameters to those of a file. ValueError if it has entries of another kind."""
        params: dict[str, dict[str, Any]] = {"arg": {}, "aux": {}}
        loaded = nd.load(fname)
        for key, value in loaded.items() if isinstance(loaded, dict) else enumerate(loaded):
            kind, _, name = str(key).partition(":")
            if kind not in params or not name:
                raise FileFormatError(
                    explain(
                        f"load_params: {fname}",
                        f"an entry is called {key!r}, expected 'arg:<name>' or 'aux:<name>'",
                    )
                )
            params[kind][name] = value
        self.set_params(params["arg"], params["aux"])
