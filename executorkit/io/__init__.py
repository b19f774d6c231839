"""``mx.io``: batches, what describes them, and the iterators that make them.

Reading records of images and libsvm files is not served; those iterators say so when called.
"""

from ..errors import BatchError, DataArgumentError, NotSupportedError
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
    "DataArgumentError",
    "ImageDetRecordIter",
    "ImageRecordInt8Iter",
    "ImageRecordIter",
    "ImageRecordIter_v1",
    "ImageRecordUInt8Iter",
    "ImageRecordUInt8Iter_v1",
    "DataArgumentError",
    "NotSupportedError",
    "LibSVMIter",
    "MNISTIter",
    "MXDataIter",
    "NDArrayIter",
    "PrefetchingIter",
    "ResizeIter",
]
