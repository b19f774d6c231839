"""Images between the host, where NumPy and OpenCV change them, and NDArrays. A device would compile
a program for each shape; the host compiles nothing."""

import operator
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..calls.ways import on_host
from ..context import Context
from ..errors import DTypeError, ShapeError
from ..ndarray import NDArray

#: An image (height, width, channels).
Image = NDArray | np.ndarray

A = TypeVar("A", bound=NDArray)

#: In-place operators by the NumPy function that computes them.
_IN_PLACE: dict[Callable[..., Any], Callable[[Any, Any], Any]] = {
    np.add: operator.iadd,
    np.subtract: operator.isub,
    np.multiply: operator.imul,
    np.divide: operator.itruediv,
}


def to_ndarray(values: np.ndarray, context: Context, cls: Any = NDArray) -> Any:
    """Returns an array of ``cls`` of a NumPy array that is never written to again."""
    return on_host(cls, np.ascontiguousarray(values), context)


def like(image: A, values: np.ndarray) -> A:
    """Returns such an array of the image's class, in its context."""
    return to_ndarray(values, image.context, type(image))


def computed(function: Callable[[np.ndarray], np.ndarray], image: A) -> A:
    """Returns a new array of the image's class: ``function`` of its elements."""
    return like(image, function(image.host))


def update_in_place(image: object, function: Callable[..., Any], other: object) -> Any:
    """Computes ``image += other``, ``-=``, ``*=`` or ``/=``, as ``function`` says; returns the
    image. Floating NDArrays are computed on the host if ``other`` is a number or an NDArray of the
    same dtype that broadcasts to the image; otherwise by the operator."""
    if not isinstance(image, NDArray) or not np.issubdtype(image.dtype, np.floating):
        return _IN_PLACE[function](image, other)
    if isinstance(other, NDArray):
        if other.dtype != image.dtype or not _broadcasts(other.shape, image.shape):
            return _IN_PLACE[function](image, other)
        other = other.host
    elif isinstance(other, bool | int | float | np.number):
        other = float(other)
    else:
        return _IN_PLACE[function](image, other)
    with np.errstate(all="ignore"):
        image[:] = function(image.host, other)
    return image


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


def check_colours(where: str, image: NDArray, channels: tuple[int, ...] = (3,)) -> None:
    """Raises MXNetError unless the image is float32 with one of the numbers of channels."""
    if image.dtype != np.float32:
        raise DTypeError(where, f"the image is {np.dtype(image.dtype).name}, expected float32",
                    hint="CastAug() first")  # fmt: skip
    if image.shape[-1] not in channels:
        problem = f"the image is {image.shape}, expected {channels[0]} channels at the end"
        raise ShapeError(where, problem)
