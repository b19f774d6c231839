"""OpenCV, which decodes, resizes and encodes images: an optional dependency, and the one codec.

Decoding and resizing follow the OpenCV 3.4.2 within MXNet 1.9.1. Images are NumPy arrays of shape
(height, width, channels). An image of more pixels than ``EXECUTORKIT_MAX_PIXELS`` in the
environment (2**28 without it) is refused before it is decoded: a file of 1 KiB can claim any size.
"""

import os
import re
import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from .errors import (
    ArgumentValueError,
    AttributeValueError,
    DTypeError,
    FileFormatError,
    MissingDependencyError,
    ShapeError,
)

#: Bits of a decoding flag for reduced sizes, which MXNet does not hear.
_UNHEARD = 16 | 32 | 64
#: End-of-image marker of JPEG.
_JPEG_END = b"\xff\xd9"
#: Maximum number of an image's pixels unless the environment says another one.
_MAX_PIXELS = 1 << 28


def require_opencv() -> Any:
    """Returns the module ``cv2``, or raises :class:`MissingDependencyError`, an ImportError."""
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


def has_opencv() -> bool:
    """Returns True if OpenCV is installed."""
    with suppress(MissingDependencyError):
        return require_opencv() is not None
    return False


def flip_image(image: np.ndarray, axis: int) -> np.ndarray:
    """Returns an image (height, width, channels) flipped along its first or second axis."""
    if axis == 1 and image.size and image.dtype in (np.uint8, np.float32) and has_opencv():
        # NumPy takes fifty times as long.
        return require_opencv().flip(np.ascontiguousarray(image), 1).reshape(image.shape)
    return np.flip(image, axis).copy()


def decode_image(data: object, flag: int = 1, to_rgb: bool = True) -> np.ndarray:
    """Returns the image of an encoded file: uint8, (height, width, 3) or (height, width, 1).

    data
        bytes, or anything with such a buffer: JPEG, PNG, BMP, TIFF or another format of OpenCV.
    flag
        1 gives three channels, 0 one (luma). OpenCV's other flags have to give three channels of 8
        bits; flags for a reduced size have no effect.
    to_rgb
        the order of three channels: red first, or OpenCV's blue first.

    Transparency is dropped; 16 bits become 8. Otherwise as :func:`decode_stored`.
    """
    if flag < 0:
        raise AttributeValueError("decoding an image", f"flag={flag}, expected 0 or 1")
    image = decode_stored(data, flag & ~_UNHEARD, "decoding an image")
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
        cv2 = require_opencv()
        cv2.cvtColor(image, cv2.COLOR_BGR2RGB, image)
    return image


def decode_stored(
    data: Any, flag: int, where: str, error: type[FileFormatError] = FileFormatError
) -> np.ndarray:
    """Returns the image of an encoded file as OpenCV's ``imdecode`` for a flag: blue first.

    ``where`` and ``error`` are begin and class of the error for data that are not an image, or for
    too large an image. An orientation in EXIF data is applied (not for ``flag=-1``). In a truncated
    JPEG the missing part is gray (MXNet leaves it uninitialised).
    """
    cv2 = require_opencv()
    content = data if isinstance(data, bytes) else bytes(memoryview(data))
    if not content:
        raise error(where, "the buffer is empty")
    image = None
    with suppress(cv2.error):
        image = imdecode(content, flag, where, error)
    if image is None and content.startswith(b"\xff\xd8"):
        with suppress(cv2.error):
            image = imdecode(content + _JPEG_END, flag, where, error)
    if image is None:
        problem = f"{len(content)} bytes are not an image that OpenCV can read"
        raise error(where, problem, because=f"they begin with {content[:8]!r}")
    return image


def imdecode(
    content: bytes, flag: int, where: str, error: type[FileFormatError] = FileFormatError
) -> np.ndarray | None:
    """Returns ``cv2.imdecode`` of an image with at most :func:`max_pixels`; None if it is not an
    image, or a PNG with a chunk longer than the file, whose memory OpenCV would reserve."""
    cv2, limit = require_opencv(), max_pixels()
    size = None
    with suppress(struct.error, IndexError):  # cut off within the header, as OpenCV notices
        size = stored_size(content)
        if content.startswith(_PNG) and not _holds_its_chunks(content):
            return None
    if size is not None and size[0] * size[1] > limit:
        problem = f"an image of {size[0]} x {size[1]} pixels, expected at most {limit}"
        hint = "a larger EXECUTORKIT_MAX_PIXELS in the environment, if the file is trusted"
        raise error(where, problem, hint=hint)
    return cv2.imdecode(np.frombuffer(content, np.uint8), flag)


def max_pixels() -> int:
    """Returns the largest number of pixels that an image may have to be decoded."""
    text = os.environ.get("EXECUTORKIT_MAX_PIXELS", str(_MAX_PIXELS))
    if not text.isdecimal():
        raise ArgumentValueError("EXECUTORKIT_MAX_PIXELS", f"{text!r}, expected a number")
    return int(text)


_PNG = b"\x89PNG\r\n\x1a\n"
#: Places of (width, height) in formats whose header has a fixed form: first bytes, the format of
#: ``struct``, the offset.
_PLACES = (
    (re.compile(_PNG), ">II", 16),
    (re.compile(b"GIF8"), "<HH", 6),
    (re.compile(rb"BM.{12}\x0c", re.DOTALL), "<HH", 18),
    (re.compile(b"BM"), "<ii", 18),
    (re.compile(rb"\xff\x4f\xff\x51"), ">II", 8),
    (re.compile(rb"\x59\xa6\x6a\x95"), ">II", 4),
)


def stored_size(data: bytes) -> tuple[int, int] | None:
    """Returns the width and height in the header of an image; None for a format without such a rule
    (OpenCV limits those itself). struct.error or IndexError for a truncated header."""
    head = data[:256]
    for magic, form, offset in _PLACES:
        if magic.match(head):
            width, height = struct.unpack_from(form, head, offset)
            return abs(width), abs(height)
    if head[:2] == b"\xff\xd8":
        return _jpeg_size(data)
    if head[8:15] == b"WEBPVP8":
        return _webp_size(head)
    if head[:4] in (b"II*\0", b"MM\0*"):
        return _tiff_size(data, "<" if head[:1] == b"I" else ">")
    if (box := head.find(b"ihdr")) >= 0:
        height, width = struct.unpack_from(">II", head, box + 4)
        return width, height
    text = re.match(
        rb"P[1-7f](?:\s+|#[^\n]*\n|WIDTH|HEIGHT)*(\d+)(?:\s+|#[^\n]*\n|HEIGHT)*(\d+)", head
    )
    return (int(text[1]), int(text[2])) if text else None


def _webp_size(head: bytes) -> tuple[int, int]:
    if head[15:16] == b"X":
        wide, high = (int.from_bytes(head[i : i + 3], "little") for i in (24, 27))
        return wide + 1, high + 1
    if head[15:16] == b"L":
        (bits,) = struct.unpack_from("<I", head, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = struct.unpack_from("<HH", head, 26)
    return width & 0x3FFF, height & 0x3FFF


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    position = 2
    while (position := data.find(b"\xff", position)) >= 0:
        marker = data[position + 1]
        if marker in (0x00, 0xFF):  # between segments
            position += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, position + 5)
            return width, height
        elif marker == 0xD9:
            return None
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:
            position += 2
        else:
            position += 2 + struct.unpack_from(">H", data, position + 2)[0]
    return None


def _tiff_size(data: bytes, order: str) -> tuple[int, int] | None:
    (offset,) = struct.unpack_from(f"{order}I", data, 4)
    (count,) = struct.unpack_from(f"{order}H", data, offset)
    sizes = {}
    for place in range(offset + 2, offset + 2 + 12 * count, 12):
        tag, kind = struct.unpack_from(f"{order}HH", data, place)
        if tag in (256, 257):
            (sizes[tag],) = struct.unpack_from(order + ("H" if kind == 3 else "I"), data, place + 8)
    return (sizes[256], sizes[257]) if len(sizes) == 2 else None


def _holds_its_chunks(data: bytes) -> bool:
    position = 8
    while position < len(data):
        length, kind = struct.unpack_from(">I4s", data, position)
        position += 12 + length
        if kind == b"IEND":
            return True
    return position == len(data)


def resize_image(image: np.ndarray, width: int, height: int, interp: int = 1) -> np.ndarray:
    """Returns an image of any number of channels, resized to (height, width, channels); ``interp``
    is 0 nearest, 1 bilinear, 2 bicubic, 3 averages over areas, 4 Lanczos over eight pixels, 5
    bilinear in fixed point.

    uint8, float32 and float64; int8 as the uint8 numbers of the same bits, and int32 with 0 and 5
    only, both as in MXNet. Elements of uint8 are equal to MXNet's; elements of float32 for 0, 1, 3
    and 5, and for 2 and 4 within 3e-7 of the largest element, where today's OpenCV multiplies and
    adds in one instruction.
    """
    if image.ndim != 3 or not image.size:
        problem = f"the image is {image.shape}, expected (height, width, channels)"
        raise ShapeError("resizing", problem)
    if width < 1 or height < 1:
        problem = f"width={width}, height={height}, expected positive numbers"
        raise AttributeValueError("resizing", problem)
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
    resized = resize_pixels(source, width, height, interp)
    return resized.reshape(height, width, image.shape[2]).view(image.dtype)


def resize_pixels(image: np.ndarray, width: int, height: int, interp: int) -> np.ndarray:
    """Calls ``cv2.resize`` for an image (height, width) or (height, width, channels)."""
    cv2 = require_opencv()
    # Intel's library, which recent builds of OpenCV call, rounds in other ways. The switch belongs
    # to the thread.
    uses_ipp = cv2.ipp.useIPP()
    if uses_ipp:
        cv2.ipp.setUseIPP(False)
    try:
        return cv2.resize(image, (width, height), interpolation=interp)
    finally:
        if uses_ipp:
            cv2.ipp.setUseIPP(True)


#: Numbers of interpolations that iterators and augmenters take.
INTERPOLATIONS = (0, 1, 2, 3, 4, 9, 10)


def choose_interpolation(method: int, old: Sequence[int], new: Sequence[int], random: Any) -> int:
    """Returns OpenCV's number of an interpolation. 9 is bicubic (2) if both sides grow, areas (3)
    if both shrink, else bilinear (1); 10 is one of 0 to 4, drawn by ``random``."""
    if method == 9:
        if new[0] > old[0] and new[1] > old[1]:
            return 2
        return 3 if new[0] < old[0] and new[1] < old[1] else 1
    return random.randrange(5) if method == 10 else method


def with_shorter_edge(height: int, width: int, length: int) -> tuple[int, int]:
    """Returns (height, width) in proportion, with the shorter edge of a length."""
    tall = height > width
    return (length * height // width, length) if tall else (length, length * width // height)
