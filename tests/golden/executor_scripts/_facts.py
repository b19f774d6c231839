"""The language of the executor scripts: what they see, as JSON. NumPy only."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._scripts import Scripts

SCRIPTS = script = Scripts()

#: Classes that an ``except`` clause of a user may name.
_CAUGHT = (
    ValueError, TypeError, KeyError, RuntimeError, AssertionError, AttributeError, IndexError,
    NotImplementedError,
)  # fmt: skip


def run(name: str, mx: Any) -> Any:
    """Observations of a script run with ``mx``, with fresh automatic names and a fresh seed."""
    mx.random.seed(7)
    with mx.name.NameManager():
        return plain(mx, SCRIPTS[name](mx))


def plain(mx: Any, seen: Any) -> Any:
    """An observation as JSON. Arrays become [dtype, values]; MXNet computes them in threads, and
    ``waitall`` comes first because auxiliary states are read before they are written otherwise."""
    if isinstance(seen, Mapping):
        return {str(k): plain(mx, v) for k, v in seen.items()}
    if isinstance(seen, (list, tuple)):
        return [plain(mx, v) for v in seen]
    if hasattr(seen, "asnumpy"):
        mx.nd.waitall()
        seen = seen.asnumpy()
    if isinstance(seen, np.ndarray):
        return [seen.dtype.name, seen.tolist()]
    if isinstance(seen, type):
        return seen.__name__
    if isinstance(seen, (np.integer, np.floating, np.bool_)):
        return seen.item()
    if seen is None or isinstance(seen, (bool, int, float, str)):
        return seen
    return str(seen)


def attempt(mx: Any, action: Callable[[], Any]) -> Any:
    """Result of an action, or the classes of its exception."""
    try:
        return plain(mx, action())
    except Exception as error:
        kinds = [kind.__name__ for kind in _CAUGHT if isinstance(error, kind)]
        return {"raises": kinds + ["MXNetError"] * isinstance(error, mx.base.MXNetError)}


def numbers(name: str, shape: Any, dtype: str = "float32") -> np.ndarray:
    """Normal numbers that depend on the name alone."""
    draw = np.random.RandomState(zlib.crc32(name.encode()))
    return draw.standard_normal(tuple(shape)).astype(dtype)


def fill(executor: Any, skip: tuple[str, ...] = ()) -> Any:
    """Gives every argument of an executor numbers that depend on its name; returns it."""
    for name, array in executor.arg_dict.items():
        if name not in skip:
            array[:] = numbers(name, array.shape)
    return executor


def gradients(executor: Any) -> dict[str, Any]:
    """The gradient arrays that there are, by argument."""
    return {n: g for n, g in executor.grad_dict.items() if g is not None}
