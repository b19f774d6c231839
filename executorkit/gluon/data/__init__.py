"""``mx.gluon.data``: datasets, samplers and the loader of batches."""

from . import dataloader as dataloader, dataset as dataset, sampler as sampler, vision as vision
from .dataloader import DataLoader as DataLoader
from .dataset import (
    ArrayDataset as ArrayDataset,
    Dataset as Dataset,
    RecordFileDataset as RecordFileDataset,
    SimpleDataset as SimpleDataset,
)
from .sampler import (
    BatchSampler as BatchSampler,
    FilterSampler as FilterSampler,
    RandomSampler as RandomSampler,
    Sampler as Sampler,
    SequentialSampler as SequentialSampler,
)
