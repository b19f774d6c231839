"""MXNet's optimizers, as pure rules that one compiled call applies to all parameters.

    optimizer = mx.optimizer.create("sgd", learning_rate=0.1, momentum=0.9, wd=1e-4)
    updater = mx.optimizer.get_updater(optimizer)
    updater(0, gradient, weight)

Classes, arguments and defaults are MXNet 1.9.1's; so are the weights after any number of steps.
"""

from __future__ import annotations

from ._adaptive import Adam
from ._apply import apply_cache_info
from ._descent import DCASGD, NAG, SGD, SGLD, Signum, Test, ccSGD
from ._optimizer import Optimizer, create, register
from ._rule import Rule
from ._updater import Updater, get_updater

__all__ = [
    "DCASGD",
    "NAG",
    "SGD",
    "SGLD",
    "Adam",
    "Optimizer",
    "Rule",
    "Signum",
    "Test",
    "Updater",
    "apply_cache_info",
    "ccSGD",
    "create",
    "get_updater",
    "register",
]
