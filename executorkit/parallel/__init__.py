"""Several devices: one program mapped over slices of the batch; what the groups are made of."""

from ._parameters import all_reduce
from ._replicate import traffic

__all__ = ["all_reduce", "traffic"]
