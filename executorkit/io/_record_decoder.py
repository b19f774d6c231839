"""A record as an example of a batch: decoded, augmented, normalised, with its labels."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any, Protocol

import numpy as np

from .._support.record_format import read_whole
from ..errors import BatchError, DataArgumentError, FileFormatError, RecordError
from ..opencv import decode_stored, require_opencv
from ..recordio import IRHeader, unpack
from ._record_options import RecordOptions
from ._record_pixels import Normalization

#: OpenCV's flags for decoding, by the number of channels.
_FLAGS = {1: 0, 3: 1, 4: -1}


class ExampleDecoder(Protocol):
    label_shape: tuple[int, ...]

    def decode(
        self, record: object, where: str, random: Random, data: np.ndarray, label: np.ndarray
    ) -> int:
        """Writes one example, in one of several threads, to ``data`` (channels, height, width) and
        ``label``; returns the image's number. ``where`` names the record in errors."""
        ...


class LabelledImageDecoder:
    def __init__(
        self,
        options: RecordOptions,
        augmenters: Sequence[Callable[[np.ndarray, Random], np.ndarray]],
        normalization: Normalization,
    ) -> None:
        self._width = options.label_width
        self.label_shape = () if self._width == 1 else (self._width,)
        self._augmenters = augmenters
        self._normalization = normalization
        self._list = ImageList(options.path_imglist, self._width) if options.path_imglist else None

    def decode(
        self, record: object, where: str, random: Random, data: np.ndarray, label: np.ndarray
    ) -> int:
        header, encoded = unpack_record(record, where)
        label[...] = self._labels(header, where)
        image = decode_record_image(encoded, data.shape[0], where)
        for augmenter in self._augmenters:
            with opencv_errors(where, image):
                image = augmenter(image, random)
        if image.shape[:2] != data.shape[1:]:
            problem = f"an image of {image.shape[:2]} pixels, expected {data.shape[1:]}"
            raise BatchError(where, problem, because="no augmenter crops it")
        self._normalization.write(image, data, random)
        return header.id

    def _labels(self, header: IRHeader, where: str) -> np.ndarray | float:
        if self._list is not None:
            labels = self._list.find(header.id, where)
            return labels if self.label_shape else labels[0]
        count = header.flag or 1
        if count != self._width:
            problem = f"{count} labels, expected {self._width}"
            raise FileFormatError(where, problem, because=f"label_width is {self._width}")
        return header.label if self.label_shape or not header.flag else header.label[0]


def unpack_record(record: object, where: str) -> tuple[IRHeader, Any]:
    try:
        return unpack(record)
    except RecordError as error:
        raise RecordError(where, str(error)) from None


def decode_record_image(encoded: object, channels: int, where: str) -> np.ndarray:
    """Returns the pixels of an encoded image, blue first. Raises RecordError if it cannot be
    decoded, or has no alpha channel for ``channels=4``."""
    image = decode_stored(encoded, _FLAGS[channels], where, RecordError)
    if channels == 4 and image.shape[2:] != (4,):
        number = image.shape[2] if image.ndim == 3 else 1
        raise RecordError(where, f"an image of {number} channels, expected 4")
    return image


@contextmanager
def opencv_errors(where: str, image: np.ndarray) -> Iterator[None]:
    try:
        yield
    except require_opencv().error as error:
        size = f"an image of {image.shape[1]} x {image.shape[0]} pixels cannot be augmented"
        raise BatchError(where, size, because=error.err) from None


def augmenter_names(where: str, sequence: str, known: Sequence[str]) -> list[str]:
    names = [name.strip() for name in sequence.split(",") if name.strip()]
    for name in names:
        if name not in known:
            problem = f"{name!r}, expected {' or '.join(map(repr, known))}"
            raise DataArgumentError(f"{where}: aug_seq", problem)
    return names


class ImageList:
    """Labels by the images' numbers, from a file of lines: number, labels and path, separated by
    tabs. ``width`` is the number of labels of an image; None takes all."""

    def __init__(self, path: str, width: int | None) -> None:
        self.path = os.fspath(path)
        self._labels: dict[int, np.ndarray] = {}
        text = read_whole(self.path).decode("utf-8", "replace")
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                self._add(line, width, f"{self.path}, line {number}")

    def _add(self, line: str, width: int | None, where: str) -> None:
        fields = line.strip().split("\t")
        fields = fields if len(fields) > 1 else line.split()
        labels = fields[1:-1] if width is None else fields[1 : 1 + width]
        try:
            values = np.array([float(label) for label in labels], np.float32)
            key = int(float(fields[0]))
        except (ValueError, OverflowError):
            values, key = np.empty(0, np.float32), 0
        if len(values) < (1 if width is None else width):
            count = "labels" if width is None else f"{width} labels"
            raise FileFormatError(where, f"{line.strip()!r}, expected a number, {count} and a path")
        self._labels[key] = values

    @property
    def longest(self) -> int:
        return max(map(len, self._labels.values()), default=0)

    def find(self, number: int, where: str) -> np.ndarray:
        labels = self._labels.get(number)
        if labels is None:
            because = f"{where} has an image with this number"
            raise FileFormatError(self.path, f"it has no line of number {number}", because=because)
        return labels
