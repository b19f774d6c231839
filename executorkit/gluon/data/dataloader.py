"""``mx.gluon.data.dataloader``: MXNet's import path of the loader."""

from ._batchify import (
    default_batchify_fn as default_batchify_fn,
    default_mp_batchify_fn as default_mp_batchify_fn,
)
from ._dataloader import DataLoader as DataLoader
