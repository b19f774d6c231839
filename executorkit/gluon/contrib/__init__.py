"""``mx.gluon.contrib``: further layers, ``nn`` and ``cnn``; estimators."""

from typing import TYPE_CHECKING

from ..._support.unserved import attribute_getter as _attribute_getter
from . import cnn as cnn, estimator as estimator, nn as nn

if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__)
