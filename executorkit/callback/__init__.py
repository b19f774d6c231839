"""``mx.callback``: callbacks of ``fit``, after batches and epochs.

    module.fit(
        train,
        batch_end_callback=mx.callback.Speedometer(train.batch_size, 50),
        epoch_end_callback=mx.callback.do_checkpoint("mlp"),
    )

A batch callback gets a ``BatchEndParam`` (epoch, nbatch, eval_metric, locals), an epoch callback
(epoch, symbol, arg_params, aux_params). Reports go to the root logger at level INFO, in MXNet's
words. Callbacks read a metric, which waits for the device, only when they report.
"""

from typing import TYPE_CHECKING

from .._support.unserved import attribute_getter as _attribute_getter
from ..model import LogValidationMetricsCallback as LogValidationMetricsCallback
from ._logging_and_saving import (
    ProgressBar as ProgressBar,
    Speedometer as Speedometer,
    do_checkpoint as do_checkpoint,
    log_train_metric as log_train_metric,
    module_checkpoint as module_checkpoint,
)

if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__)
