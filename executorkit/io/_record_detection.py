"""Records of images with boxes of objects: their labels, and augmentations that change both."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import numpy as np

from .._support.box_geometry import areas, seen_in, shared_areas
from ..errors import BatchError, RecordError
from ._record_augmenter import pad_image, resize_image, resize_shorter_edge, saturate, shift_hls
from ._record_decoder import ImageList, decode_record_image, opencv_errors, unpack_record
from ._record_options import DetectionOptions, DetectionRecordOptions
from ._record_pixels import Normalization

#: Numbers before the record's label in a batch's: channels, height, width, their count.
_PREFIX = 4
#: Numbers of an object: class, left, top, right, bottom.
_OBJECT = 5


class CropBox(NamedTuple):
    """A rectangle, in fractions of an image's edges; it may extend beyond 0 and 1."""

    left: float
    top: float
    width: float
    height: float

    @property
    def area(self) -> float:
        return max(self.width, 0.0) * max(self.height, 0.0)


@dataclass(frozen=True)
class Objects:
    """A record's label: header, and one row per object: class, left, top, right, bottom, others."""

    header: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(cls, label: np.ndarray, where: str) -> Objects:
        if len(label) >= 2 + _OBJECT:
            header, width = int(label[0]), int(label[1])
            if 2 <= header <= len(label) and width >= _OBJECT:
                rows, surplus = divmod(len(label) - header, width)
                if rows and not surplus:
                    return cls(label[:header], label[header:].reshape(rows, width))
        numbers = ", ".join(f"{x:g}" for x in label[:8])
        problem = f"a label of {len(label)} numbers ({numbers} ...)"
        because = "it begins with the lengths of its header and of each object, 2 and 5 at least"
        raise RecordError(where, problem, because=because)

    @property
    def label(self) -> np.ndarray:
        return np.concatenate([self.header, self.rows.reshape(-1)])

    @property
    def boxes(self) -> np.ndarray:
        return self.rows[:, 1:_OBJECT]

    def with_boxes(self, boxes: np.ndarray, kept: np.ndarray | None = None) -> Objects:
        rows = self.rows.copy()
        rows[:, 1:_OBJECT] = boxes
        return Objects(self.header, rows if kept is None else rows[kept])

    def mirrored(self) -> Objects:
        left, top, right, bottom = self.boxes.T
        return self.with_boxes(np.stack([1 - right, top, 1 - left, bottom], 1))

    def intersections(self, box: CropBox) -> np.ndarray:
        ends = [box.left + box.width, box.top + box.height]
        return shared_areas(self.boxes, np.array([box.left, box.top, *ends]))


#: An image and its objects.
_Placed = tuple[np.ndarray, Objects]


class DetectionAugmenter:
    def __init__(self, options: DetectionOptions, size: tuple[int, int]) -> None:
        self._options = options
        self._height, self._width = size

    def __call__(self, image: np.ndarray, objects: Objects, random: Random) -> _Placed:
        options = self._options
        if options.resize > 0:
            image = resize_shorter_edge(image, options.resize, options.inter_method, random)
        image = self._change_colours(image, random)
        if random.random() < options.rand_mirror_prob:
            image, objects = image[:, ::-1], objects.mirrored()
        if options.max_pad_scale > 1 and random.random() < options.rand_pad_prob:
            image, objects = self._pad(image, objects, random)
        if options.num_crop_sampler > 0 and random.random() < options.rand_crop_prob:
            image, objects = self._crop(image, objects, random)
        return self._resize(np.ascontiguousarray(image), random), objects

    def _change_colours(self, image: np.ndarray, random: Random) -> np.ndarray:
        options = self._options
        shifts = [
            int(random.uniform(-limit, limit)) if random.random() < probability else 0
            for limit, probability in (
                (options.max_random_hue, options.random_hue_prob),
                (options.max_random_illumination, options.random_illumination_prob),
                (options.max_random_saturation, options.random_saturation_prob),
            )
        ]
        if any(shifts) and image.ndim == 3:
            image = shift_hls(image, shifts)
        if options.max_random_contrast > 0 and random.random() < options.random_contrast_prob:
            limit = options.max_random_contrast
            factor = np.float32(1 + random.uniform(-limit, limit))
            image = saturate(image * factor)
        return image

    def _pad(self, image: np.ndarray, objects: Objects, random: Random) -> _Placed:
        scale = random.uniform(1, self._options.max_pad_scale)
        box = CropBox(-random.uniform(0, scale - 1), -random.uniform(0, scale - 1), scale, scale)
        height, width = image.shape[:2]
        left, top = int(-box.left * width), int(-box.top * height)
        right, bottom = (int((scale - 1) * n) - m for n, m in ((width, left), (height, top)))
        borders = top, max(bottom, 0), left, max(right, 0)
        padded = pad_image(np.ascontiguousarray(image), borders, self._options.fill_value)
        return padded, objects.with_boxes(seen_in(objects.boxes, *box))

    def _crop(self, image: np.ndarray, objects: Objects, random: Random) -> _Placed:
        options = self._options
        height, width = image.shape[:2]
        numbers = list(range(options.num_crop_sampler))
        random.shuffle(numbers)
        for number in numbers:
            for _ in range(int(options.sampler("max_crop_trials", number))):
                box = self._draw_box(number, width / height, random)
                kept = self._kept(objects, box, number)
                if kept is not None and kept.any():
                    left, top = int(box.left * width), int(box.top * height)
                    right = left + max(int(box.width * width), 1)
                    bottom = top + max(int(box.height * height), 1)
                    objects = objects.with_boxes(seen_in(objects.boxes, *box), kept)
                    return image[top:bottom, left:right], objects
        return image, objects

    def _draw_box(self, number: int, image_ratio: float, random: Random) -> CropBox:
        low, high = self._bounds("crop_scales", number)
        scale = max(random.uniform(low, high), 1e-6)
        low, high = self._bounds("crop_aspect_ratios", number)
        low, high = max(low / image_ratio, scale**2), min(high / image_ratio, 1 / scale**2)
        ratio = math.sqrt(random.uniform(low, high))
        width, height = min(1.0, scale * ratio), min(1.0, scale / ratio)
        return CropBox(random.uniform(0, 1 - width), random.uniform(0, 1 - height), width, height)

    def _bounds(self, name: str, number: int) -> tuple[float, float]:
        low, high = (self._options.sampler(f"{end}_{name}", number) for end in ("min", "max"))
        return low, high

    def _kept(self, objects: Objects, box: CropBox, number: int) -> np.ndarray | None:
        shared, whole = objects.intersections(box), areas(objects.boxes)
        with np.errstate(divide="ignore", invalid="ignore"):
            quantities = {
                "crop_overlaps": shared / (whole + box.area - shared),
                "crop_sample_coverages": shared / box.area,
                "crop_object_coverages": shared / whole,
            }
        valid = np.ones(len(whole), bool)
        for name, values in quantities.items():
            low, high = self._bounds(name, number)
            if low > 0:
                valid &= values >= low
            if high < 1:  # rounding makes a whole object a little more than 1
                valid &= values <= high
        if not valid.any():
            return None
        if self._options.crop_emit_mode == "overlap":
            return shared > self._options.emit_overlap_thresh * whole
        centres = (objects.boxes[:, :2] + objects.boxes[:, 2:]) / 2
        low = np.array([box.left, box.top])
        high = np.array([box.left + box.width, box.top + box.height])
        return np.asarray(((centres >= low) & (centres < high)).all(1))

    def _resize(self, image: np.ndarray, random: Random) -> np.ndarray:
        height, width = image.shape[:2]
        new_width, new_height = self._width, self._height
        if self._options.resize_mode != "force":
            scale = min(np.float32(new_width) / width, np.float32(new_height) / height)
            if self._options.resize_mode == "shrink":
                scale = min(scale, np.float32(1))
            new_width = min(int(scale * np.float32(width)), new_width)
            new_height = min(int(scale * np.float32(height)), new_height)
        if (new_width, new_height) == (width, height):
            return image
        return resize_image(image, new_width, new_height, self._options.inter_method, random)


class DetectionDecoder:
    """Images with boxes; a label is (channels, height, width, length, the record's, padding)."""

    def __init__(
        self,
        options: DetectionRecordOptions,
        augmenters: list[DetectionAugmenter],
        normalization: Normalization,
        images: ImageList | None,
        width: int,
    ) -> None:
        self._options, self._augmenters = options, augmenters
        self._normalization, self._list = normalization, images
        self.label_shape = (width + _PREFIX,)

    def decode(
        self, record: object, where: str, random: Random, data: np.ndarray, label: np.ndarray
    ) -> int:
        # Pixels beyond the image are 0.
        header, encoded = unpack_record(record, where)
        numbers = np.atleast_1d(np.asarray(header.label, np.float32))
        if self._list is not None:
            numbers = self._list.find(header.id, where)
        expected = self._options.label_width
        if 0 < expected != len(numbers):
            problem = f"{len(numbers)} labels, expected {expected}"
            raise RecordError(where, problem, because=f"label_width is {expected}")
        objects = Objects.of(numbers, where)
        image = decode_record_image(encoded, data.shape[0], where)
        for augmenter in self._augmenters:
            with opencv_errors(where, image):
                image, objects = augmenter(image, objects, random)
        self._write(image, objects, where, random, data, label)
        return header.id

    def _write(
        self, image: np.ndarray, objects: Objects, where: str, random: Random, data: np.ndarray,
        label: np.ndarray,
    ) -> None:  # fmt: skip
        height, width = image.shape[:2]
        if height > data.shape[1] or width > data.shape[2]:
            problem = f"an image of {image.shape[:2]} pixels, expected at most {data.shape[1:]}"
            raise BatchError(where, problem, because="no augmenter resizes it")
        numbers = objects.label
        if len(numbers) > len(label) - _PREFIX:
            problem = f"{len(numbers)} labels, expected at most {len(label) - _PREFIX}"
            raise RecordError(where, problem, because="label_pad_width is smaller")
        if (height, width) != data.shape[1:]:
            data[:] = 0
        self._normalization.write(image, data[:, :height, :width], random)
        label[:_PREFIX] = data.shape[0], height, width, len(numbers)
        label[_PREFIX : _PREFIX + len(numbers)] = numbers
        label[_PREFIX + len(numbers) :] = self._options.label_pad_value
