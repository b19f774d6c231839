"""ImageDetIter: batches of images with objects."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import ArgumentValueError, FileFormatError, MissingDependencyError, NotSupportedError
from ..ndarray import NDArray
from ..opencv import require_opencv
from ._augmenter_list import IMAGENET_MEAN, IMAGENET_STD, statistics
from ._detection_augmenters import CreateDetAugmenter
from ._image_iter import ImageIter, host_values


class ImageDetIter(ImageIter):
    """Batches of images with objects, from files or from a file of records.

    Arguments as of :class:`ImageIter`; ``aug_list`` holds DetAugmenters, by default
    ``CreateDetAugmenter(data_shape, **kwargs)``.

    The labels of an image are a header, beginning with its length and the length of an object, and
    the objects: class, left, top, right, bottom, ..., in fractions of the image's size. Objects
    without an area are dropped. A batch's labels are (batch_size, most objects of an image, length
    of an object), so the constructor reads all labels; surplus rows are -1. Images without an
    object after augmentation are left out. MXNetError for labels in another form.
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: tuple[int, ...],
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str | None = None,
        path_imgidx: str | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: list[Any] | None = None,
        imglist: list[Any] | None = None,
        data_name: str = "data",
        label_name: str = "label",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            batch_size, data_shape, path_imgrec=path_imgrec, path_imglist=path_imglist,
            path_root=path_root, path_imgidx=path_imgidx, shuffle=shuffle, part_index=part_index,
            num_parts=num_parts, aug_list=[], imglist=imglist, data_name=data_name,
            label_name=label_name, last_batch_handle=last_batch_handle,
        )  # fmt: skip
        self.auglist = CreateDetAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        self.label_shape: tuple[int, ...] = self._largest_label()
        self.provide_label = [(label_name, (batch_size, *self.label_shape))]

    def _largest_label(self) -> tuple[int, int]:
        count = length = 0
        self.reset()
        while True:
            try:
                label, _ = self.next_sample()
            except StopIteration:
                break
            rows, length = self._parse_label(label).shape
            count = max(count, rows)
        self.reset()
        return count, length

    def _parse_label(self, label: object) -> np.ndarray:
        raw = host_values(label).ravel()
        if raw.size < 7:
            raise self._broken(f"{raw.size} numbers as labels, expected 7 or more")
        header, length = int(raw[0]), int(raw[1])
        if length < 5 or (raw.size - header) % length:
            raise self._broken(
                f"{raw.size} numbers as labels, of which {header} are a header, are not objects of "
                f"{length} numbers"
            )
        objects = raw[header:].reshape(-1, length)
        with_area = (objects[:, 3] > objects[:, 1]) & (objects[:, 4] > objects[:, 2])
        if not with_area.any():
            raise self._broken("no object has an area")
        return objects[with_area]

    def _check_valid_label(self, label: np.ndarray) -> None:
        if label.ndim != 2 or label.shape[1] < 5:
            raise self._broken(f"labels of shape {label.shape}, expected (1 or more, 5 or more)")
        visible = (label[:, 0] >= 0) & (label[:, 3] > label[:, 1]) & (label[:, 4] > label[:, 2])
        if not visible.any():
            raise self._broken("no object is left")

    def _broken(self, problem: str) -> FileFormatError:
        return FileFormatError(f"{type(self).__name__}: {self._current()}", problem)

    def augmentation_transform(self, data: Any, label: Any = None) -> tuple[Any, Any]:
        for augmenter in self.auglist:
            data, label = augmenter(data, label)
        return data, label

    def _empty_batch(self) -> tuple[np.ndarray, np.ndarray]:
        images, labels = super()._empty_batch()
        labels[:] = -1
        return images, labels

    def _put(
        self, images: np.ndarray, labels: np.ndarray, i: int, image: NDArray, label: object
    ) -> bool:
        try:
            self.check_valid_image([image])
            data, objects = self.augmentation_transform(image, self._parse_label(label))
            self._check_valid_label(objects)
        except RuntimeError as error:
            logging.debug("%s: %s is left out: %s", type(self).__name__, self._current(), error)
            return False
        self._store(images[i], self.postprocess_data(data), "image")
        self._store(labels[i, : len(objects)], objects, "label")
        labels[i, len(objects) :] = -1
        return True

    def reshape(self, data_shape: Any = None, label_shape: Any = None) -> None:
        """Changes ``data_shape`` (3, height, width) or ``label_shape`` (objects, their length),
        with no fewer objects, of later batches. ValueError for other shapes."""
        if data_shape is not None:
            self.check_data_shape(data_shape)
        if label_shape is not None:
            self.check_label_shape(label_shape)
        if data_shape is not None:
            self.provide_data = [(self.provide_data[0][0], (self.batch_size, *data_shape))]
            self.data_shape = data_shape
        if label_shape is not None:
            self.provide_label = [(self.provide_label[0][0], (self.batch_size, *label_shape))]
            self.label_shape = label_shape

    def check_label_shape(self, label_shape: Any) -> None:
        """Raises ValueError unless the shape has at least as many objects, of the same length."""
        where = f"{type(self).__name__}: label_shape"
        if len(label_shape) != 2:
            problem = f"{label_shape}, expected objects and their length"
        elif label_shape[0] < self.label_shape[0]:
            problem = f"{label_shape} has fewer objects than {self.label_shape}"
        elif label_shape[1] != self.label_shape[1]:
            problem = f"{label_shape} has objects of another length than {self.label_shape}"
        else:
            return
        raise ArgumentValueError(where, problem)

    def sync_label_shape(self, it: ImageDetIter, verbose: bool = False) -> ImageDetIter:
        """Gives this iterator and ``it`` the larger number of objects of both; returns ``it``.
        AssertionError if its objects have another length."""
        if not isinstance(it, ImageDetIter) or it.label_shape[1] != self.label_shape[1]:
            problem = f"{it!r} is not an ImageDetIter with objects of {self.label_shape[1]} numbers"
            raise ArgumentValueError(f"{type(self).__name__}.sync_label_shape", problem)
        shapes = (self.label_shape, it.label_shape)
        largest = (max(shape[0] for shape in shapes), self.label_shape[1])
        for iterator in (self, it):
            if iterator.label_shape[0] < largest[0]:
                iterator.reshape(None, largest)
        if verbose and shapes[0] != shapes[1]:
            logging.info("%s: labels are %s in both", type(self).__name__, largest)
        return it

    def draw_next(
        self,
        color: object = None,
        thickness: int = 2,
        mean: object = None,
        std: object = None,
        clip: bool = True,
        waitKey: int | None = None,  # noqa: N803 - MXNet's name
        window_name: str = "draw_next",
        id2labels: dict[int, str] | None = None,
    ) -> Iterator[np.ndarray]:
        """Yields the augmented images with their objects framed, blue first, as uint8 NumPy arrays.

        color, thickness
            (red, green, blue) of the frames, by default random by ``numpy.random``, and their width
            in pixels.
        mean, std
            undo a normalisation: True for ImageNet's, or NumPy arrays of 1 or 3 numbers.
        clip
            to 0 to 255, before conversion.
        waitKey, window_name
            milliseconds for which a window shows each image (0: until a key is pressed); None shows
            none. OpenCV without windows raises NotImplementedError.
        id2labels
            names of the classes.

        Warns and yields nothing without OpenCV. (In MXNet every second image has red and blue of
        ``color`` swapped.)
        """
        try:
            cv2 = require_opencv()
        except MissingDependencyError as error:
            warnings.warn(str(error), stacklevel=2)
            return
        shift = statistics("draw_next: mean", mean, IMAGENET_MEAN)
        scale = statistics("draw_next: std", std, IMAGENET_STD)
        while True:
            try:
                label, encoded = self.next_sample()
            except StopIteration:
                return
            data = self.imdecode(encoded)
            try:
                self.check_valid_image([data])
                objects = self._parse_label(label)
            except RuntimeError as error:
                logging.debug("%s: %s is left out: %s", type(self).__name__, self._current(), error)
                continue
            data, objects = self.augmentation_transform(data, objects)
            pixels = host_values(data).astype(np.float32)
            if scale is not None:
                pixels *= scale
            if shift is not None:
                pixels += shift
            if clip:
                pixels = np.clip(pixels, 0, 255)
            image = np.ascontiguousarray(pixels[:, :, ::-1].astype(np.uint8))
            _frame(cv2, image, objects, color, thickness, id2labels)
            if waitKey is not None:
                try:
                    cv2.imshow(window_name, image)
                    cv2.waitKey(waitKey)
                except cv2.error as error:
                    problem = f"this OpenCV shows no windows: {error}"
                    raise NotSupportedError("draw_next", problem, hint="waitKey=None") from None
            yield image


def _frame(
    cv2: Any,
    image: np.ndarray,
    objects: np.ndarray,
    color: Any,
    thickness: int,
    names: dict[int, str] | None,
) -> None:
    height, width, _ = image.shape
    for number, left, top, right, bottom in objects[:, :5].tolist():
        if int(left * width) < 0:
            continue
        corner = int(left * width), int(top * height)
        opposite = int(right * width), int(bottom * height)
        colour = np.random.rand(3) * 255 if not color else color[::-1]
        cv2.rectangle(image, corner, opposite, tuple(map(float, colour)), thickness)
        if names is not None and int(number) in names:
            text, font = names[int(number)], cv2.FONT_HERSHEY_SIMPLEX
            place = corner[0] + 5, corner[1] + cv2.getTextSize(text, font, 0.5, 2)[0][1] + 5
            cv2.putText(image, text, place, font, 0.5, (255, 255, 255), 2)
