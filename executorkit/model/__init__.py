"""``mx.model``: checkpoints, FeedForward, updates through key-value stores.

A checkpoint is a symbol in JSON beside its parameters in a ``.params`` file.
"""

from ..errors import FeedForwardError as FeedForwardError
from ._checkpoint_files import (
    checkpoint_epochs,
    load_checkpoint as load_checkpoint,
    load_params as load_params,
    parameter_entries,
    params_path,
    save_checkpoint as save_checkpoint,
)
from ._feedforward import FeedForward as FeedForward, _train_multi_device as _train_multi_device
from ._kvstore_update import (
    _create_kvstore as _create_kvstore,
    _initialize_kvstore as _initialize_kvstore,
    _update_params as _update_params,
    _update_params_on_kvstore as _update_params_on_kvstore,
    _update_params_on_kvstore_nccl as _update_params_on_kvstore_nccl,
)
from ._training_loop import (
    BatchEndParam as BatchEndParam,
    FitSpec,
    LogValidationMetricsCallback as LogValidationMetricsCallback,
    Lookahead,
    TrainingLoop,
)
