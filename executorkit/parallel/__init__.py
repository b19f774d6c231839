"""Several devices: one program mapped over slices of the batch; what the groups are made of."""

from ._group_parameters import all_reduce
from ._replicas import traffic

__all__ = ["all_reduce", "traffic"]
