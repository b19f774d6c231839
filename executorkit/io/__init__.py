"""``mx.io``: batches, their descriptions, and the iterators that yield them.

Reading records of images and libsvm files is not supported; calling those iterators raises an
error. ``DataTypeError`` and ``IteratorArgumentError`` are former names of
``errors.DataArgumentError``, ``IteratorNotServedError`` of ``errors.NotSupportedError``.
"""

from ..errors import BatchError
from ..errors import DataArgumentError as DataTypeError
from ..errors import DataArgumentError as IteratorArgumentError
from ..errors import NotSupportedError as IteratorNotServedError
from . import io, utils
from ._csv_iter import CSVIter
from ._data_batch import DataBatch, DataDesc, DataIter
from ._file_iter import MXDataIter
from ._mnist_iter import MNISTIter
from ._ndarray_iter import NDArrayIter
from ._unsupported_iters import (
    ImageDetRecordIter,
    ImageRecordInt8Iter,
    ImageRecordIter,
    ImageRecordIter_v1,
    ImageRecordUInt8Iter,
    ImageRecordUInt8Iter_v1,
    LibSVMIter,
)
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
