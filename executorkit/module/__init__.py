"""``mx.module``, ``mx.mod``: networks that are trained as MXNet's are.

module = mx.mod.Module(symbol, context=mx.cpu())
module.fit(train_iterator, optimizer="adam", num_epoch=10)
module.score(test_iterator, "acc")
"""

from typing import TYPE_CHECKING

from .._support.unserved import attribute_getter as _attribute_getter
from . import (
    _module_view,
    base_module as base_module,
    bucketing_module as bucketing_module,
    executor_group as executor_group,
    module as module,
    python_module as python_module,
    sequential_module as sequential_module,
)
from ._arguments import BindSpec, OptimizerSpec
from .base_module import BaseModule as BaseModule
from .bucketing_module import BucketingModule as BucketingModule
from .module import Module as Module
from .python_module import PythonLossModule as PythonLossModule, PythonModule as PythonModule
from .sequential_module import SequentialModule as SequentialModule

if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__)
