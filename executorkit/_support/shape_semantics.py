"""The two meanings that MXNet gives to lengths in shapes, and the switch between them.

By default a length of 0 is unknown and ``()`` is the shape of an array of unknown rank. Under
NumPy's semantics -1 is an unknown length, ``None`` an unknown rank, ``()`` a scalar and 0 the
length of an empty axis. A second switch chooses the arrays of ``mx.np`` for what Gluon, files and
data loaders make. Every thread has its own switches.
"""

import threading
from collections.abc import Sequence


class _Semantics(threading.local):
    def __init__(self) -> None:
        self.numpy = False
        self.arrays = False


_semantics = _Semantics()


def numpy_shapes() -> bool:
    """Returns True while shapes have NumPy's meaning in this thread."""
    return _semantics.numpy


def set_numpy_shapes(active: bool) -> bool:
    """Chooses the meaning of shapes in this thread; returns the previous choice."""
    previous, _semantics.numpy = _semantics.numpy, active
    return previous


def numpy_arrays() -> bool:
    """Returns True while new arrays are ``mx.np``'s in this thread."""
    return _semantics.arrays


def set_numpy_arrays(active: bool) -> bool:
    """Chooses the class of new arrays in this thread; returns the previous choice."""
    previous, _semantics.arrays = _semantics.arrays, active
    return previous


def is_known(shape: Sequence[int]) -> bool:
    """Returns True for a shape without unknown parts, by the meaning of shapes in this thread."""
    return min(shape, default=0) >= 0 if _semantics.numpy else min(shape, default=0) > 0
