"""Operators of images in ``mx.nd._internal``, and ``mx.nd.imdecode``; most of them need OpenCV."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..context import cpu
from ..errors import (
    AttributeValueError,
    DataArgumentError,
    DTypeError,
    FileAccessError,
    InputTypeError,
    ShapeError,
    UnknownArgumentError,
)
from ..ndarray import NDArray, array
from ..ndarray.array_classes import new_class
from ..opencv import decode_image, resize_image
from ..ops.schema.attrs import Floats, make_attr, to_text
from .host_images import like, to_ndarray

#: A whole number, or its text.
Whole = int | str

#: Attributes of all functions here, with MXNet's types.
_ATTRS = {
    name: make_attr(name, annotation, None)
    for annotation, names in {
        int: ("flag", "w", "h", "interp", "top", "bot", "left", "right", "type"),
        bool: ("to_rgb",),
        float: ("value",),
        Floats: ("values",),
    }.items()
    for name in names
}


def _read(operator: str, name: str, value: object) -> Any:
    if value is None:
        raise AttributeValueError(f"operator {operator}", f"{name} is not given")
    return _ATTRS[name].read(operator, to_text(value))


def _host(operator: str, name: str, source: object) -> np.ndarray:
    if not isinstance(source, NDArray):
        problem = f"{name!r} is a {type(source).__name__}, expected an NDArray"
        raise InputTypeError(f"operator {operator}", problem, hint="mx.nd.array(...)")
    return source.host


def _check_image(operator: str, image: np.ndarray) -> None:
    if image.ndim != 3:
        problem = f"the image is {image.shape}, expected (height, width, channels)"
        raise ShapeError(f"operator {operator}", problem)


def _refuse_unknown(operator: str, surplus: dict[str, object]) -> None:
    if surplus:
        raise UnknownArgumentError(f"operator {operator}", f"it takes no {list(surplus)}")


def _stored(result: np.ndarray, source: NDArray, out: NDArray | None, operator: str) -> NDArray:
    if out is None:
        return like(source, result)
    if out.shape != result.shape or np.dtype(out.dtype) != result.dtype:
        error = ShapeError if out.shape != result.shape else DTypeError
        problem = f"'out' is {np.dtype(out.dtype).name} of shape {out.shape}"
        expected = f"expected {result.dtype} of shape {result.shape}"
        raise error(f"operator {operator}", f"{problem}, {expected}")
    out[:] = result
    return out


def decode(
    operator: str,
    data: object,
    flag: Whole,
    to_rgb: bool | Whole,
    out: NDArray | None,
    surplus: dict[str, object],
) -> NDArray:
    _refuse_unknown(operator, surplus)
    options = _read(operator, "flag", flag), _read(operator, "to_rgb", to_rgb)
    image = to_ndarray(decode_image(data, *options), cpu(), new_class())
    if out is None:
        return image
    out.show(image)  # whatever its shape and dtype were, as in MXNet
    return out


def imdecode(
    buf: object,
    flag: Whole = 1,
    to_rgb: bool | Whole = True,
    out: NDArray | None = None,
    name: str | None = None,
    **kwargs: object,
) -> NDArray:
    """Returns the image of an encoded file: bytes, a bytearray, a NumPy array or NDArray of uint8.

    flag
        1 for three channels, 0 for one.
    to_rgb
        red first, instead of OpenCV's blue first.
    out
        becomes the image, whatever its shape and dtype were.

    The image is uint8 of shape (height, width, channels) on the CPU. ValueError for a ``buf`` of
    another type, MXNetError if it is not an image.
    """
    if isinstance(buf, NDArray):
        return cvimdecode(buf, flag, to_rgb, out, name, **kwargs)
    if not isinstance(buf, bytes | bytearray | np.ndarray):
        problem = f"'buf' is a {type(buf).__name__}, expected bytes, a bytearray or an array"
        raise DataArgumentError("imdecode", problem)
    return decode("_cvimdecode", buf, flag, to_rgb, out, kwargs)


def cvimdecode(
    buf: NDArray,
    flag: Whole = 1,
    to_rgb: bool | Whole = True,
    out: NDArray | None = None,
    name: str | None = None,
    **kwargs: object,
) -> NDArray:
    data = _host("_cvimdecode", "buf", buf)
    if data.dtype != np.uint8:
        raise DTypeError("operator _cvimdecode", f"'buf' is {data.dtype}, expected uint8")
    return decode("_cvimdecode", data, flag, to_rgb, out, kwargs)


def imread(
    filename: object,
    flag: Whole = 1,
    to_rgb: bool | Whole = True,
    out: NDArray | None = None,
    name: str | None = None,
    **kwargs: object,
) -> NDArray:
    """Returns the image in the file ``filename``; ``flag``, ``to_rgb``, ``out`` and the result are
    as of :func:`imdecode`, ``name`` has no effect. MXNetError (an OSError) if the file cannot be
    read, MXNetError if it is not an image."""
    try:
        with open(str(filename), "rb") as file:
            data = file.read()
    except OSError as error:
        problem = f"{str(filename)!r} cannot be read: {error.strerror}"
        raise FileAccessError("operator _cvimread", problem) from None
    return decode("_cvimread", data, flag, to_rgb, out, kwargs)


def imresize(src: Any, w: Whole, h: Whole, *args: Any, **kwargs: Any) -> NDArray:
    """Returns an image resized to (h, w, channels), of the same dtype: uint8, int8, float32,
    float64, or int32 (``interp`` 0 and 5 only); MXNetError for others. ``interp`` is 0 nearest, 1
    bilinear (default), 2 bicubic, 3 areas, 4 Lanczos, 5 bilinear in fixed point."""
    return cvimresize(src, w, h, *args, **kwargs)


def cvimresize(
    src: NDArray,
    w: Whole | None = None,
    h: Whole | None = None,
    interp: Whole = 1,
    out: NDArray | None = None,
    name: str | None = None,
    **kwargs: object,
) -> NDArray:
    operator = "_cvimresize"
    _refuse_unknown(operator, kwargs)
    width, height = _read(operator, "w", w), _read(operator, "h", h)
    method = _read(operator, "interp", interp)
    image = _host(operator, "src", src)
    _check_image(operator, image)
    return _stored(resize_image(image, width, height, method), src, out, operator)


#: NumPy's names of OpenCV's border types 1 to 4.
_BORDERS = {1: "edge", 2: "symmetric", 3: "wrap", 4: "reflect"}
#: Bit of a border type that concerns parts of larger images, and has no effect here.
_ISOLATED = 16


def _border_colour(values: tuple[float, ...], value: float, image: np.ndarray) -> np.ndarray:
    channels = image.shape[2]
    numbers = [*(values or (value,) * 3)][:4] + [0.0] * 4
    if channels > 4 and len(set(numbers[:4])) > 1:
        problem = f"the border is {numbers[:4]} and the image has {channels} channels"
        because = "more than four channels are filled with one number"
        hint = f"values={(numbers[0],) * 4}"
        raise AttributeValueError("operator _cvcopyMakeBorder", problem, because=because, hint=hint)
    colour = np.resize(numbers[:4], channels)
    if image.dtype.kind in "iu":
        limits = np.iinfo(image.dtype)
        colour = np.clip(np.rint(colour), limits.min, limits.max)
    return colour.astype(image.dtype)


def copy_make_border(
    src: NDArray,
    top: Whole | None = None,
    bot: Whole | None = None,
    left: Whole | None = None,
    right: Whole | None = None,
    type: Whole = 0,
    value: float | str = 0.0,
    values: object = (),
    out: NDArray | None = None,
    name: str | None = None,
    **kwargs: object,
) -> NDArray:
    """Returns an image (height, width, channels) with a border.

    src
        the image.
    top, bot, left, right
        widths of the border in pixels.
    type
        OpenCV's: 0 a constant, 1 the outermost pixel, 2 reflected with the outermost pixel
        (fedcba|abcdef), 3 from the other side, 4 reflected without the outermost pixel
        (gfedcb|abcdef). MXNet's documentation numbers 1 to 4 otherwise, its code does not.
    value
        the constant of the first three channels.
    values
        constants of up to four channels, instead of ``value``; 0 for others (undefined in MXNet).

    out
        an array that is filled with the result.

    All dtypes but float16; the result has the image's. MXNetError for negative widths.
    """
    operator = "_cvcopyMakeBorder"
    _refuse_unknown(operator, kwargs)
    margins = {"top": top, "bot": bot, "left": left, "right": right}
    above, below, before, after = (_read(operator, n, margin) for n, margin in margins.items())
    kind = _read(operator, "type", type) & ~_ISOLATED
    image = _host(operator, "src", src)
    _check_image(operator, image)
    if min(above, below, before, after) < 0:
        raise AttributeValueError(f"operator {operator}", f"{margins}: a negative width")
    if kind != 0 and kind not in _BORDERS:
        raise AttributeValueError(f"operator {operator}", f"type={type}, expected 0 to 4")
    if image.dtype == np.float16:
        raise DTypeError(f"operator {operator}", "images of float16 are not served")
    rows, columns, channels = image.shape
    if kind == 0:
        constants = _read(operator, "values", values), _read(operator, "value", value)
        colour = _border_colour(*constants, image)
        shape = (rows + above + below, columns + before + after, channels)
        result = np.broadcast_to(colour, shape).copy()
        result[above : above + rows, before : before + columns] = image
    else:
        pad: Callable[..., np.ndarray] = np.pad
        result = pad(image, ((above, below), (before, after), (0, 0)), _BORDERS[kind])
    return _stored(result, src, out, operator)


def decode_channels_first(
    str_img: bytes,
    clip_rect: tuple[int, int, int, int] = (0, 0, 0, 0),
    out: NDArray | None = None,
    index: int = 0,
    channels: int = 3,
    mean: NDArray | None = None,
) -> NDArray:
    """Returns the image of an encoded file with its channels first, as old scripts decode it.

    str_img
        the file's bytes.
    clip_rect
        (x0, y0, x1, y1): the part to take; all of the image if y0 = y1.
    out
        (channels, height, width), or (N, channels, height, width), whose part ``index`` is written;
        a new float32 array without it.
    channels
        3, blue first as in OpenCV, or 1 for luma.
    mean
        is subtracted.

    MXNet 1.9.1's own fails for every image under Python 3; ``mx.image.imdecode`` replaced it.
    """
    if channels not in (1, 3):
        raise AttributeValueError("nd.imdecode", f"channels={channels}, expected 1 or 3")
    image = decode_image(str_img, 0 if channels == 1 else 1, to_rgb=False)
    left, top, right, bottom = clip_rect
    if top != bottom:
        if not (0 <= left < right <= image.shape[1] and 0 <= top < bottom <= image.shape[0]):
            raise ShapeError("nd.imdecode", f"{clip_rect=} is not inside {image.shape[:2]}")
        image = image[top:bottom, left:right]
    result = np.moveaxis(image, 2, 0).astype(np.float32 if out is None else out.dtype)
    if mean is not None:
        result = result - mean.asnumpy().astype(result.dtype)
    if out is None:
        return array(result, cpu(), result.dtype)
    if out.ndim == 4:
        out[index] = result
    else:
        out[:] = result
    return out


def attach_operators() -> None:
    for module, name, function in (
        (nd, "imdecode", decode_channels_first),
        (nd._internal, "_cvimdecode", cvimdecode),
        (nd._internal, "_cvimread", imread),
        (nd._internal, "_cvimresize", cvimresize),
        (nd._internal, "_cvcopyMakeBorder", copy_make_border),
    ):
        setattr(module, name, function)
    nd.__all__ += ["imdecode"]
