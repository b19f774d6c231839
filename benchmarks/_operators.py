"""Single operators at real sizes, for either package: the cases of ``_detection``, ``_regions``
and others.

As a program, with the name of one of these, it is MXNet's side of a comparison: it prints the
magnitude of every first result as JSON, then for every name that it reads the seconds of another
call.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """One run: a symbol's forward, with ``grad_names`` forward and backward to these inputs.

    The symbol may also be a function of NDArrays, which is called with the inputs. Inputs are
    float32, except those of int32. ``limit`` is the largest difference of the two results'
    magnitudes, relative to MXNet's.
    """

    name: str
    symbol: Any
    inputs: dict[str, np.ndarray] = field(repr=False)
    grad_names: tuple[str, ...] = ()
    limit: float = 1e-3


def both(name: str, symbol: Any, inputs: dict[str, Any], *grad_names: str) -> Iterator[Case]:
    """The operator forward, and forward with backward if gradients are named."""
    yield Case(f"{name}, forward" if grad_names else name, symbol, inputs)
    if grad_names:
        yield Case(f"{name}, forward+backward", symbol, inputs, grad_names)


def cases(mx: Any, family: str) -> Iterator[Case]:
    """The cases of a module: ``_detection``, ``_regions``, ..."""
    return importlib.import_module(f"benchmarks.{family}").cases(mx)


def make_run(mx: Any, case: Case, wait: Callable[[Any], None]) -> Callable[[], Any]:
    """The function to be timed: one run of an executor, until ``wait`` has seen its results.

    It returns the first output, or the first gradient.
    """
    inputs, grad_names = case.inputs, case.grad_names
    dtypes = {n: "int32" if v.dtype == np.int32 else "float32" for n, v in inputs.items()}
    arrays = {n: mx.nd.array(v.astype(dtypes[n]), dtype=dtypes[n]) for n, v in inputs.items()}
    if not hasattr(case.symbol, "bind"):

        def update() -> Any:
            result = case.symbol(*arrays.values())
            wait(result)
            return result

        return update

    grads = {name: mx.nd.zeros(inputs[name].shape) for name in grad_names}
    requests = {name: "write" if name in grad_names else "null" for name in inputs}
    executor = case.symbol.bind(mx.cpu(), arrays, args_grad=grads or None, grad_req=requests)
    (shape, *_) = case.symbol.infer_shape(**{n: v.shape for n, v in inputs.items()})[1]
    head = mx.nd.ones(shape)

    def run() -> Any:
        outputs = executor.forward(is_train=bool(grad_names))
        if not grad_names:
            wait(outputs[0])
            return outputs[0]
        executor.backward([head])
        for name in grad_names:
            wait(executor.grad_dict[name])
        return executor.grad_dict[grad_names[0]]

    return run


def magnitude(result: np.ndarray) -> float:
    """The sum of absolute values, by which two results are compared."""
    return float(np.abs(result.astype("float64")).sum())


def _serve(family: str) -> None:
    import mxnet as mx

    runs = {c.name: make_run(mx, c, lambda a: a.wait_to_read()) for c in cases(mx, family)}
    print(json.dumps({name: magnitude(run().asnumpy()) for name, run in runs.items()}), flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        runs[line.strip()]()
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1])
