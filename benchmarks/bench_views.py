"""Time of looking at a ResNet-50: its statistics, its views, a check.

python -m benchmarks.bench_views
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import executorkit as mx
from executorkit.ndarray.array_statistics import statistics
from tests.models.resnet import resnet50


def main() -> None:
    executor = resnet50(mx).simple_bind(mx.cpu(), data=(1, 3, 64, 64))
    random = np.random.RandomState(0)
    for array in (*executor.arg_arrays, *executor.aux_arrays):
        array[:] = random.uniform(0.01, 0.1, array.shape)
    arrays = [np.asarray(a.jax) for a in (*executor.arg_arrays, *executor.aux_arrays)]
    size = sum(x.size for x in arrays) / 1e6
    took = _milliseconds(lambda: [statistics(x) for x in arrays])
    print(f"statistics of {len(arrays)} arrays, {size:.1f} M elements: {took}")

    view, check = executor._repr_html_, executor.check_finite
    first, again = _milliseconds(view), _milliseconds(view)
    print(f"executor as HTML: first {first}, then {again}, {len(view()) / 1e3:.0f} kB")
    print(f"symbol as HTML: {_milliseconds(executor.symbol._repr_html_)}")
    executor.forward(is_train=True)
    executor.backward()
    step = _milliseconds(executor.grad_arrays[0].wait_to_read)
    print(f"check_finite: first {_milliseconds(check)}, then {_milliseconds(check)}", end="")
    print(f" (forward and backward: first {step}); all finite: {bool(check())}")


def _milliseconds(function: Callable[[], Any]) -> str:
    start = time.perf_counter()
    function()
    return f"{(time.perf_counter() - start) * 1e3:.0f} ms"


if __name__ == "__main__":
    main()
