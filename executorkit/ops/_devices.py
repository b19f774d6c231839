"""The devices that a program is mapped over, as an operator sees them.

A group of executors runs one program on all of its devices, each with its slice of the batch. An
operator that is traced for that may add up over the devices; anywhere else it is alone.
"""

from __future__ import annotations

import jax
from jax import lax

#: Name of the mapped axis, for collectives inside a mapped function.
AXIS = "devices"


def mapped_axis() -> str | None:
    """:data:`AXIS` while a program is traced that is mapped over devices, else None."""
    try:
        lax.axis_size(AXIS)
    except NameError:
        return None
    return AXIS


def mean_over(axis: str | None, x: jax.Array) -> jax.Array:
    """The mean of the devices' ``x``, or ``x`` itself where ``axis`` is None."""
    return x if axis is None else lax.pmean(x, axis)
