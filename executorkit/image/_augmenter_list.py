"""CreateAugmenter: the usual augmenters of classification, in MXNet's order."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..errors import ArgumentValueError
from ..ndarray import NDArray
from ..ops.vision.image_color import IMAGENET_AXES, IMAGENET_SPREAD
from . import _augmenters as aug

#: Means and standard deviations of ImageNet's red, green and blue, from 0 to 255.
IMAGENET_MEAN = (123.68, 116.28, 103.53)
IMAGENET_STD = (58.395, 57.12, 57.375)


def colour_augmenters(
    brightness: float,
    contrast: float,
    saturation: float,
    hue: float,
    pca_noise: float,
    rand_gray: float,
) -> list[aug.Augmenter]:
    augmenters: list[aug.Augmenter] = []
    if brightness or contrast or saturation:
        augmenters.append(aug.ColorJitterAug(brightness, contrast, saturation))
    if hue:
        augmenters.append(aug.HueJitterAug(hue))
    if pca_noise > 0:
        spread, axes = np.array(IMAGENET_SPREAD), np.array(IMAGENET_AXES)
        augmenters.append(aug.LightingAug(pca_noise, spread, axes))
    if rand_gray > 0:
        augmenters.append(aug.RandomGrayAug(rand_gray))
    return augmenters


def statistics(
    name: str,
    values: Any,
    imagenet: tuple[float, ...],
    make: Callable[[Any], Any] = np.array,
    kinds: tuple[type, ...] = (np.ndarray,),
) -> Any:
    """Returns a mean or deviation: None, an array of one or three numbers, or ImageNet's for True,
    made by ``make``. AssertionError for anything else."""
    if values is True:
        return make(imagenet)
    if values is not None and (not isinstance(values, kinds) or values.shape[0] not in (1, 3)):
        arrays = " or ".join(kind.__name__ for kind in kinds)
        problem = f"{values!r}, expected True, None, or an array of 1 or 3 numbers ({arrays})"
        raise ArgumentValueError(name, problem)
    return values


def normalization(where: str, mean: Any, std: Any, *options: Any) -> list[aug.Augmenter]:
    mean = statistics(f"{where}: mean", mean, IMAGENET_MEAN, *options)
    std = statistics(f"{where}: std", std, IMAGENET_STD, *options)
    return [] if mean is None and std is None else [aug.ColorNormalizeAug(mean, std)]


def CreateAugmenter(  # noqa: N802 - MXNet's name and arguments
    data_shape: tuple[int, ...],
    resize: int = 0,
    rand_crop: bool = False,
    rand_resize: bool = False,
    rand_mirror: bool = False,
    mean: object = None,
    std: object = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    hue: float = 0,
    pca_noise: float = 0,
    rand_gray: float = 0,
    inter_method: int = 2,
) -> list[aug.Augmenter]:
    """Returns a list of augmenters for images of ``data_shape``, (channels, height, width).

    resize
        length of the shorter side; 0 leaves it.
    rand_crop, rand_resize
        a part at a random place, and of random area (0.08 to 1) and proportions (3/4 to 4/3);
        otherwise the middle. ``rand_resize`` needs ``rand_crop``.
    rand_mirror
        flips half of the images.
    mean, std
        True for ImageNet's, or arrays of 1 or 3 numbers.
    brightness, contrast, saturation, hue, pca_noise
        ranges of the random changes; 0 for none.
    rand_gray
        probability of a gray image.
    inter_method
        the interpolation of all resizing: 0 to 4, 9 (by size) or 10 (at random).

    AssertionError if arguments contradict each other.
    """
    augmenters: list[aug.Augmenter] = [aug.ResizeAug(resize, inter_method)] if resize > 0 else []
    crop_size = (data_shape[2], data_shape[1])
    if rand_resize:
        if not rand_crop:
            problem = "rand_resize without rand_crop"
            raise ArgumentValueError("CreateAugmenter", problem, hint="rand_crop=True")
        proportions = (3.0 / 4.0, 4.0 / 3.0)
        augmenters.append(aug.RandomSizedCropAug(crop_size, 0.08, proportions, inter_method))
    elif rand_crop:
        augmenters.append(aug.RandomCropAug(crop_size, inter_method))
    else:
        augmenters.append(aug.CenterCropAug(crop_size, inter_method))
    if rand_mirror:
        augmenters.append(aug.HorizontalFlipAug(0.5))
    augmenters.append(aug.CastAug())
    augmenters += colour_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray)
    return augmenters + normalization("CreateAugmenter", mean, std, nd.array, (np.ndarray, NDArray))
