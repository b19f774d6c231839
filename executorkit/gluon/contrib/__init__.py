"""``mx.gluon.contrib``: further layers, ``nn`` and ``cnn``; estimators; corpora, ``data``."""

from typing import TYPE_CHECKING

from ..._support.unserved import attribute_getter as _attribute_getter
from . import cnn as cnn, data as data, estimator as estimator, nn as nn

if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__)
