"""``mx.gluon.data.sampler``: MXNet's import path of samplers."""

from ._sampler import (
    BatchSampler as BatchSampler,
    FilterSampler as FilterSampler,
    RandomSampler as RandomSampler,
    Sampler as Sampler,
    SequentialSampler as SequentialSampler,
)
