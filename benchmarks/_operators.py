"""Single operators at real sizes, for either package: what ``_detection``, ``_regions`` and
their like ask.

As a program, with the name of one of these, it is MXNet's side of a comparison: it prints the
size of every first result as JSON, then for every name that it reads the seconds of another call.
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
class Question:
    """One run: a symbol's forward, or with names in ``wanted`` forward and backward to these.

    Instead of a symbol a function of NDArrays may stand, which is called with the inputs. Inputs
    are float32, but for those of int32. ``limit`` states how far the two results' magnitudes may be
    apart, relative to MXNet's.
    """

    name: str
    symbol: Any
    inputs: dict[str, np.ndarray] = field(repr=False)
    wanted: tuple[str, ...] = ()
    limit: float = 1e-3


def both(name: str, symbol: Any, inputs: dict[str, Any], *wanted: str) -> Iterator[Question]:
    """The operator forward, and forward with backward if there are gradients to ask for."""
    yield Question(f"{name}, forward" if wanted else name, symbol, inputs)
    if wanted:
        yield Question(f"{name}, forward+backward", symbol, inputs, wanted)


def questions(mx: Any, family: str) -> Iterator[Question]:
    """The questions of ``_detection``, ``_regions`` and their like."""
    return importlib.import_module(f"benchmarks.{family}").questions(mx)


def call(mx: Any, question: Question, wait: Callable[[Any], None]) -> Callable[[], Any]:
    """What is timed: one run of an executor, until ``wait`` has seen its results.

    Returns the first output, or the first wanted gradient.
    """
    inputs, wanted = question.inputs, question.wanted
    kinds = {n: "int32" if v.dtype == np.int32 else "float32" for n, v in inputs.items()}
    arrays = {n: mx.nd.array(v.astype(kinds[n]), dtype=kinds[n]) for n, v in inputs.items()}
    if not hasattr(question.symbol, "bind"):

        def update() -> Any:
            result = question.symbol(*arrays.values())
            wait(result)
            return result

        return update

    grads = {name: mx.nd.zeros(inputs[name].shape) for name in wanted}
    requests = {name: "write" if name in wanted else "null" for name in inputs}
    executor = question.symbol.bind(mx.cpu(), arrays, args_grad=grads or None, grad_req=requests)
    (shape, *_) = question.symbol.infer_shape(**{n: v.shape for n, v in inputs.items()})[1]
    head = mx.nd.ones(shape)

    def run() -> Any:
        outputs = executor.forward(is_train=bool(wanted))
        if not wanted:
            wait(outputs[0])
            return outputs[0]
        executor.backward([head])
        for name in wanted:
            wait(executor.grad_dict[name])
        return executor.grad_dict[wanted[0]]

    return run


def size(result: np.ndarray) -> float:
    """The sum of magnitudes, by which two results are compared."""
    return float(np.abs(result.astype("float64")).sum())


def _answer(family: str) -> None:
    import mxnet as mx

    runs = {q.name: call(mx, q, lambda a: a.wait_to_read()) for q in questions(mx, family)}
    print(json.dumps({name: size(run().asnumpy()) for name, run in runs.items()}), flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        runs[line.strip()]()
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    _answer(sys.argv[1])
