"""``mx.nd._internal``: the operators whose names begin with an underscore. Made when looked up."""

from __future__ import annotations

from ._array_operators import array_module
from ._ndarray import NDArray
from .opencv_arrays import (
    copy_make_border as _cvcopyMakeBorder,  # noqa: N812 - MXNet's name
    cvimdecode as _cvimdecode,
    cvimread as _cvimread,
    cvimresize as _cvimresize,
)

__all__ = ["_cvcopyMakeBorder", "_cvimdecode", "_cvimread", "_cvimresize"]

__getattr__, __dir__ = array_module(globals(), "_internal", NDArray)
