"""``mx.contrib.svrg_optimization``: training with stochastic variance reduced gradients."""

from . import svrg_module as svrg_module, svrg_optimizer as svrg_optimizer
from .svrg_module import SVRGModule as SVRGModule
