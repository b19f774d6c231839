"""``mx.gluon.contrib``: layers (``nn``, ``cnn``, ``rnn``), estimators, corpora (``data``)."""

from typing import TYPE_CHECKING

from ..._support.unserved import attribute_getter as _attribute_getter
from . import cnn as cnn, data as data, estimator as estimator, nn as nn, rnn as rnn

if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__)
