"""``mx.model``: checkpoints, updates through key-value stores, what callbacks are given.

A checkpoint is a symbol in JSON beside its parameters in a ``.params`` file.
"""

from ._callbacks import BatchEndParam
from ._checkpoint import load_checkpoint, load_params, save_checkpoint
from ._update import (
    KVStoreTypeError,
    _create_kvstore,
    _initialize_kvstore,
    _update_params,
    _update_params_on_kvstore,
    _update_params_on_kvstore_nccl,
)

__all__ = [
    "BatchEndParam",
    "KVStoreTypeError",
    "_create_kvstore",
    "_initialize_kvstore",
    "_update_params",
    "_update_params_on_kvstore",
    "_update_params_on_kvstore_nccl",
    "load_checkpoint",
    "load_params",
    "save_checkpoint",
]
