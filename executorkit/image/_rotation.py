"""Rotation of images (channels, height, width) about their centres."""

from numbers import Number

import numpy as np

from .. import ndarray as nd
from ..errors import ArgumentValueError, DTypeError, InputTypeError, ShapeError
from ..ndarray import NDArray
from .host_images import to_ndarray


def imrotate(
    src: NDArray, rotation_degrees: object, zoom_in: bool = False, zoom_out: bool = False
) -> NDArray:
    """Returns images rotated by an angle, interpolated between four pixels, 0 outside.

    src
        float32 of shape (channels, height, width) or (N, channels, height, width).
    rotation_degrees
        a number, or an NDArray of N numbers for a batch.
    zoom_in, zoom_out
        enlarges until nothing outside is seen; reduces until all of the image is seen.

    TypeError for another dtype, or an array for a single image; ValueError for another number of
    axes or angles.
    """
    where = "imrotate"
    if zoom_in and zoom_out:
        raise ArgumentValueError(where, "zoom_in and zoom_out exclude each other")
    if not isinstance(src, NDArray) or src.dtype is not np.float32:
        raise DTypeError(where, "the images are not an NDArray of float32")
    if src.ndim not in (3, 4):
        raise ShapeError(where, f"the images are {src.shape}, expected three or four axes")
    if src.ndim == 3 and not isinstance(rotation_degrees, Number):
        raise InputTypeError(where, "the angle is an array, expected a number for a single image")
    count = 1 if src.ndim == 3 else src.shape[0]
    if isinstance(rotation_degrees, Number):
        degrees = np.full(count, rotation_degrees, np.float32)
    elif isinstance(rotation_degrees, NDArray):
        degrees = rotation_degrees.asnumpy().astype(np.float32)
    else:
        kind = type(rotation_degrees).__name__
        raise InputTypeError(where, f"the angles are a {kind}, expected an NDArray or a number")
    if len(degrees) != count:
        raise ShapeError(where, f"{len(degrees)} angles for {count} images")
    with np.errstate(all="ignore"):  # one row or column has no places: 0 (NaN in MXNet)
        grid = _grid(degrees, (src.shape[-2], src.shape[-1]), zoom_in, zoom_out)
    batch = src if src.ndim == 4 else to_ndarray(src.host[None], src.context)
    rotated = nd.BilinearSampler(batch, to_ndarray(grid, src.context))
    return rotated if src.ndim == 4 else rotated[0]


def _grid(degrees: np.ndarray, size: tuple[int, int], zoom_in: bool, zoom_out: bool) -> np.ndarray:
    height, width = size
    angles = (np.float32(np.pi) * degrees / np.float32(180))[:, None, None]
    middle_row, middle_column = np.float32((height - 1) / 2), np.float32((width - 1) / 2)
    rows = (np.arange(height, dtype=np.float32) - middle_row)[None, :, None]
    columns = (np.arange(width, dtype=np.float32) - middle_column)[None, None, :]
    cosine, sine = np.cos(angles), np.sin(angles)
    x = (columns * cosine - rows * sine) / middle_column
    grid = np.stack([x, (columns * sine + rows * cosine) / middle_row], axis=1)
    if zoom_in or zoom_out:
        factor = _zoom(np.abs(angles), np.float32(height), np.float32(width), zoom_out)
        grid = grid * factor[:, None]
    return grid


def _zoom(angles: np.ndarray, height: np.float32, width: np.float32, out: bool) -> np.ndarray:
    diagonal = np.sqrt(height * height + width * width)
    corner = np.arctan(height / width)
    reach_x, reach_y = (
        np.maximum(np.abs(diagonal * f(corner + angles)), np.abs(diagonal * f(corner - angles)))
        for f in (np.cos, np.sin)
    )
    if out:
        return np.maximum(reach_x / width, reach_y / height)
    return np.minimum(width / reach_x, height / reach_y)


def random_rotate(
    src: NDArray, angle_limits: tuple[float, float], zoom_in: bool = False, zoom_out: bool = False
) -> NDArray:
    """Returns :func:`imrotate` by angles from ``numpy.random.uniform(*angle_limits)``, in degrees.
    A batch (N, channels, height, width) draws N angles."""
    low, high = angle_limits
    if src.ndim == 3:
        angles = np.random.uniform(low, high)
    else:
        angles = nd.array(np.random.uniform(low, high, size=src.shape[0]))
    return imrotate(src, angles, zoom_in=zoom_in, zoom_out=zoom_out)
