"""Labels of records of images: in their headers, or in a list of images."""

from __future__ import annotations

import os

import numpy as np

from .._support.record_format import read_whole
from ..errors import FileFormatError


class ImageList:
    """The labels in a list of images, by the images' numbers.

    A line is a number, labels and a path, with tabulators between. ``width`` is the number of
    labels of an image, or None for all that a line has. Raises OSError if the file cannot be read,
    ValueError if it is malformed.
    """

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
        """The largest number of labels of an image."""
        return max(map(len, self._labels.values()), default=0)

    def find(self, number: int, where: str) -> np.ndarray:
        """The labels of an image. Raises FileFormatError if the list does not have it."""
        labels = self._labels.get(number)
        if labels is None:
            because = f"{where} has an image with this number"
            raise FileFormatError(self.path, f"it has no line of number {number}", because=because)
        return labels
