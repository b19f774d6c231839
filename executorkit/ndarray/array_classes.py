"""The classes of arrays: NDArray, and ``mx.np.ndarray``, which is imported when it is needed; and
what the latter is built on."""

from importlib import import_module
from typing import Any

from .._support.shape_semantics import numpy_arrays
from ._array_operators import call_operator as call_operator
from ._ndarray import NDArray, element_type as element_type


def new_class() -> type[NDArray]:
    """Returns the class of new arrays in this thread: see :func:`executorkit.util.set_np`."""
    return numpy_class() if numpy_arrays() else NDArray


def as_new_arrays(arrays: list[Any]) -> list[Any]:
    """Returns handles of :func:`new_class` on the same elements; arrays of ``mx.np`` and other
    objects stay."""
    cls = new_class()
    return [x if cls is NDArray or not _is_plain(x) else x.shown_as(cls) for x in arrays]


def _is_plain(x: Any) -> bool:
    return isinstance(x, NDArray) and not x.has_scalars


def numpy_class() -> Any:
    """Returns ``mx.np.ndarray``."""
    return import_module(f"{__name__.partition('.')[0]}.numpy").ndarray
