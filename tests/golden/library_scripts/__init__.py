"""Training steps and inference of networks of libraries that are written for MXNet.

They run under MXNet to be recorded, and under executorkit, installed as ``mxnet``, to be tested.
Both need the library; numbers that follow from random draws are left out.
"""

from . import gluoncv_networks, gluonnlp_networks, gluonts_models
from ._facts import LIBRARY, SCRIPTS, run

__all__ = ["LIBRARY", "SCRIPTS", "gluoncv_networks", "gluonnlp_networks", "gluonts_models", "run"]
