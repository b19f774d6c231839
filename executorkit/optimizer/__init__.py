"""MXNet's optimizers, as pure rules that one compiled call applies to all parameters.

    optimizer = mx.optimizer.create("sgd", learning_rate=0.1, momentum=0.9, wd=1e-4)
    updater = mx.optimizer.get_updater(optimizer)
    updater(0, gradient, weight)

Classes, arguments and defaults are MXNet 1.9.1's; so are the weights after any number of steps.
"""

from typing import TYPE_CHECKING

from .._support.lazy_modules import lazy_modules as _lazy_modules
from ..ndarray import op as _operators
from ._apply_rules import (
    apply_cache_info as apply_cache_info,
    apply_update as apply_update,
    attach_update as attach_update,
)
from ._descent import NAG as NAG, SGD as SGD, Signum as Signum, ccSGD as ccSGD
from ._optimizer import (
    Optimizer as Optimizer,
    create as create,
    is_transformation as is_transformation,
    register as register,
)
from ._rule import Rule as Rule
from ._updater import Updater as Updater, get_updater as get_updater

#: ``mx.nd.abs``, which MXNet has here too.
NDabs = _operators.abs

if TYPE_CHECKING:
    from . import contrib as contrib, optimizer as optimizer
    from ._accumulating import (
        AdaDelta as AdaDelta,
        AdaGrad as AdaGrad,
        Ftrl as Ftrl,
        RMSProp as RMSProp,
    )
    from ._adaptive import FTML as FTML, Adam as Adam, Adamax as Adamax, Nadam as Nadam
    from ._layerwise import LAMB as LAMB, LARS as LARS, LBSGD as LBSGD
    from ._mixed_precision import update_if_finite as update_if_finite
    from ._noisy_descent import DCASGD as DCASGD, SGLD as SGLD, Test as Test
    from ._optax_updater import OptaxUpdate as OptaxUpdate, OptaxUpdater as OptaxUpdater
    from ._state_file import (
        checked_random_state as checked_random_state,
        dump_updater as dump_updater,
        prepare_restoration as prepare_restoration,
        read_state_file as read_state_file,
    )
    from ._state_pickle import dump_states as dump_states, load_states as load_states
else:
    #: A training needs one of the optimizers. ``_optimizer`` knows where the classes are.
    __getattr__, __dir__ = _lazy_modules(__name__)
