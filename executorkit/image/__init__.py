"""``mx.image``: reading, resizing, cropping and augmenting images, and iterators over them.

Images are NDArrays (height, width, channels), changed on the host. Decoding and resizing need
OpenCV: ``pip install 'executorkit[image]'``. Names, arguments, the order of augmentations and the
draws from ``random`` and ``numpy.random`` are MXNet's.
"""

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

from .. import io as io, ndarray as nd, recordio as recordio
from .._support.unserved import absent_attribute
from ..base import numeric_types as numeric_types
from ..errors import MissingDependencyError
from ..opencv import require_opencv
from ..util import is_np_array as is_np_array
from . import detection as det, detection as detection, image as image
from ._augmenter_list import CreateAugmenter as CreateAugmenter
from ._augmenters import (
    Augmenter as Augmenter,
    BrightnessJitterAug as BrightnessJitterAug,
    CastAug as CastAug,
    CenterCropAug as CenterCropAug,
    ColorJitterAug as ColorJitterAug,
    ColorNormalizeAug as ColorNormalizeAug,
    ContrastJitterAug as ContrastJitterAug,
    ForceResizeAug as ForceResizeAug,
    HorizontalFlipAug as HorizontalFlipAug,
    HueJitterAug as HueJitterAug,
    LightingAug as LightingAug,
    RandomCropAug as RandomCropAug,
    RandomGrayAug as RandomGrayAug,
    RandomOrderAug as RandomOrderAug,
    RandomSizedCropAug as RandomSizedCropAug,
    ResizeAug as ResizeAug,
    SaturationJitterAug as SaturationJitterAug,
    SequentialAug as SequentialAug,
)
from ._detection_augmenters import (
    CreateDetAugmenter as CreateDetAugmenter,
    CreateMultiRandCropAugmenter as CreateMultiRandCropAugmenter,
    DetAugmenter as DetAugmenter,
    DetBorrowAug as DetBorrowAug,
    DetHorizontalFlipAug as DetHorizontalFlipAug,
    DetRandomCropAug as DetRandomCropAug,
    DetRandomPadAug as DetRandomPadAug,
    DetRandomSelectAug as DetRandomSelectAug,
)
from ._image_det_iter import ImageDetIter as ImageDetIter
from ._image_functions import (
    center_crop as center_crop,
    color_normalize as color_normalize,
    fixed_crop as fixed_crop,
    random_crop as random_crop,
    random_size_crop as random_size_crop,
    resize_short as resize_short,
    scale_down as scale_down,
)
from ._image_iter import ImageIter as ImageIter
from ._image_operators import (
    attach_operators as _attach_operators,
    copy_make_border as copyMakeBorder,  # noqa: N812 - MXNet's name
    imdecode as imdecode,
    imread as imread,
    imresize as imresize,
)
from ._rotation import imrotate as imrotate, random_rotate as random_rotate

if TYPE_CHECKING:
    cv2: Any

_attach_operators()
__all__ = [*(n for n in list(globals()) if n[0] != "_"), "cv2"]  # pyright: ignore


def __getattr__(name: str) -> Any:
    if name != "cv2":
        raise AttributeError(absent_attribute(__name__, name))
    try:
        return require_opencv()
    except MissingDependencyError:
        return None


def __dir__() -> list[str]:
    return sorted({*globals(), "cv2"})
