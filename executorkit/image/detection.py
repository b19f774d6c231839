"""``mx.image.detection``, ``mx.image.det``: augmenters and iterator of images with objects."""

from .._support.import_path import import_path

__getattr__, __dir__ = import_path("executorkit.image")
