"""``mx.io``: batches, what describes them, and the iterators that make them.

Reading records of images and libsvm files is not served; those iterators say so when called.
"""

from ._absent import (
    ImageDetRecordIter,
    ImageRecordInt8Iter,
    ImageRecordIter,
    ImageRecordIter_v1,
    ImageRecordUInt8Iter,
    ImageRecordUInt8Iter_v1,
    IteratorNotServedError,
    LibSVMIter,
)
from ._arrays import NDArrayIter
from ._batch import BatchError, DataBatch, DataDesc, DataIter, DataTypeError
from ._csv import CSVIter
from ._files import IteratorArgumentError, MXDataIter
from ._mnist import MNISTIter
from ._wrappers import PrefetchingIter, ResizeIter

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
]
