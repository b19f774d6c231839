"""Iterators of MXNet that are not supported: the error of a call names an alternative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..errors import NotSupportedError, explain


def _unsupported(name: str, reads: str, instead: str) -> Callable[..., NoReturn]:
    def refuse(**kwargs: Any) -> NoReturn:
        raise NotSupportedError(explain(name, f"reading {reads} is not served", hint=instead))

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Not supported: reads {reads}. Calling it raises NotImplementedError."
    return refuse


_RECORDS = "records of images"
_DECODED = "decode the images with another library and give the arrays to NDArrayIter"

ImageRecordIter = _unsupported("ImageRecordIter", _RECORDS, _DECODED)
ImageRecordIter_v1 = _unsupported("ImageRecordIter_v1", _RECORDS, _DECODED)
ImageRecordUInt8Iter = _unsupported("ImageRecordUInt8Iter", _RECORDS, _DECODED)
ImageRecordUInt8Iter_v1 = _unsupported("ImageRecordUInt8Iter_v1", _RECORDS, _DECODED)
ImageRecordInt8Iter = _unsupported("ImageRecordInt8Iter", _RECORDS, _DECODED)
ImageDetRecordIter = _unsupported("ImageDetRecordIter", _RECORDS, _DECODED)
LibSVMIter = _unsupported(
    "LibSVMIter", "libsvm files", "make a dense array of the file and give it to NDArrayIter"
)
