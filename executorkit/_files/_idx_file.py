"""Arrays in the idx format of the MNIST files."""

import gzip
import math
import os
import struct
import zlib

import numpy as np

from ..errors import FileAccessError, FileFormatError

#: Maximum ratio of unpacked to packed bytes of gzip's format.
_MAX_RATIO = 1032


def read_idx(path: str | os.PathLike[str], ndim: int) -> np.ndarray:
    """Returns the array of unsigned bytes in an idx file of a number of axes, perhaps gzipped.
    Raises FileAccessError if it cannot be read, FileFormatError if it is another file, or truncated
    or longer than its header says."""
    magic, header = 0x0800 + ndim, 4 * (1 + ndim)
    try:
        with open(os.fspath(path), "rb") as file:
            zipped = file.peek(2)[:2] == b"\x1f\x8b"
            source = gzip.GzipFile(fileobj=file) if zipped else file
            head = source.read(header)
            if len(head) < header or int.from_bytes(head[:4], "big") != magic:
                problem = f"it does not start with {magic}, the mark of such a file"
                raise FileFormatError(str(path), problem)
            shape = struct.unpack(f">{ndim}I", head[4:])
            # One byte more than there should be, and no more than there can be.
            possible = os.fstat(file.fileno()).st_size * (_MAX_RATIO if zipped else 1)
            content = source.read(min(math.prod(shape) + 1, possible))
    except gzip.BadGzipFile as error:
        raise FileFormatError(str(path), str(error)) from None
    except OSError as error:
        raise FileAccessError(str(path), error.strerror or str(error)) from None
    except (EOFError, zlib.error):
        raise FileFormatError(str(path), "the gzipped file is truncated") from None
    if len(content) != math.prod(shape):
        more = "more than " if len(content) > math.prod(shape) else ""
        size = min(len(content), math.prod(shape))
        problem = f"it holds {more}{size} values, expected {math.prod(shape)}"
        raise FileFormatError(str(path), problem, because=f"its header says {shape}")
    return np.frombuffer(content, np.uint8).reshape(shape)
