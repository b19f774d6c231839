"""``mx.gluon.contrib.data``: corpora of text, samples at intervals."""

from . import sampler as sampler, text as text
from .sampler import IntervalSampler as IntervalSampler
