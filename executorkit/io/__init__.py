"""``mx.io``: batches, their descriptions, and the iterators that yield them."""

from typing import TYPE_CHECKING

from .._support.lazy_modules import lazy_modules as _lazy_modules
from ..errors import BatchError as BatchError
from ._data_batch import DataBatch as DataBatch, DataDesc as DataDesc, DataIter as DataIter
from ._ndarray_iter import NDArrayIter as NDArrayIter

if TYPE_CHECKING:
    from . import io as io, utils as utils
    from ._csv_iter import CSVIter as CSVIter
    from ._detection_record_iter import ImageDetRecordIter as ImageDetRecordIter
    from ._file_iter import MXDataIter as MXDataIter
    from ._image_record_iter import (
        ImageRecordInt8Iter as ImageRecordInt8Iter,
        ImageRecordIter as ImageRecordIter,
        ImageRecordIter_v1 as ImageRecordIter_v1,
        ImageRecordUInt8Iter as ImageRecordUInt8Iter,
        ImageRecordUInt8Iter_v1 as ImageRecordUInt8Iter_v1,
    )
    from ._libsvm_iter import LibSVMIter as LibSVMIter
    from ._mnist_iter import MNISTIter as MNISTIter
    from ._wrapping_iters import PrefetchingIter as PrefetchingIter, ResizeIter as ResizeIter
else:
    #: Iterators over files take as long to import as all arrays and executors.
    __getattr__, __dir__ = _lazy_modules(__name__)
