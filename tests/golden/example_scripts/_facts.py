"""Registry, first values and small helpers shared by the example programs."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from .._scripts import Scripts
from ..executor_scripts._facts import attempt, numbers, plain

SCRIPTS = script = Scripts()


def run(name: str, mx: Any) -> Any:
    """Observations of a script run with ``mx``."""
    mx.random.seed(7)
    np.random.seed(7)
    random.seed(7)
    with mx.name.NameManager():
        return plain(mx, SCRIPTS[name](mx))


def first_values(arrays: Any, scale: float = 0.3) -> dict[str, np.ndarray]:
    """Values for parameters of these shapes, which depend on their names alone: small numbers, and
    numbers near one for scales and variances."""
    values = {}
    for name, array in arrays.items():
        draw = numbers(name, array.shape)
        near_one = name.endswith(("gamma", "_var"))
        values[name] = 1 + 0.1 * np.abs(draw) if near_one else scale * draw
    return values


def fill(executor: Any, inputs: Any = (), scale: float = 0.3) -> Any:
    """Gives the parameters and states of an executor their first values; returns it."""
    for arrays in (executor.arg_dict, executor.aux_dict):
        for name, value in first_values(arrays, scale).items():
            if name not in inputs:
                arrays[name][:] = value
    return executor


def start(mx: Any, module: Any, scale: float = 0.3) -> Any:
    """Initialises a bound module with first values; returns it."""
    inner = getattr(module, "_curr_module", None) or module
    args, aux = (
        {n: mx.nd.array(a) for n, a in first_values(arrays, scale).items()}
        for arrays in (inner._arg_params, inner._aux_params)
    )
    module.init_params(arg_params=args, aux_params=aux)
    return module


def classes(name: str, shape: Any, count: int) -> np.ndarray:
    """Whole numbers below ``count`` that depend on the name alone."""
    return (np.abs(numbers(name, shape) * 10).astype(int) % count).astype(np.float32)


def numpy_of(arrays: Any) -> Any:
    """Arrays as they are now, in NumPy."""
    if hasattr(arrays, "asnumpy"):
        return arrays.asnumpy()
    if isinstance(arrays, dict):
        return {n: numpy_of(a) for n, a in sorted(arrays.items())}
    return [numpy_of(a) for a in arrays]


__all__ = [
    "SCRIPTS", "attempt", "classes", "fill", "first_values", "numbers", "numpy_of", "run", "script",
    "start",
]  # fmt: skip
