"""``mx.gluon.model_zoo``: networks for images, and files of their trained parameters."""

from typing import TYPE_CHECKING

from ..._support.unserved import attribute_getter as _attribute_getter
from . import model_store as model_store, vision as vision

if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__)
