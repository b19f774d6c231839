"""Decoded pixels as the values of a batch: channels first, red, green, blue, normalised."""

from __future__ import annotations

import os
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from ..errors import FileFormatError
from ..ndarray import array, load, save
from ..opencv import require_opencv
from ._record_options import DetectionOptions, NormalizeOptions, StatisticsOptions


@dataclass(frozen=True)
class Normalization:
    """``((pixel - mean) * contrast + illumination) * factor`` by channel: red, green, blue, alpha.
    int8 values are the pixels less the rounded mean, clipped; uint8 values are the pixels."""

    mean: np.ndarray | None = None
    factor: np.ndarray | None = None
    contrast: float = 0.0
    illumination: float = 0.0
    mirror: bool = False
    random_mirror: bool = False

    @classmethod
    def of(
        cls, options: StatisticsOptions, channels: int, mean: np.ndarray | None
    ) -> Normalization:
        means = _by_channel(options, "mean", channels)
        stds = _by_channel(options, "std", channels)
        if isinstance(options, DetectionOptions):
            stds = np.where(stds > 0, stds, np.float32(1))
        with np.errstate(divide="ignore"):
            factor = np.float32(options.scale) / stds
        if mean is None and means.any():
            mean = means
        parts: dict[str, Any] = {}
        if isinstance(options, NormalizeOptions):
            parts = {
                "contrast": options.max_random_contrast,
                "illumination": options.max_random_illumination,
                "mirror": options.mirror,
                "random_mirror": options.rand_mirror,
            }
        return cls(mean, None if (factor == 1).all() else factor, **parts)

    def write(self, image: np.ndarray, values: np.ndarray, random: Random) -> None:
        mirrored = (self.random_mirror and random.random() < 0.5) or self.mirror
        if mirrored and (self.mean is None or self.mean.shape[1:] == (1, 1)):
            image = require_opencv().flip(image, 1)
            mirrored = False
        planes = _planes(image)
        if values.dtype == np.uint8:
            for target, plane in zip(values, planes, strict=True):
                target[:] = plane
        elif values.dtype == np.int8:
            for channel, (target, plane) in enumerate(zip(values, planes, strict=True)):
                difference = plane.astype(np.float32)
                if self.mean is not None:
                    difference -= np.floor(self.mean[channel] + np.float32(0.5))
                target[:] = np.clip(difference, -128, 127)
        else:
            with np.errstate(invalid="ignore"):  # a std of 0
                self._write_floats(planes, values, random)
        if mirrored:
            values[:] = values[:, :, ::-1].copy()

    def _write_floats(self, planes: list[np.ndarray], values: np.ndarray, random: Random) -> None:
        contrast = None
        shift = np.float32(0)
        if self.contrast or self.illumination:
            contrast = np.float32(1 + random.uniform(-self.contrast, self.contrast))
            shift = np.float32(random.uniform(-self.illumination, self.illumination))
        for channel, (target, plane) in enumerate(zip(values, planes, strict=True)):
            target[:] = plane
            if self.mean is not None:
                target -= self.mean[channel]
            if contrast is not None:
                target *= contrast
                target += shift
            if self.factor is not None:
                np.multiply(target, self.factor[channel], out=target)


def _by_channel(options: object, name: str, channels: int) -> np.ndarray:
    values = [getattr(options, f"{name}_{colour}") for colour in "rgba"]
    return np.array(values[:channels], np.float32).reshape(-1, 1, 1)


def _planes(image: np.ndarray) -> list[np.ndarray]:
    if image.ndim == 2:
        return [image]
    blue, green, red, *alpha = require_opencv().split(image)
    return [red, green, blue, *alpha]


def load_mean_image(path: str, shape: tuple[int, ...]) -> np.ndarray | None:
    """Returns the mean image in a file, None without a file; FileFormatError for another shape."""
    if not os.path.exists(path):
        return None
    arrays = load(path)
    values = list(arrays.values() if isinstance(arrays, dict) else arrays)
    if len(values) != 1 or values[0].shape != shape:
        shapes = ", ".join(str(v.shape) for v in values)
        problem = f"arrays of shapes {shapes or 'none'}, expected one mean image {shape}"
        raise FileFormatError(path, problem)
    return values[0].asnumpy().astype(np.float32)


def save_mean_image(path: str, mean: np.ndarray) -> None:
    save(path, {"mean_img": array(mean, dtype=np.float32)})
