"""``mx.contrib.svrg_optimization``: training with stochastic variance reduced gradients."""

from . import svrg_module, svrg_optimizer
from .svrg_module import SVRGModule

__all__ = ["SVRGModule", "svrg_module", "svrg_optimizer"]
