"""MXNet's mutable array over ``jax.Array``, and the operators called eagerly on it."""

from __future__ import annotations

from ._creation import array, zeros
from ._ndarray import NDArray
from ._pending import waitall

__all__ = ["NDArray", "array", "waitall", "zeros"]
