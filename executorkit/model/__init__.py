"""``mx.model``: checkpoints, FeedForward, updates through key-value stores.

A checkpoint is a symbol in JSON beside its parameters in a ``.params`` file.
"""

from ..errors import BatchError as DataValueError
from ..errors import DataArgumentError as DataTypeError
from ..errors import FeedForwardError
from ..errors import InputTypeError as KVStoreTypeError
from ._batch_end import BatchEndParam, LogValidationMetricsCallback
from ._checkpoint_files import (
    checkpoint_epochs,
    load_checkpoint,
    load_params,
    params_path,
    save_checkpoint,
)
from ._feedforward import FeedForward
from ._kvstore_update import (
    _create_kvstore,
    _initialize_kvstore,
    _update_params,
    _update_params_on_kvstore,
    _update_params_on_kvstore_nccl,
)

__all__ = [
    "BatchEndParam",
    "DataTypeError",
    "DataValueError",
    "FeedForward",
    "FeedForwardError",
    "KVStoreTypeError",
    "LogValidationMetricsCallback",
    "_create_kvstore",
    "_initialize_kvstore",
    "_update_params",
    "_update_params_on_kvstore",
    "_update_params_on_kvstore_nccl",
    "load_checkpoint",
    "load_params",
    "save_checkpoint",
]
