"""``mx.model``: checkpoints, a symbol in JSON beside its parameters in a ``.params`` file."""

from ._callbacks import BatchEndParam
from ._checkpoint import load_checkpoint, load_params, save_checkpoint

__all__ = ["BatchEndParam", "load_checkpoint", "load_params", "save_checkpoint"]
