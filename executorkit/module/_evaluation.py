"""Running a module over data without training it: score, predict, iter_predict."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import metric
from .. import ndarray as nd
from ..errors import DataArgumentError, ModuleUsageError, explain
from ..io import DataBatch, DataIter
from ..model import BatchEndParam
from ..ndarray import NDArray
from ._interface import Interface
from ._usage import require

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
