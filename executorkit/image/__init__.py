"""``mx.image``: reading, resizing, cropping and augmenting images, and iterators over them.

Images are NDArrays (height, width, channels); all is computed on the host. Decoding and resizing
need OpenCV: ``pip install 'executorkit[image]'``. Names, arguments, the order of augmentations and
the draws from ``random`` and ``numpy.random`` are MXNet's.
"""

from __future__ import annotations

# Modules that MXNet's star import brings too.
import json
import logging
import os
import random
import sys
import warnings
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import io, recordio
from .. import ndarray as nd
from ..base import numeric_types
from ..errors import MissingDependencyError
from ..opencv import require_opencv
from ..unserved import absent_attribute
from ..util import is_np_array
from . import detection, image
from . import detection as det
from .detection import (
    CreateDetAugmenter,
    CreateMultiRandCropAugmenter,
    DetAugmenter,
    DetBorrowAug,
    DetHorizontalFlipAug,
    DetRandomCropAug,
    DetRandomPadAug,
    DetRandomSelectAug,
    ImageDetIter,
)
from .image import (
    Augmenter,
    BrightnessJitterAug,
    CastAug,
    CenterCropAug,
    ColorJitterAug,
    ColorNormalizeAug,
    ContrastJitterAug,
    CreateAugmenter,
    ForceResizeAug,
    HorizontalFlipAug,
    HueJitterAug,
    ImageIter,
    LightingAug,
    RandomCropAug,
    RandomGrayAug,
    RandomOrderAug,
    RandomSizedCropAug,
    ResizeAug,
    SaturationJitterAug,
    SequentialAug,
    center_crop,
    color_normalize,
    copyMakeBorder,
    fixed_crop,
    imdecode,
    imread,
    imresize,
    imrotate,
    random_crop,
    random_rotate,
    random_size_crop,
    resize_short,
    scale_down,
)

__all__ = [
    "Augmenter",
    "BrightnessJitterAug",
    "CastAug",
    "CenterCropAug",
    "ColorJitterAug",
    "ColorNormalizeAug",
    "ContrastJitterAug",
    "CreateAugmenter",
    "CreateDetAugmenter",
    "CreateMultiRandCropAugmenter",
    "DetAugmenter",
    "DetBorrowAug",
    "DetHorizontalFlipAug",
    "DetRandomCropAug",
    "DetRandomPadAug",
    "DetRandomSelectAug",
    "ForceResizeAug",
    "HorizontalFlipAug",
    "HueJitterAug",
    "ImageDetIter",
    "ImageIter",
    "LightingAug",
    "Number",
    "RandomCropAug",
    "RandomGrayAug",
    "RandomOrderAug",
    "RandomSizedCropAug",
    "ResizeAug",
    "SaturationJitterAug",
    "SequentialAug",
    "center_crop",
    "color_normalize",
    "copyMakeBorder",
    "cv2",
    "det",
    "detection",
    "fixed_crop",
    "image",
    "imdecode",
    "imread",
    "imresize",
    "imrotate",
    "io",
    "is_np_array",
    "json",
    "logging",
    "nd",
    "np",
    "numeric_types",
    "os",
    "random",
    "random_crop",
    "random_rotate",
    "random_size_crop",
    "recordio",
    "resize_short",
    "scale_down",
    "sys",
    "warnings",
]

if TYPE_CHECKING:
    cv2: Any


def __getattr__(name: str) -> Any:
    """``cv2``, imported when it is asked for; None if it is not installed."""
    if name != "cv2":
        raise AttributeError(absent_attribute(__name__, name, __all__))
    try:
        return require_opencv()
    except MissingDependencyError:
        return None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
