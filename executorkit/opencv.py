"""OpenCV, which decodes, resizes and encodes images: an optional dependency.

Decoding and resizing follow the OpenCV 3.4.2 within MXNet 1.9.1. Images are NumPy arrays of shape
(height, width, channels).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import (
    AttributeValueError,
    DTypeError,
    FileFormatError,
    MissingDependencyError,
    ShapeError,
)

#: Bits of a decoding flag for reduced sizes, which MXNet does not hear.
_UNHEARD = 16 | 32 | 64
#: End-of-image marker of JPEG.
_JPEG_END = np.frombuffer(b"\xff\xd9", np.uint8)


def require_opencv() -> Any:
    """The module ``cv2``.

    Raises :class:`MissingDependencyError`, an ImportError, if it is not installed.
    """
    try:
        import cv2
    except ImportError:
        raise MissingDependencyError(
            "OpenCV (the module cv2)",
            "it is not installed",
            because="images are decoded, resized and encoded by it",
            hint="pip install 'executorkit[image]'",
        ) from None
    return cv2


def decode_image(data: Any, flag: int = 1, to_rgb: bool = True) -> np.ndarray:
    """The image of an encoded file: uint8 of shape (height, width, 3), or (height, width, 1).

    data
        bytes, or anything with such a buffer: JPEG, PNG, BMP, TIFF and what else OpenCV reads.
    flag
        1 gives three channels, 0 one (luma). OpenCV's other flags have to give three channels
        of 8 bits; those for a reduced size have no effect.
    to_rgb
        the order of three channels: red first, or OpenCV's blue first.

    An orientation in EXIF data is applied; transparency is dropped; 16 bits become 8. In a
    truncated JPEG the missing part is gray (MXNet leaves it uninitialised).
    :class:`FileFormatError` for anything that is no image.
    """
    cv2 = require_opencv()
    buffer = np.frombuffer(data, np.uint8)
    if flag < 0:
        raise AttributeValueError("decoding an image", f"flag={flag}, expected 0 or 1")
    if not buffer.size:
        raise FileFormatError("decoding an image", "the buffer is empty")
    image = _decoded(cv2, buffer, flag & ~_UNHEARD)
    if image is None and bytes(buffer[:2]) == b"\xff\xd8":
        image = _decoded(cv2, np.concatenate([buffer, _JPEG_END]), flag & ~_UNHEARD)
    if image is None:
        raise FileFormatError(
            "decoding an image",
            f"{buffer.size} bytes are no image that OpenCV can read",
            because=f"they begin with {bytes(buffer[:8])!r}",
        )
    if image.ndim == 2:
        image = image[:, :, None]
    if image.dtype != np.uint8 or image.shape[2] != (3 if flag else 1):
        raise AttributeValueError(
            "decoding an image",
            f"flag={flag} gives {image.dtype} of shape {image.shape}, expected three channels "
            "of uint8",
            hint="flag=1, or flag=0 for one channel",
        )
    if to_rgb and flag:
        cv2.cvtColor(image, cv2.COLOR_BGR2RGB, image)
    return image


def _decoded(cv2: Any, buffer: np.ndarray, flag: int) -> np.ndarray | None:
    try:
        return cv2.imdecode(buffer, flag)
    except cv2.error:
        return None


def resize_image(image: np.ndarray, width: int, height: int, interp: int = 1) -> np.ndarray:
    """An image of any number of channels, resized to (height, width, channels).

    interp
        0 nearest, 1 bilinear, 2 bicubic, 3 averages over areas, 4 Lanczos over eight pixels,
        5 bilinear in fixed point.

    uint8, float32 and float64; int8 as the uint8 numbers of the same bits, and int32 with 0 and 5
    only, both as MXNet has it. Elements of uint8 are equal to MXNet's; those of float32 are equal
    for 0, 1, 3 and 5, and for 2 and 4 within 3e-7 of the largest element, where today's OpenCV
    multiplies and adds in one instruction.
    """
    cv2 = require_opencv()
    if image.ndim != 3 or not image.size:
        raise ShapeError(
            "resizing", f"the image is {image.shape}, expected (height, width, channels)"
        )
    if width < 1 or height < 1:
        raise AttributeValueError(
            "resizing", f"width={width}, height={height}, expected positive numbers"
        )
    if image.dtype.name not in ("uint8", "float32", "float64", "int8", "int32"):
        raise DTypeError("resizing", f"images of {image.dtype.name} are not served", hint="uint8")
    if image.shape[:2] == (height, width):
        return image.copy()
    if not 0 <= interp <= 5:
        raise AttributeValueError("resizing", f"interp={interp}, expected 0 to 5")
    if image.dtype == np.int32 and interp not in (0, 5):
        raise DTypeError("resizing", f"images of {image.dtype.name} are not served with {interp=}")
    source = np.ascontiguousarray(image)
    if image.dtype == np.int8:
        source = source.view(np.uint8)
    # Intel's library, which recent builds of OpenCV call, rounds in other ways. The switch belongs
    # to the thread.
    uses_ipp = cv2.ipp.useIPP()
    if uses_ipp:
        cv2.ipp.setUseIPP(False)
    try:
        resized = cv2.resize(source, (width, height), interpolation=interp)
    finally:
        if uses_ipp:
            cv2.ipp.setUseIPP(True)
    return resized.reshape(height, width, image.shape[2]).view(image.dtype)
