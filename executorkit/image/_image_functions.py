"""Reading, resizing, cropping and normalising images (height, width, channels)."""

import random
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentValueError, ShapeError
from ..ndarray import NDArray
from ..opencv import INTERPOLATIONS, choose_interpolation, with_shorter_edge
from ._image_operators import imresize
from .host_images import Image, like, update_in_place

#: Position and size of a crop: (x, y, width, height).
Rectangle = tuple[int, int, int, int]


def get_interp_method(interp: int, sizes: Sequence[int] = ()) -> int:
    """Returns the interpolation, 0 to 4: 9 chooses it by ``sizes`` (old height, old width, new
    height, new width), 10 draws it by ``random``. ValueError for another number."""
    if interp == 9 and not sizes:
        return 2
    if interp == 9 and len(sizes) != 4:
        raise ArgumentValueError("interp=9", f"{sizes=}, expected four numbers")
    if interp not in INTERPOLATIONS:
        problem = f"{interp!r}, expected 0 to 4, 9 (by size) or 10 (at random)"
        raise ArgumentValueError("interp", problem)
    return choose_interpolation(interp, sizes[:2], sizes[2:], random)


def scale_down(src_size: tuple[Any, Any], size: tuple[Any, Any]) -> tuple[int, int]:
    """Returns ``size`` (width, height), scaled down until it fits into an image of ``src_size``.

    >>> scale_down((640, 480), (720, 120))
    (640, 106)
    """
    width, height = size
    source_width, source_height = src_size
    if source_height < height:
        width, height = float(width * source_height) / height, source_height
    if source_width < width:
        width, height = source_width, float(height * source_width) / width
    return int(width), int(height)


def resize_short(src: NDArray, size: int, interp: int = 2) -> NDArray:
    """Returns the image with its shorter side resized to ``size``, in proportion; ``interp`` as of
    :func:`imresize`, or 9 (by size) or 10 (at random)."""
    height, width, _ = src.shape
    new_height, new_width = with_shorter_edge(height, width, size)
    method = get_interp_method(interp, (height, width, new_height, new_width))
    return imresize(src, new_width, new_height, interp=method)


def fixed_crop(
    src: Image, x0: int, y0: int, w: int, h: int, size: Any = None, interp: int = 2
) -> Image:
    """Returns ``w`` by ``h`` pixels from column x0 and row y0 on, cut at the image's edges, and
    resized to ``size`` (width, height) unless that is None. MXNetError if nothing is left."""
    image = src.host if isinstance(src, NDArray) else src
    part = image[y0 : y0 + h, x0 : x0 + w]
    if not part.size:
        pixels = f"columns {x0} to {x0 + w} and rows {y0} to {y0 + h}"
        raise ShapeError("fixed_crop", f"{pixels} of an image of shape {image.shape} hold no pixel")
    out = like(src, part.copy()) if isinstance(src, NDArray) else part
    if size is None or (w, h) == size:
        return out
    return imresize(out, *size, interp=get_interp_method(interp, (h, w, size[1], size[0])))


def _crop_to(src: Image, box: Rectangle, size: object, interp: int) -> tuple[Image, Rectangle]:
    return fixed_crop(src, *box, size=size, interp=interp), box


def random_crop(src: Image, size: tuple[int, int], interp: int = 2) -> tuple[Image, Rectangle]:
    """Returns a part of ``size`` (width, height) at a random place, and its (x, y, width, height).
    Of a smaller image the largest part of the same proportions is resized."""
    height, width, _ = src.shape
    new_width, new_height = scale_down((width, height), size)
    x0 = random.randint(0, width - new_width)
    y0 = random.randint(0, height - new_height)
    return _crop_to(src, (x0, y0, new_width, new_height), size, interp)


def center_crop(src: Image, size: tuple[int, int], interp: int = 2) -> tuple[Image, Rectangle]:
    """Returns the middle part of ``size``, and its place as :func:`random_crop` does."""
    height, width, _ = src.shape
    new_width, new_height = scale_down((width, height), size)
    x0, y0 = int((width - new_width) / 2), int((height - new_height) / 2)
    return _crop_to(src, (x0, y0, new_width, new_height), size, interp)


def area_option(where: str, area: object, options: dict[str, Any]) -> Any:
    if "min_area" in options:
        warnings.warn("`min_area` is called `area` now", DeprecationWarning, stacklevel=3)
        area = options.pop("min_area")
    if options:
        raise ArgumentValueError(where, f"it takes no {list(options)}")
    return area


def random_size_crop(
    src: Image,
    size: tuple[int, int],
    area: float | tuple[float, float],
    ratio: tuple[float, float],
    interp: int = 2,
    **kwargs: object,
) -> tuple[Image, Rectangle]:
    """Returns a part of random area and shape, resized to ``size``; its (x, y, width, height).

    area
        range of the part's share of the image's area; one number is the least. Its old name is
        ``min_area``.
    ratio
        range of width / height, whose logarithm is uniform.

    After ten draws that do not fit it is :func:`center_crop`.
    """
    height, width, _ = src.shape
    area = area_option("random_size_crop", area, kwargs)
    least, most = (area, 1.0) if isinstance(area, int | float | np.generic) else area
    for _ in range(10):
        target = random.uniform(least, most) * (height * width)
        proportion = np.exp(random.uniform(np.log(ratio[0]), np.log(ratio[1])))
        new_width = round(np.sqrt(target * proportion))
        new_height = round(np.sqrt(target / proportion))
        if new_width <= width and new_height <= height:
            x0 = random.randint(0, width - new_width)
            y0 = random.randint(0, height - new_height)
            return _crop_to(src, (x0, y0, new_width, new_height), size, interp)
    return center_crop(src, size, interp)


def color_normalize(src: Image, mean: object, std: object = None) -> Any:
    """Returns ``src``, changed in place to (src - mean) / std. ``mean`` and ``std`` are numbers,
    NDArrays that broadcast, or None."""
    if mean is not None:
        src = update_in_place(src, np.subtract, mean)
    if std is not None:
        src = update_in_place(src, np.divide, std)
    return src
