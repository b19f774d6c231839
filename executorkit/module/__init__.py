"""``mx.module``, ``mx.mod``: networks that are trained as MXNet's are.

module = mx.mod.Module(symbol, context=mx.cpu())
module.fit(train_iterator, optimizer="adam", num_epoch=10)
module.score(test_iterator, "acc")
"""

from typing import TYPE_CHECKING

from ..unserved import attribute_getter as _attribute_getter
from . import (
    _module_view,
    base_module,
    bucketing_module,
    executor_group,
    module,
    python_module,
    sequential_module,
)
from ._module_optimizer import KVStoreMode, discard_gradients
from .base_module import BaseModule
from .bucketing_module import BucketingModule
from .module import Module
from .python_module import PythonLossModule, PythonModule
from .sequential_module import SequentialModule

__all__ = [
    "BaseModule",
    "BucketingModule",
    "KVStoreMode",
    "Module",
    "PythonLossModule",
    "PythonModule",
    "SequentialModule",
    "base_module",
    "bucketing_module",
    "discard_gradients",
    "executor_group",
    "module",
    "python_module",
    "sequential_module",
]

if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__, lambda: __all__)
