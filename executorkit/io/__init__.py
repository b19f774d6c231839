"""``mx.io``: batches, what describes them, and the iterators that make them.

Reading records of images and libsvm files is not served; those iterators say so when called.
"""

from ..errors import BatchError, DataArgumentError, NotSupportedError
from ._absent import (
    ImageDetRecordIter,
    ImageRecordInt8Iter,
    ImageRecordIter,
    ImageRecordIter_v1,
    ImageRecordUInt8Iter,
    ImageRecordUInt8Iter_v1,
    LibSVMIter,
)
from ._arrays import NDArrayIter
from ._batch import DataBatch, DataDesc, DataIter
from ._csv import CSVIter
from ._files import MXDataIter
from ._mnist import MNISTIter
from ._wrappers import PrefetchingIter, ResizeIter

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
