"""Arguments of the setting-up methods of modules, each signature as one object.

``BaseModule`` has MXNet's long signatures, once; its subclasses implement hooks that take one of
these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class BindSpec:
    """Arguments of :meth:`BaseModule.bind`."""

    data_shapes: Any
    label_shapes: Any
    for_training: bool
    inputs_need_grad: bool
    force_rebind: bool
    shared_module: Any
    grad_req: Any


@dataclass(frozen=True, slots=True)
class ParameterSpec:
    """Arguments of :meth:`BaseModule.init_params` and :meth:`BaseModule.set_params`."""

    initializer: Any
    arg_params: Any
    aux_params: Any
    allow_missing: bool
    force_init: bool
    allow_extra: bool


@dataclass(frozen=True, slots=True)
class OptimizerSpec:
    """Arguments of :meth:`BaseModule.init_optimizer`."""

    kvstore: Any
    optimizer: Any
    optimizer_params: Any
    force_init: bool


@dataclass(frozen=True, slots=True)
class FitSpec:
    """Arguments of :meth:`BaseModule.fit` that its epochs need."""

    train_data: Any
    eval_data: Any
    eval_metric: Any
    validation_metric: Any
    epoch_end_callback: Any
    batch_end_callback: Any
    eval_end_callback: Any
    eval_batch_end_callback: Any
    monitor: Any
    sparse_row_id_fn: Any
