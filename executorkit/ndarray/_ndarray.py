"""The NDArray class."""

from __future__ import annotations

from ._handle import Handle


class NDArray(Handle):
    """A mutable array of one element type in the memory of one device."""

    __slots__ = ()
