"""Time of looking at a ResNet-50: its statistics beside NumPy's, its views, a check.

python -m benchmarks.bench_views
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import executorkit as mx
from executorkit.ndarray.array_statistics import statistics_of_lists
from tests.models.resnet import resnet50

from ._timing import time_in_pairs


def main() -> None:
    executor = resnet50(mx).simple_bind(mx.cpu(), data=(1, 3, 64, 64))
    random = np.random.RandomState(0)
    for array in (*executor.arg_arrays, *executor.aux_arrays):
        array[:] = random.uniform(0.01, 0.1, array.shape)
    lists = [[a.jax for a in arrays] for arrays in (executor.arg_arrays, executor.aux_arrays)]
    count, size = sum(map(len, lists)), sum(x.size for xs in lists for x in xs)

    def ours() -> Any:
        return statistics_of_lists(lists)

    def on_the_host() -> Any:
        return [_host(np.asarray(x)) for xs in lists for x in xs]

    first = _milliseconds(ours)
    times = time_in_pairs(ours, on_the_host, 5)
    then = f"then {times.ours * 1e3:.0f} ms, NumPy {times.theirs * 1e3:.0f} ms"
    print(f"statistics of {count} arrays, {size / 1e6:.1f} M elements: first {first}, {then}")
    print(f"NumPy / ours {times.ratio:.2f}")

    view, check = executor._repr_html_, executor.check_finite
    first, again = _milliseconds(view), _milliseconds(view)
    print(f"executor as HTML: first {first}, then {again}, {len(view()) / 1e3:.0f} kB")
    print(f"symbol as HTML: {_milliseconds(executor.symbol._repr_html_)}")
    executor.forward(is_train=True)
    executor.backward()
    step = _milliseconds(executor.grad_arrays[0].wait_to_read)
    print(f"check_finite: first {_milliseconds(check)}, then {_milliseconds(check)}", end="")
    print(f" (forward and backward: first {step}); all finite: {bool(check())}")


def _host(x: np.ndarray) -> tuple[Any, ...]:
    counts = np.histogram(x.reshape(-1)[:: max(1, x.size // 2048)], 16)[0]
    return x.mean(), x.std(), x.min(), x.max(), np.isnan(x).sum(), np.isinf(x).sum(), counts


def _milliseconds(function: Callable[[], Any]) -> str:
    start = time.perf_counter()
    function()
    return f"{(time.perf_counter() - start) * 1e3:.0f} ms"


if __name__ == "__main__":
    main()
