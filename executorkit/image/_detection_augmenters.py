"""Augmenters of images and the boxes of their objects. Labels are rows (class, left, top, right,
bottom, ...), in fractions of the image's size. Random numbers come from Python's ``random`` in
MXNet's order."""

import logging
import random
from math import sqrt
from typing import Any

import numpy as np

from .._support.box_geometry import areas, seen_in, shared_areas
from ..errors import ArgumentValueError, DataArgumentError, NotSupportedError
from ..ndarray import NDArray
from ._augmenter_list import colour_augmenters, normalization
from ._augmenters import Augmenter, CastAug, Described, ForceResizeAug, ResizeAug, flip_columns
from ._image_functions import fixed_crop
from ._image_operators import copy_make_border
from .host_images import Image

#: A part of an image, and the labels in it: (x, y, width, height, labels).
Proposal = tuple[int, int, int, int, np.ndarray]
_Size = tuple[int, int]
_Range = tuple[float, float]


class DetAugmenter(Described):
    """Base class: a subclass defines ``__call__(src, label)``, which returns both, changed. The
    keywords are the augmenter's arguments, which :meth:`dumps` shows."""

    def __call__(self, src: Image, label: np.ndarray) -> tuple[Image, np.ndarray]:
        raise NotSupportedError(type(self).__name__, "it does not define __call__")


class DetBorrowAug(DetAugmenter):
    """An augmenter of images alone, which leaves the labels as they are."""

    def __init__(self, augmenter: Augmenter) -> None:
        if not isinstance(augmenter, Augmenter):
            problem = f"{augmenter!r} is not an Augmenter"
            raise DataArgumentError("DetBorrowAug", problem, hint="CastAug()")
        super().__init__(augmenter=augmenter.dumps())
        self.augmenter = augmenter

    def dumps(self) -> list[Any]:
        return [type(self).__name__.lower(), self.augmenter.dumps()]

    def __call__(self, src: Image, label: np.ndarray) -> tuple[Image, np.ndarray]:
        return self.augmenter(src), label


class DetRandomSelectAug(DetAugmenter):
    """One of several augmenters at random, or with probability ``skip_prob`` none."""

    def __init__(self, aug_list: Any, skip_prob: float = 0) -> None:
        super().__init__(skip_prob=skip_prob)
        if not isinstance(aug_list, list | tuple):
            aug_list = [aug_list]
        for augmenter in aug_list:
            if not isinstance(augmenter, DetAugmenter):
                problem = f"{augmenter!r} is not a DetAugmenter"
                hint = "DetBorrowAug(augmenter)"
                raise DataArgumentError("DetRandomSelectAug", problem, hint=hint)
        self.aug_list = list(aug_list)
        self.skip_prob = skip_prob if aug_list else 1

    def dumps(self) -> list[Any]:
        return [type(self).__name__.lower(), [augmenter.dumps() for augmenter in self.aug_list]]

    def __call__(self, src: Image, label: np.ndarray) -> tuple[Image, np.ndarray]:
        if random.random() < self.skip_prob:
            return src, label
        random.shuffle(self.aug_list)
        return self.aug_list[0](src, label)


class DetHorizontalFlipAug(DetAugmenter):
    """Flipped left to right with probability ``p``; the labels are changed in place."""

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: Image, label: np.ndarray) -> tuple[Image, np.ndarray]:
        if random.random() < self.p:
            src = flip_columns(src)
            label[:, 1], label[:, 3] = 1.0 - label[:, 3], 1.0 - label[:, 1]
        return src, label


class _RandomFrame(DetAugmenter):
    #: The part of the image's area that the largest frame has to exceed.
    _least_area = 0.0

    def __init__(self, **kwargs: Any) -> None:
        where = type(self).__name__
        for name in ("aspect_ratio_range", "area_range"):
            value = kwargs[name]
            if isinstance(value, tuple | list):
                continue
            if not isinstance(value, int | float | np.generic):
                raise ArgumentValueError(where, f"{name}={value!r}, expected a pair of numbers")
            logging.info("%s: %s is always %s", where, name, value)
            kwargs[name] = (value, value)
        super().__init__(**kwargs)
        self.aspect_ratio_range = ratios = kwargs["aspect_ratio_range"]
        self.area_range = area = kwargs["area_range"]
        if area[1] <= self._least_area or area[0] > area[1]:
            problem = f"area_range={area}, expected a rising pair that exceeds {self._least_area}"
            raise DataArgumentError(where, problem)
        if ratios[0] <= 0 or ratios[0] > ratios[1]:
            problem = f"aspect_ratio_range={ratios}, expected a rising, positive pair"
            raise DataArgumentError(where, problem)
        self.max_attempts = kwargs["max_attempts"]
        self.enabled = True

    def _propose(self, label: np.ndarray, height: int, width: int) -> Proposal | None:
        if not self.enabled or height <= 0 or width <= 0:
            return None
        limits = tuple(area * height * width for area in self.area_range)
        for _ in range(self.max_attempts):
            ratio = random.uniform(*self.aspect_ratio_range)
            size = self._draw_size(limits, ratio, height, width) if ratio > 0 else None
            proposal = size and self._place(label, size, height, width)
            if proposal is not None:
                return proposal
        return None

    def _draw_size(self, limits: _Range, ratio: float, height: int, width: int) -> _Size | None:
        raise NotImplementedError

    def _place(self, label: np.ndarray, size: _Size, height: int, width: int) -> Proposal | None:
        raise NotImplementedError


class DetRandomCropAug(_RandomFrame):
    """A random part of the image that holds enough of its objects. TypeError for ranges that fall
    or are not positive (so in MXNet, which fails in its warning).

    min_object_covered
        least fraction of each object it touches that the part has to hold.
    aspect_ratio_range, area_range
        of the part's width / height, and of its area over the image's: a pair, or one number.
    min_eject_coverage
        drops objects of which no more than this fraction remains.
    max_attempts
        the number of draws after which the image is left as it is.
    """

    def __init__(
        self,
        min_object_covered: float = 0.1,
        aspect_ratio_range: object = (0.75, 1.33),
        area_range: object = (0.05, 1.0),
        min_eject_coverage: float = 0.3,
        max_attempts: int = 50,
    ) -> None:
        super().__init__(
            min_object_covered=min_object_covered, aspect_ratio_range=aspect_ratio_range,
            area_range=area_range, min_eject_coverage=min_eject_coverage, max_attempts=max_attempts,
        )  # fmt: skip
        self.min_object_covered = min_object_covered
        self.min_eject_coverage = min_eject_coverage

    def __call__(self, src: Image, label: np.ndarray) -> tuple[Image, np.ndarray]:
        proposal = self._propose(label, src.shape[0], src.shape[1])
        if proposal is None:
            return src, label
        x, y, width, height, label = proposal
        return fixed_crop(src, x, y, width, height, None), label

    def _place(self, label: np.ndarray, size: _Size, height: int, width: int) -> Proposal | None:
        new_width, new_height = size
        y = random.randint(0, max(0, height - new_height))
        x = random.randint(0, max(0, width - new_width))
        box = x, y, new_width, new_height
        if not self._covers_objects(label, box, height, width):
            return None
        columns, rows = new_width / width, new_height / height
        out = label.copy()
        out[:, 1:5] = seen_in(label[:, 1:5], x / width, y / height, columns, rows)
        with np.errstate(divide="ignore", invalid="ignore"):  # objects without an area
            coverage = areas(out[:, 1:5]) * columns * rows / areas(label[:, 1:5])
        remains = (out[:, 3] > out[:, 1]) & (out[:, 4] > out[:, 2])
        remains &= coverage > self.min_eject_coverage
        return (*box, out[remains]) if remains.any() else None

    def _draw_size(self, limits: _Range, ratio: float, height: int, width: int) -> _Size | None:
        least, most = limits
        new_height, highest = (round(sqrt(area / ratio)) for area in limits)
        if round(highest * ratio) > width:
            highest = int((width + 0.4999999) / ratio)  # the last whose width, rounded, fits
        highest = min(highest, height)
        new_height = min(new_height, highest)
        if new_height < highest:
            new_height = random.randint(new_height, highest)
        new_width = round(new_height * ratio)
        # Rounding may have left the range of areas: one row more, or less.
        if new_width * new_height < least:
            new_height += 1
            new_width = round(new_height * ratio)
        if new_width * new_height > most:
            new_height -= 1
            new_width = round(new_height * ratio)
        fits = 0 <= new_width <= width and 0 <= new_height <= height
        return (new_width, new_height) if fits and least <= new_width * new_height <= most else None

    def _covers_objects(
        self, label: np.ndarray, box: tuple[int, int, int, int], height: int, width: int
    ) -> bool:
        x, y, new_width, new_height = box
        if new_width * new_height < 2:
            return False
        boxes = label[:, 1:5]
        object_areas = areas(boxes)
        objects = np.where(object_areas * width * height > 2)[0]
        if not objects.size:
            return False
        frame = [x / width, y / height, (x + new_width) / width, (y + new_height) / height]
        shared = shared_areas(boxes[objects], np.array(frame, boxes.dtype))
        coverage = shared / object_areas[objects]
        coverage = coverage[coverage > 0]
        return bool(coverage.size) and float(coverage.min()) > self.min_object_covered


class DetRandomPadAug(_RandomFrame):
    """The image at a random place in a larger one. TypeError for ranges that fall or do not exceed
    1 (so in MXNet, which fails in its warning).

    aspect_ratio_range, area_range
        of the larger image's width / height, and of its area over the image's: a pair, or one
        number.
    max_attempts
        the number of draws after which the image is left as it is.
    pad_val
        the colour around it: by channel, or one number for all (MXNet leaves others undefined).
    """

    _least_area = 1.0

    def __init__(
        self,
        aspect_ratio_range: object = (0.75, 1.33),
        area_range: object = (1.0, 3.0),
        max_attempts: int = 50,
        pad_val: Any = (128, 128, 128),
    ) -> None:
        if not isinstance(pad_val, list | tuple | int | float | np.generic):
            raise ArgumentValueError(type(self).__name__, f"{pad_val=}, expected numbers")
        super().__init__(
            aspect_ratio_range=aspect_ratio_range, area_range=area_range,
            max_attempts=max_attempts, pad_val=pad_val,
        )  # fmt: skip
        self.pad_val = pad_val

    def __call__(self, src: NDArray, label: np.ndarray) -> tuple[NDArray, np.ndarray]:
        height, width, _ = src.shape
        proposal = self._propose(label, height, width)
        if proposal is None:
            return src, label
        x, y, new_width, new_height, label = proposal
        below, after = new_height - y - height, new_width - x - width
        colour = self.pad_val
        if not isinstance(colour, list | tuple):
            colour = (colour,) * 4
        return copy_make_border(src, y, below, x, after, 16, values=colour), label

    def _place(self, label: np.ndarray, size: _Size, height: int, width: int) -> Proposal | None:
        new_width, new_height = size
        y = random.randint(0, max(0, new_height - height))
        x = random.randint(0, max(0, new_width - width))
        out = label.copy()
        out[:, (1, 3)] = (out[:, (1, 3)] * width + x) / new_width
        out[:, (2, 4)] = (out[:, (2, 4)] * height + y) / new_height
        return x, y, new_width, new_height, out

    def _draw_size(self, limits: _Range, ratio: float, height: int, width: int) -> _Size | None:
        new_height, highest = (round(sqrt(area / ratio)) for area in limits)
        if round(new_height * ratio) < width:
            new_height = int((width + 0.499999) / ratio)
        new_height = min(max(new_height, height), highest)
        if new_height < highest:
            new_height = random.randint(new_height, highest)
        new_width = round(new_height * ratio)
        return None if new_height - height < 2 or new_width - width < 2 else (new_width, new_height)


def CreateMultiRandCropAugmenter(  # noqa: N802 - MXNet's name
    min_object_covered: object = 0.1,
    aspect_ratio_range: object = (0.75, 1.33),
    area_range: object = (0.05, 1.0),
    min_eject_coverage: object = 0.3,
    max_attempts: object = 50,
    skip_prob: float = 0,
) -> DetRandomSelectAug:
    """Returns an augmenter that applies one of several :class:`DetRandomCropAug` at random.

    min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts
        an argument of these: a value for all of them, or a list with a value for each.
    skip_prob
        probability that none is applied.

    AssertionError for lists of different lengths.
    """
    ranges = (aspect_ratio_range, area_range)
    arguments = (min_object_covered, *ranges, min_eject_coverage, max_attempts)
    lists = [value if isinstance(value, list) else [value] for value in arguments]
    count = max(map(len, lists))
    for values in lists:
        if len(values) not in (1, count):
            problem = f"{values} has {len(values)} entries, another list has {count}"
            raise ArgumentValueError("CreateMultiRandCropAugmenter", problem)
    rows = zip(*(values * count if len(values) == 1 else values for values in lists), strict=True)
    return DetRandomSelectAug([DetRandomCropAug(*row) for row in rows], skip_prob=skip_prob)


def CreateDetAugmenter(  # noqa: N802 - MXNet's name and arguments
    data_shape: tuple[int, ...],
    resize: int = 0,
    rand_crop: float = 0,
    rand_pad: float = 0,
    rand_gray: float = 0,
    rand_mirror: bool = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    pca_noise: float = 0,
    hue: float = 0,
    inter_method: int = 2,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 3.0),
    min_eject_coverage: Any = 0.3,
    max_attempts: Any = 50,
    pad_val: Any = (127, 127, 127),
) -> list[DetAugmenter]:
    """Returns a list of augmenters for images with objects, of ``data_shape`` (channels, height,
    width).

    resize
        length of the shorter side; 0 leaves it.
    rand_crop, rand_pad, rand_gray
        probabilities of a random part, of a larger image around it, and of gray.
    rand_mirror
        flips half of the images, with their objects.
    mean, std
        True for ImageNet's, or NumPy arrays of 1 or 3 numbers.
    brightness, contrast, saturation, hue, pca_noise
        ranges of the random changes; 0 for none.
    inter_method
        the interpolation of all resizing: 0 to 4, 9 (by size) or 10 (at random).
    min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts
        of the random parts, see :func:`CreateMultiRandCropAugmenter`; the second number of
        ``area_range`` is also the largest area of a larger image.
    pad_val
        the colour around the image.
    """
    augmenters: list[DetAugmenter] = []
    if resize > 0:
        augmenters.append(DetBorrowAug(ResizeAug(resize, inter_method)))
    if rand_crop > 0:
        ranges = (aspect_ratio_range, area_range)
        limits = (min_object_covered, *ranges, min_eject_coverage, max_attempts)
        augmenters.append(CreateMultiRandCropAugmenter(*limits, skip_prob=1 - rand_crop))
    if rand_mirror > 0:
        augmenters.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:
        larger = DetRandomPadAug(aspect_ratio_range, (1.0, area_range[1]), max_attempts, pad_val)
        augmenters.append(DetRandomSelectAug([larger], 1 - rand_pad))
    borrowed: list[Augmenter] = [
        ForceResizeAug((data_shape[2], data_shape[1]), inter_method),
        CastAug(),
        *colour_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray),
    ]
    borrowed += normalization("CreateDetAugmenter", mean, std)
    return augmenters + [DetBorrowAug(augmenter) for augmenter in borrowed]
