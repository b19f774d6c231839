"""``BaseModule``: what all modules share, training included."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from .. import metric
from .. import ndarray as nd
from ..context import cpu
from ..errors import EmptyIteratorError, FileFormatError, ModuleUsageError, explain
from ..initializer import Uniform
from ..io import DataDesc
from ._evaluation import Evaluation, as_sequence, call_batch_callbacks, update_metric_of
from ._update import discard_gradients
from ._usage import check_input_names, data_descs

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
