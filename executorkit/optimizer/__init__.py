"""MXNet's optimizers, as pure rules that one compiled call applies to all parameters.

    optimizer = mx.optimizer.create("sgd", learning_rate=0.1, momentum=0.9, wd=1e-4)
    updater = mx.optimizer.get_updater(optimizer)
    updater(0, gradient, weight)

Classes, arguments and defaults are MXNet 1.9.1's; so are the weights after any number of steps.
"""

from typing import TYPE_CHECKING

from .._support.unserved import attribute_getter as _attribute_getter
from ..ndarray import op as _operators
from . import contrib, optimizer
from ._accumulating import AdaDelta, AdaGrad, Ftrl, RMSProp
from ._adaptive import FTML, Adam, Adamax, Nadam
from ._apply_rules import apply_cache_info, apply_update, attach_update
from ._descent import DCASGD, NAG, SGD, SGLD, Signum, Test, ccSGD
from ._finite_updates import update_if_finite
from ._layerwise import LAMB, LARS, LBSGD
from ._optax_updater import OptaxUpdate, OptaxUpdater, is_transformation
from ._optimizer import Optimizer, create, register
from ._rule import Rule
from ._state_file import checked_random_state, dump_updater, prepare_restoration, read_state_file
from ._state_pickle import dump_states, load_states
from ._updater import Updater, get_updater

#: ``mx.nd.abs``, which MXNet has here too.
NDabs = _operators.abs

__all__ = [
    "DCASGD",
    "FTML",
    "LAMB",
    "LARS",
    "LBSGD",
    "NAG",
    "SGD",
    "SGLD",
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "Adamax",
    "Ftrl",
    "NDabs",
    "Nadam",
    "OptaxUpdate",
    "OptaxUpdater",
    "Optimizer",
    "RMSProp",
    "Rule",
    "Signum",
    "Test",
    "Updater",
    "apply_cache_info",
    "apply_update",
    "attach_update",
    "ccSGD",
    "checked_random_state",
    "contrib",
    "create",
    "dump_states",
    "dump_updater",
    "get_updater",
    "is_transformation",
    "load_states",
    "optimizer",
    "prepare_restoration",
    "read_state_file",
    "register",
    "update_if_finite",
]

if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__)
