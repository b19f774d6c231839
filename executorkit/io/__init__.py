"""``mx.io``: batches, their descriptions, and the iterators that yield them.

``DataTypeError`` and ``IteratorArgumentError`` are former names of
``errors.DataArgumentError``, ``IteratorNotServedError`` of ``errors.NotSupportedError``.
"""

from typing import TYPE_CHECKING

from ..errors import BatchError
from ..errors import DataArgumentError as DataTypeError
from ..errors import DataArgumentError as IteratorArgumentError
from ..errors import NotSupportedError as IteratorNotServedError
from ..unserved import attribute_getter as _attribute_getter
from . import io, utils
from ._csv_iter import CSVIter
from ._data_batch import DataBatch, DataDesc, DataIter
from ._detection_record_iter import ImageDetRecordIter
from ._file_iter import MXDataIter
from ._image_record_iter import (
    ImageRecordInt8Iter,
    ImageRecordIter,
    ImageRecordIter_v1,
    ImageRecordUInt8Iter,
    ImageRecordUInt8Iter_v1,
)
from ._libsvm_iter import LibSVMIter
from ._mnist_iter import MNISTIter
from ._ndarray_iter import NDArrayIter
from ._wrapping_iters import PrefetchingIter, ResizeIter

__all__ = [
    "BatchError",
    "CSVIter",
    "DataBatch",
    "DataDesc",
    "DataIter",
    "DataTypeError",
    "ImageDetRecordIter",
    "ImageRecordInt8Iter",
    "ImageRecordIter",
    "ImageRecordIter_v1",
    "ImageRecordUInt8Iter",
    "ImageRecordUInt8Iter_v1",
    "IteratorArgumentError",
    "IteratorNotServedError",
    "LibSVMIter",
    "MNISTIter",
    "MXDataIter",
    "NDArrayIter",
    "PrefetchingIter",
    "ResizeIter",
    "io",
    "utils",
]

if not TYPE_CHECKING:
    __getattr__ = _attribute_getter(__name__, lambda: __all__)
