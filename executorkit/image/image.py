"""``mx.image.image``: MXNet's module of the functions, augmenters and iterator of images."""

from .._support.import_path import import_path
from ._image_functions import get_interp_method as _get_interp_method  # noqa: F401 - MXNet's name

__getattr__, __dir__ = import_path("executorkit.image")
