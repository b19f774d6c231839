"""``mx.gluon.data.dataset``: MXNet's import path of datasets."""

from ._dataset import (
    ArrayDataset as ArrayDataset,
    Dataset as Dataset,
    RecordFileDataset as RecordFileDataset,
    SimpleDataset as SimpleDataset,
    _DownloadedDataset as _DownloadedDataset,
    _LazyTransformDataset as _LazyTransformDataset,
    _SampledDataset as _SampledDataset,
)
