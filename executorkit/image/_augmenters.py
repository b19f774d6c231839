"""Augmenters of images (height, width, channels), float32 for colour augmenters. Random numbers
come from Python's ``random`` (``LightingAug``: ``numpy.random``) in MXNet's order."""

import json
import random
from typing import Any

import numpy as np

from .. import ndarray as nd
from .._support.keyword_arguments import CheckedKeywords
from ..errors import NotSupportedError
from ..ndarray import NDArray
from ..ops.vision.image_color import LUMA
from . import _image_functions as images
from ._image_operators import imresize
from .host_images import Image, check_colours, like, update_in_place


class Described:
    def __init__(self, **kwargs: object) -> None:
        self._kwargs = {}
        for name, value in kwargs.items():
            host = value.asnumpy() if isinstance(value, NDArray) else value
            self._kwargs[name] = host.tolist() if isinstance(host, np.ndarray) else host

    def dumps(self) -> Any:
        """Returns the class and arguments as JSON; a list for augmenters of augmenters."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])


class Augmenter(Described, CheckedKeywords):
    """Base class: a subclass defines ``__call__(src)``, which returns the changed image. The
    keywords are the augmenter's arguments, which :meth:`dumps` shows."""

    def __call__(self, src: Image) -> Image:
        raise NotSupportedError(type(self).__name__, "it does not define __call__")


class _Several(Augmenter):
    def __init__(self, ts: list[Augmenter]) -> None:
        super().__init__()
        self.ts = ts

    def dumps(self) -> list[Any]:
        return [type(self).__name__.lower(), [augmenter.dumps() for augmenter in self.ts]]

    def __call__(self, src: Image) -> Image:
        for augmenter in self.ts:
            src = augmenter(src)
        return src


class SequentialAug(_Several):
    """Augmenters one after the other."""


class RandomOrderAug(_Several):
    """Augmenters in random order; ``ts`` is shuffled at every call."""

    def __call__(self, src: Image) -> Image:
        random.shuffle(self.ts)
        return super().__call__(src)


class _Sized(Augmenter):
    def __init__(self, size: Any, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size = size
        self.interp = interp


class ResizeAug(_Sized):
    """The shorter side resized to ``size``, by :func:`resize_short`."""

    def __call__(self, src: NDArray) -> NDArray:
        return images.resize_short(src, self.size, self.interp)


class ForceResizeAug(_Sized):
    """Resized to ``size``, (width, height), whatever the proportions."""

    def __call__(self, src: NDArray) -> NDArray:
        width, height = self.size
        method = images.get_interp_method(self.interp, (src.shape[0], src.shape[1], height, width))
        return imresize(src, width, height, interp=method)


class RandomCropAug(_Sized):
    """A part of ``size``, (width, height), at a random place, by :func:`random_crop`."""

    def __call__(self, src: Image) -> Image:
        return images.random_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """A part of random area and proportions, resized to ``size``, by :func:`random_size_crop`.
    ``min_area`` is the old name of ``area``."""

    def __init__(
        self,
        size: tuple[int, int],
        area: float | tuple[float, float],
        ratio: tuple[float, float],
        interp: int = 2,
        **kwargs: Any,
    ) -> None:
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)
        self.size = size
        self.area = images.area_option("RandomSizedCropAug", area, kwargs)
        self.ratio = ratio
        self.interp = interp

    def __call__(self, src: Image) -> Image:
        return images.random_size_crop(src, self.size, self.area, self.ratio, self.interp)[0]


class CenterCropAug(_Sized):
    """The part of ``size``, (width, height), in the middle, by :func:`center_crop`."""

    def __call__(self, src: Image) -> Image:
        return images.center_crop(src, self.size, self.interp)[0]


class HorizontalFlipAug(Augmenter):
    """Flipped left to right with probability ``p``."""

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray) -> NDArray:
        return flip_columns(src) if random.random() < self.p else src


def flip_columns(image: Any) -> Any:
    if not isinstance(image, NDArray):
        return nd.flip(image, axis=1)  # which refuses it
    return like(image, image.host[:, ::-1].copy())


class CastAug(Augmenter):
    """Elements converted to ``typ``."""

    def __init__(self, typ: Any = "float32") -> None:
        super().__init__(type=typ)
        self.typ = typ

    def __call__(self, src: Image) -> Image:
        if isinstance(src, NDArray) and src.dtype is np.uint8 and self.typ == "float32":
            return like(src, src.host.astype(np.float32))
        return src.astype(self.typ)


class BrightnessJitterAug(Augmenter):
    """x a, in place, with a uniform in [1 - brightness, 1 + brightness]."""

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def __call__(self, src: Image) -> Image:
        alpha = 1.0 + random.uniform(-self.brightness, self.brightness)
        return update_in_place(src, np.multiply, alpha)


class ContrastJitterAug(Augmenter):
    """x a + (1 - a) m, in place, with m the mean luma and a uniform in 1 +- contrast."""

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast=contrast)
        self.contrast = contrast
        self.coef = nd.array([[LUMA]])

    def __call__(self, src: NDArray) -> NDArray:
        check_colours(type(self).__name__, src, (3, 1))
        alpha = 1.0 + random.uniform(-self.contrast, self.contrast)
        weighted = src.host * self.coef.host
        total = np.float32(weighted.sum(dtype=np.float64))
        shift = np.float32(3.0 * (1.0 - alpha) / weighted.size) * total
        src[:] = src.host * np.float32(alpha) + shift
        return src


class SaturationJitterAug(Augmenter):
    """x a + (1 - a) g, in place, with g each pixel's luma and a uniform in 1 +- saturation."""

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation=saturation)
        self.saturation = saturation
        self.coef = nd.array([[LUMA]])

    def __call__(self, src: NDArray) -> NDArray:
        check_colours(type(self).__name__, src, (3, 1))
        alpha = 1.0 + random.uniform(-self.saturation, self.saturation)
        weighted = src.host * self.coef.host
        gray = weighted.sum(axis=2, keepdims=True, dtype=np.float64).astype(np.float32)
        src[:] = src.host * np.float32(alpha) + gray * np.float32(1.0 - alpha)
        return src


class HueJitterAug(Augmenter):
    """Colours rotated about the gray axis of YIQ by pi a, with a uniform in [-hue, hue]. The
    rotation is an approximation, linear in red, green and blue."""

    def __init__(self, hue: float) -> None:
        super().__init__(hue=hue)
        self.hue = hue
        self.tyiq = np.array([LUMA, [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
        self.ityiq = np.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])

    def __call__(self, src: NDArray) -> NDArray:
        check_colours(type(self).__name__, src)
        angle = random.uniform(-self.hue, self.hue) * np.pi
        cosine, sine = np.cos(angle), np.sin(angle)
        turn = np.array([[1.0, 0.0, 0.0], [0.0, cosine, -sine], [0.0, sine, cosine]])
        matrix = (self.ityiq @ turn @ self.tyiq).T
        return like(src, src.host @ matrix.astype(np.float32))


class ColorJitterAug(RandomOrderAug):
    """Brightness, contrast and saturation changed in random order; 0 leaves one out."""

    def __init__(self, brightness: float, contrast: float, saturation: float) -> None:
        kinds = (BrightnessJitterAug, ContrastJitterAug, SaturationJitterAug)
        ranges = zip(kinds, (brightness, contrast, saturation), strict=True)
        super().__init__([kind(amount) for kind, amount in ranges if amount > 0])


class LightingAug(Augmenter):
    """A random colour added in place: ``eigvec`` a ``eigval``, with a normal of standard deviation
    ``alphastd``. ``eigval`` (3,) and ``eigvec`` (3, 3) are NumPy arrays: the principal components
    of the colours of a set of images. Source: Krizhevsky et al., 2012."""

    def __init__(self, alphastd: float, eigval: np.ndarray, eigvec: np.ndarray) -> None:
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd = alphastd
        self.eigval = eigval
        self.eigvec = eigvec

    def __call__(self, src: NDArray) -> NDArray:
        check_colours(type(self).__name__, src)
        alpha = np.random.normal(0, self.alphastd, size=(3,))
        src[:] = src.host + np.dot(self.eigvec * alpha, self.eigval).astype(np.float32)
        return src


class ColorNormalizeAug(Augmenter):
    """(x - mean) / std, in place; None leaves one out."""

    def __init__(self, mean: Any, std: Any) -> None:
        super().__init__(mean=mean, std=std)
        self.mean = mean if mean is None or isinstance(mean, NDArray) else nd.array(mean)
        self.std = std if std is None or isinstance(std, NDArray) else nd.array(std)

    def __call__(self, src: Image) -> Image:
        return images.color_normalize(src, self.mean, self.std)


class RandomGrayAug(Augmenter):
    """Gray in all three channels with probability ``p``: 0.21 red + 0.72 green + 0.07 blue."""

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p
        self.mat = nd.array([[0.21] * 3, [0.72] * 3, [0.07] * 3])

    def __call__(self, src: NDArray) -> NDArray:
        if random.random() < self.p:
            check_colours(type(self).__name__, src)
            return like(src, src.host @ self.mat.host)
        return src
